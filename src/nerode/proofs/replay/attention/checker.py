"""Proofs about softmax decoders in floats: lemmas for heads, a closure over what heads can have seen.

The checker reads the tensors of a model of the zoo and nothing else. Recurrent blocks before the attention
are run as they are. Heads are known by their weights (`weights.py`), each with a lemma that says what softmax
returns in a float format (`heads.py`). So a decoder is a finite automaton over the summaries of its heads.
All joint states with the language are visited in nominal values (`closure.py`); a second pass bounds how far
every number of the stream can be from its nominal value (`ErrorBounds`).

What is taken for granted is in the claim. docs/theory/attention.md has the proofs.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import torch

from nerode.core import Budget, started
from nerode.kernel import DTYPES, Certificate, Failure, first_not_implied
from nerode.languages import Dfa, Language
from nerode.models import Model, dtype_name, dtype_of
from nerode.proofs.replay.attention.closure import Cases, Closure
from nerode.proofs.replay.attention.heads import HeadLemmas, Rounding, Values, padded
from nerode.proofs.replay.attention.records import METHOD, UNDERFLOW, AttentionProof, HeadFinding, NotProved
from nerode.proofs.replay.attention.sides import side_of
from nerode.proofs.replay.attention.weights import (
    DecoderBlock,
    DecoderHead,
    DecoderWeights,
    MeanComparison,
    explore_streams,
)
from nerode.proofs.replay.bits import find_foreign
from nerode.proofs.replay.listing import fingerprint
from nerode.proofs.replay.words import find_contradiction

Array = npt.NDArray[np.float64]


class ErrorBounds:
    """Bounds of all errors in all cases: ramps stay on their side, comparisons are sure, scores too.

    A ramp is exactly 0 or, up to its own roundings, 1, so that errors do not add up from block to block. A
    comparison relu(α y + β z) of means y = c/(i+1) and z = 1/(i+1) is exactly 0 or at least 1 up to a number
    of positions: with g = α c + β it is g/(i+1), off by at most κ u (α|c| + |β|)/(i+1).

    Attributes:
        margin: the least distance of a ramp from its edge, errors taken off.
        rounding: the largest error of a ramp's argument; what is not known counts as an error.
        horizons: numbers of letters up to which means and their comparisons are sure.
    """

    def __init__(self, closure: Closure, cases: Cases) -> None:
        self.closure, self.cases = closure, cases
        self.weights, self.lemmas = closure.weights, closure.lemmas
        self.format = closure.lemmas.rounding
        self.states = Values(cases.before, closure.unknown(cases.before))
        self.partial: npt.NDArray[np.bool_] = np.asarray(self.states.error.any(axis=1))
        """The cases in which not all summaries are known."""
        self.is_mark = cases.letters == closure.mark
        self.margin, self.rounding = math.inf, 0.0
        self.horizons: list[int] = []
        self.sizes: dict[int, float] = {}
        """Of means and comparisons, by their place on the stream: in nominal values they are not there."""

    def verify(self) -> None:
        """Raises NotProved, with the place, unless every case is sure."""
        nominal = self.closure.embed(self.cases)
        stream = Values(nominal, np.zeros_like(nominal), np.eye(self.weights.width + 1))
        for number, block in enumerate(self.weights.blocks, start=self.weights.streams.blocks + 1):
            self._check_sizes(number - 1, stream)
            self._bound_heads(block, stream)
            if len(block.up):
                self._bound_units(block, stream, number)
        self._require_room(self.weights.head, self._largest(stream))
        scores = self.format.apply(self.weights.head, stream)
        if not (np.abs(scores.nominal - 0.5) > scores.error).all():
            raise NotProved("a score is so near to 1/2 that rounding may change the answer")

    def _largest(self, stream: Values) -> Array:
        """The largest size of each number of the stream, in any case and up to any length."""
        found: Array = (np.abs(stream.nominal) + stream.off()).max(axis=0)
        for place, size in self.sizes.items():
            found[place] = max(found[place], size)
        self._require_room(np.eye(len(found)), found)
        return found

    def _require_room(self, rows: Array, sizes: Array) -> Array:
        """The sizes of a map of numbers with these sizes; raises NotProved if one of them may overflow."""
        found: Array = np.abs(rows) @ sizes
        if not (found <= self.format.room(len(sizes))).all():
            raise NotProved("a number of the decoder may be too large for its format")
        return found

    def _check_sizes(self, number: int, stream: Values) -> None:
        """Raises NotProved unless nothing overflows in the heads of a block, used or not."""
        name, largest = f"blocks.{number}.layer", self._largest(stream)
        query, key, value = np.split(self._require_room(self.weights.affine(f"{name}.read"), largest), 3)
        # Sums over positions are divided last; there are fewer than 2^64 positions.
        if not max(query @ key, value.max() * 2.0**64) <= self.lemmas.scoring.room(len(query)):
            raise NotProved(f"scores or values of block {number + 1} may be too large")
        self._require_room(self.weights.affine(f"{name}.write")[:, :-1], value)
        for head in self.weights.blocks[number - self.weights.streams.blocks].heads:
            if head.kind == "mean":
                sizes = np.abs(stream.nominal @ head.value.T).max(axis=0)
                for row, column in enumerate(head.out.T):
                    self.sizes[int(np.flatnonzero(column)[0])] = float(sizes[row])

    def _bound_heads(self, block: DecoderBlock, stream: Values) -> None:
        added, mixes = [], []
        for head in block.heads:
            carried, rounding = self.format.errors(head.value, stream)
            if head.kind == "mean":
                self._check_mean(head, stream.nominal @ head.value.T, carried + rounding)
                continue
            y, new, keys = self.lemmas.attend(head, stream, self.states, self.is_mark)
            self.lemmas.check_scores(head, keys, self.weights)
            stored = self.cases.after[:, head.columns]
            if head.kind == "once" and (new != stored).any():
                raise NotProved(f"{head.where} may match or not, by what is not known")
            # What a ramp between 0 and 1 stands for is the middle here, and its own value in the closure.
            moved = np.where(self.partial[:, None], np.abs(new - stored), 0.0)
            error, kept = y.error, (carried + rounding + moved)[keys.matches].max(axis=0, initial=0.0)
            if head.kind in ("last", "parity"):
                error = error + kept
            elif head.kind == "once":
                error = error + (carried + rounding).max(axis=0)
            elif head.kind == "soft":
                own, late, _ = self.lemmas.soft_weights(head)
                # At the mark, where a head sees itself alone, its own value has weight 1.
                alone = np.where(self.is_mark[:, None], (1 - own) * carried, 0.0)
                error = error + 2 * late * kept + rounding + alone
                mixes.append(own * head.out @ head.value)
            out = np.hstack([head.out, np.zeros((self.weights.width, 1))])
            added.append(self.format.apply(out, padded(y.nominal, error)))
        if mixes:
            # All heads of a block read the stream before any of them adds to it.
            assert stream.mix is not None
            read = np.vstack([np.sum(mixes, axis=0), np.zeros((1, self.weights.width + 1))])
            stream.mix = stream.mix + read @ stream.mix
        self.format.add(stream, added)

    def _check_mean(self, head: DecoderHead, values: Array, errors: Array) -> None:
        """Whole numbers of at most V are summed exactly, in any order, up to 2^bits / V positions."""
        if errors.any():
            raise NotProved(f"{head.where} averages numbers that are not exact")
        most = max(1, int(np.abs(values).max(initial=0)))
        head.horizon = (1 << self.lemmas.bits) // most - 1
        if head.horizon < 1:
            raise NotProved(f"{head.where} averages numbers that are too large")

    def _bound_units(self, block: DecoderBlock, stream: Values, number: int) -> None:
        """Adds ReLU units; pairs that are ramps must be clearly 0 or clearly 1.

        Where summaries are unknown, a ramp may be anything from 0 to 1; the scores tell whether it matters.
        """
        carried, rounding = self.format.errors(block.up, stream)
        argument = stream.nominal @ block.up.T
        error = carried + rounding
        sizes = self._require_room(block.up, self._largest(stream))
        for comparison in block.comparisons:
            self.sizes[comparison.place] = float(sizes[comparison.unit])
        self._check_comparisons(block, stream, argument, error)
        hidden = self.closure.hidden(block, argument, self.cases)
        unsure = np.where(argument + error <= 0, 0.0, error)
        unsure[:, [c.unit for c in block.comparisons]] = 0.0
        largest, settled = hidden + unsure, self.closure.settled(block, argument, self.cases)
        for m in np.flatnonzero(block.pairs):
            a, e = argument[:, 2 * m], np.maximum(error[:, 2 * m], error[:, 2 * m + 1])
            off, on = a + e <= 0, a - e >= 1
            between = ~(off | on)
            if (bad := np.flatnonzero(between & ~self.partial)).size:
                raise NotProved(f"a ramp of block {number} is at {a[bad[0]]:.4g} ± {e[bad[0]]:.2g}")
            margins = (np.where(on, a - 1, -a) - e)[~between]
            self.margin = min(self.margin, float(margins.min(initial=math.inf)))
            self.rounding = max(self.rounding, float(e[~between].max(initial=0.0)))
            # What the two units read is the same number, so only their own roundings remain in a ramp of 1.
            unsure[:, 2 * m] = np.where(off, 0.0, rounding[:, 2 * m] + between / 2)
            unsure[:, 2 * m + 1] = np.where(off, 0.0, rounding[:, 2 * m + 1])
            settled[between, 2 * m] = 1 / 2
        reached = (np.maximum(argument, 0) + error).max(axis=0)
        for comparison in block.comparisons:
            reached[comparison.unit] = sizes[comparison.unit]
        self._require_room(block.down, reached)
        down = np.hstack([block.down, np.zeros((self.weights.width, 1))])
        added = self.format.apply(down, padded(largest, unsure))
        added.nominal = settled @ block.down.T
        self.format.add(stream, [added])

    def _check_comparisons(
        self,
        block: DecoderBlock,
        stream: Values,
        argument: Array,
        error: Array,
    ) -> None:
        """Verifies that comparisons read two means alone, and what reads them; keeps their horizons."""
        for comparison in block.comparisons:
            # Nominally means are 0, so that the argument is what else is read.
            rest, off = argument[:, comparison.unit], error[:, comparison.unit]
            if rest[~self.is_mark].any() or off[~self.is_mark].any():
                raise NotProved("a comparison of means reads something else")
            terms = int(np.count_nonzero(block.up[comparison.unit])) + 4
            self._check_comparison(comparison, terms, float(rest[self.is_mark][0] + off[self.is_mark][0]))
        inner = [c.place for b in self.weights.blocks for c in b.comparisons]
        if not inner:
            return
        for unit in np.flatnonzero(block.up[:, inner].any(axis=1)):
            row = block.up[unit].copy()
            row[inner] = 0
            products = stream.nominal * row
            if (products.sum(axis=1) > 1).any() or ((products != 0).sum(axis=1) > 1)[~self.is_mark].any():
                raise NotProved("what reads a comparison of means is not 1 less it")
            if (stream.off() * np.abs(row)).any() or (products != np.rint(products)).any():
                raise NotProved("what reads a comparison of means is not exact")

    def _check_comparison(self, comparison: MeanComparison, terms: int, at_mark: float) -> None:
        """The unit is 1 or more at the level, exactly 0 below it, and exactly 0 at the mark."""
        rate, offset, level = comparison.rate, comparison.offset, comparison.level
        unsure = 2 * terms * self.format.loose

        def size(count: int) -> float:
            return rate * abs(count) + abs(offset)

        begun = int(self.cases.after[0, comparison.column])
        above = rate * level + offset - unsure * size(level)
        below = rate * (level - 1) + offset + unsure * size(level - 1)
        mark = rate * begun + offset + at_mark + unsure * (size(begun) + abs(at_mark))
        if unsure > 1 / 2 or above < 2 or below > 0 or mark > 0:
            raise NotProved(f"a comparison of means with {level} is not sure")
        self.horizons.append(math.floor(above) - 1)


def check_decoder(
    model: Model, language: Language | Dfa, *, by_depth: bool = False, budget: Budget | None = None
) -> AttentionProof:
    """Returns the proof that a decoder does a language.

    Args:
        model: of the zoo: recurrent blocks or none, then attention without norms, a beginning mark, a linear
            head.
        language: regular (or its complete automaton), or given by a counter machine.
        by_depth: whether the stacks of a bounded Dyck language are covered depth by depth although its
            automaton could be listed; one that is too large for that always is.
        budget: limits the joint states (`elements`) and the time.

    Raises:
        NotProved: with the place at which a lemma does not apply or an answer is wrong.
        BudgetExceeded: if the joint states are too many.
    """
    budget = started(budget)
    with np.errstate(all="ignore"):
        try:
            return _check(model, language, by_depth, budget)
        except (OverflowError, ValueError, ZeroDivisionError) as error:
            raise NotProved(f"a weight of the decoder is out of range: {error}") from None


def _check(model: Model, language: Language | Dfa, by_depth: bool, budget: Budget) -> AttentionProof:
    letters = language.num_letters if isinstance(language, Dfa) else len(language.alphabet)
    _require(model, letters)
    side = side_of(language, by_depth=by_depth)
    streams = explore_streams(model, budget)
    if not np.isfinite(streams.values).all():
        raise NotProved("a number before the first attention block is not finite")
    weights = DecoderWeights(model, streams)
    dtype = dtype_of(model)
    scores = "float64" if dtype == "float64" else "float32"
    lemmas = HeadLemmas(_rounding(dtype), scores, _rounding(scores))
    closure = Closure(weights, lemmas, side, budget)
    bounds = ErrorBounds(closure, closure.explore())
    bounds.verify()
    heads = tuple(
        HeadFinding(
            layer=head.layer,
            head=head.number,
            kind=head.kind,
            slope=head.slope,
            gap=head.gap if head.gap < float("inf") else None,
            horizon=head.horizon,
        )
        for head in weights.heads()
    )
    horizons = [h.horizon for h in heads if h.horizon is not None] + bounds.horizons
    return AttentionProof(
        dtype=dtype,
        scores=scores,
        heads=heads,
        recurrent=streams.blocks,
        levels=side.num_levels,
        joint_states=closure.joint_states,
        margin=float(bounds.margin),
        rounding=float(bounds.rounding),
        length=min(horizons) if horizons else "all",
    )


def _rounding(dtype: str) -> Rounding:
    form = DTYPES[dtype]
    return Rounding(form.bits, form.smallest, form.largest)


def _require(model: Model, letters: int) -> None:
    """Raises NotProved unless the model is a decoder that the lemmas speak about."""
    config = model.config
    if not all(bool(tensor.isfinite().all()) for tensor in model.state_dict().values()):
        raise NotProved("a weight of the decoder is not a finite number")
    if not config.beginning or config.letters != letters:
        raise NotProved("the decoder has no beginning mark, or another number of letters")
    if config.final_norm != "none" or config.head != "linear" or config.positions not in ("none", "periodic"):
        raise NotProved("the decoder has a norm, a hidden head or sines as positions")
    if config.outputs != letters + 1:
        raise NotProved("the decoder has not one score for each letter and one for the end")
    for number, layer in enumerate(config.layers):
        around = config.around(number)
        if layer.resolve()[0].name != "transformer":
            continue
        if not around.residual or around.norm != "none" or around.dropout:
            raise NotProved(f"block {number + 1} has a norm, dropout or no residual stream")
        if around.feed_forward not in ("none", "relu"):
            raise NotProved(f"block {number + 1} has another activation than relu")


def audit(model: Model) -> str | None:
    """Returns why exp on this machine does not do what the lemmas take for granted, None if a sample does."""
    dtype = torch.float64 if next(model.parameters()).dtype == torch.float64 else torch.float32
    name = dtype_name(dtype)
    points = -torch.linspace(0, UNDERFLOW[name], 10_001, dtype=dtype)
    found, exact = points.exp(), points.double().exp()
    off = ((found.double() - exact).abs() / exact.clamp(min=torch.finfo(dtype).tiny)).max()
    if found[0] != 1 or torch.tensor(-float(UNDERFLOW[name]), dtype=dtype).exp() != 0:
        return f"exp in {name} is not 1 at 0, or not 0 at -{UNDERFLOW[name]}"
    if dtype == torch.float32 and off > 8 * torch.finfo(dtype).eps:
        return f"exp in {name} is off by {off:.2g}"
    return None


_REPEATED = ("dtype", "scores", "heads", "recurrent", "levels", "joint_states", "order")
"""Entries of the evidence that have to be found again."""


def replay_heads(
    model: Model,
    language: Language,
    certificate: Certificate,
    *,
    network: str,
    budget: Budget | None = None,
) -> Failure | None:
    """Returns why a certificate does not hold for a decoder, None if it holds.

    Args:
        model: the decoder.
        language: what it should do.
        certificate: claims with the evidence of this method only.
        network: the SHA-256 of the network that the decoder was written from.
        budget: limits the time.
    """
    if foreign := find_foreign(certificate, METHOD, language, network):
        return foreign
    listed = certificate.evidence[METHOD]
    if not isinstance(listed, dict) or listed.get("module") != fingerprint(model):
        return Failure(what="the certificate is for another decoder", entry=f"evidence.{METHOD}.module")
    try:
        proof = check_decoder(model, language, budget=budget)
    except NotProved as refusal:
        return Failure(what=str(refusal), entry="model")
    again = proof.evidence()
    for key in _REPEATED:
        if listed.get(key) != again[key]:
            return Failure(what=f"the evidence says otherwise: {key}", entry=f"evidence.{METHOD}.{key}")
    return (
        first_not_implied(certificate.claims, [proof.claim()])
        or find_unsound(model)
        or find_contradiction(model, language, proof.length, valid=False)
    )


def find_unsound(model: Model) -> Failure | None:
    """Returns why this machine does not compute as the lemmas assume, None if nothing was found."""
    problem = audit(model)
    return None if problem is None else Failure(what=f"on this machine {problem}", entry="exp")
