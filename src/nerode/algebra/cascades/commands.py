"""What a letter can tell one level of a cascade to do with its label."""

from __future__ import annotations

from dataclasses import dataclass

from nerode.algebra.permutations import Permutation
from nerode.core import InputError


@dataclass(frozen=True, slots=True)
class Hold:
    """Keep the label."""

    def apply(self, label: int, num_labels: int) -> int:
        """Returns the label itself."""
        return label

    def check(self, num_labels: int) -> None:
        """Nothing can be wrong."""


@dataclass(frozen=True, slots=True)
class Reset:
    """Forget the label and take this one."""

    label: int

    def apply(self, label: int, num_labels: int) -> int:
        """Returns the new label, whatever the old one was."""
        return self.label

    def check(self, num_labels: int) -> None:
        """Raises InputError if there is no such label."""
        if not 0 <= self.label < num_labels:
            raise InputError(f"a reset to label {self.label} of a level with {num_labels} labels")


@dataclass(frozen=True, slots=True)
class Add:
    """Add an amount to the label, modulo the number of labels."""

    amount: int

    def apply(self, label: int, num_labels: int) -> int:
        """Returns the sum."""
        return (label + self.amount) % num_labels

    def check(self, num_labels: int) -> None:
        """Raises InputError if the amount is not reduced; zero is written as Hold."""
        if not 0 < self.amount < num_labels:
            raise InputError(f"an addition of {self.amount} modulo {num_labels}; give 1…{num_labels - 1}")


@dataclass(frozen=True, slots=True)
class Permute:
    """Replace label i by images[i]."""

    images: Permutation

    def apply(self, label: int, num_labels: int) -> int:
        """Returns the image of the label."""
        return self.images[label]

    def check(self, num_labels: int) -> None:
        """Raises InputError if this is not a permutation of the labels, or is the identity."""
        if sorted(self.images) != list(range(num_labels)):
            raise InputError(f"{self.images} is not a permutation of {num_labels} labels")
        if self.images == tuple(range(num_labels)):
            raise InputError("the identity is written as Hold")


Command = Hold | Reset | Add | Permute

HOLD = Hold()
