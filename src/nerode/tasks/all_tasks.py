"""Every kind of task; importing this fills the table."""

from nerode.tasks import (
    copying,
    counting,
    denoising,
    modular_arithmetic,
    modular_brackets,
    parity,
    recall,
    regular,
    state_tracking,
)

__all__ = [
    "copying",
    "counting",
    "denoising",
    "modular_arithmetic",
    "modular_brackets",
    "parity",
    "recall",
    "regular",
    "state_tracking",
]
