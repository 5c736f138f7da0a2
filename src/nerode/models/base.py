"""The interface of a layer, and its row in the table of architectures.

A layer maps features to features, position by position, and carries a state from one position to the next.
`step` is the plain form, one position in torch operations; `forward` is the fast form for a whole sequence.
Both take and give the same state, so that a sequence may be cut anywhere.

Theorems speak of the linear map that one position applies to the state, so layers give it out as a record:
its gate, its factors or its matrix. Every record can apply itself to a state (which a test compares with the
layer's own step) and say where its eigenvalues lie.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.core import InputError, Reference
from nerode.models.exact_gates import ExactGates
from nerode.models.weight_writer import WeightWriter
from nerode.records import Norm as Norm, Surroundings as Surroundings


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagonalTransition:
    """Each coordinate of the state is multiplied by its gate.

    Attributes:
        state: the name of the state.
        gate: (batch, time, …), to be broadcast over the axes of the state: an axis of size 1 stands for all.
    """

    state: str
    gate: Tensor

    def apply(self, state: Tensor, time: int) -> Tensor:
        """Returns the image of a state (batch, …) at one position."""
        return self.gate[:, time] * state

    def eigenvalues(self) -> Tensor:
        """Returns all eigenvalues, each once for every coordinate that has a gate of its own."""
        return self.gate


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearReading:
    """The output of one position as a linear form of the state that the position leaves, in float64.

    Only the coordinates of one state depend on more than the last few inputs. Each of them is a product of
    itself with a gate, plus a write; gate and write depend on the last few inputs alone. So it is a monotone
    function of itself, also as floats round it.

    Attributes:
        state: the name of that state.
        weight: (batch, outputs, …), over the axes of the state.
        added: (batch, outputs), what does not depend on the state.
        size: (batch, outputs), the sum of the absolute values of the terms of `added`.
        roundings: the largest number of roundings between a term and the output.
        underflow: (batch, outputs), the sum of the weights behind every operation: the output is off by at
            most this times the smallest normal number where results or operands are flushed to zero.
        inner: (batch, …), over the axes of the state. Every number between the state and the products with
            the weights of the output is at most the sum of `inner` times the absolute state, plus `bound`.
        bound: (batch,), see `inner`.
    """

    state: str
    weight: Tensor
    added: Tensor
    size: Tensor
    roundings: int
    underflow: Tensor
    inner: Tensor
    bound: Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseholderTransition:
    """A product of generalised Householder factors, I - beta k kᵀ, on the keys of a matrix state.

    The state (batch, heads, keys, values) is first scaled by the decay, then multiplied by the factors,
    the first factor first.

    Attributes:
        state: the name of the state.
        vectors: k, (batch, time, factors, heads, keys).
        betas: (batch, time, factors, heads).
        decay: (batch, time, heads, 1 or keys); None for no decay.
    """

    state: str
    vectors: Tensor
    betas: Tensor
    decay: Tensor | None = None

    def apply(self, state: Tensor, time: int) -> Tensor:
        """Returns the image of a state (batch, heads, keys, values) at one position."""
        if self.decay is not None:
            state = self.decay[:, time, :, :, None] * state
        for i in range(self.vectors.shape[2]):
            k, beta = self.vectors[:, time, i, ..., None], self.betas[:, time, i, :, None, None]
            state = state - beta * k * (k * state).sum(-2, keepdim=True)
        return state

    def matrices(self) -> Tensor:
        """Returns the maps as matrices (batch, time, heads, keys, keys)."""
        batch, time, _, heads, keys = self.vectors.shape
        start = torch.eye(keys, dtype=self.vectors.dtype, device=self.vectors.device)
        start = start.expand(batch, heads, keys, keys)
        return torch.stack([self.apply(start, t) for t in range(time)], dim=1)

    def eigenvalues(self) -> Tensor:
        """Returns all eigenvalues (batch, time, heads, keys), complex."""
        values: Tensor = torch.linalg.eigvals(self.matrices())
        return values


@dataclass(frozen=True, slots=True, kw_only=True)
class DenseTransition:
    """The state is multiplied by a matrix from the left.

    Attributes:
        state: the name of the state.
        matrix: (batch, time, …, n, n); the state is (batch, …, n), or (batch, …, n, m) with `columns`.
        columns: whether the state has an axis after the one that is multiplied.
    """

    state: str
    matrix: Tensor
    columns: bool = False

    def apply(self, state: Tensor, time: int) -> Tensor:
        """Returns the image of a state at one position."""
        matrix = self.matrix[:, time]
        return matrix @ state if self.columns else (matrix @ state[..., None])[..., 0]

    def eigenvalues(self) -> Tensor:
        """Returns all eigenvalues (batch, time, …, n), complex."""
        values: Tensor = torch.linalg.eigvals(self.matrix)
        return values


Transition = DiagonalTransition | HouseholderTransition | DenseTransition


State = dict[str, Tensor]
"""The state of a layer or a model by name; the first axis of every tensor is the batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """All that happened on the way through a sequence.

    Attributes:
        outputs: the outputs (batch, time, outputs).
        states: for each name of the state, its values after each position (batch, time, …).
    """

    outputs: Tensor
    states: dict[str, Tensor]


class SequenceLayer(nn.Module, ABC):
    """A causal layer with a state.

    Args:
        inputs: number of features that it reads at each position.
        outputs: number of features that it gives at each position.
    """

    grows = False
    """Whether the state grows with the sequence, as the cache of attention does."""

    undecayed_parameters: ClassVar[tuple[str, ...]] = ()
    """Parameters that training does not decay; any module inside a layer may have this, too."""

    slow_parameters: ClassVar[tuple[str, ...]] = ()
    """Parameters that are not decayed and are trained at a small rate of their own, likewise."""

    start: Tensor | None
    """The state before the first position in layers that can learn it; None where it is zero."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.inputs = inputs
        self.outputs = outputs

    @abstractmethod
    def initial_state(self, batch: int) -> State:
        """Returns the state before the first position, on the device and in the type of the parameters."""

    @abstractmethod
    def step(
        self, x: Float[Tensor, "batch inputs"], state: State
    ) -> tuple[Float[Tensor, "batch outputs"], State]:
        """Returns the output of one position and the state after it; the given state is not changed."""

    @abstractmethod
    def forward(
        self, x: Float[Tensor, "batch time inputs"], state: State | None = None
    ) -> tuple[Float[Tensor, "batch time outputs"], State]:
        """Returns the outputs of a sequence of length 1 or more, and the state after it."""

    def squashed_recurrence(self) -> tuple[Float[Tensor, "state state"], str] | None:
        """Returns U and the name of f of a layer h = f(W x + U h + b); None for any other layer."""
        return None

    def transition(
        self, x: Float[Tensor, "batch time inputs"], state: State | None = None
    ) -> Transition | None:
        """Returns the linear map that each position applies to the state before it.

        None for a layer whose state moves nonlinearly. The part of the state that the transition is about is
        named in it; windows of past inputs, which a convolution keeps, are never part of it.
        """
        return None

    def reference(
        self, x: Float[Tensor, "batch time inputs"], state: State | None = None
    ) -> tuple[Float[Tensor, "batch time outputs"], State]:
        """Returns what `forward` returns, by one step after the other."""
        state = self.initial_state(len(x)) if state is None else state
        outputs = []
        for position in x.unbind(1):
            output, state = self.step(position, state)
            outputs.append(output)
        return torch.stack(outputs, dim=1), state

    def trace(self, x: Float[Tensor, "batch time inputs"], state: State | None = None) -> Trace:
        """Returns the outputs and all states in between; a growing state is left out."""
        return trace_steps(self, x, state)

    @property
    def state_size(self) -> int | None:
        """Numbers in the state of one sequence; None if it grows. A complex number counts as two."""
        return None if self.grows else count_numbers(self.initial_state(1).values())

    @property
    def learned_start(self) -> Tensor:
        """The start of a layer that learns it."""
        assert self.start is not None
        return self.start

    def started(self, batch: int, *shape: int) -> Tensor:
        """Returns the start for each sequence: the learned one, or zeros."""
        return self.zeros(batch, *shape) if self.start is None else self.start.expand(batch, *shape)

    def zeros(self, *shape: int, dtype: torch.dtype | None = None) -> Tensor:
        """Returns zeros on the device and in the type of the parameters."""
        anchor = next(self.parameters())
        return torch.zeros(*shape, dtype=dtype or anchor.dtype, device=anchor.device)


class RecurrentLayer(SequenceLayer):
    """A layer that reads a sequence from a state that is always given: at first, the initial state."""

    @abstractmethod
    def run(
        self, x: Float[Tensor, "batch time inputs"], state: State
    ) -> tuple[Float[Tensor, "batch time outputs"], State]:
        """Returns the outputs of a sequence and the state after it."""

    def transition_from(self, x: Float[Tensor, "batch time inputs"], state: State) -> Transition | None:
        """Returns the linear map that each position applies; None for a state that moves nonlinearly."""
        return None

    def forward(
        self, x: Float[Tensor, "batch time inputs"], state: State | None = None
    ) -> tuple[Float[Tensor, "batch time outputs"], State]:
        """Returns the outputs of a sequence of length 1 or more, and the state after it."""
        return self.run(x, self._before(x, state))

    def transition(
        self, x: Float[Tensor, "batch time inputs"], state: State | None = None
    ) -> Transition | None:
        """Returns the linear map that each position applies to the state before it."""
        return self.transition_from(x, self._before(x, state))

    def _before(self, x: Tensor, state: State | None) -> State:
        require_features(self, x)
        return self.initial_state(len(x)) if state is None else state


def require_features(layer: SequenceLayer, x: Tensor) -> None:
    """Raises InputError unless `x` is a sequence of features that the layer can read."""
    if x.ndim != 3 or x.shape[2] != layer.inputs or 0 in x.shape:
        raise InputError(
            f"{type(layer).__name__} was given features of shape {tuple(x.shape)}; "
            f"it reads (batch, time, {layer.inputs}), each axis 1 or more"
        )


def require_letters(x: Tensor, letters: int) -> None:
    """Raises InputError unless `x` holds letters, whole numbers below `letters`."""
    if x.is_floating_point() or x.is_complex() or x.dtype == torch.bool:
        raise InputError(f"the model was given {x.dtype}; it reads letters as whole numbers")
    low, high = (int(v) for v in x.aminmax())
    if low < 0 or high >= letters:
        raise InputError(
            f"the letter {low if low < 0 else high} is out of range; the model reads 0 to {letters - 1}"
        )


def require_state(state: State, names: Collection[str], batch: int) -> None:
    """Raises InputError unless a state has these parts and is for a batch of this size."""
    if state.keys() != set(names):
        odd = sorted(state.keys() ^ set(names))[0]
        where = "is not one of this model" if odd in state else "is missing"
        raise InputError(f"the part {odd!r} of the state {where}; `initial_state` has all of them")
    for name, value in state.items():
        if len(value) != batch:
            raise InputError(
                f"the part {name!r} of the state is for a batch of {len(value)}; {batch} were given"
            )


def require_positive(settings: object, *names: str) -> None:
    """Raises InputError for a setting that is given and not positive."""
    for name in names:
        value = getattr(settings, name)
        if value is not None and not value > 0:
            raise InputError(f"{name} is {value}; it has to be positive")


def require_sizes(settings: object, *names: str, of: str = "") -> None:
    """Raises InputError for a size that is given and below 1; `of` says in errors whose it is."""
    for name in names:
        size = getattr(settings, name)
        if size is not None and size < 1:
            whose = f" of {of}" if of else ""
            raise InputError(f"{name}{whose} is {size}; it has to be 1 or more")


def count_numbers(tensors: Iterable[Tensor]) -> int:
    """Returns how many real numbers the tensors hold; whole numbers (positions, counters) do not count."""
    return sum(
        t.numel() * (2 if t.is_complex() else 1) for t in tensors if t.is_floating_point() or t.is_complex()
    )


def trace_steps(layer: Any, x: Tensor, state: State | None = None) -> Trace:
    """Returns the outputs and all states of anything with `initial_state`, `step` and `grows`, by steps."""
    state = layer.initial_state(len(x)) if state is None else state
    outputs, states = [], []
    for position in x.unbind(1):
        output, state = layer.step(position, state)
        outputs.append(output)
        states.append(state)
    found = {} if layer.grows else {n: torch.stack([s[n] for s in states], dim=1) for n in states[0]}
    return Trace(outputs=torch.stack(outputs, dim=1), states=found)


class LayerFactory(Protocol):
    """A class of layers, called with the width of its input and its settings."""

    def __call__(self, inputs: int, settings: Any, /) -> SequenceLayer:
        """Returns the layer."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerKind:
    """A kind of layer: one row of the table of architectures.

    Attributes:
        name: kebab-case, as the verdict's table of architectures calls it where it has it.
        title: as it is written in the literature.
        settings: the dataclass of its settings; all have defaults.
        build: makes the layer.
        equation: its recurrence in one line.
        reference: where it was published.
        surroundings: norm, residual and feed-forward part around the layer, as published.
        variants: other names of the zoo, with the settings that each fixes.
        writer: writes compiled weights into the layer; None where nothing does.
        written: the variants that take compiled weights, too.
        gates: the layer with exact gates: "two" values (1 and 0, or 1 and -1), all "three" in one gate, flips
            beside resets, or two and a memory that is "rounded"; empty where it does not tell its scores.
    """

    name: str
    title: str
    settings: type
    build: LayerFactory
    equation: str
    reference: Reference
    surroundings: Surroundings = field(default_factory=Surroundings)
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    writer: type[WeightWriter] | None = None
    written: tuple[str, ...] = ()
    gates: Mapping[str, type[ExactGates]] = field(default_factory=dict)
