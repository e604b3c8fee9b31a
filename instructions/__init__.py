"""Jinja2 templates of every prompt, and the functions that render them."""
