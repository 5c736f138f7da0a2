"""What one request may use, and how its answer ends."""

from __future__ import annotations

from dataclasses import dataclass, fields

from nerode.core import InputError

DONE = b"\n"
"""The last byte of a whole answer, which JSON on one line does not have; without it the answer was cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds on requests; all are above zero.

    Attributes:
        body: bytes of a request.
        answer: bytes of an answer.
        seconds: from the moment a request is taken up to its end; then its process is killed.
        cpu_seconds: processor time of a request, whole seconds.
        memory: bytes of address space of a request.
        together: requests that are computed at the same time; others wait.
        waiting: requests that may wait; more are refused.
    """

    body: int = 8_000_000
    answer: int = 24_000_000
    seconds: float = 12.0
    cpu_seconds: int = 10
    memory: int = 3 << 30
    together: int = 4
    waiting: int = 32

    def __post_init__(self) -> None:
        for field in fields(self):
            if not getattr(self, field.name) > 0:
                raise InputError(
                    f"a limit of {getattr(self, field.name)} {field.name} is not positive; give more"
                )
