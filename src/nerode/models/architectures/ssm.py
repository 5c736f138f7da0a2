"""The state space model of the n-gram paper:  h_t = A h_{t-1} + B x_t,  y_t = C relu(h_t + b).

A is a free matrix; or nilpotent, so that an output sees a window of the last inputs only; or decayed, so that
what is past fades.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from nerode.core import InputError, NotCompilable, Reference, to_float
from nerode.models.base import DenseTransition, LayerKind, RecurrentLayer, State, require_sizes
from nerode.models.kernels.linear import linear
from nerode.models.parts.precision import widened
from nerode.models.parts.time_invariant import dense_states
from nerode.models.shared_terms import shared
from nerode.models.weight_writer import (
    ONE,
    BlockPlan,
    FixedPlan,
    LayerPlan,
    PlaceForm,
    WeightWriter,
    as_tensor,
    set_matrix,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SsmSettings:
    """Settings of a state space layer.

    Attributes:
        states: number of states; None for as many as inputs.
        outputs: number of outputs; None for as many as inputs.
        matrix: what A is: "dense"; "nilpotent" (strictly lower triangular in blocks); "decayed" (of norm
            at most `decay`).
        window: for a nilpotent A, how many of the last inputs an output sees: the states are cut into so many
            blocks, and A leads from each block to later ones. None for as many as states.
        decay: the largest norm of a decayed A.
        readout: "relu" for C relu(h + b), "linear" for C h, "none" for h.
        learned_start: whether the state before the first position is trained; otherwise it is zero.
    """

    states: int | None = None
    outputs: int | None = None
    matrix: Literal["dense", "nilpotent", "decayed"] = "dense"
    window: int | None = None
    decay: float = 0.9
    readout: Literal["relu", "linear", "none"] = "relu"
    learned_start: bool = False

    def __post_init__(self) -> None:
        require_sizes(self, "states", "outputs", "window", of="the SSM")
        if not 0 < self.decay <= 1:
            raise InputError(f"the decay of the SSM is {self.decay}; it has to be above 0 and at most 1")
        if self.window is not None and self.matrix != "nilpotent":
            raise InputError(f"a window of {self.window} needs a nilpotent matrix; it is {self.matrix}")
        if self.readout == "none" and self.outputs is not None:
            raise InputError("without a readout the outputs are the states; leave `outputs` out")


class Ssm(RecurrentLayer):
    """A state space layer; all weights are drawn uniformly from ±1/√states, b included.

    The paper leaves the initialisation open.

    Implements: [Nandakumar2024]
    """

    def __init__(self, inputs: int, settings: SsmSettings) -> None:
        states = settings.states or inputs
        super().__init__(inputs, states if settings.readout == "none" else settings.outputs or inputs)
        self.settings = settings
        self.A = nn.Parameter(torch.empty(states, states))
        self.B = nn.Parameter(torch.empty(states, inputs))
        self.C = nn.Parameter(torch.empty(self.outputs, states)) if settings.readout != "none" else None
        self.bias = nn.Parameter(torch.empty(states)) if settings.readout == "relu" else None
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(states**-0.5), states**-0.5)
        self.start = nn.Parameter(torch.zeros(states)) if settings.learned_start else None

    def initial_state(self, batch: int) -> State:
        """Returns h₀."""
        return {"h": self.started(batch, len(self.A))}

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the output of one position and h_t."""
        h = state["h"] @ self.transition_matrix().T + x @ self.B.T
        return self._read(h), {"h": h}

    def run(self, x: Float[Tensor, "batch time inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the outputs and the last h."""
        start = state["h"]
        h = dense_states(shared(Ssm.transition_matrix, self), linear(x, self.B), start)
        return self._read(h), {"h": h[:, -1]}

    def transition_from(self, x: Float[Tensor, "batch time inputs"], state: State) -> DenseTransition:
        """Returns A, the same at each position."""
        return DenseTransition(state="h", matrix=self.transition_matrix().expand(*x.shape[:2], -1, -1))

    def transition_matrix(self) -> Float[Tensor, "states states"]:
        """Returns A as the recurrence uses it."""
        match self.settings.matrix:
            case "nilpotent":
                return self.A * self._allowed()
            case "decayed":
                norm: Tensor = torch.linalg.matrix_norm(widened(self.A), 2).clamp(min=1)
                return self.A * (self.settings.decay / norm).to(self.A.dtype)
            case _:
                return self.A

    def _allowed(self) -> Bool[Tensor, "states states"]:
        """The mask of the entries of a nilpotent A that may differ from zero: from a block to later ones."""
        states = len(self.A)
        blocks = min(self.settings.window or states, states)
        block = torch.arange(states, device=self.A.device) * blocks // states
        return block[:, None] > block[None, :]

    def _read(self, h: Float[Tensor, "... states"]) -> Tensor:
        if self.C is None:
            return h
        return linear(h if self.bias is None else (h + self.bias).relu(), self.C)


class SsmWriter(WeightWriter):
    """Writes layers with a fixed matrix.

    A network whose readout is relu(h + b), one unit per state, and whose decoder is linear in the units is
    the paper's model as it stands: embedding, h = A h + B x, y = C relu(h + b). Other networks with fixed
    matrices are carried on a residual stream, layer after layer.
    """

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns the number of states; the readout is linear, units follow in the feed-forward part."""
        return {"states": max(1, len(block.states)), "readout": "linear", "learned_start": True}

    def fill(self, layer: Ssm, block: BlockPlan) -> None:
        """Sets the weights of a layer."""
        if block.layer is None:
            return
        assert layer.C is not None
        move = self._fill_matrix(layer, block.layer)
        for i, form in enumerate(move.writes):
            layer.B[i] = form.row(layer.inputs).to(layer.B)
        for i, place in enumerate(block.states):
            layer.C[place, i] = 1

    def reads_out(self, block: BlockPlan, reads: Sequence[PlaceForm]) -> bool:
        """Returns whether the readout is that of the paper: one unit per state, and nothing else is read."""
        units = dict(block.units)
        read = [next(iter(form.terms)) if len(form.terms) == 1 else ONE for form in units.values()]
        one_each = len(set(read)) == len(read) and set(read) <= set(block.states)
        plain = one_each and all(c == 1 for form in units.values() for c in form.terms.values())
        # The decoder reads units and nothing else, without a hidden layer of its own and without a bias.
        return plain and all(set(form.terms) <= set(units) and form.constant == 0 for form in reads)

    def readout_settings(self, block: BlockPlan, outputs: int) -> dict[str, Any]:
        """Returns the sizes of the paper's layer."""
        assert block.layer is not None
        return {"states": block.layer.width, "outputs": outputs, "learned_start": True}

    def fill_readout(self, layer: Ssm, block: BlockPlan, scores: Tensor) -> None:
        """Sets the weights of the paper's layer."""
        assert block.layer is not None
        assert layer.C is not None
        assert layer.bias is not None
        move = self._fill_matrix(layer, block.layer)
        for i, form in enumerate(move.writes):
            # The embedding fills every place but the one that holds 1.
            row = form.row(1 + max((ONE, *block.columns)))
            layer.B[i] = row[list(block.columns)].to(layer.B)
        for unit, (_, form) in enumerate(block.units):
            state = block.states.index(next(iter(form.terms)))
            layer.bias[state] = to_float(form.constant)
            layer.C[:, state] = scores[:, unit]

    def _fill_matrix(self, layer: Ssm, plan: LayerPlan) -> FixedPlan:
        """Sets the matrix and the start; raises NotCompilable unless the matrix is fixed and real."""
        move = plan.move
        if not isinstance(move, FixedPlan) or plan.complex_state:
            raise NotCompilable(
                self.architecture, [f"layer {plan.name} is not a real recurrence with a fixed matrix"]
            )
        set_matrix(layer.A, move.matrix)
        layer.learned_start.copy_(as_tensor(plan.start))
        return move


KIND = LayerKind(
    name="ssm",
    title="SSM of the n-gram paper",
    settings=SsmSettings,
    build=Ssm,
    equation="h = A h + B x, y = C relu(h + b)",
    reference=Reference("Nandakumar2024"),
    variants={"ssm-nilpotent": {"matrix": "nilpotent"}, "ssm-decayed": {"matrix": "decayed"}},
    writer=SsmWriter,
)
