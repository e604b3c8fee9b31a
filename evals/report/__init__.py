"""The offline report: a run, or two side by side, as one HTML file that asks the network for nothing."""
