"""Which weight of a peer means the same as which weight of ours.

A peer may keep a weight in another shape, transposed, as one of several rows, or less a constant. A `Match`
says so once, and both directions follow from it: copying our weights, and comparing gradients.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from nerode.core import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A weight of ours, and the weight of a peer that means the same.

    Attributes:
        name: what the weight is called here.
        ours: our weight.
        theirs: the weight of the peer.
        part: the row of ours that theirs is; None for all of it.
        turned: whether the last two axes of theirs are those of ours in the other order.
        shift: what theirs has more than ours; a norm may keep its weight less 1.
    """

    name: str
    ours: Tensor
    theirs: Tensor
    part: int | None = None
    turned: bool = False
    shift: float = 0.0

    def __post_init__(self) -> None:
        if self.lay_out(self.ours.detach()).numel() != self.theirs.numel():
            raise InputError(
                f"the weight {self.name} has the shape {tuple(self.ours.shape)}, the peer's "
                f"{tuple(self.theirs.shape)}; the two need as many numbers"
            )

    def lay_out(self, tensor: Tensor) -> Tensor:
        """Returns a tensor of the shape of ours (the weight, its gradient) in the layout of theirs."""
        taken = tensor if self.part is None else tensor[self.part]
        return (taken.transpose(-1, -2) if self.turned else taken).flatten()


def match_weights(
    ours: nn.Module, theirs: nn.Module, names: Mapping[str, str] | None = None
) -> tuple[Match, ...]:
    """Returns the pairs of all weights of two modules.

    Args:
        ours: our layer.
        theirs: the peer's.
        names: for each weight of the peer that is called otherwise here, its name here.

    Raises:
        InputError: if a weight is left over on one side, or two of a pair differ in size.
    """
    names = names or {}
    mine, other = dict(ours.named_parameters()), dict(theirs.named_parameters())
    meant = {name: names.get(name, name) for name in other}
    alone = (
        sorted(set(mine) - set(meant.values())),
        sorted(n for n, here in meant.items() if here not in mine),
    )
    if any(alone) or not set(names) <= set(other):
        wrong = sorted(set(names) - set(other))
        raise InputError(
            "weights without a partner: "
            + "; ".join(
                f"{whose} {', '.join(left)}"
                for whose, left in (
                    ("ours", alone[0]),
                    ("the peer's", alone[1]),
                    ("no weight of the peer", wrong),
                )
                if left
            )
            + ". Give `names`: for each weight of the peer its name in our layer"
        )
    return tuple(Match(name=here, ours=mine[here], theirs=other[name]) for name, here in meant.items())


@torch.no_grad()
def give_weights(matches: Iterable[Match]) -> None:
    """Gives the peer our weights."""
    for match in matches:
        match.theirs.copy_(match.lay_out(match.ours).view_as(match.theirs) + match.shift)


@torch.no_grad()
def shake(module: nn.Module, generator: torch.Generator, *, by: float) -> None:
    """Adds noise to every weight, so that maps that start at zero do something, too."""
    for weight in module.parameters():
        weight.add_(torch.randn(weight.shape, generator=generator).to(weight), alpha=by)
