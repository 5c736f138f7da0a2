"""Levels in the state of a layer: their commands as affine forms, the codings of their labels, the moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from nerode.algebra.cascades import Add, Command, Permute, Reset
from nerode.compiler.forms import DirectionForm, Relu, conjunction, constant, old_value, top_digit, total
from nerode.compiler.layer_builder import LayerBuilder, Selection
from nerode.compiler.level_machine import TabledLevel
from nerode.compiler.rotations import Matrix, reflection_factors, rotation
from nerode.compiler.tables import decision_table
from nerode.core import Budget, Exact, cosine, inverse, root_of_unity, sine
from nerode.network import Factor

Indicators = Sequence[DirectionForm]
"""For each label of a level a form that is 1 where it has that label, and 0 elsewhere."""


class LevelLabels(NamedTuple):
    """The labels of a level on the stream: after the letter, and before it."""

    new: Indicators
    old: Indicators


class CommandForms:
    """The command of a level: a decision tree over the letter and the old labels of its parents.

    Letters that always give the level the same commands are one branch.

    Args:
        level: the level.
        letters: 1 where the current letter is this one.
        parents: the old labels of its parents, in order.
        relu: makes units of the layer.
        budget: bounds the tree.
        guard: literals without which no command counts as given.
        otherwise: a command that gets no units, so that every other one is a sum of units which are 0 where
            it is not given; None takes the command of most cases.
    """

    def __init__(
        self,
        level: TabledLevel,
        letters: Indicators,
        parents: Sequence[Indicators],
        relu: Relu,
        budget: Budget,
        guard: Sequence[DirectionForm] = (),
        otherwise: Command | None = None,
    ) -> None:
        kinds = _letter_kinds(level)
        classes = [constant(0)] * (max(kinds.values()) + 1 if kinds else 1)
        for letter, kind in kinds.items():
            classes[kind] = classes[kind] + letters[letter]
        patterns = {(kinds[letter], *labels): command for (letter, *labels), command in level.table.items()}
        sizes = [len(classes), *map(len, parents)]
        table = decision_table(list(patterns), list(patterns.values()), sizes, budget, otherwise=otherwise)
        variables: list[Indicators] = [classes, *parents]
        self._otherwise = table.otherwise
        self._always = conjunction(guard, relu)
        self._units = []
        for literals, command in table.rows:
            form = conjunction([*guard, *(variables[i][value] for i, value in literals)], relu)
            if otherwise is not None and len(literals) == 1 and literals[0][0] > 0:
                # A label that stands alone may be inexact, a unit of it is not.
                form = relu(form)
            self._units.append((command, form))

    def weigh(self, weight: Callable[[Command], Exact]) -> DirectionForm:
        """Returns the weight of the command that is given; 0 where the guard does not hold."""
        default = weight(self._otherwise)
        rows = [unit * (weight(command) - default) for command, unit in self._units]
        return total([self._always * default, *rows])

    def is_given(self, command: Command) -> DirectionForm:
        """Returns 1 where this command is given, and 0 elsewhere."""
        return self.weigh(lambda other: int(other == command))


def _letter_kinds(level: TabledLevel) -> dict[int, int]:
    """Returns a number for each letter, the same if two letters always give the level the same commands."""
    rows_of: dict[int, dict[tuple[int, ...], Command]] = {}
    for (letter, *labels), command in level.table.items():
        rows_of.setdefault(letter, {})[tuple(labels)] = command
    numbers: dict[frozenset[tuple[tuple[int, ...], Command]], int] = {}
    return {
        letter: numbers.setdefault(frozenset(rows.items()), len(numbers)) for letter, rows in rows_of.items()
    }


def place_register(
    builder: LayerBuilder,
    number: int,
    level: TabledLevel,
    commands: CommandForms,
    retain: Fraction | None = None,
) -> LevelLabels:
    """Adds a set-reset level: one coordinate for each label but the first, gate 1 (hold) or 0 (overwrite).

    A layer that does not expose its state before the letter overwrites with the gate `retain`, which keeps
    the bit before as the second digit; one more coordinate then says whether the letter wrote.
    """

    def written(label: int) -> Callable[[Command], Exact]:
        return lambda command: int(isinstance(command, Reset) and command.label == label)

    wrote = commands.weigh(lambda command: int(isinstance(command, Reset)))
    gate = 1 - wrote * (1 if retain is None else 1 - retain)
    labels = range(1, level.num_labels)
    names = [label_name(number, label, level) for label in labels]
    now = [
        builder.coordinate(
            name, gate=gate, write=commands.weigh(written(label)), start=int(label == level.start)
        )
        for name, label in zip(names, labels, strict=True)
    ]
    if retain is None:
        before = [builder.previous(name) for name in names]
    else:
        flag = builder.coordinate(f"q{number + 1} written", gate=0, write=wrote)
        before = [old_value(state, flag, builder.readout_relu, retain) for state in now]
        now = [top_digit(state, builder.readout_relu) for state in now]
    return _shown(builder, number, level, [1 - total(now), *now], [1 - total(before), *before])


def place_sign(builder: LayerBuilder, number: int, level: TabledLevel, commands: CommandForms) -> LevelLabels:
    """Adds a counter modulo two: 1 for label 0 and -1 for label 1, gates 1, -1 and 0."""
    gates = {Add: -1, Reset: 0}
    name = f"sign {number + 1}"
    now = builder.coordinate(
        name,
        gate=commands.weigh(lambda command: gates.get(type(command), 1)),
        write=commands.weigh(lambda command: 1 - 2 * command.label if isinstance(command, Reset) else 0),
        start=1 - 2 * level.start,
    )
    half = Fraction(1, 2)
    is_one = [(1 - sign) * half for sign in (now, builder.previous(name))]
    return _shown(builder, number, level, *([1 - form, form] for form in is_one))


def place_turn(builder: LayerBuilder, number: int, level: TabledLevel, commands: CommandForms) -> LevelLabels:
    """Adds a counter modulo m: the root of unity e(label/m), gates e(amount/m) and 0.

    The readout compares the number with each root: the real part of their quotient is 1 for the correct one
    and at most cos(2π/m) for the others.
    """
    m = level.num_labels

    def gate(command: Command) -> Exact:
        if isinstance(command, Add):
            return root_of_unity(command.amount, m)
        return 0 if isinstance(command, Reset) else 1

    def write(command: Command) -> Exact:
        return root_of_unity(command.label, m) if isinstance(command, Reset) else 0

    name = f"turn {number + 1}"
    now = builder.coordinate(
        name, gate=commands.weigh(gate), write=commands.weigh(write), start=root_of_unity(level.start, m)
    )
    before = builder.previous(name)
    decoded = [
        [relu_near(value, builder.imaginary(value), label, m, builder.readout_relu) for label in range(m)]
        for value in (now, before)
    ]
    return _shown(builder, number, level, *decoded)


def place_rotation(builder: LayerBuilder, number: int, level: TabledLevel) -> tuple[LevelLabels, Moves]:
    """Adds a counter modulo m as a vector of the plane, turned by two reflections, cleared by two factors."""
    m = level.num_labels
    moves = Moves(
        start=(cosine(level.start, m), sine(level.start, m)),
        matrix=lambda command: rotation(command.amount if isinstance(command, Add) else 0, m),
        code=lambda label: (cosine(label, m), sine(label, m)),
    )
    names = [f"h{number + 1}.{i}" for i in (1, 2)]
    now = [
        builder.coordinate(name, gate=1, write=0, start=start)
        for name, start in zip(names, moves.start, strict=True)
    ]
    before = [builder.previous(name) for name in names]
    decoded = [
        [relu_near(x, y, label, m, builder.readout_relu) for label in range(m)] for x, y in (now, before)
    ]
    return _shown(builder, number, level, *decoded), moves


def place_permutation(builder: LayerBuilder, number: int, level: TabledLevel) -> tuple[LevelLabels, Moves]:
    """Adds a level as its one-hot vector, permuted by swaps, cleared coordinate by coordinate."""
    k = level.num_labels

    def one_hot(label: int) -> tuple[Exact, ...]:
        return tuple(int(i == label) for i in range(k))

    moves = Moves(start=one_hot(level.start), matrix=lambda command: _permutation(command, k), code=one_hot)
    names = [f"h{number + 1}={label}" for label in range(k)]
    now = [
        builder.coordinate(name, gate=1, write=0, start=start)
        for name, start in zip(names, moves.start, strict=True)
    ]
    return _shown(builder, number, level, now, [builder.previous(name) for name in names]), moves


class Moves:
    """The matrices and codes of a level that is moved by Householder factors."""

    def __init__(
        self,
        *,
        start: tuple[Exact, ...],
        matrix: Callable[[Command], Matrix],
        code: Callable[[int], tuple[Exact, ...]],
    ) -> None:
        self.start = start
        self.matrix = matrix
        self.code = code

    def selection(self, level: TabledLevel, commands: CommandForms) -> Selection:
        """Returns the factors and writes of each command, with the forms that say which one is given."""
        width = len(self.start)
        factors: list[tuple[Factor, ...]] = []
        writes: list[tuple[Exact, ...]] = []
        for command in level.commands:
            if isinstance(command, Reset):
                factors.append(_clearing(width))
                writes.append(self.code(command.label))
            else:
                factors.append(reflection_factors(self.matrix(command)))
                writes.append((0,) * width)
        return Selection(
            factors=factors, writes=writes, choices=[commands.is_given(command) for command in level.commands]
        )


MOST_FACTORS = 12
"""Factors per letter of a coding by whole numbers, where one by rotations has two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorCoding:
    """A counter modulo m as a vector that is mirrored at every letter.

    A turn is a mirror together with a fixed mirror F: at odd positions the vector of a label is seen in F.

    Attributes:
        start: the vector before the first letter.
        factor: the mirror of a letter that adds this amount; negative if it ends at an odd position.
        near: for coordinates, a label and whether it is seen in F, a form that is 1 at its vector and at most
            0 at the others.
    """

    start: tuple[Exact, ...]
    factor: Callable[[int, int], Factor]
    near: Callable[[Sequence[DirectionForm], int, bool], DirectionForm]


def plane_mirrors(start: int, m: int) -> MirrorCoding:
    """Returns a counter as a vector of the plane; F takes the angle x to π/m - x."""

    def near(vector: Sequence[DirectionForm], label: int, mirrored: bool) -> DirectionForm:
        turns = Fraction(1, 2 * m) - Fraction(label, m) if mirrored else Fraction(label, m)
        return nearness(vector[0], vector[1], turns, m)

    return MirrorCoding(
        start=(cosine(start, m), sine(start, m)),
        factor=lambda amount, sign: mirror_factor(1 + 2 * sign * amount, m),
        near=near,
    )


def whole_mirrors(start: int, m: int) -> MirrorCoding | None:
    """Returns a counter modulo 3 or 4 whose mirrors are whole numbers, None for others.

    Modulo 3 it is a one-hot vector and every mirror a swap; modulo 4 a vector of the plane whose mirrors
    exchange its coordinates or change a sign. F takes a label to its negative.

    Implements: [NerodeTheory]
    """
    if m == 3:
        return MirrorCoding(
            start=tuple(int(i == start) for i in range(3)),
            factor=lambda amount, sign: Factor(beta=2, vector=_swap_around(2 * sign * amount % 3)),
            near=lambda vector, label, mirrored: vector[-label % 3 if mirrored else label],
        )
    if m == 4:
        return MirrorCoding(
            start=(cosine(start, 4), sine(start, 4)),
            factor=lambda amount, sign: mirror_factor(2 * sign * amount, 4),
            near=lambda vector, label, mirrored: nearness(
                vector[0], vector[1], Fraction(-label if mirrored else label, 4), 4
            ),
        )
    return None


def _swap_around(fixed: int) -> tuple[int, int, int]:
    """The vector of the swap of two of three coordinates that leaves one fixed."""
    found = [0, 0, 0]
    found[(fixed + 1) % 3], found[(fixed + 2) % 3] = 1, -1
    return (found[0], found[1], found[2])


def num_factors(level: TabledLevel, *, as_permutation: bool) -> int:
    """Returns how many Householder factors a level needs for one letter, one-hot or as a plane rotation."""
    if not as_permutation:
        return 2
    found = level.num_labels if level.resets else 0
    for command in level.commands:
        if not isinstance(command, Reset):
            found = max(found, len(reflection_factors(_permutation(command, level.num_labels))))
    return found


def relu_near(x: DirectionForm, y: DirectionForm, label: int, m: int, relu: Relu) -> DirectionForm:
    """Returns 1 at the point label/m of a turn on the unit circle and 0 at the other multiples of 1/m."""
    return relu(nearness(x, y, Fraction(label, m), m))


def nearness(x: DirectionForm, y: DirectionForm, turns: Fraction, m: int) -> DirectionForm:
    """Returns a form that is 1 at an angle on the unit circle and at most 0 from 1/m of a turn away on."""
    k, n = turns.numerator, turns.denominator
    across = cosine(1, m)
    product = x * cosine(k, n) + y * sine(k, n)
    return (product - across) * inverse(1 - across)


def mirror_factor(j: int, m: int) -> Factor:
    """Returns the reflection that takes the angle 0 to j·π/m: along (sin, -1 - cos), or (1, 0) for j = m."""
    if j % (2 * m) == m:
        return Factor(beta=2, vector=(1, 0))
    return Factor(beta=2, vector=(sine(j, 2 * m), -1 - cosine(j, 2 * m)))


def label_name(number: int, label: int, level: TabledLevel) -> str:
    """Returns how a label is called on the stream."""
    return f"q{number + 1}" if level.num_labels == 2 else f"q{number + 1}={label}"


def show_labels(
    builder: LayerBuilder, number: int, level: TabledLevel, indicators: Indicators, mark: str
) -> Indicators:
    """Puts the labels of a level on the stream; of two labels only the second."""
    if level.num_labels == 2:
        second = builder.output(label_name(number, 1, level) + mark, indicators[1])
        return [1 - second, second]
    return [
        builder.output(label_name(number, label, level) + mark, form) for label, form in enumerate(indicators)
    ]


def _shown(
    builder: LayerBuilder,
    number: int,
    level: TabledLevel,
    new: Sequence[DirectionForm],
    old: Sequence[DirectionForm],
) -> LevelLabels:
    return LevelLabels(
        new=show_labels(builder, number, level, new, ""), old=show_labels(builder, number, level, old, "'")
    )


def _permutation(command: Command, k: int) -> Matrix:
    """The matrix that takes the one-hot vector of a label to that of its image."""
    images = (
        command.images
        if isinstance(command, Permute)
        else tuple((label + (command.amount if isinstance(command, Add) else 0)) % k for label in range(k))
    )
    return tuple(tuple(int(images[j] == i) for j in range(k)) for i in range(k))


def _clearing(width: int) -> tuple[Factor, ...]:
    return tuple(Factor(beta=1, vector=tuple(int(i == j) for j in range(width))) for i in range(width))
