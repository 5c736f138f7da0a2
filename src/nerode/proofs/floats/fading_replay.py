"""Replaying a proof about a memory that fades: boxes of float states that every letter maps into boxes.

It is for models of one layer whose gates depend on the last few letters alone (`LinearReading`). A node has
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
"""

from __future__ import annotations

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
from nerode.proofs.floats.listing import fingerprint
from nerode.proofs.floats.recheck import find_foreign, limits

Json = Any

METHOD = "fading-boxes"

_KEYS = {"task", "dtype", "module", "arithmetic", "layout", "low", "high", "moves"}
_ROUNDING = float(torch.finfo(torch.float32).eps)
"""Twice the largest relative error of one operation in float32."""

_TINY = 1e-30
"""More than numbers below the normal range are ever off by."""


def replay_fading(
    model: Model, language: Language, certificate: Certificate, *, budget: Budget | None = None
) -> Failure | None:
    """Returns why a certificate about a fading memory does not hold for a model, None if it holds.

    A symbol may follow where its score is above 0.

    Raises:
        BudgetExceeded: if the time is up before every step has been computed.
    """
    if foreign := find_foreign(certificate, METHOD, language, fingerprint(model)):
        return foreign
    try:
        replay = _Replay(model, language, certificate.evidence[METHOD], started(budget))
        failure = replay.run()
    except (InputError, KeyError, TypeError, ValueError, IndexError) as error:
        return Failure(what=f"the evidence makes no sense: {error}", entry=f"evidence.{METHOD}")
    return failure or first_not_implied(certificate.claims, [claim_of(replay.task)])


def claim_of(task: str) -> Claim:
    """Returns the claim that a successful replay shows."""
    claim = language_claim(task=task, method=METHOD, dtype="float32", order="rounded", length="all")
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


class _Replay:
    def __init__(self, model: Model, language: Language, evidence: Json, budget: Budget) -> None:
        if not isinstance(evidence, dict) or set(evidence) != _KEYS:
            raise InputError(f"it must have exactly the keys {', '.join(sorted(_KEYS))}")
        self.model, self.language, self.budget = require_fading(model), language, budget
        self.task = evidence["task"]
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
        low, high = self.form.bounds(
            self.model.reading(x, self.low[node]), torch.minimum(*images), torch.maximum(*images)
        )
        wanted = torch.tensor([a in legal.symbols for a in range(len(self.moves[node]))] + [legal.end])
        # What the module itself says at both ends is looked at, too: its reading might be of another step.
        said = all(torch.equal(scores[0] > 0, wanted) for scores, _ in ends)
        if not said or not bool(torch.where(wanted, low > 0, high < 0).all()):
            return _failure(f"an answer at node {target} is wrong, or open", "moves")
        return None

    def _lies_in(self, one: State, other: State, node: int) -> bool:
        """Whether two states lie in the box of a node, and with them all between them."""
        for name, _, _ in self.layout:
            low, high = self.low[node][name], self.high[node][name]
            for part in (one[name], other[name]):
                if name != self.fades and not (_same(part, low) and _same(part, high)):
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
        self.forms = head.weight.detach().double()
        self.width = self.forms.shape[1]
        if self.normed:
            self.forms = self.forms * norm.weight.detach().double()
            self.epsilon = float(norm.eps)
        bias = torch.zeros(len(self.forms)) if head.bias is None else head.bias.detach()
        self.bias = bias.double()

    def bounds(self, reading: LinearReading, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        """Returns numbers below and above each score times a positive number, for states between two."""
        weight = reading.weight[0].flatten(1)
        low, high = low.double().flatten(), high.double().flatten()
        middle, radius = (low + high) / 2, (high - low) / 2
        stream, spread = reading.added[0] + weight @ middle, weight.abs() @ radius
        size = reading.size[0] + weight.abs() @ torch.maximum(low.abs(), high.abs())
        off = reading.roundings * _ROUNDING * size + _TINY
        forms = self.forms.abs()
        room = (self.forms @ weight).abs() @ radius
        room = room + forms @ (off + (self.width + 8) * _ROUNDING * (size + off)) + _TINY
        smallest, largest = self._root(stream, spread + off)
        biases = torch.stack([self.bias * smallest, self.bias * largest])
        more = 8 * _ROUNDING * biases.abs().amax(0)
        centre = self.forms @ stream
        return centre - room + biases.amin(0) - more, centre + room + biases.amax(0) + more

    def _root(self, stream: Tensor, spread: Tensor) -> tuple[float, float]:
        """The smallest and the largest root mean square that the norm may divide by."""
        if not self.normed:
            return 1.0, 1.0
        ends = (stream.abs() - spread).clamp_min(0), stream.abs() + spread
        roots = [float((end.square().mean() + self.epsilon).sqrt()) for end in ends]
        off = (2 * self.width + 16) * _ROUNDING
        return roots[0] * (1 - off), roots[1] * (1 + off)


def _same(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same bits."""
    return torch.equal(one.contiguous().view(torch.int32), other.contiguous().view(torch.int32))


def _failure(what: str, entry: str) -> Failure:
    return Failure(what=what, entry=f"evidence.{METHOD}.{entry}")
