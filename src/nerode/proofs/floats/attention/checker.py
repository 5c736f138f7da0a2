"""Proofs about softmax decoders in floats: lemmas for heads, a closure over what heads can have seen.

The checker reads the tensors of a model of the zoo and nothing else. Recurrent blocks before the attention
are run as they are (`streams.py`). Heads are known by their weights (`weights.py`), each with a lemma that
says what softmax returns in a float format (`heads.py`). So a decoder is a finite automaton over the
summaries of its heads. All joint states with the language are visited in nominal values (`Closure`); a
second pass bounds how far every number of the stream can be from its nominal value (`ErrorBounds`).

What is taken for granted is in the claim. docs/theory/attention.md has the proofs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from nerode.core import Budget, started
from nerode.kernel import DTYPES
from nerode.languages import Dfa, Language
from nerode.models import Model, dtype_name, dtype_of
from nerode.proofs.floats.attention.heads import HeadLemmas, Rounding, Values, padded
from nerode.proofs.floats.attention.records import UNDERFLOW, AttentionProof, HeadFinding, NotProved
from nerode.proofs.floats.attention.sides import UNKNOWN, LanguageSide, side_of
from nerode.proofs.floats.attention.streams import explore_streams
from nerode.proofs.floats.attention.weights import DecoderBlock, DecoderHead, DecoderWeights, MeanComparison

Ints = npt.NDArray[np.int64]

REACHED = 2.0
"""What stands for the value of a comparison that is reached: it is 1 or more."""

_AT_ONCE = 1 << 13
"""Joint states that are advanced together."""


@dataclass(slots=True)
class Cases:
    """Steps of a decoder: a joint state, a letter, and the joint state after it, a row each.

    Attributes:
        before: joint states; the last two columns are the state of the stream and that of the language.
        letters: the number of letters stands for the mark.
        after: joint states after the letters.
    """

    before: Array
    letters: Ints
    after: Array

    def pick(self, rows: Ints) -> Cases:
        """Returns some of the rows, each as often as it is named."""
        return Cases(self.before[rows], self.letters[rows], self.after[rows])


class Closure:
    """The search for all joint states.

    Args:
        weights: the decoder.
        lemmas: what its heads return.
        side: the language.
        budget: limits the joint states (`elements`) and the time.
    """

    def __init__(
        self, weights: DecoderWeights, lemmas: HeadLemmas, side: LanguageSide, budget: Budget
    ) -> None:
        self.weights, self.lemmas, self.side, self.budget = weights, lemmas, side, budget
        self.mark = weights.streams.letters
        self.sums = [c for head in weights.heads() if head.kind == "mean" for c in head.numbers]
        self.ranges: dict[int, tuple[int, int]] = {}
        for column in self.sums:
            levels = [*weights.levels.get(column, ()), *side.levels]
            self.ranges[column] = (min(levels) - 1, max(levels)) if levels else (0, 0)
        self.joint_states = 0
        latest = [c for head in weights.heads() if head.kind == "last" for c in head.numbers]
        self.forgotten = latest if side.num_levels is not None else []
        """The columns that may be unknown."""
        side.prepare(self.sums, self.forgotten)

    def unknown(self, states: Array) -> Array:
        """Returns how far what is unknown in joint states may be from what stands for it."""
        found = np.zeros_like(states)
        found[:, self.forgotten] = np.where(states[:, self.forgotten] == UNKNOWN, 0.5, 0.0)
        return found

    def explore(self) -> Cases:
        """Returns all steps that can be taken, that of the mark first.

        Raises:
            NotProved: if a score is on the wrong side in nominal values.
            BudgetExceeded: if the joint states are too many.
        """
        blank = np.zeros((1, self.weights.summary + 2))
        begun, stream, moves = self._step(blank, np.array([self.mark]))
        self.side.begin(moves[0])
        begun.after[:, -1] = self.side.start
        self._compare(begun, stream)
        frontier = self.side.fold(begun.after)
        seen, steps = {frontier[0].tobytes()}, [begun]
        while len(frontier):
            fresh: list[Array] = []
            for first in range(0, len(frontier), _AT_ONCE):
                self.budget.check("elements", len(seen), joint_states=len(seen))
                self.budget.check_time(joint_states=len(seen))
                steps.append(self._advance(frontier[first : first + _AT_ONCE]))
                for row in self.side.fold(steps[-1].after):
                    if (key := row.tobytes()) not in seen:
                        seen.add(key)
                        fresh.append(row)
            frontier = np.array(fresh)
        self.joint_states = len(seen)
        return Cases(
            np.vstack([s.before for s in steps]),
            np.concatenate([s.letters for s in steps]),
            np.vstack([s.after for s in steps]),
        )

    def _advance(self, states: Array) -> Cases:
        """The steps from joint states at all letters, compared with the language."""
        letters = np.tile(np.arange(self.mark), len(states))
        unfolded = self.side.unfold(np.repeat(states, self.mark, axis=0), letters)
        cases, stream, moves = self._step(*unfolded)
        before = cases.before[:, self.sums].astype(np.int64)
        language = cases.before[:, -1].astype(np.int64)
        cases.after[:, -1] = self.side.advance(language, cases.letters, before, moves)
        self._compare(cases, stream)
        return cases

    def _compare(self, cases: Cases, stream: Array) -> None:
        """Raises NotProved if a score is on the wrong side."""
        sums = cases.after[:, self.sums].astype(np.int64)
        expected = self.side.expected(cases.after[:, -1].astype(np.int64), sums)
        wrong = np.flatnonzero(((stream @ self.weights.head.T > 0.5) != expected).any(axis=1))
        if len(wrong):
            raise NotProved(f"the decoder is wrong in state {int(cases.after[wrong[0], -1])} of the language")

    def embed(self, cases: Cases) -> Array:
        """Returns the stream before the first attention block, with a column of ones."""
        found = self.weights.streams.values[cases.before[:, -2].astype(np.int64), cases.letters]
        return np.hstack([found, np.ones((len(found), 1))])

    def _step(self, states: Array, letters: Ints) -> tuple[Cases, Array, Ints]:
        """The steps from joint states, the streams after all blocks, and what is added to the sums."""
        cases = Cases(states, letters, np.zeros_like(states))
        cases.after[:, -2] = self.weights.streams.after[states[:, -2].astype(np.int64), letters]
        moves = np.zeros_like(states, dtype=np.int64)
        stream = self.embed(cases)
        for block in self.weights.blocks:
            added = np.zeros((len(stream), self.weights.width))
            for head in sorted(block.heads, key=lambda h: h.kind == "mean"):
                if head.kind == "mean":
                    rows, chosen, move = self._branch(head, stream, cases)
                    stream, added, moves, cases = stream[rows], added[rows], moves[rows], cases.pick(rows)
                    cases.after[:, head.columns], moves[:, head.columns] = chosen, move
                    continue
                values, old = (Values(x, np.zeros_like(x)) for x in (stream, cases.before))
                y, new, keys = self.lemmas.attend(head, values, old, cases.letters == self.mark)
                cases.after[:, head.columns] = new
                if head.first in self.forgotten and not np.isin(new[keys.matches], (0.0, 1.0)).all():
                    raise NotProved(f"{head.where} holds other numbers than 0 and 1")
                added += y.nominal @ head.out.T
            stream[:, :-1] += added
            if len(block.up):
                stream[:, :-1] += self.settled(block, stream @ block.up.T, cases) @ block.down.T
        cases.after += 0.0
        if not np.isfinite(stream).all():
            raise NotProved("a number of the stream is too large")
        return cases, stream, moves[:, self.sums]

    def _branch(self, head: DecoderHead, stream: Array, cases: Cases) -> tuple[Ints, Ints, Ints]:
        """The rows that follow, the sums of a head chosen in each, and what was added to them."""
        moves = stream @ head.value.T
        if (moves != np.rint(moves)).any():
            raise NotProved(f"{head.where} averages numbers that are not whole")
        move = moves.astype(np.int64)
        rows, chosen = np.arange(len(move)), np.zeros_like(move)
        for i, column in enumerate(head.numbers):
            low, high = self.ranges[column]
            old = cases.before[rows, column].astype(np.int64)
            new = np.clip(np.where(cases.letters[rows] == self.mark, 0, old) + move[rows, i], low, high)
            first, last = new.copy(), new.copy()
            # An end of the range stands for everything beyond.
            inside = cases.letters[rows] != self.mark
            last[inside & (old == high)] = high
            first[inside & (old == low)] = low
            count = last - first + 1
            self.budget.check("elements", float(count.sum()), joint_states=self.joint_states)
            again = np.repeat(np.arange(len(rows)), count)
            offset = np.arange(len(again)) - np.repeat(np.cumsum(count) - count, count)
            chosen = chosen[again]
            chosen[:, i] = first[again] + offset
            rows = rows[again]
        return rows, chosen, move[rows]

    def hidden(self, block: DecoderBlock, argument: Array, cases: Cases) -> Array:
        """Returns the units of a block; comparisons are decided by the sums."""
        found = np.maximum(argument, 0)
        for comparison in block.comparisons:
            reached = (cases.after[:, comparison.column] >= comparison.level) & (cases.letters != self.mark)
            found[:, comparison.unit] = REACHED * reached
        return found

    def settled(self, block: DecoderBlock, argument: Array, cases: Cases) -> Array:
        """Returns the same with each ramp as one unit, without the roundings of the difference."""
        found = self.hidden(block, argument, cases)
        ramps = 2 * np.flatnonzero(block.pairs)
        found[:, ramps] = np.clip(argument[:, ramps], 0, 1)
        found[:, ramps + 1] = 0
        return found


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
        assert stream.mix is not None
        found: Array = (np.abs(stream.nominal) + stream.error @ np.abs(stream.mix).T).max(axis=0)
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
                error = error + 2 * late * kept + rounding
                mixes.append(own * head.out @ head.value)
            out = np.hstack([head.out, np.zeros((self.weights.width, 1))])
            added.append(self.format.apply(out, padded(y.nominal, error)))
        self.format.add(stream, added)
        assert stream.mix is not None
        for mix in mixes:
            # The mark, where a head sees itself alone, is a case of its own: its own value has weight 1.
            stream.mix = stream.mix + np.vstack([mix, np.zeros((1, self.weights.width + 1))]) @ stream.mix

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
            if (stream.error * np.abs(row)).any() or (products != np.rint(products)).any():
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
    if config.final_norm != "none" or config.head != "linear" or config.positions == "sine":
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
