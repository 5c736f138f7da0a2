"""Proofs for trained recurrent networks: right at every length, or a plain "no proof found"."""
