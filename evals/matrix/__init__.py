"""Several memories over the same questions: one run folder each, and one table of them all."""
