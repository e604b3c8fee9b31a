"""Known faults of a data set's gold, kept beside it and never mixed into the official score."""
