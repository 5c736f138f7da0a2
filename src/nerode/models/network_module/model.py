"""A compiled network as a module: letters in, one score for each letter and the end out.

Its recurrences have one step, and all steps of a sequence at once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from nerode.core import InputError, charge
from nerode.models.base import State, Trace, count_numbers, require_letters, require_state
from nerode.models.kernels import cells
from nerode.models.kernels.arguments import dtype_name
from nerode.models.kernels.scan import dense_scan, diagonal_scan
from nerode.models.network_module.decoder import legal_table, make_decoder
from nerode.models.network_module.numbers import AffineMap, Converter, RoundedWeight
from nerode.models.network_module.torch_numbers import TorchNumbers
from nerode.models.parts.time_invariant import dense_states
from nerode.network import (
    ByChoice,
    Fixed,
    Gated,
    GatedCell,
    Layer,
    LayerStep,
    Network,
    NetworkStep,
    Recurrence,
    RecurrenceStep,
    Squashed,
)
from nerode.records import ModelClaim, unexamined

Drive = tuple[Tensor, ...]
"""What the inputs contribute, computed before the state is known: (batch, …) or (batch, time, …) each."""

_LONGEST_WINDOW = 64
"""Up to so many rounds a recurrence without cycles is applied to all positions at once."""

_WIDEST = 256
"""Above this width a matrix for each position costs more than it saves."""

_WIDEST_DENSE = 2048
"""Up to so many units the state-to-state map of a fast kernel is a dense matrix."""

_PLACES = 1 << 22
"""Places of the matrices of all positions that are laid out at once."""

_SATURATING = 1000.0
"""The logistic function of it is 1 in every type."""


class CompiledRecurrence(nn.Module):
    """The move of a compiled layer's state: the step of its record, and fast scans beside it.

    Attributes:
        record: the recurrence with its exact weights.
        window: for a fixed matrix or an Elman network, the number of letters after which every state is
            forgotten; None if there is no such number, or it is too large.
    """

    def __init__(self, record: Recurrence, converter: Converter, *, place: str, is_complex: bool) -> None:
        super().__init__()
        self.record = record
        numbers = TorchNumbers(self, converter, place, is_complex=is_complex)
        self.exact_step: RecurrenceStep[Tensor] = record.step(numbers)
        self.window: int | None = None
        if isinstance(record, Fixed | Squashed):
            self.window = longest_path(record.sources(), limit=_LONGEST_WINDOW)

    def drive(self, seen: Tensor, letters: Tensor) -> Drive:
        """Returns what the inputs contribute.

        Args:
            seen: what the layer reads and its units, at one position (batch, n) or all (batch, time, n).
            letters: the letters, (batch,) or (batch, time).
        """
        return self.exact_step.drive(seen, letters)

    def advance(self, drive: Drive, state: Tensor) -> Tensor:
        """Returns the state after one position."""
        return self.exact_step.advance(drive, state)

    def shown(self, drive: Drive, state: Tensor) -> dict[str, Tensor]:
        """Returns what moves the state, by name."""
        return self.exact_step.shown(drive, state)

    def scan(self, drive: Drive, start: Tensor) -> Tensor:
        """Returns the states after all positions (batch, time, width)."""
        if self.window is not None:
            return self._settle(drive, start, self.window)
        found = self._fast(drive, start)
        return self._loop(drive, start) if found is None else found

    def _fast(self, drive: Drive, start: Tensor) -> Tensor | None:
        """The states by a kernel, None if there is none for this recurrence."""
        width = start.shape[1]
        match self.record:
            case Gated():
                return diagonal_scan(drive[0], drive[1], start)[0]
            case Fixed(is_diagonal=True):
                zero = torch.zeros_like(start[:1])
                return diagonal_scan(self.advance((zero,), zero + 1)[0], drive[0], start)[0]
            case Fixed() if width <= _WIDEST:
                return dense_states(_part(self, "matrix").dense(), drive[0], start)
            case ByChoice() if width <= _WIDEST:
                step: Any = self.exact_step
                return _choice_scan(step.move.matrices(width), drive[0], drive[1], start)
            case Squashed(activation="tanh") if width <= _WIDEST_DENSE:
                return cells.elman(drive[0], _part(self, "recurrent").dense(), start, "tanh")
            case Squashed(activation="relu") if width <= _WIDEST_DENSE:
                return cells.elman(drive[0], _part(self, "recurrent").dense(), start, "relu")
            case GatedCell(cell="lstm") if width <= 2 * _WIDEST_DENSE:
                return self._lstm(drive, start)
            case GatedCell(cell="gru", cap=1, gates=(reset, *_)) if not any(reset.rows):
                return self._gru(drive, start) if width <= _WIDEST_DENSE else None
        return None

    def _loop(self, drive: Drive, start: Tensor) -> Tensor:
        states, state = [], start
        for position in zip(*(part.unbind(1) for part in drive), strict=True):
            state = self.advance(position, state)
            states.append(state)
        return torch.stack(states, dim=1)

    def _settle(self, drive: Drive, start: Tensor, rounds: int) -> Tensor:
        """The states when none looks back further than `rounds` steps.

        Every round moves all positions at once, each from the state that the round before gave its
        predecessor; what was wrong at first has then left the window.
        """
        time = drive[0].shape[1]
        states = start[:, None].expand(-1, time, -1)
        for _ in range(min(rounds, time)):
            states = self.advance(drive, torch.cat([start[:, None], states[:, :-1]], dim=1))
        return states

    def _lstm(self, drive: Drive, start: Tensor) -> Tensor:
        order = (0, 1, 3, 2)
        inputs = torch.cat([drive[i] for i in order], dim=-1)
        weight = torch.cat([_part(self, "recurrents", i).dense() for i in order])
        h, c = start.chunk(2, dim=-1)
        return torch.cat(cells.lstm(inputs, weight, (h, c)), dim=-1)

    def _gru(self, drive: Drive, start: Tensor) -> Tensor:
        """The kernel resets after the product; a constant reset gate can be part of the matrix instead.

        Its z is our 1 - z.
        """
        reset, update, candidate = drive
        columns = reset[0, 0].sigmoid()
        around_update, around = (_part(self, "recurrents", i).dense() for i in (1, 2))
        inputs = torch.cat([torch.full_like(reset, _SATURATING), -update, candidate], dim=-1)
        weight = [torch.zeros_like(around), -around_update, around * columns]
        return cells.gru(inputs, torch.cat(weight), None, start)


def _part(module: nn.Module, name: str, number: int | None = None) -> AffineMap:
    part = getattr(module, name)
    found = part if number is None else part[number]
    assert isinstance(found, AffineMap)
    return found


def _choice_scan(matrices: Tensor, choices: Tensor, writes: Tensor, start: Tensor) -> Tensor:
    """The states of h_t = A(c_t) h_{t-1} + b_t, (batch, time, n).

    Args:
        matrices: A, (choices, n, n).
        choices: c, (batch, time).
        writes: b, (batch, time, n).
        start: h_0, (batch, n).
    """
    width = start.shape[1]
    chunk = max(1, _PLACES // (len(start) * width * width))
    state, blocks = start[:, None, :, None], []
    for chosen, added in zip(choices.split(chunk, dim=1), writes.split(chunk, dim=1), strict=True):  # type: ignore[no-untyped-call]
        states = dense_scan(matrices[chosen][:, :, None], added[:, :, None, :, None], state)
        state = states[:, -1]
        blocks.append(states[:, :, 0, :, 0])
    return torch.cat(blocks, dim=1)


def longest_path(successors: Sequence[Iterable[int]], *, limit: int) -> int | None:
    """Returns the number of vertices on the longest path of a graph; None if it is above the limit."""
    alive = set(range(len(successors)))
    remaining = [0] * len(successors)
    for targets in successors:
        for j in targets:
            remaining[j] += 1
    layer = [i for i in alive if remaining[i] == 0]
    for length in range(1, limit + 1):
        alive.difference_update(layer)
        if not alive:
            return length
        following = []
        for i in layer:
            for j in successors[i]:
                remaining[j] -= 1
                if remaining[j] == 0:
                    following.append(j)
        layer = following
    return None


class CompiledLayer(nn.Module):
    """A layer that reads some directions of the stream and gives new ones; see `nerode.network.record`."""

    def __init__(self, layer: Layer, converter: Converter) -> None:
        super().__init__()
        if layer.complex_state and converter.dtype not in (torch.float32, torch.float64):
            raise InputError(
                f"layer {layer.name} has a complex state, which torch does not have in {converter.dtype}; "
                "use float32 or float64"
            )
        self.name, self.width = layer.name, layer.width
        self.exposes_previous = layer.exposes_previous
        place = f"layer {layer.name}"
        numbers = TorchNumbers(self, converter, place, is_complex=layer.complex_state)
        self._start = numbers.table([layer.start], "start")
        self.recurrence: CompiledRecurrence
        self.exact_step = LayerStep(layer, _LayerNumbers(self, converter, place))

    def initial_state(self, batch: int) -> Tensor:
        """Returns the state before the first letter (batch, width)."""
        return self._start.values.expand(batch, -1)

    def step(self, reads: Tensor, letters: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the state after one position and the new directions."""
        charge()
        return self.exact_step.step(reads, letters, state)

    def forward(self, reads: Tensor, letters: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the states after all positions (batch, time, width) and the new directions."""
        charge()
        recurrence = self.recurrence
        states = recurrence.scan(recurrence.drive(self.exact_step.seen(reads), letters), state)
        before = states
        if self.exposes_previous:
            before = torch.cat([state[:, None], states[:, :-1]], dim=1)
        return states, self.exact_step.read_out(reads, states, before)


class _LayerNumbers(TorchNumbers):
    """Numbers of a layer, which make its recurrence a module of its own."""

    def recurrence(self, record: Recurrence, *, is_complex: bool) -> RecurrenceStep[Tensor]:
        """Returns the module of the recurrence."""
        module = CompiledRecurrence(
            record, self._converter, place=f"{self._place}, recurrence", is_complex=is_complex
        )
        self._owner.recurrence = module
        return module


class CompiledModel(nn.Module):
    """A compiled network in floats.

    `step` is the plain form, one position at a time, and its bits do not depend on the batch; `forward` is
    the fast form for sequences. Weights are frozen parameters.

    Attributes:
        network: the network with its exact weights.
        find_claims: finds out what is known of it; None if nobody can.
    """

    find_claims: Callable[[], tuple[ModelClaim, ...]] | None = None

    def __init__(self, network: Network, numbers: Converter) -> None:
        super().__init__()
        self.network = network
        self.layers = nn.ModuleList(CompiledLayer(layer, numbers) for layer in network.layers)
        steps = [layer.exact_step for layer in self._layers]
        self._state_names = [f"{number}.h" for number in range(len(self.layers))]
        self.exact_step = NetworkStep(network, TorchNumbers(self, numbers, ""), steps)
        self.embedding: nn.Parameter
        self.decoder = make_decoder(network.decoder, numbers, letters=len(network.alphabet))
        self.register_buffer("empty", legal_table([network.decoder.empty], len(network.alphabet))[0])
        self.empty: Bool[Tensor, " outputs"]

    @functools.cached_property
    def claims(self) -> tuple[ModelClaim, ...]:
        """The claims about the model as it was made, found out when they are first asked for."""
        if self.find_claims is not None:
            return self.find_claims()
        dtype = dtype_name(self.dtype)
        reason = "The network's weights were rounded to this type; nothing was tested or proved."
        return (unexamined(reason, dtype=dtype),)

    @property
    def dtype(self) -> torch.dtype:
        """The type of the weights."""
        return self.embedding.dtype

    @property
    def state_size(self) -> int:
        """Numbers in the state of one sequence; a complex one counts as two."""
        return count_numbers(self.initial_state(1).values())

    def initial_state(self, batch: int) -> State:
        """Returns the state before the first letter."""
        return {f"{i}.h": layer.initial_state(batch) for i, layer in enumerate(self._layers)}

    def start_scores(self) -> Float[Tensor, "1 outputs"]:
        """Returns the scores before the first letter, with zeros in its place."""
        nothing = torch.zeros_like(self.embedding[:1])
        return self._decode(self.exact_step.at_start(nothing, list(self.initial_state(1).values())))

    def step(self, x: Int[Tensor, " batch"], state: State) -> tuple[Float[Tensor, "batch outputs"], State]:
        """Returns the scores after one letter and the state after it; the given state is not changed."""
        x = self._letters(x, ndim=1)
        require_state(state, self._state_names, len(x))
        return self.advance(x, state)

    def advance(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Returns what `step` returns, without looking at the values of letters."""
        after, stream = self.exact_step.step([state[name] for name in self._state_names], x)
        return self._decode(stream), dict(zip(self._state_names, after, strict=True))

    def forward(
        self, x: Int[Tensor, "batch time"], state: State | None = None
    ) -> tuple[Float[Tensor, "batch time outputs"], State]:
        """Returns the scores after each letter and the state after the last."""
        scores, states = self._run(x, state)
        return scores, {name: values[:, -1] for name, values in states.items()}

    def trace(self, x: Int[Tensor, "batch time"], state: State | None = None) -> Trace:
        """Returns the scores and the states of all layers after each letter."""
        scores, states = self._run(x, state)
        return Trace(outputs=scores, states=states)

    def legal(self, scores: Float[Tensor, "*batch outputs"]) -> Bool[Tensor, "*batch outputs"]:
        """Returns, for each letter and last the end, whether it may follow."""
        return self.decoder.legal(scores)

    def distribution(self, scores: Float[Tensor, "*batch outputs"]) -> Float[Tensor, "*batch outputs"]:
        """Returns the probabilities of the letters and the end, for a network that has them."""
        return self.decoder.distribution(scores)

    def inexact_weights(self, dtype: torch.dtype | None = None) -> tuple[RoundedWeight, ...]:
        """Returns the weights that a type (by default that of the model) cannot hold exactly."""
        numbers = Converter(dtype or self.dtype)
        CompiledModel(self.network, numbers)
        return tuple(numbers.rounded)

    @property
    def _layers(self) -> list[CompiledLayer]:
        return list(self.layers)  # type: ignore[arg-type]

    def _run(self, x: Tensor, state: State | None) -> tuple[Tensor, dict[str, Tensor]]:
        x = self._letters(x, ndim=2)
        state = self.initial_state(len(x)) if state is None else state
        require_state(state, self._state_names, len(x))
        start, states = state, {}

        def scan(number: int, reads: Tensor) -> Tensor:
            name = f"{number}.h"
            outputs: Tensor
            states[name], outputs = self.layers[number](reads, x, start[name])
            return outputs

        return self._decode(self.exact_step.stream(x, scan)), states

    def _decode(self, stream: Tensor) -> Tensor:
        scores: Tensor = self.decoder(self.exact_step.decoded(stream))
        return scores

    def _letters(self, x: Tensor, *, ndim: int) -> Tensor:
        """The letters as indices (torch takes bytes for a mask), or InputError if x does not hold letters."""
        if x.ndim != ndim or 0 in x.shape:
            axes = "(batch, time)" if ndim == 2 else "(batch,)"
            raise InputError(
                f"the model was given letters of shape {tuple(x.shape)}; it reads {axes}, not empty"
            )
        require_letters(x, len(self.network.alphabet))
        return x.long()


def load_model(network: Network, *, dtype: torch.dtype = torch.float32) -> CompiledModel:
    """Returns the module that computes what the network computes, in floats of one type.

    Every weight is rounded to the nearest float; `inexact_weights` of the model lists those that changed.
    `nerode.models.lower` makes a model of a real architecture instead.

    Args:
        network: what the compiler made.
        dtype: float64, float32, bfloat16 or float16.

    Raises:
        InputError: for another type, a weight beyond its largest number, or a complex state in half
            precision.
    """
    return CompiledModel(network, Converter(dtype))
