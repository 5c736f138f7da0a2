"""The table of peers: layers of other libraries that compute what a layer of the zoo computes.

A library is imported only when its layer is built, so that the table can be read without any of them.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from nerode.core import InputError, Registry
from nerode.models.audit.matching import Match


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


class Builder(Protocol):
    """What builds a pair of layers; it draws from torch's generator."""

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
    build: Builder
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


PEERS: Registry[Peer] = Registry("peer", hint="`nerode audit --list` lists them.")


def all_peers() -> Registry[Peer]:
    """Returns the whole table."""
    import nerode.models.audit.peers  # noqa: F401  (fills the table)

    return PEERS
