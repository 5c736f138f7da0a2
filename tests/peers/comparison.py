"""Audits: a layer of another library beside ours, with the same weights, forward and backward.

The judge is our layer in float64 with the same weights, or ours as it is if it is no module but a function. A
peer may be off by the tolerance, or by a few times what our layer is off in the same type: where a sum
cancels, rounding is all that is left of it on both sides. For the same reason a gradient that is small beside
the others is measured by a tenth of the largest.

A difference is a share of the largest exact number in the same tensor, so that it does not depend on the
scale of outputs or gradients. A NaN, or an infinity on one side only, is a difference without bound.

Several libraries turn parts of a computation into float32, whatever the type of the weights. That is wise for
16-bit floats, but loses half the digits of float64. Without these detours one sees whether anything else
differs.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.func import functional_call

from nerode.core import InputError, Registry, charge
from nerode.models.libraries.library_model import silence_libraries
from tests.peers.libraries import PEERS, Match, Pair, Peer, give_weights, match_weights

__all__ = [
    "LENGTHS",
    "TOLERANCES",
    "Audit",
    "Comparison",
    "Gap",
    "Match",
    "Pair",
    "Peer",
    "PositionGap",
    "all_peers",
    "audit_layer",
    "audit_peer",
    "compare",
    "give_weights",
    "keep_float64",
    "match_weights",
]


ROUNDING = 4.0
"""A peer may be off by this many times as much as our own layer in the same type is."""

_MOST = 100.0
"""But by no more than this many tolerances, whatever ours does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """The distance of a tensor of the peer from the exact one.

    Attributes:
        largest: the largest difference.
        own: the largest difference of ours, in the same type, from the exact one.
        allowed: what counts as none: the tolerance, or what rounding alone does where that is more.
    """

    largest: float
    own: float
    allowed: float

    @property
    def beyond(self) -> bool:
        """Whether this is a difference."""
        return self.largest > self.allowed


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionGap(Gap):
    """The same for a tensor (batch, time, …).

    Attributes:
        at: the position of the largest difference.
        first: the first position that differs by more than is allowed; None if no position does.
        last: the last such position. A backward pass runs from the end, so its error comes in there.
    """

    at: int
    first: int | None
    last: int | None


def gap_of(exact: Tensor, ours: Tensor, theirs: Tensor, tolerance: float, least: float = 0.0) -> Gap:
    """Returns the gap of two tensors; `least` is the least number that differences are a share of."""
    own, largest = (float(differences(exact, other, least).max()) for other in (ours, theirs))
    return Gap(largest=largest, own=own, allowed=_allowed(own, tolerance))


def position_gap_of(
    exact: Tensor, ours: Tensor, theirs: Tensor, tolerance: float, least: float = 0.0
) -> PositionGap:
    """Returns the gap of two tensors (batch, time, …), with positions."""
    own = float(differences(exact, ours, least).max())
    allowed = _allowed(own, tolerance)
    by_position = differences(exact, theirs, least).transpose(0, 1).flatten(1).amax(dim=1)
    beyond = (by_position > allowed).nonzero().flatten().tolist()
    return PositionGap(
        largest=float(by_position.max()),
        own=own,
        allowed=allowed,
        at=int(by_position.argmax()),
        first=beyond[0] if beyond else None,
        last=beyond[-1] if beyond else None,
    )


def differences(exact: Tensor, other: Tensor, least: float = 0.0) -> Tensor:
    """Returns |exact - other| as a share of the largest exact number, or of `least` where that is more."""
    right, given = exact.detach().double(), other.detach().to(exact.device).double()
    shares = (right - given).abs() / (max(largest_of(right), least) or 1.0)
    # Infinities of the same sign agree; all else that is not a number does not.
    return torch.where(right == given, 0.0, shares).nan_to_num(nan=math.inf, posinf=math.inf)


def largest_of(tensor: Tensor) -> float:
    """Returns the largest finite number, in size."""
    finite = tensor.detach()[tensor.isfinite()].abs()
    return float(finite.max()) if finite.numel() else 0.0


def _allowed(own: float, tolerance: float) -> float:
    return max(tolerance, min(ROUNDING * own, _MOST * tolerance))


TOLERANCES = {torch.float64: 1e-10, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 1e-1}
"""The difference allowed between two correct implementations, as a share of the largest number."""

_LOSS_SEED = 2
_SMALL = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The result at one length.

    Attributes:
        length: number of positions.
        tolerance: what the peer may be off by.
        outputs: the gap of the outputs; None if there is nothing to compare.
        inputs: the gap of the gradients for the inputs.
        weights: for each weight, the gap of its gradients.
        troubles: errors that the peer raised, shapes that do not agree, numbers that are not finite.
    """

    length: int
    tolerance: float
    outputs: PositionGap | None = None
    inputs: PositionGap | None = None
    weights: dict[str, Gap]
    troubles: tuple[str, ...] = ()

    @property
    def forward(self) -> float:
        """The largest difference of outputs; infinite if they could not be compared."""
        return math.inf if self.outputs is None else self.outputs.largest

    @property
    def backward(self) -> float:
        """The largest difference of gradients, for inputs and weights; infinite if there were none."""
        if self.inputs is None:
            return math.inf
        return max(gap.largest for gap in (self.inputs, *self.weights.values()))

    @property
    def same(self) -> bool:
        """Whether all differences are as small as they may be, and nothing else went wrong."""
        gaps = [self.outputs, self.inputs, *self.weights.values()]
        return not self.troubles and not any(gap is None or gap.beyond for gap in gaps)

    @property
    def where(self) -> str:
        """The first difference in words; empty if there is none. Positions count from 0."""
        if self.troubles:
            return self.troubles[0]
        if self.outputs is not None and self.outputs.first is not None:
            return f"output of position {self.outputs.first} of {self.length}"
        if self.inputs is not None and self.inputs.last is not None:
            return f"gradient of position {self.inputs.last} of {self.length} (from the end)"
        worst = max(self.weights, key=lambda name: self.weights[name].largest, default=None)
        if worst is None or not self.weights[worst].beyond:
            worst = next((name for name, gap in self.weights.items() if gap.beyond), None)
        return "" if worst is None else f"gradient of {worst} at length {self.length}"


def compare(
    ours: Callable[[Tensor], Any],
    theirs: Callable[[Tensor], Any],
    weights: Iterable[Match],
    x: Tensor,
    tolerance: float | None = None,
) -> Comparison:
    """Returns where two layers differ, forward and backward.

    The gradients are those of one weighted sum of the outputs. Whatever goes wrong in the peer is reported,
    not raised; an error of ours is raised.

    Args:
        ours: gives the outputs (batch, time, …), alone or as the first of several things.
        theirs: the same.
        weights: the pairs of weights whose gradients are compared; the weights are taken as they are.
        x: the inputs.
        tolerance: the largest difference that counts as none; by default that of `TOLERANCES`.
    """
    matches = tuple(weights)
    tolerance = TOLERANCES[x.dtype] if tolerance is None else tolerance
    mine = _run(ours, x, [match.ours for match in matches])
    try:
        other = _run(theirs, x, [match.theirs for match in matches])
    except Exception as error:
        text = f"the peer raised {type(error).__name__}: {str(error).strip() or 'without a message'}"
        return Comparison(length=x.shape[1], tolerance=tolerance, weights={}, troubles=(text,))
    if mine[0].shape != other[0].shape:
        text = f"the peer gives outputs of shape {tuple(other[0].shape)}; ours are {tuple(mine[0].shape)}"
        return Comparison(length=x.shape[1], tolerance=tolerance, weights={}, troubles=(text,))
    exact = _run_exactly(ours, x, matches) or mine
    least = _SMALL * max(largest_of(gradient) for gradient in exact[1:])
    troubles = [*_not_finite("outputs", mine[0], other[0]), *_not_finite("gradients", mine[1], other[1])]
    return Comparison(
        length=x.shape[1],
        tolerance=tolerance,
        outputs=position_gap_of(exact[0], mine[0], other[0], tolerance),
        inputs=position_gap_of(exact[1], mine[1], other[1], tolerance, least),
        weights=_weight_gaps(matches, (exact[2:], mine[2:], other[2:]), tolerance, least),
        troubles=tuple(troubles),
    )


def _run(
    function: Callable[[Tensor], Any],
    x: Tensor,
    weights: Sequence[Tensor],
    factors: torch.dtype | None = None,
) -> list[Tensor]:
    """The outputs, and the gradients for the inputs and the weights; `factors` is the type of the loss."""
    leaf = x.detach().clone().requires_grad_()
    outputs = function(leaf)
    y: Tensor = outputs if isinstance(outputs, Tensor) else outputs[0]
    generator = torch.Generator().manual_seed(_LOSS_SEED)
    drawn = torch.randn(y.shape, generator=generator, dtype=torch.float64)
    asked = [leaf, *weights]
    loss = (y * drawn.to(factors or y.dtype).to(y)).sum()
    found = torch.autograd.grad(loss, asked, allow_unused=True)
    gradients = [torch.zeros_like(a) if g is None else g for a, g in zip(asked, found, strict=True)]
    return [y.detach(), *gradients]


def _run_exactly(ours: Callable[[Tensor], Any], x: Tensor, matches: Sequence[Match]) -> list[Tensor] | None:
    """The same for our layer in float64; None if it is in float64 or no module has its weights."""
    if x.dtype == torch.float64 or not isinstance(ours, nn.Module):
        return None
    names = {id(weight): name for name, weight in ours.named_parameters()}
    if any(id(match.ours) not in names for match in matches):
        return None
    tensors = {**dict(ours.named_parameters()), **dict(ours.named_buffers())}
    wide = {n: t.detach().double().requires_grad_() for n, t in tensors.items() if t.is_floating_point()}
    weights = [wide[names[id(match.ours)]] for match in matches]
    return _run(lambda given: functional_call(ours, wide, (given,)), x.double(), weights, x.dtype)


def _weight_gaps(
    matches: Sequence[Match],
    gradients: tuple[list[Tensor], list[Tensor], list[Tensor]],
    tolerance: float,
    least: float,
) -> dict[str, Gap]:
    gaps: dict[str, Gap] = {}
    for match, exact, mine, other in zip(matches, *gradients, strict=True):
        gap = gap_of(match.lay_out(exact), match.lay_out(mine), other.flatten(), tolerance, least)
        # Several weights of the peer may be parts of one of ours.
        gaps[match.name] = max(gap, gaps.get(match.name, gap), key=lambda g: g.largest / g.allowed)
    return gaps


def _not_finite(what: str, ours: Tensor, theirs: Tensor) -> list[str]:
    """A sentence for each side that has a NaN or an infinity, with its first position."""
    found = []
    for whose, tensor in (("the peer's", theirs), ("our", ours)):
        bad = (~tensor.isfinite()).transpose(0, 1).flatten(1).any(dim=1)
        if bool(bad.any()):
            kind = "NaN" if bool(tensor.isnan().any()) else "infinite"
            found.append(f"{whose} {what} are {kind} from position {int(bad.int().argmax())} on")
    return found


LENGTHS = (1, 2, 3, 7, 64, 257)
"""Lengths at which layers go wrong: one position, shorter than a window, around a chunk."""

BATCH = 3

Verdict = Literal["same", "float32 inside", "differs", "fails"]


def _collect() -> Registry[Peer]:
    table: Registry[Peer] = Registry("peer", hint="tests/peers/libraries.py lists them.")
    for peer in PEERS:
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
    inputs: Tensor,
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
    charge()
    generator = torch.Generator().manual_seed(seed + 1)
    with silence_libraries():
        pair = peer.pair(dtype=dtype, length=length, seed=seed)
        x = torch.randn(BATCH, length, pair.inputs, generator=generator, dtype=torch.float64)
        return compare(pair.ours, pair.theirs, pair.matches, x.to(pair.device, dtype), tolerance)


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
