"""What is inside a network: its spectrum, its memory, its states, the automaton it learned, proofs of it."""
