"""The command line: the one place that imports everything."""
