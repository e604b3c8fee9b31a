"""The model-free agent: search, rank, pick, write."""
