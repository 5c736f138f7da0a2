"""Modular arithmetic with brackets: the value of nested sums and products of residues.

An expression of n letters is a residue (n = 1), a negative one (2), one of these in brackets (3 and 4), or
two shorter expressions with an operator between them in brackets; every way to share the letters among the
two is as likely. So there are expressions of every length, and no rule of precedence is needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from nerode.core import InputError, Reference
from nerode.tasks.lengths import counted, require_range
from nerode.tasks.modular_arithmetic import OPERATORS, require_modulus, symbols
from nerode.tasks.regular import TEST_LENGTHS
from nerode.tasks.table import TaskKind, register_task
from nerode.tasks.task import Batch, Memory, Task
from nerode.tasks.walk import Integers

_LARGEST_LEAF = 4
_SURROUNDINGS = 3
"""Letters of an expression with two parts that belong to neither: the operator and two brackets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModularBracketsSettings:
    """Settings of modular arithmetic with brackets; the answer is due at `=`.

    Attributes:
        modulus: of the values.
        products: whether there is `*` beside `+` and `-`.
        shortest: shortest length of training, with the `=`.
        longest: longest length of training, with the `=`.
    """

    modulus: int = 5
    products: bool = True
    shortest: int = 3
    longest: int = 40

    def __post_init__(self) -> None:
        require_range(self.shortest, self.longest, least=2)
        require_modulus(self.modulus)


@dataclass(frozen=True, slots=True)
class _Level:
    """Expressions of one depth in all rows: where they are, and how large."""

    rows: Integers
    starts: Integers
    sizes: Integers


class ModularBrackets(Task):
    """Nested expressions, then `=`, at which their value is due.

    References: [Grazzi2025]
    """

    name = "modular-arithmetic-brackets"
    memory = Memory.STATEFUL

    def __init__(self, settings: ModularBracketsSettings) -> None:
        self.settings = settings
        modulus = settings.modulus
        self.letters = len(symbols(modulus, brackets=True))
        self.outputs = modulus
        self.training_lengths = (settings.shortest, settings.longest)
        self._minus, self._equals = modulus + 1, modulus + len(OPERATORS)
        left, right = np.ogrid[:modulus, :modulus]
        results = np.stack([(left + right) % modulus, (left - right) % modulus, left * right % modulus])
        self._results: Integers = results.ravel()

    def sample(self, length: int, count: int, rng: np.random.Generator) -> Batch:
        """Returns expressions with random brackets, operators and residues."""
        if length < 2:
            raise InputError(
                f"{self.name} has no expression of length {length}; with `=` they have 2 letters or more"
            )
        inputs = np.full((count, length), self._equals, dtype=np.int64)
        values = self._fill(inputs, rng)
        targets = np.zeros_like(inputs)
        targets[:, -1] = values
        return Batch(
            inputs=torch.from_numpy(inputs),
            targets=torch.from_numpy(targets),
            mask=torch.from_numpy(counted("last", count, length)),
        )

    def _fill(self, inputs: Integers, rng: np.random.Generator) -> Integers:
        """Writes an expression into each row, up to the last letter, and returns the values."""
        count, length = inputs.shape
        none = np.zeros(count, dtype=np.int64)
        levels = [_Level(np.arange(count), none, none + (length - 1))]
        chosen: list[tuple[npt.NDArray[np.intp], Integers]] = []
        while True:
            here = levels[-1]
            split = np.flatnonzero(here.sizes > _LARGEST_LEAF)
            if not len(split):
                break
            operators = rng.integers(0, 3 if self.settings.products else 2, len(split))
            chosen.append((split, operators))
            levels.append(self._split(inputs, here, split, operators, rng))
        values = [self._write_leaves(inputs, level, rng) for level in levels]
        for depth in range(len(chosen) - 1, -1, -1):
            split, operators = chosen[depth]
            left, right = values[depth + 1].reshape(2, -1)
            modulus = self.settings.modulus
            values[depth][split] = self._results[(operators * modulus + left) * modulus + right]
        return values[0]

    def _split(
        self,
        inputs: Integers,
        level: _Level,
        split: npt.NDArray[np.intp],
        operators: Integers,
        rng: np.random.Generator,
    ) -> _Level:
        """Writes brackets and operators, and returns the left parts and then the right parts."""
        rows, starts, sizes = level.rows[split], level.starts[split], level.sizes[split]
        inner = sizes - _SURROUNDINGS
        left = 1 + (rng.random(len(split)) * (inner - 1)).astype(np.int64)
        middle = starts + 1 + left
        inputs[rows, starts] = self._equals + 1
        inputs[rows, middle] = self.settings.modulus + operators
        inputs[rows, starts + sizes - 1] = self._equals + 2
        return _Level(
            np.concatenate([rows, rows]),
            np.concatenate([starts + 1, middle + 1]),
            np.concatenate([left, inner - left]),
        )

    def _write_leaves(self, inputs: Integers, level: _Level, rng: np.random.Generator) -> Integers:
        """Writes the expressions with one residue, and returns all values; those of others are not known."""
        modulus = self.settings.modulus
        residues = rng.integers(0, modulus, len(level.sizes))
        is_leaf = level.sizes <= _LARGEST_LEAF
        negative = level.sizes % 2 == 0
        bracketed = is_leaf & (level.sizes >= 3)
        at = level.starts + bracketed
        inputs[level.rows[bracketed], level.starts[bracketed]] = self._equals + 1
        inputs[level.rows[bracketed], (level.starts + level.sizes)[bracketed] - 1] = self._equals + 2
        signed = is_leaf & negative
        inputs[level.rows[signed], at[signed]] = self._minus
        inputs[level.rows[is_leaf], (at + negative)[is_leaf]] = residues[is_leaf]
        values: Integers = np.where(negative, -residues % modulus, residues)
        return values


register_task(
    TaskKind(
        name="modular-arithmetic-brackets",
        title="the value of nested sums and products of residues",
        settings=ModularBracketsSettings,
        build=ModularBrackets,
        reference=Reference("Grazzi2025"),
        test_lengths=TEST_LENGTHS,
    ),
    modular_sums_brackets={"products": False},
)
