"""Where a trained network is wrong: the shortest failing word, and training that goes on with it."""
