"""Audits: a peer of the table at several lengths, or a layer of one's own.

Several libraries turn parts of a computation into float32, whatever the type of the weights. That is wise for
16-bit floats, but loses half the digits of float64. Without these detours one sees whether anything else
differs.
"""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.core import InputError, Registry
from nerode.models.audit.comparison import Comparison, compare
from nerode.models.audit.peer import Match, Peer, give_weights, match_weights
from nerode.models.audit.peers import gpu, mambapy, torch_cells, transformers, xlstm

LENGTHS = (1, 2, 3, 7, 64, 257)
"""Lengths at which layers go wrong: one position, shorter than a window, around a chunk."""

BATCH = 3

Verdict = Literal["same", "float32 inside", "differs", "fails"]


def _collect() -> Registry[Peer]:
    table: Registry[Peer] = Registry("peer", hint="`nerode audit --list` lists them.")
    for library in (gpu, mambapy, torch_cells, transformers, xlstm):
        for peer in library.PEERS:
            table.add(peer.name, peer)
    return table


_PEERS = _collect()


def all_peers() -> Registry[Peer]:
    """Returns the table of peers, by name."""
    return _PEERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The result of the audit of a peer.

    Attributes:
        peer: the peer.
        dtype: the type of weights and inputs.
        comparisons: one for each length, in the order that was asked for.
        only_detours: whether, in float64, the two agree once the peer is kept from turning to float32.
    """

    peer: Peer
    dtype: torch.dtype
    comparisons: tuple[Comparison, ...]
    only_detours: bool = False

    @property
    def forward(self) -> float:
        """The largest difference of outputs."""
        return max(c.forward for c in self.comparisons)

    @property
    def backward(self) -> float:
        """The largest difference of gradients."""
        return max(c.backward for c in self.comparisons)

    @property
    def same(self) -> bool:
        """Whether the two agree within the tolerance at every length."""
        return all(c.same for c in self.comparisons)

    @property
    def where(self) -> str:
        """The first difference at the first length that has one, in words."""
        return next((c.where for c in self.comparisons if not c.same), "")

    @property
    def verdict(self) -> Verdict:
        """The result in a word."""
        if self.same:
            return "same"
        if self.only_detours:
            return "float32 inside"
        return "fails" if all(c.outputs is None for c in self.comparisons if not c.same) else "differs"


def audit_peer(
    peer: Peer,
    *,
    lengths: Sequence[int] = LENGTHS,
    dtype: torch.dtype = torch.float32,
    seed: int = 0,
    tolerance: float | None = None,
) -> Audit:
    """Returns how a peer compares with our layer at several lengths.

    Args:
        peer: the peer.
        lengths: numbers of positions, each 1 or more.
        dtype: the type of weights and inputs.
        seed: what weights and inputs are drawn from.
        tolerance: the largest difference that counts as none; by default 1e-5 in float32, 1e-10 in float64.

    Raises:
        InputError: if the library is missing, or a length is not positive.
    """
    if not lengths or min(lengths) < 1:
        raise InputError(f"the lengths are {list(lengths)}; give one or more, each 1 or more")
    found = tuple(_compare_at(peer, length, dtype, seed, tolerance) for length in lengths)
    audit = Audit(peer=peer, dtype=dtype, comparisons=found)
    if audit.same or dtype is not torch.float64:
        return audit
    with keep_float64():
        again = [_compare_at(peer, length, dtype, seed, tolerance) for length in lengths]
    return Audit(peer=peer, dtype=dtype, comparisons=found, only_detours=all(c.same for c in again))


def audit_layer(
    ours: nn.Module,
    theirs: nn.Module,
    weights: Mapping[str, str] | Iterable[Match],
    inputs: Float[Tensor, "batch time inputs"],
    *,
    tolerance: float | None = None,
) -> Comparison:
    """Returns how a layer of your own compares with one of ours, after it was given our weights.

    Args:
        ours: our layer; its weights are not changed.
        theirs: yours. Its outputs are (batch, time, …), alone or as the first of several things.
        weights: for each weight of yours that is called otherwise here, its name here; or the pairs of
            weights themselves, where a shape or a convention differs.
        inputs: the inputs.
        tolerance: the largest difference that counts as none; by default 1e-5 in float32, 1e-10 in float64.

    Raises:
        InputError: if a weight has no partner, or one of another size.
    """
    matches = match_weights(ours, theirs, weights) if isinstance(weights, Mapping) else tuple(weights)
    give_weights(matches)
    return compare(ours, theirs, matches, inputs, tolerance)


def _compare_at(
    peer: Peer, length: int, dtype: torch.dtype, seed: int, tolerance: float | None
) -> Comparison:
    generator = torch.Generator().manual_seed(seed + 1)
    with _quiet():
        pair = peer.pair(dtype=dtype, length=length, seed=seed)
        x = torch.randn(BATCH, length, pair.inputs, generator=generator, dtype=torch.float64)
        return compare(pair.ours, pair.theirs, pair.matches, x.to(pair.device, dtype), tolerance)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silences warnings of libraries (slow paths, odd settings), which concern those who train."""
    before = logging.root.manager.disable
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        try:
            yield
        finally:
            logging.disable(before)


@contextlib.contextmanager
def keep_float64() -> Iterator[None]:
    """Makes every request for float32 one for float64, in this process, until the block ends.

    This covers `.float()`, `.to(torch.float32)`, `.type(torch.float32)`, new tensors of the default type, and
    the names `torch.float32` and `torch.float` where they are looked up inside the block.
    """
    narrow, wide = torch.float32, torch.float64
    methods = {name: getattr(Tensor, name) for name in ("float", "to", "type")}
    default = torch.get_default_dtype()

    def widened(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(tensor: Tensor, *arguments: Any, **options: Any) -> Any:
            arguments = tuple(wide if given is narrow else given for given in arguments)
            options = {name: wide if given is narrow else given for name, given in options.items()}
            return method(tensor, *arguments, **options)

        return call

    try:
        _set(torch, float32=wide, float=wide)
        _set(Tensor, float=Tensor.double, to=widened(methods["to"]), type=widened(methods["type"]))
        torch.set_default_dtype(wide)
        yield
    finally:
        _set(torch, float32=narrow, float=narrow)
        _set(Tensor, **methods)
        torch.set_default_dtype(default)


def _set(owner: object, **values: object) -> None:
    for name, value in values.items():
        setattr(owner, name, value)
