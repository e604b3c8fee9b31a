"""Quillbrook Desk: the help desk of a made-up company that rents coffee machines to cafés."""
