"""Proofs for trained recurrent networks: correct at every length, or a plain "no proof found"."""

from nerode.analysis.proofs.certifying import Attempt
from nerode.analysis.proofs.run_proofs import (
    CheckedProof,
    attempt_lines,
    certify_run,
    certify_tables,
    check_proof,
    replay_certified,
)

__all__ = [
    "Attempt",
    "CheckedProof",
    "attempt_lines",
    "certify_run",
    "certify_tables",
    "check_proof",
    "replay_certified",
]
