"""The mLSTM: a matrix memory with exponential input gates, as a bare cell or in its published block.

C_t = f_t C_{t-1} + i_t k_tᵀ v_t,  n_t = f_t n_{t-1} + i_t k_t,  h_t = q_t C_t / max(|q_t · n_t|, 1)
i_t = exp(ĩ_t),  f_t = σ(f̃_t) or exp(f̃_t),  keys divided by the root of their number in a head

form "cell":  q, k, v, ĩ, f̃ are affine in x_t;  y_t = σ(W_o x_t + b_o) ∘ h_t
form "block": (u, z) = W_up x_t,  c = silu(conv(u)),  q and k from c, v from u by block-diagonal maps,
              ĩ and f̃ affine in (q, k, v);  y_t = W_down ((norm(h_t) + s ∘ c) ∘ silu(z)), norm by heads
form "large": q, k, v, ĩ, f̃ and the output gate are affine in x_t, both logits capped at ±c by c tanh(·/c);
              y_t = W_down (σ(W_o x_t) ∘ norm(h_t)), norm by heads: the layer of xLSTM-7B
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.core import Exact, InputError, NotCompilable, Reference, to_float
from nerode.models.base import (
    DiagonalTransition,
    LayerFactory,
    LayerKind,
    RecurrentLayer,
    SequenceLayer,
    State,
    Surroundings,
    require_positive,
)
from nerode.models.exact_gates import SMALLEST_SCORE, ExactGates, GateForm
from nerode.models.kernels.linear import Linear
from nerode.models.parts.linear_attention import BlockLinear, HeadNorm, require_divisible, split_heads
from nerode.models.parts.matrix_memory import (
    MlstmInputs,
    initial_memory,
    mlstm_scan,
    mlstm_step,
    mlstm_transition,
)
from nerode.models.parts.short_convolution import ShortConvolution, first_window, look_back
from nerode.models.registers import SATURATED, Register, log_odds, registers_of, share_of
from nerode.models.weight_writer import ONE, BlockPlan, PlaceForm, WeightWriter, combine, set_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class MLstmSettings:
    """Settings of an mLSTM layer.

    Attributes:
        form: the published "block" with its up-projection, the bare "cell" of the paper's equations, or the
            "large" layer of xLSTM-7B.
        heads: number of heads.
        forget: the forget gate, σ or exp of its logit.
        epsilon: added to the denominator of h, as the authors' code does.
        learned_start: whether C and n before the first position are trained; otherwise they are zero.
        keys: keys of all heads of a cell, None for as many as inputs, or of a large layer, None for half as
            many. A block has as many as values.
        values: features of all heads of a cell or a large layer; None for as many as inputs.
        gate_cap: the cap of the logits of both gates of a large layer.
        norm_epsilon: what the norm of a large layer adds to a variance.
        output_gate: whether a cell has the gate σ(W_o x + b_o).
        expansion: width inside a block as a multiple of the width.
        window: positions that the convolution of a block sees.
        projection_block: features that the maps to q, k, v of a block mix.
        num_blocks: blocks of the whole model, by which the last map of a block is scaled at the start.
    """

    form: Literal["block", "cell", "large"] = "block"
    heads: int = 4
    forget: Literal["sigmoid", "exp"] = "sigmoid"
    epsilon: float = 1e-6
    learned_start: bool = False
    keys: int | None = None
    values: int | None = None
    gate_cap: float = 15.0
    norm_epsilon: float = 1e-5
    output_gate: bool = True
    expansion: float = 2.0
    window: int = 4
    projection_block: int = 4
    num_blocks: int = 1

    def __post_init__(self) -> None:
        require_positive(
            self,
            "heads",
            "keys",
            "values",
            "gate_cap",
            "norm_epsilon",
            "expansion",
            "window",
            "projection_block",
            "num_blocks",
        )
        if self.epsilon < 0:
            raise InputError(f"epsilon is {self.epsilon}; it has to be 0 or more")
        if self.form == "block" and (self.keys or self.values):
            raise InputError(
                'keys and values belong to the forms "cell" and "large"; '
                "the size of a block is set by expansion"
            )


class MLstmHeads(RecurrentLayer):
    """The heads of an mLSTM; a form says what they read, and what it makes of h."""

    convolution: ShortConvolution | None
    start_normaliser: Tensor | None

    def __init__(self, inputs: int, outputs: int, settings: MLstmSettings, *, keys: int, values: int) -> None:
        super().__init__(inputs, outputs)
        self.settings = settings
        self.head_shape = (
            settings.heads,
            require_divisible("keys", keys, settings.heads),
            require_divisible("values", values, settings.heads),
        )
        self.convolution = self.start = self.start_normaliser = None

    def _learn_start(self) -> None:
        if self.settings.learned_start:
            self.start = nn.Parameter(torch.zeros(self.head_shape))
            self.start_normaliser = nn.Parameter(torch.zeros(self.head_shape[:2]))

    def initial_state(self, batch: int) -> State:
        """Returns C₀, n₀, m₀ = 0, and an empty window where there is a convolution."""
        memory = initial_memory(self.zeros(batch, *self.head_shape), self.start, self.start_normaliser)
        return memory | first_window(self.convolution, batch)

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the output of one position and the state after it."""
        g, beside, after = self._read(x, state)
        h, memory = mlstm_step(g, state, self.settings.epsilon)
        return self._give(h, beside), memory | after

    def run(self, x: Float[Tensor, "batch time inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence and the state after it."""
        g, beside, after = self._read(x, state)
        h, memory = mlstm_scan(g, state, self.settings.epsilon)
        return self._give(h, beside), memory | after

    def transition_from(self, x: Float[Tensor, "batch time inputs"], state: State) -> DiagonalTransition:
        """Returns the gate of C in its stabilised coordinates."""
        return mlstm_transition(self._read(x, state)[0], state)

    @abstractmethod
    def _read(self, x: Tensor, state: State) -> tuple[MlstmInputs, tuple[Tensor, ...], State]:
        """The inputs of the heads, what `_give` reads beside h, and the window after them."""

    @abstractmethod
    def _give(self, h: Tensor, beside: tuple[Tensor, ...]) -> Tensor:
        """The outputs."""


class MLstmCell(MLstmHeads):
    """The mLSTM without anything around it; its output is h, gated.

    Maps are drawn as torch draws linear maps, but those to the gates as in a block.

    Implements: [Beck2024]
    """

    def __init__(self, inputs: int, settings: MLstmSettings) -> None:
        keys, values = settings.keys or inputs, settings.values or inputs
        super().__init__(inputs, values, settings, keys=keys, values=values)
        self.query, self.key = Linear(inputs, keys), Linear(inputs, keys)
        self.value = Linear(inputs, values)
        self.input_gate, self.forget_gate = _gate_maps(inputs, settings.heads)
        self.output_gate = Linear(inputs, values) if settings.output_gate else None
        self._learn_start()

    def _read(self, x: Tensor, state: State) -> tuple[MlstmInputs, tuple[Tensor, ...], State]:
        return _affine_inputs(self, x, lambda logit: logit), (x,), {}

    def _give(self, h: Tensor, beside: tuple[Tensor, ...]) -> Tensor:
        y = h.flatten(-2)
        return y if self.output_gate is None else torch.sigmoid(self.output_gate(*beside)) * y


class MLstmBlock(MLstmHeads):
    """The mLSTM block: up-projection, convolution, cell, norm, skip, gate and down-projection.

    Initial weights as in the authors' code: the maps up and to q, k, v normal with variance 2 / (5 inputs),
    the map down with deviation 2 / (num_blocks √inputs), gates without weights, the biases of the forget
    gates spread from 3 to 6 over the heads, those of the input gates normal with deviation 0.1. Their code
    also rounds the inner width up to a multiple of 64, which is not done here.

    Implements: [Beck2024]
    """

    convolution: ShortConvolution

    def __init__(self, inputs: int, settings: MLstmSettings) -> None:
        width = round(settings.expansion * inputs)
        require_divisible("inner features", width, settings.heads)
        super().__init__(inputs, inputs, settings, keys=width, values=width)
        self.up = Linear(inputs, 2 * width, bias=False)
        self.convolution = ShortConvolution(width, settings.window)
        self.query = BlockLinear(width, settings.projection_block)
        self.key = BlockLinear(width, settings.projection_block)
        self.value = BlockLinear(width, settings.projection_block)
        self.input_gate, self.forget_gate = _gate_maps(3 * width, settings.heads)
        self.norm = HeadNorm(settings.heads, width, "layer")
        self.skip = nn.Parameter(torch.ones(width))
        self.down = Linear(width, inputs, bias=False)
        self._learn_start()
        for part in (self.up, self.query, self.key, self.value):
            nn.init.normal_(part.weight, std=math.sqrt(2 / (5 * inputs)))
        nn.init.normal_(self.down.weight, std=2 / settings.num_blocks / math.sqrt(inputs))

    def _read(self, x: Tensor, state: State) -> tuple[MlstmInputs, tuple[Tensor, ...], State]:
        u, z = self.up(x).chunk(2, dim=-1)
        c, after = look_back(self.convolution, u, state)
        c = nn.functional.silu(c)
        q, k, v = self.query(c), self.key(c), self.value(u)
        seen = torch.cat([q, k, v], dim=-1)
        heads, size, _ = self.head_shape
        g = MlstmInputs(
            q=split_heads(q, heads),
            k=split_heads(k, heads) * size**-0.5,
            v=split_heads(v, heads),
            log_input=self.input_gate(seen),
            log_forget=_log_forget(self.forget_gate(seen), self.settings),
        )
        return g, (c, z), after

    def _give(self, h: Tensor, beside: tuple[Tensor, ...]) -> Tensor:
        c, z = beside
        return self.down((self.norm(h) + self.skip * c) * nn.functional.silu(z))  # type: ignore[no-any-return]


class MLstmLarge(MLstmHeads):
    """The mLSTM of xLSTM-7B, without the norms, the residual path and the feed-forward part around it.

    Maps are drawn as torch draws linear maps, but those to the gates as in a block.

    Implements: [Beck2025]
    """

    def __init__(self, inputs: int, settings: MLstmSettings) -> None:
        keys, values = settings.keys or inputs // 2, settings.values or inputs
        super().__init__(inputs, inputs, settings, keys=keys, values=values)
        self.query, self.key, self.value, self.output_gate = (
            Linear(inputs, width, bias=False) for width in (keys, keys, values, values)
        )
        self.input_gate, self.forget_gate = _gate_maps(inputs, settings.heads)
        self.norm = HeadNorm(settings.heads, values, "layer", eps=settings.norm_epsilon)
        self.down = Linear(values, inputs, bias=False)

    def _read(self, x: Tensor, state: State) -> tuple[MlstmInputs, tuple[Tensor, ...], State]:
        cap = self.settings.gate_cap
        return _affine_inputs(self, x, lambda logit: cap * torch.tanh(logit / cap)), (x,), {}

    def _give(self, h: Tensor, beside: tuple[Tensor, ...]) -> Tensor:
        y: Tensor = self.down(torch.sigmoid(self.output_gate(*beside)) * self.norm(h))
        return y


def _affine_inputs(
    layer: MLstmCell | MLstmLarge, x: Tensor, capped: Callable[[Tensor], Tensor]
) -> MlstmInputs:
    """The inputs of heads that read x as it is."""
    heads = layer.settings.heads
    q, k, v = (split_heads(part(x), heads) for part in (layer.query, layer.key, layer.value))
    return MlstmInputs(
        q=q,
        k=k * k.shape[-1] ** -0.5,
        v=v,
        log_input=capped(layer.input_gate(x)),
        log_forget=_log_forget(capped(layer.forget_gate(x)), layer.settings),
    )


_FORMS: dict[str, LayerFactory] = {"block": MLstmBlock, "cell": MLstmCell, "large": MLstmLarge}


def build_mlstm(inputs: int, settings: MLstmSettings) -> SequenceLayer:
    """Returns an mLSTM layer in the form that the settings ask for."""
    return _FORMS[settings.form](inputs, settings)


def _gate_maps(inputs: int, heads: int) -> tuple[nn.Linear, nn.Linear]:
    """The maps to the logits of the input and the forget gates."""
    maps = Linear(inputs, heads), Linear(inputs, heads)
    for part in maps:
        nn.init.zeros_(part.weight)
    nn.init.normal_(maps[0].bias, std=0.1)
    with torch.no_grad():
        maps[1].bias.copy_(torch.linspace(3.0, 6.0, heads))
    return maps


def _log_forget(logit: Tensor, settings: MLstmSettings) -> Tensor:
    return nn.functional.logsigmoid(logit) if settings.forget == "sigmoid" else logit


_KEY = Fraction(1, 1024)


class MLstmWriter(WeightWriter):
    """Writes diagonal layers, in the form without the published block: a head for each place.

    The forget gate is exactly 1 for a logit of 1000; the input gate is exp(0) where a register moves and
    exp(-1000) = 0 where it holds, so that the stabiliser stays at 0 and the normaliser below 1, where it
    divides nothing. For that, keys are 2⁻¹⁰ and values carry the factor 2¹⁰. The output gate is 1, and ε is
    0.

    A counter has the keys that it adds, the value 1 and the input gate 1. Then C and n are both the count,
    and h = count / max(|count|, 1): the count up to 1 and -1, which is what comparisons with 0 ask for.
    """

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns a head for each place of the stream."""
        return {"form": "cell", "heads": width, "epsilon": 0.0, "learned_start": True}

    def fill(self, layer: MLstmCell, block: BlockPlan) -> None:
        """Sets the weights of a layer."""
        assert layer.output_gate is not None
        layer.output_gate.bias.fill_(SATURATED)
        layer.forget_gate.bias.fill_(SATURATED)
        layer.input_gate.bias.fill_(-SATURATED)
        for register in registers_of(block, self.architecture, tied=False):
            head = register.place
            if register.counts:
                self._set_counter(layer, register)
                continue
            set_rows(layer.query, [PlaceForm({ONE: 1})], first=head)
            set_rows(layer.key, [PlaceForm({ONE: _KEY})], first=head)
            set_rows(layer.value, [register.write.scaled(1 / _KEY)], first=head)
            if register.moves is not None or register.gate != 1:
                self._set_gates(layer, register)
            layer.learned_start[head] = to_float(register.start)

    def _set_counter(self, layer: MLstmCell, register: Register) -> None:
        assert layer.start_normaliser is not None
        head = register.place
        set_rows(layer.query, [PlaceForm({ONE: 1})], first=head)
        set_rows(layer.key, [register.write], first=head)
        set_rows(layer.value, [PlaceForm({ONE: 1})], first=head)
        layer.input_gate.bias[head] = 0
        layer.learned_start[head] = to_float(register.start)
        layer.start_normaliser[head] = to_float(register.start)

    def _set_gates(self, layer: MLstmCell, register: Register) -> None:
        head, forget = register.place, self._logit(register.gate)
        moves = PlaceForm({}, 1) if register.moves is None else register.moves
        set_rows(layer.forget_gate, [combine([(moves, forget - SATURATED)])], first=head)
        set_rows(layer.input_gate, [combine([(moves, SATURATED)])], first=head)

    def _logit(self, gate: Exact) -> Fraction:
        """The logit of a forget gate; a gate of 1 that writes would let the normaliser grow."""
        value = share_of(gate, self.architecture)
        if value == 1:
            raise NotCompilable(self.architecture, [f"a gate that writes is {gate}; here it lies below 1"])
        return Fraction(log_odds(value, 1 - value, SATURATED))


_CONSTANT = 32.0
"""A feature that SiLU keeps as it is, and that is a power of two."""


class ExactMLstm(ExactGates):
    """The mLSTM block with exact gates: where the input gate writes, the forget gate forgets.

    The key of each head is its first axis, and the query is 1 there, so that what is read is the value that
    was written last, whatever its key was: with keys that are learned only the sign of q · k would count,
    which has no slope. For that the first feature of each head is a constant behind the convolution. Folded,
    the forget gate has the scores of the input gate with the other sign, so much larger that forgetting
    outweighs any size.
    """

    layer: MLstmBlock
    form = GateForm(settings={"heads": 16, "expansion": 4.0, "window": 2, "learned_start": True})

    def begin(self) -> None:
        """Draws the maps to the gates, which the plain block starts at 0."""
        nn.init.normal_(self.layer.input_gate.weight, std=0.1)

    def run(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence."""
        layer = self.layer
        heads, size, _ = layer.head_shape
        u, z = layer.up(x).chunk(2, dim=-1)
        c, window = layer.convolution(u, state["window"])
        first = torch.zeros(heads * size, dtype=torch.bool)
        first[::size] = True
        c = torch.where(first, torch.ones_like(c), nn.functional.silu(c))
        q = torch.where(first, torch.ones_like(c), layer.query(c))
        k = size**0.5 * first.to(c.dtype).expand_as(c)
        v = layer.value(u)
        on, _ = self.decide(layer.input_gate(torch.cat([q, k, v], dim=-1)))
        memory, last = self.scan(on[..., None], on[..., None] * split_heads(v, heads), state["C"][:, :, 0])
        shown = memory / (1 + layer.settings.epsilon)
        C = torch.zeros_like(state["C"])
        C[:, :, 0] = last
        return layer._give(shown, (c, z)), {**state, "C": C, "window": window}

    def score_rows(self, layer: nn.Module) -> tuple[Tensor, Tensor]:
        """Returns the map to the input gates."""
        if not isinstance(layer, MLstmBlock) or layer.settings.forget != "sigmoid":
            raise InputError('exact gates are for the mLSTM with form = "block" and forget = "sigmoid"')
        return layer.input_gate.weight, layer.input_gate.bias

    def fold_scale(self, layer: MLstmBlock, scale: float) -> None:
        """Sets the keys to the first axes, and lets the forget gate forget where the input gate writes."""
        _, size, _ = layer.head_shape
        layer.convolution.weight[::size] = 0.0
        assert layer.convolution.bias is not None
        layer.convolution.bias[::size] = _CONSTANT
        layer.skip[::size] /= _CONSTANT
        block = layer.settings.projection_block
        layer.key.weight.zero_()
        for feature in range(0, layer.skip.numel(), size):
            number, place = divmod(feature, block)
            layer.query.weight[number, :, place] /= _CONSTANT
            for rows, value in ((layer.query, 1.0), (layer.key, size**0.5)):
                rows.weight[number, place] = 0.0
                rows.weight[number, place, place] = value / _CONSTANT
        for start in (layer.start, layer.start_normaliser):
            if start is not None:
                start[:, 1:] = 0.0
        if layer.start_normaliser is not None:
            layer.start_normaliser.zero_()
        sizes = self.scores.abs()
        ratio = 4 + 4 * float(sizes.max()) / max(float(sizes.min()), SMALLEST_SCORE)
        more = 2.0 ** math.ceil(math.log2(ratio))
        layer.forget_gate.weight.copy_(-more * layer.input_gate.weight)
        layer.forget_gate.bias.copy_(-more * layer.input_gate.bias)


KIND = LayerKind(
    name="mlstm",
    title="mLSTM",
    settings=MLstmSettings,
    build=build_mlstm,
    equation="C = f C + i kᵀ v, n = f n + i k, h = q C / max(|q · n|, 1)",
    reference=Reference("Beck2024"),
    surroundings=Surroundings(norm="layer", residual=True),
    variants={"mlstm-cell": {"form": "cell"}},
    writer=MLstmWriter,
    gates={"two": ExactMLstm},
)
