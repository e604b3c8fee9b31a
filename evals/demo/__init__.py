"""The demonstration: a help desk of our own, its recordings, and questions about them."""
