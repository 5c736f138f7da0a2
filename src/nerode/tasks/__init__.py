"""What a model is asked to do: sequences by length and seed, with targets, masks and what counts as right."""
