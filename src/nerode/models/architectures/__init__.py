"""The architectures, one file each; importing this fills the table of `nerode.models.zoo`."""

from nerode.models.architectures import (
    elman,
)

__all__ = [
    "elman",
]
