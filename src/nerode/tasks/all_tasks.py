"""Every kind of task; importing this fills the table."""

from nerode.tasks import (
    parity,
)

__all__ = [
    "parity",
]
