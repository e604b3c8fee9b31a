"""What agents did in a run: commands by class, time, states found, opened and cited, money."""
