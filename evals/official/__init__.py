"""Our controller inside the public harness: the user's checkout runs and scores, we answer its queries."""
