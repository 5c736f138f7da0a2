"""Modular arithmetic, without and with brackets: the value of sums and products of residues.

An expression of n letters with brackets is a residue (n = 1), a negative one (2), one of these in brackets
(3 and 4), or two shorter expressions with an operator between them in brackets; every way to share the
letters among the two is as likely. So there are expressions of every length, and no rule of precedence is
needed.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nerode.core import InputError, Reference
from nerode.tasks.synthetic.regular import TEST_LENGTHS
from nerode.tasks.task import Batch, Integers, Labels, Memory, Task, TaskKind, counted, require_range, walk

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
    length_parity = 0

    def __init__(self, settings: ModularArithmeticSettings) -> None:
        self.settings = settings
        self.letters = len(symbols(settings.modulus))
        self.outputs = settings.modulus
        self.training_lengths = (
            settings.shortest + settings.shortest % 2,
            settings.longest - settings.longest % 2,
        )

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
        return Batch.of(inputs, np.repeat(values, 2, axis=1), mask)


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
        return Batch.of(inputs, targets, counted("last", count, length))

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


PLAIN = TaskKind(
    name="modular-arithmetic",
    title="the value of sums and products of residues, without brackets",
    settings=ModularArithmeticSettings,
    build=ModularArithmetic,
    reference=Reference("Grazzi2025"),
    test_lengths=TEST_LENGTHS,
    presets={
        "modular-arithmetic-last": {"labels": "last"},
        "modular-sums": {"products": False},
        "modular-sums-last": {"products": False, "labels": "last"},
    },
)

BRACKETS = TaskKind(
    name="modular-arithmetic-brackets",
    title="the value of nested sums and products of residues",
    settings=ModularBracketsSettings,
    build=ModularBrackets,
    reference=Reference("Grazzi2025"),
    test_lengths=TEST_LENGTHS,
    presets={
        "modular-sums-brackets": {"products": False},
    },
)
