"""Every kind of task; importing this fills the table."""

from nerode.tasks import (
    bounded_dyck,
    copying,
    counting,
    denoising,
    dfa_states,
    flip_flop,
    modular_arithmetic,
    modular_brackets,
    next_token,
    ngram_text,
    parity,
    prediction,
    recall,
    recognition,
    regular,
    state_tracking,
)

__all__ = [
    "bounded_dyck",
    "copying",
    "counting",
    "denoising",
    "dfa_states",
    "flip_flop",
    "modular_arithmetic",
    "modular_brackets",
    "next_token",
    "ngram_text",
    "parity",
    "prediction",
    "recall",
    "recognition",
    "regular",
    "state_tracking",
]
