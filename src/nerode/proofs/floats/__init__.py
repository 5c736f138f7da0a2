"""Certificates in floats: what a module does in the format it runs in, roundings included; needs torch."""

from nerode.proofs.floats.examination import Examination, examine, recheck_stored, store
from nerode.proofs.floats.settling import settle

__all__ = ["Examination", "examine", "recheck_stored", "settle", "store"]
