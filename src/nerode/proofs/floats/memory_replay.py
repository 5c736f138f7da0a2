"""Replaying proofs about memories whose states are too many to list: counters, and memories that fade.

**Counters.** The evidence has lines of states: base + count · slope, rounded to the format, for ranges of
counts. What is verified: the start is on the first line; for each line, each count and each letter that is
legal there, the module's own step leads to the bits of the stated line at the count after the letter, and
gives the answer of the language. So all prefixes up to the length stay on the lines. A rule of a counter
machine asks whether the counter is zero or positive, so one count stands for all of its sign.

**Memories that fade.** This is for models of one layer whose gates depend on the last few letters alone
(`LinearReading`). A node has a box, the smallest and the largest float of each coordinate of the state, and
bits of all else: the window of a convolution. What is verified, one word at a time:

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
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from nerode.core import Budget, InputError, started
from nerode.kernel import (
    LANGUAGE_TASKS,
    RECOGNISE,
    VALID_PREFIXES,
    Certificate,
    Claim,
    Failure,
    first_not_implied,
    language_claim,
)
from nerode.languages import START, CounterLanguage, Counters, Language, Legal
from nerode.models import LinearReading, Model, State
from nerode.proofs.answers import letters_read
from nerode.proofs.floats.listing import fingerprint
from nerode.proofs.floats.recheck import Stepping, find_foreign, limits

Json = Any

COUNTS = "count-closure"
FADING = "fading-boxes"

_ROUNDING = float(torch.finfo(torch.float32).eps)
"""Twice the largest relative error of one operation in float32."""

_SMALLEST = float(torch.finfo(torch.float32).tiny)
"""An operation is off by at most this where its result is below the normal range."""

_LARGEST = float(torch.finfo(torch.float32).max) / 4
"""No operation overflows whose terms have absolute values that add up to at most this."""


def replay_counts(
    module: Stepping,
    language: Language,
    certificate: Certificate,
    *,
    decode: Callable[[Tensor], Tensor] | None = None,
    budget: Budget | None = None,
) -> Failure | None:
    """Returns why a certificate about counts does not hold for a module, None if it holds.

    Raises:
        BudgetExceeded: if the time is up before every step has been computed.
    """
    read = decode or getattr(module, "legal", None) or (lambda scores: scores > 0.5)
    return _replayed(
        certificate,
        COUNTS,
        language,
        module,
        lambda evidence: _CountReplay(module, language, evidence, read, started(budget)),
    )


def replay_fading(
    model: Model, language: Language, certificate: Certificate, *, budget: Budget | None = None
) -> Failure | None:
    """Returns why a certificate about a fading memory does not hold for a model, None if it holds.

    A symbol may follow where its score is above 0.

    Raises:
        BudgetExceeded: if the time is up before every step has been computed.
    """
    return _replayed(
        certificate,
        FADING,
        language,
        model,
        lambda evidence: _FadingReplay(model, language, evidence, started(budget)),
    )


def _replayed(
    certificate: Certificate,
    method: str,
    language: Language,
    module: object,
    make: Callable[[Json], _Replay],
) -> Failure | None:
    """The reason why a certificate by one of the methods does not hold."""
    if foreign := find_foreign(certificate, method, language, fingerprint(module)):
        return foreign
    try:
        replay = make(certificate.evidence[method])
        failure = replay.run()
    except (InputError, KeyError, TypeError, ValueError, IndexError) as error:
        return Failure(what=f"the evidence makes no sense: {error}", entry=f"evidence.{method}")
    return failure or first_not_implied(certificate.claims, [replay.claim()])


class _Replay(ABC):
    """Evidence that is well-formed, and the module that it is about."""

    method: ClassVar[str]
    keys: ClassVar[set[str]]

    def __init__(self, language: Language, evidence: Json, budget: Budget) -> None:
        if not isinstance(evidence, dict) or set(evidence) != self.keys:
            raise InputError(f"it must have exactly the keys {', '.join(sorted(self.keys))}")
        self.language, self.budget = language, budget

    @abstractmethod
    def run(self) -> Failure | None:
        """Returns why the evidence does not hold, None if every step was computed and does."""

    @abstractmethod
    def claim(self) -> Claim:
        """Returns the claim that a successful replay shows."""

    def _failure(self, what: str, entry: str) -> Failure:
        return Failure(what=what, entry=f"evidence.{self.method}.{entry}")


def count_claim(dtype: str, length: int, batch: int) -> Claim:
    """Returns the claim that a successful replay shows."""
    claim = language_claim(task=VALID_PREFIXES, method=COUNTS, dtype=dtype, order="rounded", length=length)
    return replace(claim, covers=claim.covers + limits([batch], covers_empty=False))


class _CountReplay(_Replay):
    method = COUNTS
    keys: ClassVar = {"dtype", "length", "module", "arithmetic", "batch", "layout", "slope", "lines"}

    def __init__(
        self,
        module: Stepping,
        language: Language,
        evidence: Json,
        read: Callable[[Tensor], Tensor],
        budget: Budget,
    ) -> None:
        super().__init__(language, evidence, budget)
        if not isinstance(language, CounterLanguage) or language.machine.num_counters != 1:
            raise InputError("the language is not that of a machine with one counter")
        self.module, self.read = module, read
        self.dtype, self.length, self.batch = evidence["dtype"], evidence["length"], evidence["batch"]
        if not (type(self.length) is int and self.length > 0 and type(self.batch) is int and self.batch > 0):
            raise InputError("length and batch are not positive whole numbers")
        self.layout = [(str(n), tuple(map(int, s)), getattr(torch, str(d))) for n, s, d in evidence["layout"]]
        if {kind for _, _, kind in self.layout} != {getattr(torch, self.dtype)}:
            raise InputError(f"the states are not made of {self.dtype}")
        self.slope = _numbers(evidence["slope"])
        self.bases = [_numbers(line["base"]) for line in evidence["lines"]]
        self.lasts = [line["last"] for line in evidence["lines"]]
        self.pieces: list[list[tuple[int, int, list[int]]]] = [
            [(int(low), int(high), list(moves)) for low, high, moves in line["pieces"]]
            for line in evidence["lines"]
        ]
        self.increments = [row[0] for row in language.machine.increments]
        self.start = language.machine.start[0]
        self.reach = (self.length - 1) * max(map(abs, self.increments))
        """How far from the start a counter is before the last letter of a prefix."""

    def claim(self) -> Claim:
        return count_claim(self.dtype, self.length, self.batch)

    def run(self) -> Failure | None:
        with torch.no_grad():
            first = self.module.initial_state(1)
        wanted = [(name, tuple(first[name].shape[1:]), first[name].dtype) for name in sorted(first)]
        if wanted != self.layout:
            return self._failure("the module has a state of another form", "layout")
        if self.lasts[0] != START or not self._same(first, self._states(0, torch.tensor([self.start])), 1):
            return self._failure("the module starts in another state", "lines[0]")
        if not self._known(0, self.start, self.start):
            return self._failure("the count of the start is not on the first line", "lines[0]")
        for line, pieces in enumerate(self.pieces):
            for piece in pieces:
                failure = self._replay_piece(line, *piece)
                if failure is not None:
                    return failure
        return None

    def _replay_piece(self, line: int, low: int, high: int, moves: list[int]) -> Failure | None:
        low, high = max(low, self.start - self.reach), min(high, self.start + self.reach)
        if low > high:
            return None
        if not (low > 0 or high < 0 or low == high == 0):
            return self._failure("a range holds counts of different signs", f"lines[{line}]")
        here = Counters(last=self.lasts[line], values=(low,))
        legal = self.language.legal(here).symbols
        for letter, amount in enumerate(self.increments):
            target = moves[letter]
            if letter not in legal:
                if target != -1:
                    return self._failure("a move where no letter is read", f"lines[{line}]")
                continue
            after = self.language.advance(here, letter)
            assert isinstance(after, Counters)
            if not 0 <= target < len(self.bases) or self.lasts[target] != after.last:
                return self._failure(
                    "a move leads to no line, or to one after another letter", f"lines[{line}]"
                )
            if not self._known(target, low + amount, high + amount):
                return self._failure("a move leads beyond the counts of a line", f"lines[{line}]")
            for part in self._parts(low, high, amount):
                failure = self._step(line, letter, target, part)
                if failure is not None:
                    return failure
        return None

    def _parts(self, low: int, high: int, amount: int) -> Iterator[range]:
        """The counts of a range in batches, those apart that end at zero."""
        for first in range(low, high + 1, self.batch):
            counts = range(first, min(first + self.batch, high + 1))
            zero = -amount
            parts = [range(counts.start, zero), range(zero, zero + 1), range(zero + 1, counts.stop)]
            yield from [part for part in parts if part] if zero in counts else [counts]

    def _step(self, line: int, letter: int, target: int, counts: range) -> Failure | None:
        self.budget.check_time()
        size, amount = len(counts), self.increments[letter]
        before = torch.tensor(counts)
        with torch.no_grad():
            scores, after = self.module.step(torch.full((size,), letter), self._states(line, before))
        if not self._same(after, self._states(target, before + amount), size):
            name = self.language.alphabet.symbols[letter]
            what = f"{name!r} leads from line {line} at counts from {counts[0]} off line {target}"
            return self._failure(what, f"lines[{line}]")
        legal = self.language.legal(Counters(last=self.lasts[target], values=(counts[0] + amount,)))
        expected = [letter in legal.symbols for letter in range(len(self.increments))] + [legal.end]
        if not bool((self.read(scores) == torch.tensor(expected)).all()):
            what = f"on line {target}, at a count from {counts[0] + amount} on, the answer is wrong"
            return self._failure(what, f"lines[{target}]")
        return None

    def _known(self, line: int, low: int, high: int) -> bool:
        """Whether all counts that matter are on the ranges of a line, or reached by the last letter only."""
        low, high = max(low, self.start - self.reach), min(high, self.start + self.reach)
        for first, last, _ in sorted(self.pieces[line], key=lambda piece: piece[0]):
            if first <= low <= last:
                low = last + 1
        return low > high

    def _states(self, line: int, counts: Tensor) -> dict[str, Tensor]:
        """The states of a line at some counts, rounded to the format."""
        slope, base = self.slope, self.bases[line]
        moving = base + counts[:, None].double() * slope
        flat = torch.where(slope != 0, moving, base)
        state, first = {}, 0
        for name, shape, kind in self.layout:
            size = int(np.prod(shape))
            state[name] = flat[:, first : first + size].reshape(len(counts), *shape).to(kind)
            first += size
        return state

    def _same(self, one: dict[str, Tensor], other: dict[str, Tensor], size: int) -> bool:
        """Whether two states have the same bits, and no NaN."""
        for name, _, _ in self.layout:
            bits = [part[name].contiguous().reshape(size, -1).view(torch.uint8) for part in (one, other)]
            if not torch.equal(*bits) or bool(one[name].isnan().any()):
                return False
        return True


def _numbers(text: Json) -> Tensor:
    return torch.from_numpy(np.frombuffer(bytes.fromhex(text), dtype=np.float64).copy())


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


class _FadingReplay(_Replay):
    method = FADING
    keys: ClassVar = {"task", "dtype", "module", "arithmetic", "layout", "low", "high", "moves"}

    def __init__(self, model: Model, language: Language, evidence: Json, budget: Budget) -> None:
        super().__init__(language, evidence, budget)
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

    def claim(self) -> Claim:
        return fading_claim(self.task)

    @torch.no_grad()
    def run(self) -> Failure | None:
        start = self.model.initial_state(1)
        found = [(name, tuple(start[name].shape[1:]), "float32") for name in sorted(start)]
        if found != self.layout:
            return self._failure("the module has a state of another form", "layout")
        self.fades = self.model.reading(torch.zeros(1, dtype=torch.int64), start).state
        if not self._lies_in(start, start, 0):
            return self._failure("the module starts outside the first box", "low[0]")
        known: dict[int, Hashable] = {0: self.language.initial()}
        for node, row in enumerate(self.moves):
            if node not in known:
                return self._failure(f"the node {node} is listed before anything leads to it", "moves")
            here = known[node]
            read = set(letters_read(self.language, here, self.task))
            asked = [letter in read for letter in range(len(self.language.alphabet))]
            if [target >= 0 for target in row] != asked:
                return self._failure(f"the node {node} has moves for other letters than are read", "moves")
            for letter in sorted(read):
                after = self.language.advance(here, letter)
                if known.setdefault(row[letter], after) != after:
                    return self._failure(f"the node {row[letter]} stands for two configurations", "moves")
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
            return self._failure(f"{name!r} leads from node {node} out of the box of node {target}", "moves")
        images = one[self.fades], other[self.fades]
        bounds = self.form.bounds(
            self.model.reading(x, self.low[node]), torch.minimum(*images), torch.maximum(*images)
        )
        if bounds is None:
            return self._failure(f"a number may be too large or too small at node {target}", "moves")
        low, high = bounds
        wanted = torch.tensor([a in legal.symbols for a in range(len(self.moves[node]))] + [legal.end])
        # What the module itself says at both ends is looked at, too: its reading might be of another step.
        # A score that is not a finite number is no answer.
        said = all(torch.equal(scores[0] > 0, wanted) and scores.isfinite().all() for scores, _ in ends)
        if not said or not bool(torch.where(wanted, low > 0, high < 0).all()):
            return self._failure(f"an answer at node {target} is wrong, or open", "moves")
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
