"""A peer: a layer of another library that computes what a layer of the zoo computes, and their weights.

A peer may keep a weight in another shape, transposed, as one of several rows, or less a constant. A `Match`
says so once, and both directions follow from it: copying our weights, and comparing gradients. A library is
imported only when its layer is built, so that the table can be read without any of them.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from nerode.core import InputError
from nerode.models.libraries.places import Place


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


def match_places(ours: nn.Module, theirs: nn.Module, places: Sequence[Place]) -> tuple[Match, ...]:
    """Returns the pairs of all weights of two modules, by the map that imports and exports go by.

    Raises:
        InputError: if a weight is left over on one side, or two of a pair differ in size.
    """
    mine, other = dict(ours.named_parameters()), dict(theirs.named_parameters())
    alone = set(mine) ^ {p.ours for p in places} | set(other) ^ {p.theirs for p in places}
    if alone:
        raise InputError(f"weights without a partner: {', '.join(sorted(alone))}")
    return tuple(
        Match(
            name=place.ours,
            ours=mine[place.ours],
            theirs=other[place.theirs],
            part=place.row,
            turned=place.turned,
            shift=place.shift,
        )
        for place in places
    )


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Our layer and a peer's, with the same weights.

    Attributes:
        ours: gives our outputs (batch, time, …), alone or as the first of several things.
        theirs: the same for the peer.
        matches: the pairs of weights.
        inputs: number of features that both read.
        device: where the weights of both are.
    """

    ours: Callable[[Tensor], Any]
    theirs: Callable[[Tensor], Any]
    matches: Sequence[Match]
    inputs: int
    device: str = "cpu"


class PairBuilder(Protocol):
    """A function that builds a pair of layers; it draws from torch's generator."""

    def __call__(self, *, dtype: torch.dtype, length: int) -> Pair:
        """Returns the pair, its weights of this type, for sequences up to this length."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A layer of another library.

    Attributes:
        name: kebab-case.
        library: the name under which pip knows the library.
        module: the name under which Python does.
        layer: what is compared: the class or function of the library.
        ours: the architecture of the zoo that it is compared with.
        build: builds both.
        cuda: whether the library needs a CUDA device.
        note: what one has to know to read the result.
    """

    name: str
    library: str
    module: str
    layer: str
    ours: str
    build: PairBuilder
    cuda: bool = False
    note: str = ""

    @property
    def version(self) -> str | None:
        """The installed version of the library, None if there is none."""
        try:
            return importlib.metadata.version(self.library)
        except importlib.metadata.PackageNotFoundError:
            return None

    def obstacle(self) -> str | None:
        """Returns why this peer cannot be run here and what to do, None if it can."""
        if self.cuda and not torch.cuda.is_available():
            return f"{self.library} needs a CUDA device, and torch finds none on this machine"
        if importlib.util.find_spec(self.module) is None:
            return f"{self.library} is not installed; `pip install {self.library}` installs it"
        return None

    def pair(self, *, dtype: torch.dtype = torch.float32, length: int = 64, seed: int = 0) -> Pair:
        """Returns our layer and the peer's with the same weights, drawn from the seed.

        Raises:
            InputError: if the library or the device that it needs is missing.
        """
        obstacle = self.obstacle()
        if obstacle is not None:
            raise InputError(f"the peer {self.name} cannot be run: {obstacle}")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return self.build(dtype=dtype, length=length)
