"""Lemmas about softmax decoders in floats, and the checker that applies them to tensors."""

from nerode.proofs.floats.attention.checker import audit, check_decoder
from nerode.proofs.floats.attention.records import METHOD, AttentionProof, HeadFinding, NotProved

__all__ = ["METHOD", "AttentionProof", "HeadFinding", "NotProved", "audit", "check_decoder"]
