"""How sure a figure is: intervals, paired tests, agreement, and where the noise comes from."""
