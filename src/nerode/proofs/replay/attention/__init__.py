"""Lemmas about softmax decoders in floats, and the checker that applies them to tensors: open `checker`."""
