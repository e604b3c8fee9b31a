"""Start an agent inside the sandbox: its files in HOME, and a way to its model."""
