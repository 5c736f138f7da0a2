"""Blocks of rotations that depend on the input: the orthogonal case of a dense linear recurrence.

    H_t    = R(x_t) H_{t-1}  (+ B x_t)      in each block; R(x) in SO(size), H_0 = I
    R(x)   = exp(S)  or  (I - S/2)⁻¹ (I + S/2),  S = W(x) - W(x)ᵀ,  W linear in x
    output = C vec(H_t) + c

Nothing grows and nothing fades. A group of rotations is tracked by one block that carries it: cyclic groups
by size 2, A4, S4 and A5 by size 3. The Cayley form cannot turn by half a circle. Matrices known to be
orthogonal, as those of a polished model are, may be given as they are: R(x) = W(x).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.core import InputError, NotCompilable, Reference, to_float
from nerode.models.base import LayerKind, require_positive
from nerode.models.kernels.linear import Linear
from nerode.models.parts.precision import widened
from nerode.models.parts.time_invariant import DenseLayer
from nerode.models.weight_writer import (
    ONE,
    BlockPlan,
    FixedPlan,
    MatrixPlan,
    PermutationPlan,
    WeightWriter,
    as_tensor,
    set_matrix,
    set_rows,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OrthogonalSettings:
    """Settings of a layer of rotations.

    Attributes:
        blocks: number of blocks.
        size: of the rotations.
        columns: of each state; None for as many as rows, which makes the state the product of all rotations.
        outputs: number of outputs; None for as many as inputs.
        form: how a rotation is made from a skew matrix; "matrix" takes W(x) itself, which training does not
            keep orthogonal.
        spread: deviation of the entries of S for an input of length 1; None for 1/√inputs, which suits
            features of variance 1. One-hot letters want 1: from small angles A5 is not learned.
        write: whether B x is added to the state.
        learned_start: whether the state before the first position is trained; it begins as the identity.
    """

    blocks: int = 8
    size: int = 3
    columns: int | None = None
    outputs: int | None = None
    form: Literal["exponential", "cayley", "matrix"] = "exponential"
    spread: float | None = None
    write: bool = False
    learned_start: bool = False

    def __post_init__(self) -> None:
        require_positive(self, "blocks", "columns", "outputs", "spread")
        if self.size < 2:
            raise InputError(f"rotations of size {self.size} were asked for; they need 2 or more")


class Orthogonal(DenseLayer):
    """A layer of rotations.

    W is drawn from a normal distribution, all else as torch does. W has more than twice the entries that S
    needs: each angle then learns twice as fast as the readout, without which A5 was not learned.

    Implements: [Merrill2024] for a matrix that depends on the input
    Implements: [LezcanoCasado2019] for the exponential
    Implements: [Helfrich2018] for the Cayley form
    """

    start: Tensor

    def __init__(self, inputs: int, settings: OrthogonalSettings) -> None:
        super().__init__(inputs, settings.outputs or inputs)
        self.settings = settings
        blocks, size = settings.blocks, settings.size
        self.columns = settings.columns or size
        self.W = Linear(inputs, blocks * size**2, bias=False)
        nn.init.normal_(self.W.weight, std=(settings.spread or inputs**-0.5) / 2**0.5)
        self.B = Linear(inputs, blocks * size * self.columns, bias=False) if settings.write else None
        self.C = Linear(blocks * size * self.columns, self.outputs)
        start = torch.eye(size, self.columns).repeat(blocks, 1, 1)
        if settings.learned_start:
            self.start = nn.Parameter(start)
        else:
            self.register_buffer("start", start, persistent=False)

    def first_state(self) -> Tensor:
        """Returns H₀ (blocks, size, columns)."""
        return self.start

    def matrices(self, x: Float[Tensor, "... inputs"]) -> Tensor:
        """Returns R(x) (…, blocks, size, size)."""
        size = self.settings.size
        shape = (*x.shape[:-1], self.settings.blocks, size, size)
        if self.settings.form == "matrix":
            given: Tensor = self.W(x)
            return given.reshape(shape)
        entries = widened(self.W(x)).reshape(shape)
        return rotation(entries - entries.mT, self.settings.form).to(x.dtype)

    def writes(self, x: Float[Tensor, "... inputs"]) -> Tensor | None:
        """Returns B x (…, blocks, size, columns)."""
        if self.B is None:
            return None
        written: Tensor = self.B(x)
        return written.reshape(*x.shape[:-1], self.settings.blocks, self.settings.size, self.columns)

    def output(self, h: Tensor, x: Float[Tensor, "... inputs"]) -> Tensor:
        """Returns C vec(H) + c."""
        read: Tensor = self.C(h.flatten(-3))
        return read


def rotation(
    skew: Float[Tensor, "... size size"], form: Literal["exponential", "cayley"]
) -> Float[Tensor, "... size size"]:
    """Returns the rotations that skew matrices stand for."""
    size = skew.shape[-1]
    identity = torch.eye(size, dtype=skew.dtype, device=skew.device)
    if form == "cayley":
        solved: Tensor = torch.linalg.solve(identity - skew / 2, identity + skew / 2)
        return solved
    if size <= 3:
        # Rodrigues' formula, far faster than torch's exponential. Near no turn at all the root has no
        # derivative, but there the terms that it enters do not change either.
        angle = (skew.square().sum((-1, -2), keepdim=True) / 2).clamp(min=1e-12).sqrt()
        bend = torch.sinc(angle / (2 * torch.pi)).square() / 2
        return identity + torch.sinc(angle / torch.pi) * skew + bend * (skew @ skew)
    powers: Tensor = torch.linalg.matrix_exp(skew)
    return powers


class OrthogonalWriter(WeightWriter):
    """Writes a matrix for each letter into one block, as it is; the state is one column."""

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns one block that takes its matrices as they are."""
        size = max(2, len(block.states))
        shape = {"blocks": 1, "size": size, "columns": 1}
        return {**shape, "form": "matrix", "write": True, "learned_start": True}

    def fill(self, layer: Orthogonal, block: BlockPlan) -> None:
        """Sets the weights of a layer."""
        if block.layer is None:
            return
        assert layer.B is not None
        size = layer.settings.size
        matrices = layer.W.weight.view(size, size, -1)
        move = block.layer.move
        if isinstance(move, FixedPlan):
            self._require_isometry(block.layer.name, move)
            set_matrix(matrices[:, :, ONE], move.matrix)
            set_rows(layer.B, move.writes)
        elif block.layer.complex_state or not isinstance(move, MatrixPlan | PermutationPlan):
            raise NotCompilable(self.architecture, [f"layer {block.layer.name} is {move.kind}"])
        else:
            for letter, place in enumerate(block.letters):
                if isinstance(move, MatrixPlan):
                    set_matrix(matrices[:, :, place], move.matrices[letter])
                else:
                    for j, i in enumerate(move.images[letter]):
                        matrices[i, j, place] = to_float(move.diagonals[letter][j])
                layer.B.weight[: block.layer.width, place] = as_tensor(move.writes[letter])
        layer.start[0, : block.layer.width, 0] = as_tensor(block.layer.start)
        for i, place in enumerate(block.states):
            layer.C.weight[place, i] = 1

    def _require_isometry(self, name: str, move: FixedPlan) -> None:
        """Raises NotCompilable unless the matrix permutes coordinates, up to signs."""
        entries = [entry for row in move.matrix for entry in row]
        columns = {j for j, c in entries if abs(to_float(c)) == 1}
        if not len(entries) == len(columns) == len(move.matrix) or any(len(row) != 1 for row in move.matrix):
            raise NotCompilable(self.architecture, [f"layer {name} has a matrix that is not orthogonal"])


KIND = LayerKind(
    name="orthogonal",
    title="Orthogonal blocks, input-dependent",
    settings=OrthogonalSettings,
    build=Orthogonal,
    equation="H = R(x) H, R(x) in SO(n)",
    reference=Reference("Merrill2024"),
    variants={"orthogonal-cayley": {"form": "cayley"}},
    writer=OrthogonalWriter,
)
