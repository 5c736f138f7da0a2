"""Coding the states of an automaton by threshold units: one nonlinearity per step is enough.

A threshold unit sees the state before the letter and the letter, each with a weight, and is 1 where the sum
reaches zero. The states that lead to q by a letter are the letter's preimage. Where the preimages of q are
nested, one unit says whether q is reached; in general q needs one unit for each chain of a cover by chains.
Where preimages are nested or disjoint, two units are enough, at the price of larger weights.
"""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from nerode.compiler.forms import DirectionForm, combination, constant, direction, total
from nerode.compiler.layer_builder import DecoderBuilder
from nerode.compiler.network_builder import legal_sets
from nerode.core import Exact, charge, simplify
from nerode.languages import Dfa
from nerode.network import Affine, AffineBuilder, ScoreDecoder

_MANY_UNITS = 128
"""Above this number of chains, pairs of units are preferred where they are fewer."""

Preimage = frozenset[int]

_GROWTH = Fraction(321, 250)
"""A number below e^(1/4)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdUnit:
    """A unit that is 1 after state p and letter a where ranks[p] + levels[a] ≥ 0, and 0 elsewhere.

    Attributes:
        name: which state it speaks of, and by which letters.
        state: the state that it speaks of.
        sign: 1 if the state is counted where the unit is 1, -1 if it is discounted.
        ranks: a whole number for each state.
        levels: a whole number for each letter.
    """

    name: str
    state: int
    sign: int
    ranks: tuple[int, ...]
    levels: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class ThresholdCoding:
    """Units such that the signed sum of those of a state says whether the automaton is there.

    Attributes:
        units: the units.
        rest: a state without units, which is where the automaton is if it is nowhere else; None if every
            state has units.
        start: the values of the units before the first letter.
    """

    units: tuple[ThresholdUnit, ...]
    rest: int | None
    start: tuple[int, ...]

    def feedback(self, unit: ThresholdUnit) -> tuple[int, dict[int, int]]:
        """Returns the rank of the state as an affine function of the units: a constant and coefficients.

        Without a state of rest the signed sum of all units is 1, so the constant is free; the one that makes
        the coefficients small is taken.
        """
        ranks = [unit.ranks[other.state] for other in self.units]
        here = statistics.median_low(ranks) if self.rest is None else unit.ranks[self.rest]
        return here, {
            j: other.sign * (rank - here)
            for j, (other, rank) in enumerate(zip(self.units, ranks, strict=True))
            if rank != here
        }

    @functools.cached_property
    def spread(self) -> int:
        """The largest sum of absolute coefficients with which the units are fed back; at least 1."""
        return max(1, *(sum(map(abs, self.feedback(unit)[1].values())) for unit in self.units))

    @property
    def families(self) -> list[tuple[int, int, int | None]]:
        """Each state with the unit that is on where it is reached, and the one that is then off, if any."""
        found: list[tuple[int, int, int | None]] = []
        for j, unit in enumerate(self.units):
            if unit.sign > 0:
                found.append((unit.state, j, None))
            else:
                found[-1] = (unit.state, j - 1, j)
        return found


def code_by_thresholds(dfa: Dfa) -> ThresholdCoding:
    """Returns a coding with few units and small weights.

    Each state gets a unit for each chain of preimages, or a pair of units where chains are too many. One
    state may go without units, unless its absence would have to be inferred by so many others that the
    coefficients more than double.
    """
    units = [_chain_units(dfa, q) for q in range(dfa.num_states)]
    if sum(map(len, units)) > _MANY_UNITS:
        paired = [_paired_units(dfa, q) for q in range(dfa.num_states)]
        units = [min(options, key=len) for options in zip(units, paired, strict=True)]
    lean = _coding(dfa, units, _choose_rest(dfa, units))
    full = _coding(dfa, units, None)
    return lean if lean.spread <= 2 * full.spread else full


def _coding(dfa: Dfa, units: Sequence[Sequence[ThresholdUnit]], rest: int | None) -> ThresholdCoding:
    kept = [unit for q, own in enumerate(units) if q != rest for unit in own]
    if not kept:
        kept = [_unit_that_is_off(dfa, dfa.start, "idle")]
    elif dfa.start != rest and not units[dfa.start]:
        kept.insert(0, _unit_that_is_off(dfa, dfa.start, "start"))
    first = next((j for j, u in enumerate(kept) if u.state == dfa.start != rest), None)
    return ThresholdCoding(
        units=tuple(kept), rest=rest, start=tuple(int(j == first) for j in range(len(kept)))
    )


def preimages(dfa: Dfa, state: int) -> dict[Preimage, list[int]]:
    """Returns the sets of states that lead to a state by one letter, each with its letters; no empty ones."""
    found: dict[Preimage, list[int]] = {}
    for letter in range(dfa.num_letters):
        charge()
        sources = frozenset(np.flatnonzero(dfa.transitions[:, letter] == state).tolist())
        if sources:
            found.setdefault(sources, []).append(letter)
    return found


def _unit_that_is_off(dfa: Dfa, state: int, name: str) -> ThresholdUnit:
    """A unit that no letter switches on: for a start state that is never entered again."""
    never = (-1,) * dfa.num_letters
    return ThresholdUnit(name=name, state=state, sign=1, ranks=(0,) * dfa.num_states, levels=never)


def _chain_units(dfa: Dfa, state: int) -> list[ThresholdUnit]:
    """One unit for each chain; the rank of a state is the number of sets of the chain that hold it."""
    letters = preimages(dfa, state)
    units = []
    for chain in _cover_by_chains(list(letters)):
        charge()
        ranks = tuple(sum(p in sources for sources in chain) for p in range(dfa.num_states))
        levels = [-len(chain) - 1] * dfa.num_letters
        for place, sources in enumerate(chain, start=1):
            for letter in letters[sources]:
                levels[letter] = place - len(chain) - 1
        used = sorted(letter for sources in chain for letter in letters[sources])
        name = f"q={state}" if len(chain) == len(letters) else f"q={state} by {_list(dfa, used)}"
        units.append(ThresholdUnit(name=name, state=state, sign=1, ranks=ranks, levels=tuple(levels)))
    return units


def _paired_units(dfa: Dfa, state: int) -> list[ThresholdUnit]:
    """Two units for each family of nested or disjoint sets: in a suitable order the sets are intervals.

    One unit says that the state before the letter is at the left end of the letter's interval or beyond, the
    other that it is past the right end.
    """
    letters = preimages(dfa, state)
    families = _cover_by_families(list(letters))
    units = []
    for number, family in enumerate(families, start=1):
        mark = f" #{number}" if len(families) > 1 else ""
        ranks = _line_up(family, dfa.num_states)
        outside = -1 - max(ranks)
        left, past = [outside] * dfa.num_letters, [outside] * dfa.num_letters
        for sources in family:
            for letter in letters[sources]:
                left[letter] = -min(ranks[p] for p in sources)
                past[letter] = -1 - max(ranks[p] for p in sources)
        for name, sign, levels in (("in", 1, left), ("past", -1, past)):
            units.append(
                ThresholdUnit(
                    name=f"q={state} {name}{mark}",
                    state=state,
                    sign=sign,
                    ranks=ranks,
                    levels=tuple(levels),
                )
            )
    return units


def _choose_rest(dfa: Dfa, units: Sequence[Sequence[ThresholdUnit]]) -> int:
    """The state that is best left without units: many units are saved, and the weights stay small."""
    alone = not units[dfa.start]
    saved = [len(own) - int(alone and q != dfa.start) for q, own in enumerate(units)]
    best = [q for q, gain in enumerate(saved) if gain == max(saved)]
    ranks = np.array([u.ranks for own in units for u in own], dtype=np.int64).reshape(-1, dfa.num_states)
    sizes = np.array([len(own) for own in units])
    spreads = {q: int((np.abs(ranks - ranks[:, q : q + 1]) @ sizes).max(initial=0)) for q in best[:64]}
    return min(spreads, key=lambda q: (spreads[q], q))


def _cover_by_chains(sets: Sequence[Preimage]) -> Iterator[list[Preimage]]:
    """Yields chains, smallest set first, that hold each set once; there is no cover by fewer.

    By Dilworth's theorem a largest matching between sets and supersets gives the smallest cover.
    """
    above: dict[int, int] = {}
    below: dict[int, int] = {}
    supersets = [[j for j, larger in enumerate(sets) if smaller < larger] for smaller in sets]
    for i in range(len(sets)):
        _augment(i, supersets, above, below)
    for i in range(len(sets)):
        if i not in below:
            chain = [i]
            while chain[-1] in above:
                chain.append(above[chain[-1]])
            yield [sets[k] for k in chain]


def _augment(start: int, supersets: list[list[int]], above: dict[int, int], below: dict[int, int]) -> None:
    """Makes a matching larger by one along a shortest alternating path from a set, if there is one."""
    predecessor: dict[int, int] = {}
    queue = [start]
    for i in queue:
        for j in supersets[i]:
            if j in predecessor:
                continue
            predecessor[j] = i
            if j in below:
                queue.append(below[j])
                continue
            end: int | None = j
            while end is not None:
                smaller = predecessor[end]
                before = above.get(smaller)
                above[smaller], below[end] = end, smaller
                end = before
            return


def _cover_by_families(sets: Sequence[Preimage]) -> list[list[Preimage]]:
    """Families in which any two sets are nested or disjoint, found greedily."""
    families: list[list[Preimage]] = []
    for sources in sorted(sets, key=lambda s: (-len(s), sorted(s))):
        for family in families:
            if all(sources < other or not sources & other for other in family):
                family.append(sources)
                break
        else:
            families.append([sources])
    return families


def _line_up(family: Sequence[Preimage], num_states: int) -> tuple[int, ...]:
    """Positions of the states on a line on which each set of the family is an interval.

    Larger sets come first in the family, so states of one set begin with the same numbers of sets. States of
    no set go to the middle, where they keep the weights of the others small.
    """
    keys = [tuple(i for i, s in enumerate(family) if p in s) for p in range(num_states)]
    order = sorted(set(keys) - {()})
    tops = sorted({key[0] for key in order})
    if () in keys:
        half = tops[len(tops) // 2]
        order = [k for k in order if k[0] < half] + [()] + [k for k in order if k[0] >= half]
    place = {key: i for i, key in enumerate(order)}
    return tuple(place[key] for key in keys)


def _list(dfa: Dfa, letters: Sequence[int]) -> str:
    shown = " ".join(dfa.alphabet.symbols[a] for a in letters[:4])
    return shown + (" …" if len(letters) > 4 else "")


def letter_sum(dfa: Dfa, amounts: Sequence[int]) -> DirectionForm:
    """Returns the amount of the current letter, read from one-hot letters."""
    return DirectionForm({f"x={s}": a for s, a in zip(dfa.alphabet.symbols, amounts, strict=True)})


def unit_sum(
    dfa: Dfa, coding: ThresholdCoding, unit: ThresholdUnit, bits: Sequence[DirectionForm]
) -> DirectionForm:
    """Returns a whole number that is 0 or more exactly where a unit has to be 1.

    Args:
        dfa: the automaton.
        coding: the coding of its states.
        unit: the unit.
        bits: the values, 0 or 1, of all units before the letter.
    """
    here, coefficients = coding.feedback(unit)
    state = combination((c, bits[j]) for j, c in coefficients.items())
    # One letter is always on, so the commonest level can go into the constant.
    common = statistics.mode(unit.levels) if unit.levels else 0
    return total((state, letter_sum(dfa, [level - common for level in unit.levels]), here + common))


def saturating_gain(spread: int) -> int:
    """Returns an even gain g such that tanh(g/8) is within 1/(4·spread) of 1.

    1 - tanh(g/8) < 2·e^(-g/4), and e^(g/4) is at least 8·spread.
    """
    gain = 2
    while _GROWTH**gain < 8 * spread:
        gain += 2
    return gain


def threshold_decoder(
    dfa: Dfa,
    coding: ThresholdCoding,
    stream: Sequence[str],
    indicator: Callable[[DecoderBuilder, int, int | None], DirectionForm],
) -> ScoreDecoder:
    """Returns the decoder that finds the state and says what is legal there.

    Args:
        dfa: the automaton.
        coding: the coding of its states.
        stream: the directions that may be read.
        indicator: from the number of a unit that must be on, and perhaps of one that must be off, what is
            above 1/2 where that is so and 0 elsewhere.
    """
    legal = legal_sets(dfa)
    decoder = DecoderBuilder(stream, dfa.num_letters)
    if coding.rest is not None:
        decoder.add_legal(legal[coding.rest], constant(1))
    for state, on, off in coding.families:
        found = indicator(decoder, on, off)
        decoder.add_legal(legal[state], found)
        if coding.rest is not None:
            decoder.add_legal(legal[coding.rest], -found)
    return decoder.build(legal[dfa.start])


def sign_indicator(
    names: Sequence[str], scale: Exact = 1
) -> Callable[[DecoderBuilder, int, int | None], DirectionForm]:
    """Returns the indicator for units whose values are near 1/scale when on and -1/scale when off.

    Four times a ReLU: exactly 0 for a unit that is off, and above 1/2 as long as a unit that is on keeps
    an eighth of its value.
    """

    def found(decoder: DecoderBuilder, on: int, off: int | None) -> DirectionForm:
        value = scale * direction(names[on])
        if off is not None:
            value = value - scale * direction(names[off]) - 1
        return 4 * decoder.relu(value)

    return found


def affine_rows(inputs: Sequence[str], forms: Iterable[DirectionForm]) -> Affine:
    """Returns the map with one row for each form."""
    builder = AffineBuilder(inputs)
    for number, form in enumerate(forms):
        terms = {name: simplify(c) for name, c in form.terms.items()}
        builder.row(str(number), terms, simplify(form.bias))
    return builder.build()
