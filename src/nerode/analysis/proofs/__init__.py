"""Proofs for trained recurrent networks: what is to be proved, and boxes of the states of one cell."""

from nerode.analysis.proofs.boxes import CheckedProof, check_proof

__all__ = ["CheckedProof", "check_proof"]
