"""Languages: what they are, where they come from, how to sample from them."""
