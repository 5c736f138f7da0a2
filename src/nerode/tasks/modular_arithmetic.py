"""Modular arithmetic without brackets: the value of sums and products of residues."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import torch

from nerode.core import InputError, Reference
from nerode.tasks.lengths import Labels, counted, require_range
from nerode.tasks.regular import TEST_LENGTHS
from nerode.tasks.table import TaskKind, register_task
from nerode.tasks.task import Batch, Memory, Task
from nerode.tasks.walk import Integers, walk

OPERATORS = "+-*"
"""In the order of their letters, which come after the residues; then comes `=`, then the brackets."""


def symbols(modulus: int, *, brackets: bool = False) -> tuple[str, ...]:
    """Returns what each letter stands for."""
    return (*map(str, range(modulus)), *OPERATORS, "=", *("()" if brackets else ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModularArithmeticSettings:
    """Settings of modular arithmetic without brackets.

    Attributes:
        modulus: of the values.
        products: whether there is `*` beside `+` and `-`.
        shortest: shortest length of training, with the `=`.
        longest: longest length of training, with the `=`.
        labels: "all" for the value so far at each residue and at `=`, "last" for that at `=`.
    """

    modulus: int = 5
    products: bool = True
    shortest: int = 4
    longest: int = 40
    labels: Labels = "all"

    def __post_init__(self) -> None:
        require_range(self.shortest, self.longest, least=2)
        require_modulus(self.modulus)
        if self.shortest == self.longest and self.longest % 2:
            raise InputError(
                f"the only length is {self.longest}; expressions with their `=` have even lengths"
            )


def require_modulus(modulus: int) -> None:
    """Raises InputError for a modulus with which there is nothing to compute."""
    if modulus < 2:
        raise InputError(f"modulus is {modulus}; it has to be 2 or more")


class ModularArithmetic(Task):
    """Residues with operators between them, then `=`; products come before sums and differences.

    References: [Grazzi2025]
    """

    name = "modular-arithmetic"
    memory = Memory.STATEFUL

    def __init__(self, settings: ModularArithmeticSettings) -> None:
        self.settings = settings
        self.letters = len(symbols(settings.modulus))
        self.outputs = settings.modulus
        self.training_lengths = (
            settings.shortest + settings.shortest % 2,
            settings.longest - settings.longest % 2,
        )

    def trains_on(self, length: int) -> bool:
        """Returns whether it is an even length of the range."""
        low, high = self.training_lengths
        return length % 2 == 0 and low <= length <= high

    def sample(self, length: int, count: int, rng: np.random.Generator) -> Batch:
        """Returns expressions with uniform residues and operators."""
        if length < 2 or length % 2:
            raise InputError(
                f"{self.name} has no expression of length {length}; with their `=` they have even lengths"
            )
        modulus = self.settings.modulus
        residues = rng.integers(0, modulus, (count, length // 2))
        operators = rng.integers(0, 3 if self.settings.products else 2, residues.shape)
        operators[:, 0] = 0
        inputs = np.empty((count, length), dtype=np.int64)
        inputs[:, 0::2] = residues
        inputs[:, 1:-1:2] = modulus + operators[:, 1:]
        inputs[:, -1] = modulus + len(OPERATORS)
        values = running_values(modulus, operators, residues)
        mask = counted(self.settings.labels, count, length)
        mask[:, 1:-1:2] = False
        return Batch(
            inputs=torch.from_numpy(inputs),
            targets=torch.from_numpy(np.repeat(values, 2, axis=1)),
            mask=torch.from_numpy(mask),
        )


def running_values(modulus: int, operators: Integers, residues: Integers) -> Integers:
    """Returns the value after each residue; the operator before the first one is `+`."""
    states = walk(_steps(modulus), operators * modulus + residues)
    # A state is the sum before the last term, and the last term, which a product may still change.
    values: Integers = (states // modulus + states % modulus) % modulus
    return values


@functools.lru_cache(maxsize=16)
def _steps(modulus: int) -> Integers:
    """The next state, by state and by operator and residue."""
    total, term, residue = np.ogrid[:modulus, :modulus, :modulus]
    sums = (total + term) % modulus * modulus
    after = [sums + residue, sums + -residue % modulus, total * modulus + term * residue % modulus]
    table = np.stack(np.broadcast_arrays(*after), axis=2)
    return table.reshape(modulus**2, len(OPERATORS) * modulus).astype(np.int64)


register_task(
    TaskKind(
        name="modular-arithmetic",
        title="the value of sums and products of residues, without brackets",
        settings=ModularArithmeticSettings,
        build=ModularArithmetic,
        reference=Reference("Grazzi2025"),
        test_lengths=TEST_LENGTHS,
    ),
    modular_arithmetic_last={"labels": "last"},
    modular_sums={"products": False},
    modular_sums_last={"products": False, "labels": "last"},
)
