"""Replaying proofs about memories that fade, whose states are too many to list.

This is for models of one layer whose gates depend on the last few letters alone (`LinearReading`). A node has
a box, the smallest and the largest float of each coordinate of the state, and bits of all else: the window of
a convolution. What is verified, one word at a time:

start      The module starts in the first box.
steps      For each node and each letter that is read there, the module's own step is computed from both ends
           of the box. A product with a gate and a sum with a write are monotone, also as floats round them,
           so that every state between the ends goes to one between their images. These lie in the box of the
           stated node, and the rest of the state has its bits.
answers    A score is a linear form of the state, over a root mean square, plus a bias. Over the images of a
           box its sign is bounded in float64. A sum of floats is off by at most the sum of the absolute
           values times the roundings that a term goes through, whatever the order; twice that is taken off.
           Where a number is below the normal range, it is off by the smallest normal number, times all
           weights behind it. Nothing overflows: sums of absolute values are bounded on the whole box.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from nerode.core import Budget, InputError, started
from nerode.kernel import (
    LANGUAGE_TASKS,
    RECOGNISE,
    Certificate,
    Claim,
    Failure,
    first_not_implied,
    language_claim,
)
from nerode.languages import Language, Legal
from nerode.models import LinearReading, Model, State
from nerode.proofs.answers import letters_read
from nerode.proofs.replay.bits import find_foreign, limits
from nerode.proofs.replay.listing import fingerprint

Json = Any

FADING = "fading-boxes"

_ROUNDING = float(torch.finfo(torch.float32).eps)
"""Twice the largest relative error of one operation in float32."""

_SMALLEST = float(torch.finfo(torch.float32).tiny)
"""An operation is off by at most this where its result is below the normal range."""

_LARGEST = float(torch.finfo(torch.float32).max) / 4
"""No operation overflows whose terms have absolute values that add up to at most this."""


def replay_fading(
    model: Model,
    language: Language,
    certificate: Certificate,
    *,
    network: str | None = None,
    budget: Budget | None = None,
) -> Failure | None:
    """Returns why a certificate about a fading memory does not hold for a model, None if it holds.

    A symbol may follow where its score is above 0. `network` is the hash that the certificate has to name, of
    the model's subject; None for that of its weights.

    Raises:
        BudgetExceeded: if the time is up before every step has been computed.
    """
    if foreign := find_foreign(certificate, FADING, language, network or fingerprint(model)):
        return foreign
    try:
        replay = _FadingReplay(model, language, certificate.evidence[FADING], started(budget))
        failure = replay.run()
    except (InputError, KeyError, TypeError, ValueError, IndexError) as error:
        return _failure(f"the evidence makes no sense: {error}")
    return failure or first_not_implied(certificate.claims, [fading_claim(replay.task)])


def _failure(what: str, entry: str = "") -> Failure:
    return Failure(what=what, entry=f"evidence.{FADING}.{entry}".rstrip("."))


def fading_claim(task: str) -> Claim:
    """Returns the claim that a successful replay shows."""
    claim = language_claim(task=task, method=FADING, dtype="float32", order="rounded", length="all")
    return replace(claim, covers=claim.covers + limits([1], covers_empty=False))


def require_fading(model: nn.Module) -> Model:
    """Returns a model whose scores can be bounded, in evaluation mode.

    Raises:
        InputError: if it is another.
    """
    if not isinstance(model, Model) or any(p.dtype != torch.float32 for p in model.parameters()):
        raise InputError("boxes of a fading memory are for models of the zoo in float32")
    if model.config.letters is None:
        raise InputError("boxes of a fading memory are for models that read letters")
    if model.config.final_norm not in ("rms", "none") or model.config.head != "linear":
        raise InputError("boxes of a fading memory are for a linear head, behind a root mean square or none")
    if torch.get_float32_matmul_precision() != "highest":
        raise InputError("products of float32 are rounded to fewer bits here; their errors are not bounded")
    model.eval()
    model.reading(torch.zeros(1, dtype=torch.int64), model.initial_state(1))
    return model


_KEYS = {"task", "dtype", "module", "arithmetic", "layout", "low", "high", "moves"}


class _FadingReplay:
    """Evidence that is well-formed, and the model that it is about."""

    def __init__(self, model: Model, language: Language, evidence: Json, budget: Budget) -> None:
        if not isinstance(evidence, dict) or set(evidence) != _KEYS:
            raise InputError(f"it must have exactly the keys {', '.join(sorted(_KEYS))}")
        self.language, self.budget = language, budget
        self.model, self.task = require_fading(model), evidence["task"]
        if self.task not in LANGUAGE_TASKS or self.task == RECOGNISE or evidence["dtype"] != "float32":
            raise InputError("it is neither about all words nor about valid prefixes in float32")
        if evidence["module"] != fingerprint(model):
            raise InputError("it is about another module")
        self.layout = [(str(n), tuple(map(int, s)), str(d)) for n, s, d in evidence["layout"]]
        if any(kind != "float32" for _, _, kind in self.layout):
            raise InputError("the states are not made of float32")
        self.low = [self._state(row) for row in evidence["low"]]
        self.high = [self._state(row) for row in evidence["high"]]
        self.moves = [list(map(int, row)) for row in evidence["moves"]]
        if not 0 < len(self.low) == len(self.high) == len(self.moves):
            raise InputError("it has not two ends and a row of moves for each node")
        self.form = _ScoreForm(model)

    def _state(self, text: str) -> State:
        """The state that a row of bits stands for."""
        flat = torch.from_numpy(np.frombuffer(bytes.fromhex(text), dtype=np.float32).copy())
        state, first = {}, 0
        for name, shape, _ in self.layout:
            size = int(np.prod(shape))
            state[name] = flat[first : first + size].reshape(1, *shape)
            first += size
        if first != len(flat) or not bool(flat.isfinite().all()):
            raise InputError("a state has too many or too few numbers, or one that is not finite")
        return state

    @torch.no_grad()
    def run(self) -> Failure | None:
        """Returns why the evidence does not hold, None if every step was computed and does."""
        start = self.model.initial_state(1)
        found = [(name, tuple(start[name].shape[1:]), "float32") for name in sorted(start)]
        if found != self.layout:
            return _failure("the module has a state of another form", "layout")
        self.fades = self.model.reading(torch.zeros(1, dtype=torch.int64), start).state
        if not self._lies_in(start, start, 0):
            return _failure("the module starts outside the first box", "low[0]")
        known: dict[int, Hashable] = {0: self.language.initial()}
        for node, row in enumerate(self.moves):
            if node not in known:
                return _failure(f"the node {node} is listed before anything leads to it", "moves")
            here = known[node]
            read = set(letters_read(self.language, here, self.task))
            asked = [letter in read for letter in range(len(self.language.alphabet))]
            if [target >= 0 for target in row] != asked:
                return _failure(f"the node {node} has moves for other letters than are read", "moves")
            for letter in sorted(read):
                after = self.language.advance(here, letter)
                if known.setdefault(row[letter], after) != after:
                    return _failure(f"the node {row[letter]} stands for two configurations", "moves")
                failure = self._step(node, letter, row[letter], self.language.legal(after))
                if failure is not None:
                    return failure
        return None

    def _step(self, node: int, letter: int, target: int, legal: Legal) -> Failure | None:
        self.budget.check_time(nodes_replayed=node, nodes=len(self.moves))
        x = torch.tensor([letter])
        ends = [self.model.step(x, end[node]) for end in (self.low, self.high)]
        (_, one), (_, other) = ends
        if not self._lies_in(one, other, target):
            name = self.language.alphabet.symbols[letter]
            return _failure(f"{name!r} leads from node {node} out of the box of node {target}", "moves")
        images = one[self.fades], other[self.fades]
        reading = self.model.reading(x, self.low[node])
        bounds = self.form.bounds(reading, torch.minimum(*images), torch.maximum(*images))
        if bounds is None:
            return _failure(f"a number may be too large or too small at node {target}", "moves")
        low, high = bounds
        wanted = torch.tensor([a in legal.symbols for a in range(len(self.moves[node]))] + [legal.end])
        # What the module itself says at both ends is looked at, too: its reading might be of another step.
        # A score that is not a finite number is no answer.
        said = all(torch.equal(scores[0] > 0, wanted) and scores.isfinite().all() for scores, _ in ends)
        if not said or not bool(torch.where(wanted, low > 0, high < 0).all()):
            return _failure(f"an answer at node {target} is wrong, or open", "moves")
        return self._look_inside(node, letter, target, reading, wanted)

    def _look_inside(
        self, node: int, letter: int, target: int, reading: LinearReading, wanted: Tensor
    ) -> Failure | None:
        """A guard: the step from a corner of a box that moves the stream most, or its middle, by the module.

        A replay that is right never refuses here, so that this is no part of the proof.
        """
        low, high = self.low[node][self.fades], self.high[node][self.fades]
        weight = reading.weight[0].flatten(1)
        row = weight[int((weight.abs() @ (high - low).double().flatten()).argmax())].reshape(low.shape)
        corners = torch.where(row > 0, high, low), torch.where(row > 0, low, high)
        point = (*corners, (low / 2 + high / 2).clamp(low, high))[(node + letter) % 3]
        scores, after = self.model.step(torch.tensor([letter]), {**self.low[node], self.fades: point})
        said = torch.equal(scores[0] > 0, wanted) and bool(scores.isfinite().all())
        if not (said and self._lies_in(after, after, target)):
            return _failure(f"inside the box of node {node} the module contradicts the bounds", "moves")
        return None

    def _lies_in(self, one: State, other: State, node: int) -> bool:
        """Whether two states lie in the box of a node, and with them all between them."""
        for name, _, _ in self.layout:
            low, high = self.low[node][name], self.high[node][name]
            for part in (one[name], other[name]):
                if name != self.fades and not (_same_bits(part, low) and _same_bits(part, high)):
                    return False
                if not bool(((low <= part) & (part <= high)).all()):
                    return False
        return True


class _ScoreForm:
    """The last norm and the head of a model, as linear forms of the stream times its root mean square."""

    def __init__(self, model: Model) -> None:
        head: Any = model.head
        norm: Any = model.final_norm
        self.normed = model.config.final_norm == "rms"
        self.head = head.weight.detach().double()
        self.width = self.head.shape[1]
        self.scale = norm.weight.detach().double() if self.normed else torch.ones(self.width).double()
        self.forms = self.head * self.scale
        self.epsilon = float(norm.eps) if self.normed else 0.0
        bias = torch.zeros(len(self.forms)) if head.bias is None else head.bias.detach()
        self.bias = bias.double()

    def bounds(self, reading: LinearReading, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor] | None:
        """Returns numbers below and above each score times a positive number, for states between two.

        Returns None where a number on the way from the state to the scores may overflow, or the root mean
        square may be below the normal range: then a score may be anything.
        """
        weight = reading.weight[0].flatten(1)
        low, high = low.double().flatten(), high.double().flatten()
        middle, radius = (low + high) / 2, (high - low) / 2
        most = torch.maximum(low.abs(), high.abs())
        stream, spread = reading.added[0] + weight @ middle, weight.abs() @ radius
        size = reading.size[0] + weight.abs() @ most
        off = reading.roundings * _ROUNDING * size + reading.underflow[0] * _SMALLEST
        inner = reading.inner[0].flatten() @ most + reading.bound[0]
        smallest, largest = self._root(stream, spread + off)
        if not self._fits(inner, size + off, smallest):
            return None
        room = (self.forms @ weight).abs() @ radius + self.forms.abs() @ off
        room = room + (self.width + 8) * _ROUNDING * self.forms.abs() @ (size + off)
        room = room + largest * self._underflow(smallest) * _SMALLEST
        biases = torch.stack([self.bias * smallest, self.bias * largest])
        more = 8 * _ROUNDING * biases.abs().amax(0)
        centre = self.forms @ stream
        return centre - room + biases.amin(0) - more, centre + room + biases.amax(0) + more

    def _fits(self, inner: Tensor, size: Tensor, smallest: float) -> bool:
        """Whether nothing overflows; `size` bounds the sums of the stream, `smallest` what divides it."""
        sums = [inner, size, self.head.abs() @ size + self.bias.abs()]
        if self.normed:
            if not smallest**2 >= 4 * _SMALLEST:
                return False
            normed = size / smallest
            scaled = self.scale.abs() * torch.maximum(normed, torch.full_like(normed, 1 / smallest))
            sums = [inner, size, size.square().sum(), normed, scaled]
            sums.append(self.head.abs() @ scaled + self.bias.abs())
        return all(bool((found <= _LARGEST).all()) for found in sums)

    def _underflow(self, smallest: float) -> Tensor:
        """The sums of the weights behind every operation of norm and head, by score."""
        before = self.scale.abs() * (1 + 1 / smallest) + 1 + self.scale.abs() if self.normed else 1.0
        behind: Tensor = (self.head.abs() * (1 + before)).sum(1) + 2 * self.width + 1
        return behind

    def _root(self, stream: Tensor, spread: Tensor) -> tuple[float, float]:
        """The smallest and the largest root mean square that the norm may divide by."""
        if not self.normed:
            return 1.0, 1.0
        ends = (stream.abs() - spread).clamp_min(0), stream.abs() + spread
        low, high = (float(end.square().mean()) for end in ends)
        under = 4 * self.width * _SMALLEST
        off = (2 * self.width + 16) * _ROUNDING
        roots = [math.sqrt(max(square, 0) + self.epsilon) for square in (low - under, high + under)]
        return roots[0] * (1 - off), roots[1] * (1 + off)


def _same_bits(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same bits."""
    return torch.equal(one.contiguous().view(torch.int32), other.contiguous().view(torch.int32))
