"""Embedded texts: vectors cached on disk by content, and exact search in them."""
