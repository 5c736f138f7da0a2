"""Proofs for trained recurrent networks: what is to be proved, and boxes of the states of one cell."""
