"""Named conditions with three values, so that a theorem's hypotheses can be tested and printed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from nerode.core import BudgetExceeded

T = TypeVar("T")


@dataclass(frozen=True)
class Condition(Generic[T]):
    """A property of T as text and as a test; the test answers True, False or None (not known)."""

    text: str
    test: Callable[[T], bool | None]

    def __call__(self, subject: T) -> bool | None:
        """Returns what the test says about the subject; None if that did not fit the budget."""
        try:
            return self.test(subject)
        except BudgetExceeded:
            return None

    def __and__(self, other: Condition[T]) -> Condition[T]:
        def both(subject: T) -> bool | None:
            left = self(subject)
            if left is False:
                return False
            right = other(subject)
            if right is False:
                return False
            return None if left is None or right is None else True

        return Condition(f"{self.text}, {other.text}", both)

    def __or__(self, other: Condition[T]) -> Condition[T]:
        def either(subject: T) -> bool | None:
            left = self(subject)
            if left is True:
                return True
            right = other(subject)
            if right is True:
                return True
            return None if left is None or right is None else False

        return Condition(f"{self.text} or {other.text}", either)

    def __invert__(self) -> Condition[T]:
        def negated(subject: T) -> bool | None:
            value = self(subject)
            return None if value is None else not value

        return Condition(f"not {self.text}", negated)
