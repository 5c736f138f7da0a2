"""Architecture classes: the properties of a layer that theorems speak about. Free of torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from nerode.core import BudgetExceeded, InputError

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


class MemoryKind(StrEnum):
    """The kind of recurrence by which a layer carries the past."""

    LINEAR = "linear"
    NONLINEAR = "nonlinear"
    ATTENTION = "attention"
    HYBRID = "hybrid"


class Transition(StrEnum):
    """The shape of one step's transition matrix."""

    DIAGONAL = "diagonal"
    HOUSEHOLDER = "product of Householder factors"
    PERMUTATION_DIAGONAL = "permutation times diagonal"
    DENSE = "dense"
    NONE = "none"


class Gates(StrEnum):
    """The set in which the eigenvalues of one factor of the transition may lie."""

    NONNEGATIVE = "[0,1]"
    ABOVE_MINUS_HALF = "real, above -1/2"
    SIGNED = "[-1,1]"
    AT_MOST_ONE = "real, at most 1"
    COMPLEX = "closed unit disk"
    UNIT = "unit circle"
    FREE = "unrestricted"
    NONE = "none"

    @property
    def in_words(self) -> str:
        """The gates in a phrase, like "gates in [0,1]"."""
        phrases = {
            Gates.ABOVE_MINUS_HALF: "real gates above -1/2",
            Gates.AT_MOST_ONE: "real gates, at most 1",
            Gates.COMPLEX: "gates in the closed unit disk",
            Gates.UNIT: "gates on the unit circle",
            Gates.FREE: "unrestricted gates",
        }
        return phrases.get(self, f"gates in {self.value}")


class UnitGate(StrEnum):
    """Whether a gate of exactly 1 (hold for ever) is available."""

    EXACT = "exactly 1 for some weights"
    LIMIT = "1 only in the limit over the reals, reached by rounding in floats"
    NEVER = "bounded away from 1 by design"


class State(StrEnum):
    """The function that keeps the values of a nonlinear state in bounds."""

    SQUASHED = "squashed into a bounded interval"
    RELU = "unbounded ReLU units"
    CELL = "an unbounded cell behind saturating gates"
    ADDITIVE = "an additive memory"
    NORMALISED = "divided by a normaliser that grows with it"
    LINEAR = "linear"
    CACHE = "a cache that grows with the input"


class WayOfCounting(StrEnum):
    """The way in which a state of the layer counts at finite precision."""

    FREE = "a write of ±1 beside a gate of 1"
    SLOW_DECAY = "a decay of 0 beside a free step size"
    TIED = "a write that stays as its gate goes to 1"
    REFLECTIONS = "reflections with β = 2 that add"
    NORMALISER = "a normaliser that is the zero test"
    CELL = "a cell behind saturating gates"
    MEMORY = "an additive memory"
    BOUNDED = "a bounded state does not count"
    NONE = "no way is known"


class AttentionWeights(StrEnum):
    """The weights that attention makes of its scores."""

    NONE = "none"
    SOFTMAX = "softmax"
    AVERAGE_HARD = "the mean over the greatest scores"
    HARD_RIGHT = "the latest of the greatest scores"
    HARD_LEFT = "the earliest of the greatest scores"


class Positions(StrEnum):
    """The form in which positions enter attention."""

    NONE = "none"
    PERIODIC = "periodic vectors"
    PENALTY = "a distance penalty"
    PERIODIC_AND_PENALTY = "periodic vectors and a distance penalty"
    ROTARY = "rotations"
    UNBOUNDED = "unbounded vectors"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchitectureClass:
    """The properties of an architecture that decide what it can express.

    Attributes:
        recurrence: linear, nonlinear, attention or hybrid.
        transition: the shape of the transition matrix of one step.
        gates: where its eigenvalues may lie.
        input_dependent: whether the transition depends on the current input.
        free_write: whether a token can write beside a gate of 1 that the same token sets; in Mamba, Griffin,
            HGRN2 and the delta-rule layers one number sets both. It may count all the same, see `counting`.
        counting: how the layer counts at finite precision.
        unit_gate: whether a gate of exactly 1 is available.
        state: what bounds the state.
        max_factors: for Householder products, factors per token; None stands for as many as needed.
        gate_scalar: for Householder products, whether a scalar gate can clear the whole state.
        attention: for attention, how scores become weights.
        positions: for attention, how positions enter.
        strict_mask: for attention, whether a position does not see itself.
        free_slopes: for distance penalties, whether every head has a slope of its own choice.
        parts: for hybrids, the names of the architectures whose layers alternate.
    """

    recurrence: MemoryKind
    transition: Transition = Transition.NONE
    gates: Gates = Gates.NONE
    input_dependent: bool = True
    free_write: bool = True
    counting: WayOfCounting = WayOfCounting.FREE
    unit_gate: UnitGate = UnitGate.EXACT
    state: State = State.LINEAR
    max_factors: int | None = None
    gate_scalar: bool = False
    attention: AttentionWeights = AttentionWeights.NONE
    positions: Positions = Positions.NONE
    strict_mask: bool = False
    free_slopes: bool = False
    parts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.free_write and self.counting is WayOfCounting.FREE:
            raise InputError("writes that a gate ties do not count freely; say how the class counts")

    @property
    def training(self) -> str:
        """Whether a word is read at once while training: a nonlinear state hangs on the one before."""
        return "letter by letter" if self.recurrence is MemoryKind.NONLINEAR else "parallel"

    @property
    def inference(self) -> str:
        """The cost of reading n letters one by one: a cache is read again at each."""
        return "n²" if self.state is State.CACHE else "n"

    def describe(self) -> str:
        """The class in one line."""
        if self.recurrence is MemoryKind.ATTENTION:
            positions = "no" if self.positions is Positions.NONE else self.positions.value + " as"
            return f"attention ({self.attention.value}), {positions} position encodings"
        if self.recurrence is MemoryKind.HYBRID:
            return "layers of " + " and ".join(self.parts)
        if self.recurrence is MemoryKind.NONLINEAR:
            return f"nonlinear recurrence, state {self.state.value}"
        dependence = "input-dependent" if self.input_dependent else "time-invariant"
        write = "free write" if self.free_write else "write tied to the gate"
        return f"linear, {self.transition.value}, {self.gates.in_words}, {dependence}, {write}"


ClassCondition = Condition[ArchitectureClass]

linear = ClassCondition("a linear recurrence", lambda c: c.recurrence is MemoryKind.LINEAR)
fixed_memory = ClassCondition(
    "a state of fixed size",
    lambda c: c.recurrence is not MemoryKind.ATTENTION and c.state is not State.CACHE,
)
mixed_diagonal = ClassCondition(
    "time-invariant and selective diagonal layers", lambda c: set(c.parts) == {"s4d", "mamba"}
)
one_factor = ClassCondition("one Householder factor a token", lambda c: c.max_factors == 1)
many_factors = ClassCondition("several Householder factors a token", lambda c: c.max_factors is None)
scalar_gate = ClassCondition("a gate that clears the state", lambda c: c.gate_scalar)
nonlinear = ClassCondition("a nonlinear recurrence", lambda c: c.recurrence is MemoryKind.NONLINEAR)
attention = ClassCondition("attention", lambda c: c.recurrence is MemoryKind.ATTENTION)
hard_right = ClassCondition(
    "hard attention, ties to the right", lambda c: c.attention is AttentionWeights.HARD_RIGHT
)
hard_left = ClassCondition(
    "hard attention, ties to the left", lambda c: c.attention is AttentionWeights.HARD_LEFT
)
periodic_positions = ClassCondition("periodic positions", lambda c: c.positions is Positions.PERIODIC)
hybrid = ClassCondition("a hybrid", lambda c: c.recurrence is MemoryKind.HYBRID)
diagonal = ClassCondition("diagonal transitions", lambda c: c.transition is Transition.DIAGONAL)
dense = ClassCondition("dense transitions", lambda c: c.transition is Transition.DENSE)
householder = ClassCondition(
    "products of Householder factors", lambda c: c.transition is Transition.HOUSEHOLDER
)
permutation_diagonal = ClassCondition(
    "permutation-diagonal transitions", lambda c: c.transition is Transition.PERMUTATION_DIAGONAL
)
input_dependent = ClassCondition("input-dependent transitions", lambda c: c.input_dependent)
time_invariant = ClassCondition("time-invariant transitions", lambda c: not c.input_dependent)
nonnegative = ClassCondition("gates in [0,1]", lambda c: c.gates is Gates.NONNEGATIVE)
real_gates = ClassCondition("real gates", lambda c: c.gates in (Gates.NONNEGATIVE, Gates.SIGNED))
_REACH_MINUS_ONE = (Gates.SIGNED, Gates.AT_MOST_ONE, Gates.COMPLEX, Gates.UNIT, Gates.FREE)
has_minus_one = ClassCondition("a gate of -1", lambda c: c.gates in _REACH_MINUS_ONE)
has_negative = ClassCondition(
    "negative gates", lambda c: c.gates in (*_REACH_MINUS_ONE, Gates.ABOVE_MINUS_HALF)
)
above_minus_half = ClassCondition("real gates above -1/2", lambda c: c.gates is Gates.ABOVE_MINUS_HALF)
below_minus_one = ClassCondition("real gates below -1, too", lambda c: c.gates is Gates.AT_MOST_ONE)
signed = ClassCondition("real gates from -1 on", lambda c: c.gates in (Gates.SIGNED, Gates.AT_MOST_ONE))
complex_gates = ClassCondition("complex gates", lambda c: c.gates in (Gates.COMPLEX, Gates.UNIT, Gates.FREE))
unit_gates = ClassCondition("gates on the unit circle", lambda c: c.gates is Gates.UNIT)
can_fade = ClassCondition("a gate strictly inside the unit disk", lambda c: c.gates is not Gates.UNIT)
nonexpansive = ClassCondition(
    "steps that bring no two states apart",
    lambda c: (
        (
            # Steps of RWKV-7 have real eigenvalues, but a product of two has one of 1.25.
            c.gates not in (Gates.FREE, Gates.AT_MOST_ONE, Gates.ABOVE_MINUS_HALF)
            and (c.recurrence is MemoryKind.LINEAR or c.counting is WayOfCounting.CELL)
        )
        # A weighted mean, beside the logarithm of its weight.
        or c.state is State.NORMALISED
    ),
)
free_write = ClassCondition("a write that is free of the gate", lambda c: c.free_write)
can_hold = ClassCondition("a gate of 1", lambda c: c.unit_gate is not UnitGate.NEVER)
gates_open = ClassCondition(
    "gates strictly inside the unit disk over the reals", lambda c: c.unit_gate is not UnitGate.EXACT
)
exact_gates = ClassCondition("gates of exactly 1 and -1", lambda c: c.unit_gate is UnitGate.EXACT)
plain_state = ClassCondition("no normaliser on the state", lambda c: c.state is not State.NORMALISED)
counting_state = ClassCondition("a state that can count", lambda c: c.state in (State.RELU, State.CELL))


def counts_by(*ways: WayOfCounting) -> ClassCondition:
    """Returns the condition of counting in one of these ways."""
    return ClassCondition(" or ".join(way.value for way in ways), lambda c: c.counting in ways)


never_holds = ClassCondition("gates bounded away from 1", lambda c: c.unit_gate is UnitGate.NEVER)
relu_state = ClassCondition("ReLU units", lambda c: c.state is State.RELU)
squashed = ClassCondition("a bounded state", lambda c: c.state is State.SQUASHED)
with_positions = ClassCondition("position encodings", lambda c: c.positions is not Positions.NONE)
softmax = ClassCondition("softmax attention", lambda c: c.attention is AttentionWeights.SOFTMAX)
penalised = ClassCondition(
    "scores that fall with the distance",
    lambda c: c.positions in (Positions.PENALTY, Positions.PERIODIC_AND_PENALTY),
)
averaging_heads = ClassCondition(
    "softmax heads whose scores need not fall with the distance",
    lambda c: c.attention is AttentionWeights.SOFTMAX and (c.positions is Positions.NONE or c.free_slopes),
)
sloped_heads = ClassCondition(
    "softmax heads with slopes of their own choice",
    lambda c: c.attention is AttentionWeights.SOFTMAX and c.free_slopes,
)
nearest_heads = ClassCondition(
    "heads that find the latest match",
    lambda c: (
        c.attention is AttentionWeights.HARD_RIGHT
        or (c.attention is AttentionWeights.SOFTMAX and c.free_slopes)
    ),
)
rotated_heads = ClassCondition(
    "softmax heads whose queries and keys are turned by their positions",
    lambda c: c.attention is AttentionWeights.SOFTMAX and c.positions is Positions.ROTARY,
)
periodic_vectors = ClassCondition(
    "periodic position vectors",
    lambda c: c.positions in (Positions.PERIODIC, Positions.PERIODIC_AND_PENALTY),
)
