"""IDS4: a linear recurrence whose matrix is a linear function of the input.

    h_t    = A(x_t) h_{t-1} + B x_t        A(x) = f(Σ_k x_k A_k), f the identity as defined, GELU as run
    output = C h_t + c + D x_t

With letters as one-hot vectors, A(x) is any matrix for each letter, so one layer runs any automaton.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import gelu

from nerode.core import InputError, NotCompilable, Reference, to_float
from nerode.models.base import LayerKind, Surroundings, require_positive
from nerode.models.kernels.linear import Linear, linear
from nerode.models.parts.time_invariant import DenseLayer
from nerode.models.weight_writer import (
    ONE,
    BlockPlan,
    FixedPlan,
    GatedPlan,
    MatrixPlan,
    PlaceForm,
    WeightWriter,
    as_tensor,
    set_matrix,
    set_rows,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ids4Settings:
    """Settings of an IDS4 layer.

    Attributes:
        states: numbers in the state.
        activation: f.
        write: whether there is a B; without it the start has to be learned.
        draw: "balanced" keeps the size of a state, on average, for features of variance 1; "published" draws
            larger matrices, whose products leave the range of float32 after a few dozen positions.
        learned_start: whether the state before the first position is trained; otherwise it is zero.
    """

    states: int = 64
    activation: Literal["none", "gelu"] = "none"
    write: bool = True
    draw: Literal["balanced", "published"] = "balanced"
    learned_start: bool = False

    def __post_init__(self) -> None:
        require_positive(self, "states")
        if not (self.write or self.learned_start):
            raise InputError(
                "without write and learned_start the state of IDS4 is always zero; set one of the two"
            )


class Ids4(DenseLayer):
    """An IDS4 layer, without the residual path and the norm around it.

    The published draw of each A_k is I + N(0,1)/√states; "balanced" divides it by √(2 inputs). A learned
    start is the first unit vector; all else is drawn as torch does. The authors' program has no B, multiplies
    the matrices from the other side and reads a column of the product; this is the layer as defined.

    Implements: [Merrill2024]
    """

    def __init__(self, inputs: int, settings: Ids4Settings) -> None:
        super().__init__(inputs, inputs)
        self.settings = settings
        states = settings.states
        drawn = torch.eye(states) + torch.randn(inputs, states, states) / states**0.5
        self.A = nn.Parameter(drawn / (2 * inputs) ** 0.5 if settings.draw == "balanced" else drawn)
        self.B = Linear(inputs, states, bias=False) if settings.write else None
        self.C = Linear(states, inputs)
        self.D = Linear(inputs, inputs, bias=False)
        self.start = nn.Parameter(torch.eye(states)[0]) if settings.learned_start else None

    def first_state(self) -> Tensor:
        """Returns h₀ (1, states, 1)."""
        start = self.zeros(self.settings.states) if self.start is None else self.start
        return start[None, :, None]

    def matrices(self, x: Float[Tensor, "... inputs"]) -> Tensor:
        """Returns A(x) (…, 1, states, states)."""
        states = self.settings.states
        summed = linear(x, self.A.flatten(1).T).reshape(*x.shape[:-1], 1, states, states)
        return gelu(summed) if self.settings.activation == "gelu" else summed

    def writes(self, x: Float[Tensor, "... inputs"]) -> Tensor | None:
        """Returns B x (…, 1, states, 1)."""
        if self.B is None:
            return None
        written: Tensor = self.B(x)
        return written[..., None, :, None]

    def output(self, h: Tensor, x: Float[Tensor, "... inputs"]) -> Tensor:
        """Returns C h + c + D x."""
        return torch.add(self.C(h[..., 0, :, 0]), self.D(x))


class Ids4Writer(WeightWriter):
    """Writes layers with a matrix for each letter, a fixed matrix, or gates.

    The matrix is linear in the stream, of which one place is always 1.
    """

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns the number of states."""
        return {"states": max(1, len(block.states)), "learned_start": True}

    def fill(self, layer: Ids4, block: BlockPlan) -> None:
        """Sets the weights of a layer."""
        if block.layer is None:
            return
        assert layer.B is not None
        match block.layer.move:
            case MatrixPlan() as move:
                for place, matrix in zip(block.letters, move.matrices, strict=True):
                    set_matrix(layer.A[place], matrix)
                for place, write in zip(block.letters, move.writes, strict=True):
                    layer.B.weight[:, place] = as_tensor(write)
            case FixedPlan() as move:
                set_matrix(layer.A[ONE], move.matrix)
                set_rows(layer.B, move.writes)
            case GatedPlan() as move if not block.layer.complex_state:
                _set_gates(layer.A, move.gates)
                set_rows(layer.B, move.writes)
            case move:
                raise NotCompilable(self.architecture, [f"layer {block.layer.name} is {move.kind}"])
        for i, (place, value) in enumerate(zip(block.states, block.layer.start, strict=True)):
            layer.learned_start[i] = to_float(value)
            layer.C.weight[place, i] = 1


def _set_gates(target: Tensor, gates: Sequence[PlaceForm]) -> None:
    """Writes gates into matrices (places, n, n), each on the diagonal of the place that it reads."""
    for i, form in enumerate(gates):
        target[:, i, i] = form.row(len(target)).to(target)


KIND = LayerKind(
    name="ids4",
    title="IDS4",
    settings=Ids4Settings,
    build=Ids4,
    equation="h = A(x) h + B x, A(x) = Σ_k x_k A_k",
    reference=Reference("Merrill2024"),
    surroundings=Surroundings(norm="layer", position="post", residual=True),
    writer=Ids4Writer,
)
