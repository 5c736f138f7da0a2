"""Certificates in floats: what a module does in the format it runs in, roundings included; needs torch."""

from nerode.proofs.floats.closure import settle
from nerode.proofs.floats.examination import Examination, examine, recheck_stored, store

__all__ = ["Examination", "examine", "recheck_stored", "settle", "store"]
