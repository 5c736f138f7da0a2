"""The tables of each paper: published numbers, protocols, and specs at the scale of one core."""
