"""Places: where each weight of another library lies in a model of the zoo. One map serves both directions.

A library may keep a weight in another shape, transposed, as one of several rows of ours, as one of several
parts of theirs, or shifted or scaled by a constant. A `Place` says so once. Reading a file, writing one and
the pairs of layers that tests compare all follow from it. The tables of layers say what each weight is called
there and here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from nerode.core import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A weight of a library and the weight of ours that means the same: theirs = scale · ours + shift.

    Attributes:
        theirs: the name of the weight there.
        ours: the name of the weight here.
        row: the row of ours that theirs is; None for all of it.
        part: theirs is cut into equal parts along its first axis; the number of the part and of all parts.
        turned: whether the last two axes of theirs are those of ours in the other order.
        axes: where theirs has axes of size 1 that ours has not.
        shape: the shape of theirs, where it holds the same numbers in another one; -1 for what is left.
        shift: what theirs has more than ours; a norm may keep its weight less 1.
        scale: what ours is multiplied with.
        take: the rows of theirs that ours has, from its row `first` on; empty for all.
    """

    theirs: str
    ours: str
    row: int | None = None
    part: tuple[int, int] | None = None
    turned: bool = False
    axes: tuple[int, ...] = ()
    shape: tuple[int, ...] | None = None
    shift: float = 0.0
    scale: float = 1.0
    take: tuple[int, ...] = ()
    first: int = 0

    def rows(self, take: tuple[int, ...], first: int) -> Place:
        """Returns the place of some rows of theirs, in an order, in ours from a row on."""
        return replace(self, take=take, first=first)

    def inside(self, theirs: str, ours: str) -> Place:
        """Returns the same place for a layer that lies behind a prefix on each side."""
        return replace(self, theirs=f"{theirs}{self.theirs}", ours=f"{ours}{self.ours}")


def renamed(names: Mapping[str, str]) -> tuple[Place, ...]:
    """Returns the places of weights that differ in their names only."""
    return tuple(Place(theirs=theirs, ours=ours) for theirs, ours in names.items())


def inside(places: Iterable[Place], theirs: str, ours: str) -> tuple[Place, ...]:
    """Returns the places of a layer that lies behind a prefix on each side."""
    return tuple(place.inside(theirs, ours) for place in places)


@torch.no_grad()
def fill_ours(
    ours: Mapping[str, Tensor],
    theirs: Mapping[str, Tensor],
    places: Sequence[Place],
    *,
    optional: Sequence[str],
) -> None:
    """Gives our weights the numbers of a library's; weights of ours without a place become zero.

    Args:
        ours: our weights by name; they are changed in place.
        theirs: the weights of the library by name.
        places: the map.
        optional: weights of the library that may be left over, because they say nothing.

    Raises:
        InputError: if a weight is missing, left over or of another size, or a number is not finite.
    """
    wanted = {place.theirs for place in places}
    missing, left = sorted(wanted - theirs.keys()), sorted(theirs.keys() - wanted - set(optional))
    if missing:
        raise InputError(f"the weight {missing[0]} is missing{_more(missing)}")
    if left:
        raise InputError(f"the weight {left[0]} is not one of this architecture{_more(left)}")
    for name in ours.keys() - {place.ours for place in places}:
        ours[name].zero_()
    for place in places:
        given = theirs[place.theirs]
        target = ours[place.ours] if place.row is None else ours[place.ours][place.row]
        if place.part is not None:
            number, parts = place.part
            if given.shape[0] % parts:
                raise _shape(place, given, target)
            given = given.chunk(parts)[number]
        if place.take:
            given = given.mT if place.turned else given
            if max(place.take) >= len(given):
                raise _shape(place, given, target)
            given, target = given[list(place.take)], target[place.first :][: len(place.take)]
        elif place.turned:
            target = target.mT
        if given.numel() != target.numel():
            raise _shape(place, given, target)
        if not bool(torch.isfinite(given).all()):
            raise InputError(f"the weight {place.theirs} is not finite")
        values = given.to(target.dtype)
        if place.shift or place.scale != 1.0:
            values = (values - place.shift) / place.scale
        target.copy_(values.reshape(target.shape))


@torch.no_grad()
def give_theirs(ours: Mapping[str, Tensor], places: Sequence[Place]) -> dict[str, Tensor]:
    """Returns the weights of a library from ours: the way back.

    Args:
        ours: our weights by name.
        places: the map.

    Raises:
        InputError: if a weight of ours that has no place there is not zero, or two of ours that are one
            weight there differ.
    """
    for name in sorted(ours.keys() - {place.ours for place in places}):
        if bool(ours[name].any()):
            raise InputError(f"the library has no weight for {name}, which is not zero")
    parts: dict[str, dict[int, Tensor]] = defaultdict(dict)
    turned = {place.theirs for place in places if place.take and place.turned}
    for place in places:
        value = ours[place.ours].detach() if place.row is None else ours[place.ours].detach()[place.row]
        if place.take:
            for row, taken in zip(place.take, value[place.first :].unsqueeze(1), strict=False):
                _keep(parts[place.theirs], row, taken, place)
            continue
        value = value.mT if place.turned else value
        value = value * place.scale + place.shift
        for axis in place.axes:
            value = value.unsqueeze(axis)
        value = value if place.shape is None else value.reshape(place.shape)
        number = 0 if place.part is None else place.part[0]
        _keep(parts[place.theirs], number, value, place)
    found = {
        name: torch.cat([rows[i] for i in sorted(rows)]) if len(rows) > 1 else rows[0]
        for name, rows in parts.items()
    }
    return {name: (value.mT if name in turned else value).contiguous() for name, value in found.items()}


def _keep(parts: dict[int, Tensor], number: int, value: Tensor, place: Place) -> None:
    """Takes a part of a weight, which has to be the one that is there already."""
    known = parts.setdefault(number, value)
    if known is not value and not torch.allclose(known, value, rtol=1e-6, atol=0.0):
        raise InputError(f"{place.theirs} of the library is one weight, and {place.ours} another here")


def _more(names: Sequence[str]) -> str:
    return f" (and {len(names) - 1} more)" if len(names) > 1 else ""


def _shape(place: Place, given: Tensor, target: Tensor) -> InputError:
    return InputError(
        f"the weight {place.theirs} has the shape {tuple(given.shape)}; its settings ask for "
        f"{tuple(target.shape)}"
    )


def _same(*names: str) -> tuple[Place, ...]:
    return renamed({name: name for name in names})


def _convolution(name: str) -> tuple[Place, ...]:
    return (
        Place(theirs=f"{name}.weight", ours="convolution.weight", axes=(1,)),
        Place(theirs=f"{name}.bias", ours="convolution.bias"),
    )


MAMBA = (
    *_convolution("conv1d"),
    *_same(
        "A_log", "D", "in_proj.weight", "x_proj.weight", "dt_proj.weight", "dt_proj.bias", "out_proj.weight"
    ),
)
"""The Mamba block of mamba-ssm, transformers and mambapy."""

MAMBA_BIASES = _same("in_proj.bias", "out_proj.bias")
"""Of a Mamba or Mamba-2 block whose maps add biases."""

MAMBA_2 = (
    *_convolution("conv1d"),
    *renamed({"norm.weight": "norm_weight"}),
    *_same("dt_bias", "A_log", "D", "in_proj.weight", "out_proj.weight"),
)
"""The Mamba-2 block of mamba-ssm and transformers."""


def griffin(blocks: int) -> tuple[Place, ...]:
    """Returns the places of the recurrent block of RecurrentGemma, whose gates have so many blocks."""
    names = {"recurrent_gate": "recurrence_gate", "input_gate": "input_gate"}
    return (
        *_convolution("conv_1d"),
        Place(theirs="rg_lru.recurrent_param", ours="decay"),
        *(
            Place(theirs=f"rg_lru.{theirs}_bias", ours=f"{ours}.bias", shape=(blocks, -1))
            for theirs, ours in names.items()
        ),
        # The library multiplies its gate matrices from the right.
        *(
            Place(theirs=f"rg_lru.{theirs}_weight", ours=f"{ours}.weight", turned=True)
            for theirs, ours in names.items()
        ),
        *_same(
            *(
                f"{name}.{kind}"
                for name in ("linear_x", "linear_y", "linear_out")
                for kind in ("weight", "bias")
            )
        ),
    )


LOCAL_ATTENTION = _same("q_proj.weight", "k_proj.weight", "v_proj.weight", "o_proj.weight", "o_proj.bias")
"""The attention of RecurrentGemma."""

RWKV_4 = (
    *renamed({"time_decay": "decay", "time_first": "bonus"}),
    *(
        Place(theirs=f"time_mix_{name}", ours="mix", row=row, axes=(0, 0))
        for row, name in enumerate(("receptance", "key", "value"))
    ),
    *_same("key.weight", "value.weight", "receptance.weight", "output.weight"),
)
"""The time mixing of RWKV-4."""

RWKV_CHANNEL_MIX = (
    *(
        Place(theirs=f"time_mix_{name}", ours="mix", row=row, axes=(0, 0))
        for row, name in enumerate(("receptance", "key"))
    ),
    *_same("key.weight", "value.weight", "receptance.weight"),
)
"""The channel mixing of RWKV-4."""

MLSTM_LARGE = renamed(
    {
        "q.weight": "query.weight",
        "k.weight": "key.weight",
        "v.weight": "value.weight",
        "ogate_preact.weight": "output_gate.weight",
        "igate_preact.weight": "input_gate.weight",
        "igate_preact.bias": "input_gate.bias",
        "fgate_preact.weight": "forget_gate.weight",
        "fgate_preact.bias": "forget_gate.bias",
        "multihead_norm.weight": "norm.weight",
        "out_proj.weight": "down.weight",
    }
)
"""The mLSTM layer of xLSTM-7B, in transformers and in xlstm."""

MLSTM_BLOCK = (
    *_convolution("conv1d.conv"),
    *renamed(
        {
            "proj_up.weight": "up.weight",
            "q_proj.weight": "query.weight",
            "k_proj.weight": "key.weight",
            "v_proj.weight": "value.weight",
            "mlstm_cell.igate.weight": "input_gate.weight",
            "mlstm_cell.igate.bias": "input_gate.bias",
            "mlstm_cell.fgate.weight": "forget_gate.weight",
            "mlstm_cell.fgate.bias": "forget_gate.bias",
            "learnable_skip": "skip",
            "proj_down.weight": "down.weight",
        }
    ),
    # The package keeps the weight of a norm less one.
    Place(theirs="mlstm_cell.outnorm.weight", ours="norm.weight", shift=-1.0),
)
"""The mLSTM layer of xlstm."""

SLSTM_CELL = (
    Place(theirs="slstm_cell._recurrent_kernel_", ours="recurrent"),
    Place(theirs="slstm_cell._bias_", ours="bias", shape=(-1,)),
    Place(theirs="group_norm.weight", ours="norm.weight", shift=-1.0),
    # The package calls the map of its input gate `fgate`, and that of its forget gate `igate`.
    *(
        Place(theirs=f"{name}.weight", ours="read", row=row)
        for row, name in enumerate(("fgate", "igate", "zgate", "ogate"))
    ),
)
"""The sLSTM layer of xlstm without its convolution."""

SLSTM_BLOCK = (*_convolution("conv1d.conv"), *SLSTM_CELL)
"""The sLSTM layer of xlstm."""


def torch_cell(end: str, *, bias: bool) -> tuple[Place, ...]:
    """Returns the places of one layer of torch's RNN, GRU or LSTM, whose names end in "_l0", or of a cell."""
    names = {f"weight_ih{end}": "read.weight", f"weight_hh{end}": "recurrent"}
    if bias:
        names |= {f"bias_ih{end}": "read.bias", f"bias_hh{end}": "recurrent_bias"}
    return renamed(names)
