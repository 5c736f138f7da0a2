"""A whole model: letters or features in, blocks of layers, scores out. Every other part is optional.

A block is a layer and its surroundings, which may be a norm, a residual path and a feed-forward part:

x → [norm] → layer → [dropout] → (+ x) → [norm] → feed-forward → (+ …)          norms before ("pre")
x → layer → [dropout] → (+ x) → [norm] → feed-forward → (+ …) → [norm]          norms after ("post")
"""

from __future__ import annotations

import functools
import math
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.core import InputError, charge
from nerode.models.base import (
    LinearReading,
    SequenceLayer,
    State,
    Surroundings,
    Trace,
    require_letters,
    require_state,
)
from nerode.models.config import ModelConfig
from nerode.models.kernels.arguments import dtype_name
from nerode.models.kernels.linear import Linear
from nerode.models.kernels.norms import NORM_EPSILON, make_norm
from nerode.models.native.calls import fixed_bits, num_threads
from nerode.records import FeedForward, ModelClaim


class FeedForwardPart(nn.Module):
    """A feed-forward network at each position: W₂ f(W₁ x), or W₂ (f(W₁ x) ∘ V x) for the gated ones.

    References: [Shazeer2020] for the gated forms.
    """

    def __init__(self, width: int, hidden: int, activation: FeedForward) -> None:
        super().__init__()
        self.activation = activation
        self.gated = activation in ("swiglu", "geglu", "geglu-tanh")
        self.up = Linear(width, hidden)
        self.gate = Linear(width, hidden) if self.gated else None
        self.down = Linear(hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        """Returns the features of each position."""
        if self.gate is not None:
            gate = self.gate(x)
            if self.activation == "swiglu":
                gate = nn.functional.silu(gate)
            else:
                form = "tanh" if self.activation == "geglu-tanh" else "none"
                gate = nn.functional.gelu(gate, approximate=form)
            return self.down(gate * self.up(x))  # type: ignore[no-any-return]
        hidden = self.up(x)
        if self.activation == "relu":
            hidden = hidden.relu()
        else:
            form = "tanh" if self.activation == "gelu-tanh" else "none"
            hidden = nn.functional.gelu(hidden, approximate=form)
        return self.down(hidden)  # type: ignore[no-any-return]


class LayerBlock(SequenceLayer):
    """A layer and what stands around it; to the outside it is a layer with the same state."""

    def __init__(
        self, layer: SequenceLayer, around: Surroundings, *, norm_epsilon: float = NORM_EPSILON
    ) -> None:
        super().__init__(layer.inputs, layer.outputs)
        if around.residual and layer.inputs != layer.outputs:
            raise InputError(
                f"a residual path needs as many outputs as inputs; {type(layer).__name__} has "
                f"{layer.inputs} inputs and {layer.outputs} outputs"
            )
        self.around = around
        self.layer = layer
        self.grows = layer.grows
        norm_width = layer.inputs if around.position == "pre" else layer.outputs
        self.norm = make_norm(around.norm, norm_width, norm_epsilon)
        self.dropout = nn.Dropout(around.dropout)
        self.feed_forward: FeedForwardPart | None = None
        if around.feed_forward != "none":
            hidden = max(1, round(around.expansion * layer.outputs))
            self.feed_forward = FeedForwardPart(layer.outputs, hidden, around.feed_forward)
            self.second_norm = make_norm(around.norm, layer.outputs, norm_epsilon)

    def initial_state(self, batch: int) -> State:
        """Returns the state of the layer."""
        return self.layer.initial_state(batch)

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Returns the output of one position and the state after it."""
        y, state = self.layer.step(self.before(x), state)
        return self._after(x, y), state

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence and the state after it."""
        y, state = self.layer(self.before(x), state)
        return self._after(x, y), state

    def before(self, x: Tensor) -> Tensor:
        """Returns what the layer reads."""
        return self.norm(x) if self.around.position == "pre" else x

    def _after(self, x: Tensor, y: Tensor) -> Tensor:
        y = self._join(x, self.dropout(y))
        post = self.around.position == "post"
        if post:
            y = self.norm(y)
        if self.feed_forward is None:
            return y
        z = self._join(y, self.dropout(self.feed_forward(y if post else self.second_norm(y))))
        return self.second_norm(z) if post else z

    def _join(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.add(x, y) if self.around.residual else y


class Model(nn.Module):
    """A model of the zoo: `forward` for sequences, `step` for one position, both with the same state.

    Attributes:
        claims: what is known of it; none for weights that were not examined.
    """

    claims: tuple[ModelClaim, ...] = ()

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        read = config.features if config.letters is None else config.letters
        assert read is not None
        width = config.width or read
        self.embedding = _embedding(config, width)
        self.embedding_norm = make_norm(config.embedding_norm, width, config.norm_epsilon)
        learned = config.positions in ("periodic", "learned")
        self.places = nn.Embedding(config.period, width) if learned else None
        blocks = []
        for number, layer in enumerate(config.layers):
            kind, settings = layer.resolve()
            block = LayerBlock(
                kind.build(width, settings), config.around(number), norm_epsilon=config.norm_epsilon
            )
            blocks.append(block)
            width = block.outputs
        self.blocks = nn.ModuleList(blocks)
        self.final_norm = make_norm(config.final_norm, width, config.norm_epsilon)
        self.head = _head(config, width)

    @property
    def layers(self) -> list[SequenceLayer]:
        """The recurrent layers, without what stands around them."""
        return [block.layer for block in self._blocks]

    @property
    def _blocks(self) -> list[LayerBlock]:
        return list(self.blocks)  # type: ignore[arg-type]

    @property
    def grows(self) -> bool:
        """Whether the state grows with the sequence."""
        return any(block.grows for block in self._blocks)

    @property
    def state_size(self) -> int | None:
        """Numbers in the state of one sequence; None if it grows. The position is not counted."""
        sizes = [block.state_size for block in self._blocks]
        return None if None in sizes else sum(s for s in sizes if s is not None)

    @property
    def num_parameters(self) -> int:
        """Trained numbers; a complex one counts as two."""
        return sum(p.numel() * (2 if p.is_complex() else 1) for p in self.parameters() if p.requires_grad)

    def initial_state(self, batch: int) -> State:
        """Returns the state before the first position, after the beginning mark if there is one."""
        return self._begin(batch)[1] if self.config.beginning else self._blank(batch)

    def empty_scores(self) -> Float[Tensor, " outputs"] | None:
        """Returns the scores at the beginning mark, before any letter; None without a mark."""
        return self._score(self._begin(1)[0])[0, 0] if self.config.beginning else None

    def _begin(self, batch: int) -> tuple[Tensor, State]:
        """The stream at the beginning mark, and the state after it."""
        assert self.config.letters is not None
        mark = torch.full((batch, 1), self.config.letters, device=next(self.parameters()).device)
        return self._through(mark, self._blank(batch))

    def _blank(self, batch: int) -> State:
        """The state before anything."""
        state = {
            f"{number}.{name}": value
            for number, block in enumerate(self._blocks)
            for name, value in block.initial_state(batch).items()
        }
        if self.config.positions != "none":
            anchor = next(self.parameters())
            state["position"] = torch.zeros(batch, dtype=torch.int64, device=anchor.device)
        return state

    def step(self, x: Tensor, state: State) -> tuple[Float[Tensor, "batch outputs"], State]:
        """Returns the scores of one position and the state after it.

        Args:
            x: letters (batch,) or features (batch, features).
            state: the state before it; it is not changed.
        """
        self.check(x, time=False)
        require_state(state, self._state_names, len(x))
        return self.advance(x, state)

    def advance(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Returns what `step` returns, without checking x and the state first."""
        charge()
        stream, after = self._embed(x[:, None], state)
        stream = stream[:, 0]
        for number, block in enumerate(self._blocks):
            stream, part = block.step(stream, part_of(state, number))
            after.update((f"{number}.{name}", value) for name, value in part.items())
        return self._score(stream), after

    def reading(self, x: Tensor, state: State) -> LinearReading:
        """Returns the stream before the last norm and the head as a linear form of the state after `step`.

        Args:
            x: letters (batch,) or features (batch, features).
            state: the state before it.

        Raises:
            InputError: if there are several layers, something behind the layer, or a layer without one.
        """
        block = self._blocks[0]
        read = getattr(block.layer, "reading", None)
        plain = block.around.position == "pre" and block.feed_forward is None
        if len(self._blocks) > 1 or not plain or read is None:
            raise InputError("the model is not one layer that tells how it reads a state that fades")
        stream = self._embed(x[:, None], state)[0][:, 0]
        own: LinearReading = read(block.before(stream), part_of(state, 0))
        kept = stream.double() if block.around.residual else torch.zeros_like(own.added)
        return replace(
            own,
            state=f"0.{own.state}",
            added=own.added + kept,
            size=own.size + kept.abs(),
            roundings=own.roundings + 1,
            underflow=own.underflow + 1,
        )

    def forward(
        self, x: Tensor, state: State | None = None
    ) -> tuple[Float[Tensor, "batch time outputs"], State]:
        """Returns the scores at each position of a sequence, and the state after it.

        Args:
            x: letters (batch, time) or features (batch, time, features); length 1 or more.
            state: the state to go on from; the initial state when not given.
        """
        self.check(x)
        if state is not None:
            require_state(state, self._state_names, len(x))
        return self.run(x, state)

    def run(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Returns what `forward` returns, without checking x and the state first."""
        charge()
        state = self.initial_state(len(x)) if state is None else state
        stream, after = self._through(x, state)
        return self._score(stream), after

    def _through(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """The stream after all blocks, and the state."""
        stream, after = self._embed(x, state)
        for number, block in enumerate(self._blocks):
            stream, part = block(stream, part_of(state, number))
            after.update((f"{number}.{name}", value) for name, value in part.items())
        return stream, after

    def trace(self, x: Tensor, state: State | None = None) -> Trace:
        """Returns the scores and, under `number.name`, the states of all layers after each position."""
        self.check(x)
        state = self.initial_state(len(x)) if state is None else state
        stream, _ = self._embed(x, state)
        states: dict[str, Tensor] = {}
        for number, block in enumerate(self._blocks):
            traced = block.trace(stream, part_of(state, number))
            states.update((f"{number}.{name}", value) for name, value in traced.states.items())
            stream = traced.outputs
        return Trace(outputs=self._score(stream), states=states)

    def inputs_of(
        self, number: int, x: Tensor, state: State | None = None, *, with_mark: bool = False
    ) -> Tensor:
        """Returns what layer `number` reads when the model reads `x`: for `transition` and pictures.

        Args:
            number: of the layer.
            x: letters or features.
            state: the state to go on from; the initial state when not given.
            with_mark: whether the beginning mark, if there is one, is the first position of what is returned.
        """
        self.check(x)
        if with_mark and self.config.beginning:
            assert self.config.letters is not None
            x, state = torch.cat([x.new_full((len(x), 1), self.config.letters), x], 1), self._blank(len(x))
        state = self.initial_state(len(x)) if state is None else state
        stream, _ = self._embed(x, state)
        for earlier in range(number):
            stream, _ = self._blocks[earlier](stream, part_of(state, earlier))
        return self._blocks[number].before(stream)

    def check(self, x: Tensor, *, time: bool = True) -> None:
        """Raises InputError unless the model can read x, which has an axis of time or is one position."""
        letters, features = self.config.letters, self.config.features
        names = ["batch", *["time"] * time, *([] if features is None else [str(features)])]
        good = x.ndim == len(names) and 0 not in x.shape
        if not good or (features is not None and x.shape[-1] != features):
            axes = f"({', '.join(names)}{',' if len(names) == 1 else ''})"
            raise InputError(
                f"the model was given a tensor of shape {tuple(x.shape)}; it reads {axes}, not empty"
            )
        if letters is None:
            dtype = next(self.parameters()).dtype
            if x.dtype != dtype:
                raise InputError(
                    f"the model was given {x.dtype}; it reads features of a floating type, that of its "
                    f"weights: {dtype}"
                )
            return
        require_letters(x, letters)

    @functools.cached_property
    def _state_names(self) -> frozenset[str]:
        return frozenset(self.initial_state(1))

    def _embed(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """The stream before the first block, and the part of the state after it that is not in a block."""
        if self.embedding is not None:
            stream = self.embedding(x if self.config.letters is None else x.long())
        elif self.config.letters is not None:
            dtype = next(self.parameters()).dtype
            stream = nn.functional.one_hot(x.long(), self.config.letters).to(dtype)
        else:
            stream = x
        stream = self.embedding_norm(stream)
        if self.config.positions == "none":
            return stream, {}
        first = state["position"]
        where = first[:, None] + torch.arange(x.shape[1], device=first.device)
        if self.places is None:
            added = sine_positions(where, stream.shape[2]).to(stream.dtype)
        else:
            if self.config.positions == "learned" and int(where.max()) >= self.config.period:
                raise InputError(
                    f"the model has positions for {self.config.period:,} tokens, marks included; give a "
                    "shorter word"
                )
            added = self.places(where % self.config.period)
        return stream + added, {"position": first + x.shape[1]}

    def _score(self, stream: Tensor) -> Tensor:
        return self.head(self.final_norm(stream))  # type: ignore[no-any-return]


def part_of(state: State, number: int) -> State:
    """Returns the state of one block from the state of a model."""
    prefix = f"{number}."
    return {name[len(prefix) :]: value for name, value in state.items() if name.startswith(prefix)}


def sine_positions(places: Tensor, width: int) -> Tensor:
    """Returns the sines and cosines that tell positions apart: (…) to (…, width).

    Implements: [Vaswani2017]
    """
    half = (width + 1) // 2
    steps = torch.arange(half, dtype=torch.float64, device=places.device)
    angles = places[..., None] * torch.exp(steps * (-math.log(10_000.0) * 2 / width))
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[..., :width]


def _embedding(config: ModelConfig, width: int) -> nn.Module | None:
    if config.width is None:
        return None
    if config.letters is not None:
        return nn.Embedding(config.letters + config.beginning, width)
    return Linear(config.features or 1, width)


def _head(config: ModelConfig, width: int) -> nn.Module:
    match config.head:
        case "linear":
            return Linear(width, config.outputs, bias=config.head_bias)
        case "relu":
            hidden = config.head_width
            last = Linear(hidden, config.outputs, bias=config.head_bias)
            return nn.Sequential(Linear(width, hidden), nn.ReLU(), last)
        case _:
            if width != config.outputs:
                raise InputError(
                    f"without a head the model gives {width} scores; {config.outputs} outputs were asked for"
                )
            return nn.Identity()


def zero_model(config: ModelConfig) -> Model:
    """Returns a model in float64 whose weights are all zero, to be written."""
    model = build_model(config, seed=0).to(torch.float64)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    return model


def finish_model(model: Model, dtype: torch.dtype) -> Model:
    """Returns a model whose weights were written, in a type and frozen.

    Raises:
        InputError: if a weight is beyond the largest number of the type.
    """
    model = model.to(dtype).requires_grad_(False)
    for name, value in model.state_dict().items():
        if not torch.isfinite(value).all():
            raise InputError(f"the weight {name} is beyond the largest {dtype_name(dtype)}; use a wider type")
    return model


def build_model(config: ModelConfig, *, seed: int | None = None) -> Model:
    """Returns a model with weights drawn as the architectures prescribe.

    Args:
        config: what to build.
        seed: the draw; with it, torch's own random state is left as it was.
    """
    if seed is None:
        return Model(config)
    with torch.random.fork_rng(devices=[]), fixed_bits(num_threads()):
        torch.manual_seed(seed)
        return Model(config)
