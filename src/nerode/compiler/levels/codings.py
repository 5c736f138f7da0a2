"""How a level's label is written in the state of a layer, and how it moves there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from nerode.algebra.cascades import Add, Command, Permute, Reset
from nerode.compiler.forms import Form, total
from nerode.compiler.layer_builder import LayerBuilder, Relu, Selection
from nerode.compiler.levels.commands import CommandForms, Indicators, LevelLabels
from nerode.compiler.levels.machine import TabledLevel
from nerode.compiler.representations.matrices import Matrix, reflection_factors
from nerode.compiler.representations.rotations import rotation
from nerode.core import Exact, cosine, inverse, root_of_unity, sine
from nerode.network import Factor


def place_register(builder: LayerBuilder, number: int, level: TabledLevel, told: CommandForms) -> LevelLabels:
    """Adds a set-reset level: one coordinate for each label but the first, gate 1 (hold) or 0 (overwrite)."""

    def written(label: int) -> Callable[[Command], Exact]:
        return lambda command: int(isinstance(command, Reset) and command.label == label)

    gate = told.weigh(lambda command: int(not isinstance(command, Reset)))
    labels = range(1, level.num_labels)
    names = [label_name(number, label, level) for label in labels]
    now = [
        builder.coordinate(name, gate=gate, write=told.weigh(written(label)), start=int(label == level.start))
        for name, label in zip(names, labels, strict=True)
    ]
    before = [builder.previous(name) for name in names]
    return _shown(builder, number, level, [1 - total(now), *now], [1 - total(before), *before])


def place_sign(builder: LayerBuilder, number: int, level: TabledLevel, told: CommandForms) -> LevelLabels:
    """Adds a counter modulo two: 1 for label 0 and -1 for label 1, gates 1, -1 and 0."""
    gates = {Add: -1, Reset: 0}
    name = f"sign {number + 1}"
    now = builder.coordinate(
        name,
        gate=told.weigh(lambda command: gates.get(type(command), 1)),
        write=told.weigh(lambda command: 1 - 2 * command.label if isinstance(command, Reset) else 0),
        start=1 - 2 * level.start,
    )
    half = Fraction(1, 2)
    is_one = [(1 - sign) * half for sign in (now, builder.previous(name))]
    return _shown(builder, number, level, *([1 - form, form] for form in is_one))


def place_turn(builder: LayerBuilder, number: int, level: TabledLevel, told: CommandForms) -> LevelLabels:
    """Adds a counter modulo m: the root of unity e(label/m), gates e(amount/m) and 0.

    The readout compares the number with each root: the real part of their quotient is 1 for the right one
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
        name, gate=told.weigh(gate), write=told.weigh(write), start=root_of_unity(level.start, m)
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

    def selection(self, level: TabledLevel, told: CommandForms) -> Selection:
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
            factors=factors, writes=writes, choices=[told.is_given(command) for command in level.commands]
        )


def num_factors(level: TabledLevel, *, as_permutation: bool) -> int:
    """Returns how many Householder factors a level needs for one letter, one-hot or as a plane rotation."""
    if not as_permutation:
        return 2
    found = level.num_labels if level.resets else 0
    for command in level.commands:
        if not isinstance(command, Reset):
            found = max(found, len(reflection_factors(_permutation(command, level.num_labels))))
    return found


def relu_near(x: Form, y: Form, label: int, m: int, relu: Relu) -> Form:
    """Returns 1 at the point label/m of a turn on the unit circle and 0 at the other multiples of 1/m."""
    return relu(nearness(x, y, Fraction(label, m), m))


def nearness(x: Form, y: Form, turns: Fraction, m: int) -> Form:
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
    builder: LayerBuilder, number: int, level: TabledLevel, new: Sequence[Form], old: Sequence[Form]
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
