"""Certificates in floats: what a module does in the format it runs in, roundings included; needs torch."""

from nerode.certificates.floats.examination import Examination, examine, recheck_stored, store
from nerode.certificates.floats.settling import settle

__all__ = ["Examination", "examine", "recheck_stored", "settle", "store"]
