"""Accuracy against latency: operating points, what each is worth, and the picture of them."""
