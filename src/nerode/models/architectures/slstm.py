"""sLSTM: an LSTM with an exponential input gate and a normaliser, whose gates read the state head by head.

i, f, z, o = W x_t + R h_{t-1} + b, each with weights of its own; R has one block for each head.
c_t = σ(f) ∘ c_{t-1} + exp(i) ∘ tanh(z), n_t = σ(f) ∘ n_{t-1} + exp(i), h_t = σ(o) ∘ c_t / n_t.

What is stored is c and n divided by exp(m): m_t = max(log σ(f) + m_{t-1}, i) keeps both in range, and leaves
h as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from nerode.core import InputError, Reference
from nerode.models.base import LayerKind, RecurrentLayer, State, Surroundings
from nerode.models.exact_gates import ExactCell, GateForm, StackedRows
from nerode.models.kernels.arguments import (
    dense_or_none,
    empty_gates,
    keep_tensors,
    or_none,
    require_like,
    require_sequence,
    run_cell,
    shifted,
)
from nerode.models.kernels.linear import linear
from nerode.models.native.calls import call, dense
from nerode.models.parts.short_convolution import ShortConvolution, first_window, look_back
from nerode.models.weight_writer import BlockPlan, WeightWriter, as_tensor, set_affine


@dataclass(frozen=True, slots=True, kw_only=True)
class SlstmSettings:
    """Settings of an sLSTM layer.

    Attributes:
        hidden: number of units; None for as many as inputs.
        heads: number of blocks of R.
        forget: the forget gate, σ(f) or exp(f); both are published.
        headwise: whether W has blocks as well, as in the published block.
        convolution: positions of a short convolution (and SiLU) whose output i and f read instead of x_t; 0
            for none, 4 in the published block.
        group_norm: whether the output of each head is normalised, as in the published block; h in the state
            is not.
        place: where the layer stands in its stack, from 0 (first) to 1 (last); the bias of f depends on it.
        learned_start: whether h, c and n before the first position are trained; otherwise they are zero.
    """

    hidden: int | None = None
    heads: int = 4
    forget: Literal["sigmoid", "exp"] = "sigmoid"
    headwise: bool = False
    convolution: int = 0
    group_norm: bool = False
    place: float = 0.0
    learned_start: bool = False

    def __post_init__(self) -> None:
        for name, least in (("hidden", 1), ("heads", 1), ("convolution", 0)):
            size = getattr(self, name)
            if size is not None and size < least:
                raise InputError(f"{name} is {size}; an sLSTM needs {least} or more")
        if not 0 <= self.place <= 1:
            raise InputError(f"place is {self.place}; it runs from 0, the first layer, to 1, the last")

    def require_width(self, inputs: int, hidden: int) -> None:
        """Raises InputError unless the heads share out the units, and the inputs where they have to."""
        if hidden % self.heads or (self.headwise and inputs % self.heads):
            raise InputError(
                f"{self.heads} heads do not divide {hidden} units"
                + (f" and {inputs} inputs" if self.headwise else "")
                + "; choose a number of heads that does"
            )
        if self.group_norm and hidden == self.heads:
            raise InputError("the norm of a head with one unit is always 0; use fewer heads or no group norm")


class Slstm(RecurrentLayer):
    """An sLSTM layer; its output is h (normalised, with `group_norm`), its state h, c, n, m.

    W is normal with standard deviation √(2 / (5 inputs)), R is 0, the biases are 0 but for that of f, which
    falls along each head from 5 to -7: as in the authors' package. Gates are stacked in the order i, f, z, o.

    Implements: [Beck2024]
    """

    def __init__(self, inputs: int, settings: SlstmSettings) -> None:
        hidden = settings.hidden or inputs
        super().__init__(inputs, hidden)
        settings.require_width(inputs, hidden)
        self.settings = settings
        heads, size = settings.heads, hidden // settings.heads
        self.read = nn.Parameter(
            torch.empty(4, heads, size, inputs // heads)
            if settings.headwise
            else torch.empty(4, hidden, inputs)
        )
        self.bias = nn.Parameter(torch.zeros(4, hidden))
        self.recurrent = nn.Parameter(torch.zeros(heads, 4 * size, size))
        nn.init.normal_(self.read, std=(2 / (5 * inputs)) ** 0.5)
        with torch.no_grad():
            self.bias[1] = forget_biases(size, settings.place).repeat(heads)
        self.convolution = ShortConvolution(inputs, settings.convolution) if settings.convolution else None
        self.norm = nn.GroupNorm(heads, hidden) if settings.group_norm else None
        if self.norm is not None:
            self.norm.register_parameter("bias", None)
        self.start = nn.Parameter(torch.zeros(3, hidden)) if settings.learned_start else None

    def initial_state(self, batch: int) -> State:
        """Returns h₀, c₀, n₀ and m₀, and the window of the convolution where there is one."""
        state = {name: self.zeros(batch, self.outputs) for name in ("h", "c", "n", "m")}
        if self.start is not None:
            h, c, n = self.start
            # A normaliser is a sum of positive numbers; through zero lies a pole of h.
            state |= {name: part.expand(batch, -1) for name, part in (("h", h), ("c", c), ("n", n.abs()))}
        return state | first_window(self.convolution, batch)

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the output of one position and the state after it."""
        mixed, after = self._mix(x, state)
        cell = (state["h"], state["c"], state["n"], state["m"])
        h, c, n, m = slstm_step(
            self._project(x, mixed),
            self.recurrent,
            cell,
            exponential_forget=self.settings.forget == "exp",
        )
        return self._normalise(h), {"h": h, "c": c, "n": n, "m": m, **after}

    def run(self, x: Float[Tensor, "batch time inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence and the state after it."""
        mixed, after = self._mix(x, state)
        cell = (state["h"], state["c"], state["n"], state["m"])
        h, c, n, m = slstm(
            self._project(x, mixed),
            self.recurrent,
            cell,
            exponential_forget=self.settings.forget == "exp",
        )
        after |= {name: values[:, -1] for name, values in (("h", h), ("c", c), ("n", n), ("m", m))}
        return self._normalise(h), after

    def _mix(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """The features that i and f read, x itself without a convolution, and the window after them."""
        mixed, after = look_back(self.convolution, x, state)
        return (x if mixed is x else nn.functional.silu(mixed)), after

    def _project(self, x: Tensor, mixed: Tensor) -> Tensor:
        """The projections to the gates: i and f from the convolution, z and o from the input."""
        if x is mixed:
            return self._read(x, self.read) + self.bias.flatten()
        both = [self._read(mixed, self.read[:2]), self._read(x, self.read[2:])]
        return torch.cat(both, dim=-1) + self.bias.flatten()

    def _read(self, x: Tensor, weight: Tensor) -> Tensor:
        if not self.settings.headwise:
            return linear(x, weight.flatten(0, 1))
        parts = x.reshape(*x.shape[:-1], self.settings.heads, -1)
        return torch.einsum("...hd,ghod->...gho", parts, weight).flatten(-3)

    def _normalise(self, h: Tensor) -> Tensor:
        if self.norm is None:
            return h
        return self.norm(h.reshape(-1, self.outputs)).view_as(h)  # type: ignore[no-any-return]


def forget_biases(size: int, place: float) -> Float[Tensor, " size"]:
    """Returns where the biases of the forget gate of one head start: from 5 down to -7 along a power law."""
    along = torch.arange(size) / max(1, size - 1)
    return 5 - 12 * along ** (0.3 + 1.3 * place)


Cell = tuple[Tensor, Tensor, Tensor, Tensor]
"""h, c, n and m, each (batch, hidden)."""


def slstm(
    inputs: Float[Tensor, "batch time gates"],
    weight: Float[Tensor, "heads gates_of_head size"],
    initial: Cell,
    *,
    exponential_forget: bool = False,
) -> Cell:
    """Returns h, c, n and m after each position, (batch, time, hidden) each.

    c = f c + i tanh(z), n = f n + i, h = sigmoid(o) c / n, with i = exp(x_i), f = sigmoid(x_f) or exp(x_f);
    c and n are stored divided by exp(m), m the maximum of x_i and log f + m.

    Args:
        inputs: x for the gates i, f, z, o, each over all heads, without what they read from h.
        weight: for each head, what its gates i, f, z, o read from its part of h.
        initial: h, c, n and m before the first position.
        exponential_forget: whether f is exp(x_f).

    Raises:
        InputError: if shapes, types or devices do not agree, or an axis is empty.

    Implements: [Beck2024]
    """
    _check(inputs, weight, initial)
    plain = partial(_plain, exponential_forget=exponential_forget)
    tensors = (inputs, weight, *initial)
    h, c, n, m, *_ = run_cell(_Slstm, plain, tensors, exponential_forget, torch.is_grad_enabled())
    return h, c, n, m


def _plain(inputs: Tensor, weight: Tensor, *initial: Tensor, exponential_forget: bool) -> Cell:
    h, c, n, m = initial
    return slstm_reference(inputs, weight, (h, c, n, m), exponential_forget=exponential_forget)


def _check(inputs: Tensor, weight: Tensor, initial: Cell) -> None:
    require_sequence("inputs", inputs, "batch time 4*heads*size")
    require_sequence("weight", weight, "heads 4*size size")
    (batch, time, _), (heads, _, size) = inputs.shape, weight.shape
    require_like("weight", weight, (heads, 4 * size, size), inputs)
    require_like("inputs", inputs, (batch, time, 4 * heads * size), inputs)
    for name, part in zip("hcnm", initial, strict=True):
        require_like(f"initial {name}", part, (batch, heads * size), inputs)


class _Slstm(torch.autograd.Function):
    @staticmethod
    def forward(*arguments: Any) -> tuple[Tensor, ...]:
        *given, exponential_forget, keep = arguments
        inputs, weight, *initial = (dense(tensor) for tensor in given)
        heads, _, size = weight.shape
        outputs = [inputs.new_empty(*inputs.shape[:2], heads * size) for _ in range(4)]
        saved = empty_gates(outputs[0], 5, keep=keep)
        call(
            "slstm_forward",
            *(inputs, weight, *initial),
            *(*outputs, or_none(saved)),
            *(1, *inputs.shape[:2], heads, size, int(exponential_forget)),
        )
        return (*outputs, saved)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        _, weight, h0, c0, n0, *_ = inputs
        h, c, n, _, saved = output
        keep_tensors(ctx, saved, weight, h0, c0, n0, h, c, n, saved)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:
        weight, h0, c0, n0, h, c, n, saved = (dense(tensor) for tensor in ctx.saved_tensors)
        batch, time, hidden = h.shape
        heads, _, size = weight.shape
        dinputs = h.new_empty(batch, time, 4 * hidden)
        dinitial = [torch.empty_like(h0) for _ in range(4)]
        call(
            "slstm_backward",
            *(weight, c0, n0, c, n, saved),
            *(dense_or_none(gradient) for gradient in gradients[:4]),
            *(dinputs, *dinitial),
            *(1, batch, time, heads, size),
        )
        dsums = dinputs.view(1, batch * time, 4, heads, size)
        before = shifted(h0, h).view(1, batch * time, heads, size)
        # Head by head: one product for all of them would first copy everything into another order, slowly. A
        # product of stacks, although there is one matrix: torch rounds others otherwise, and kept runs hold.
        dweight = torch.stack(
            [dsums[..., head, :].flatten(2).transpose(1, 2) @ before[..., head, :] for head in range(heads)],
            dim=1,
        )[0]
        return dinputs, dweight, *dinitial, None, None


def slstm_step(inputs: Tensor, weight: Tensor, state: Cell, *, exponential_forget: bool) -> Cell:
    """Returns the state after one position.

    Args:
        inputs: what the gates i, f, z, o read, without the state: (batch, 4 * hidden).
        weight: what each head adds, (heads, 4 * hidden / heads, hidden / heads), gates in the same order.
        state: the state before it.
        exponential_forget: whether the forget gate is exp(f) instead of sigmoid(f).
    """
    h, c, n, m = state
    heads, _, size = weight.shape
    own = torch.einsum("bhd,hod->bho", h.reshape(-1, heads, size), weight)
    # From (head, gate, place) to (gate, head, place).
    own = own.reshape(-1, heads, 4, size).transpose(1, 2).flatten(1)
    i, f, z, o = (inputs + own).chunk(4, dim=-1)
    kept = m + (f if exponential_forget else torch.nn.functional.logsigmoid(f))
    # Nothing is kept where nothing has been written: then m is free, and i keeps n away from 0.
    after = torch.where(n == 0, i, torch.maximum(i, kept))
    write, keep = torch.exp(i - after), torch.exp((kept - after).clamp(max=0))
    c = keep * c + write * torch.tanh(z)
    n = keep * n + write
    return torch.sigmoid(o) * c / n, c, n, after


def slstm_reference(inputs: Tensor, weight: Tensor, initial: Cell, *, exponential_forget: bool) -> Cell:
    """Returns h, c, n and m after each position, (batch, time, hidden) each."""
    state = initial
    states = []
    for x in inputs.unbind(dim=1):
        state = slstm_step(x, weight, state, exponential_forget=exponential_forget)
        states.append(state)
    h, c, n, m = (torch.stack(values, dim=1) for values in zip(*states, strict=True))
    return h, c, n, m


class SlstmWriter(WeightWriter):
    """Writes sLSTM cells, in one head."""

    alone = True

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns the number of units."""
        hidden = len(self.cell_of(block, "slstm").gates[0].inputs)
        return {"hidden": hidden, "heads": 1, "learned_start": True}

    def fill(self, layer: Slstm, block: BlockPlan) -> None:
        """Sets the weights; the layer stacks its gates as input, forget, cell, output."""
        gates, n = self.cell_of(block, "slstm").gates, layer.outputs
        for number, gate in enumerate(gates[i] for i in (0, 1, 3, 2)):
            set_affine(layer.read[number], layer.bias[number], gate.inputs, block.columns)
            layer.recurrent[0, number * n : (number + 1) * n] = gate.recurrent
        layer.learned_start.copy_(as_tensor(self.layer_of(block).start).reshape(3, -1))


class ExactSlstm(ExactCell):
    """An sLSTM of bits: the input gate is the opposite of the forget gate, the output gate is open.

    A write sets c and n to the candidate and 1, with the score as its size m; to forget outweighs any size.
    """

    layer: Slstm
    form = GateForm(settings={"hidden": 32, "heads": 1, "learned_start": True}, around="nothing")
    keeps, candidate, opposite, opened, stabilised = 1, 2, 0, (3,), True

    def rows(self, layer: Slstm) -> StackedRows:
        """Returns the maps to i, f, z and o."""
        found, units = layer.settings, layer.outputs
        if found.heads != 1 or found.headwise or found.convolution or found.group_norm or layer.start is None:
            raise InputError(
                "exact units are for sLSTMs with heads = 1, learned_start = true and neither headwise, "
                "convolution nor group_norm"
            )
        if found.forget != "sigmoid":
            raise InputError('exact units are for sLSTMs with forget = "sigmoid"')
        return StackedRows(layer.read, layer.recurrent[0].view(4, units, units), layer.bias)

    def memory(self, layer: Slstm) -> Tensor:
        """Returns the start of c."""
        return layer.learned_start[1]

    def fold_start(self, layer: Slstm) -> None:
        """Lets h start as c, and n as 1."""
        layer.learned_start[0] = layer.learned_start[1]
        layer.learned_start[2] = 1.0


KIND = LayerKind(
    name="slstm",
    title="sLSTM",
    settings=SlstmSettings,
    build=Slstm,
    equation="c = f c + i z, n = f n + i, h = o ∘ c/n, gates read h",
    reference=Reference("Beck2024"),
    surroundings=Surroundings(norm="layer", residual=True, feed_forward="geglu", expansion=4 / 3),
    variants={"slstm-block": {"headwise": True, "convolution": 4, "group_norm": True}},
    writer=SlstmWriter,
    gates={"two": ExactSlstm},
)
