"""The model gateway: the only way from a sandbox to a model, and the record of what went through."""
