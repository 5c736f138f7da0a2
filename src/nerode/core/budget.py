"""One object that bounds everything that can blow up."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

from nerode.core.errors import BudgetExceeded, InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits that an algorithm may not pass.

    A budget is started once (`Budget().start()`, or implicitly when it is made) and its clock runs from
    then on, so that several stages that share it also share its seconds.

    Attributes:
        states: states of one automaton.
        elements: elements of one monoid or group.
        images: images of the state set that one search may visit.
        seconds: wall-clock time from the moment the budget was made.
        bytes: memory that one table may take.
    """

    states: int = 20_000
    elements: int = 1_000_000
    images: int = 200_000
    seconds: float = 60.0
    bytes: int = 1 << 30
    _started: float = field(default_factory=time.monotonic, compare=False, repr=False)

    def __post_init__(self) -> None:
        for f in fields(self):
            if f.name != "_started" and not getattr(self, f.name) > 0:
                raise InputError(
                    f"a budget of {getattr(self, f.name)} {f.name} is not positive; give a number above 0"
                )

    def start(self) -> Budget:
        """Returns the same limits with the clock set to zero."""
        return replace(self, _started=time.monotonic())

    def check(self, resource: str, used: float, **known_so_far: object) -> None:
        """Raises BudgetExceeded if `used` is above the limit of `resource`, or if time is up.

        Args:
            resource: name of one of the fields.
            used: how much is needed so far.
            known_so_far: facts to hand to the user if this is where it stops.
        """
        limit = getattr(self, resource)
        if used > limit:
            raise BudgetExceeded(resource, limit, known_so_far=known_so_far)
        self.check_time(**known_so_far)

    def check_time(self, **known_so_far: object) -> None:
        """Raises BudgetExceeded if the seconds are used up."""
        if self.elapsed() > self.seconds:
            raise BudgetExceeded("seconds", self.seconds, known_so_far=known_so_far)

    def elapsed(self) -> float:
        """Seconds since the budget was started."""
        return time.monotonic() - self._started

    def limits(self) -> Mapping[str, float]:
        """The limits by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "_started"}
