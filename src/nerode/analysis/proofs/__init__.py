"""Proofs for trained recurrent networks: correct at every length, or a plain "no proof found"."""

from nerode.analysis.proofs.certifying import Attempt
from nerode.analysis.proofs.run_proofs import attempt_lines, certify_run, certify_tables

__all__ = ["Attempt", "attempt_lines", "certify_run", "certify_tables"]
