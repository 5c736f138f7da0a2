"""Every kind of task; importing this fills the table."""

from nerode.tasks import (
    copying,
    denoising,
    parity,
    state_tracking,
)

__all__ = [
    "copying",
    "denoising",
    "parity",
    "state_tracking",
]
