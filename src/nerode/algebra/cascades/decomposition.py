"""Decomposition: the smallest cascade that the constructions find for an automaton.

A star-free language gets set-reset levels only; solvable groups become counters, other groups permutations.

A chain runs while the automaton is inside its component; what it does outside does not matter, because
entering resets all of it. The last level of a component says whether the automaton is inside: entering sets
it, leaving clears it. In a partially ordered automaton (R-trivial language) every component is one state, so
there is one flip-flop for each state, no images at all, and the depth is that of the longest path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from nerode.algebra.cascades.abelian import abelian_levels
from nerode.algebra.cascades.cascade_builder import CascadeBuilder, ChainWriter, DecodedLookup
from nerode.algebra.cascades.chains import (
    ENTER,
    LEFT,
    ChainStage,
    Choice,
    Component,
    ContextNode,
    ImageChoice,
    LetterContext,
    StageBlock,
    build_chain,
)
from nerode.algebra.cascades.holonomy import holonomy_cascade, tower_cascade
from nerode.algebra.cascades.lookups import LETTER, Lookup, LookupRow, Source, lookup, new, old
from nerode.algebra.cascades.records import HOLD, Cascade, Command, Level, Reset
from nerode.algebra.cascades.skeleton import Levels, Skeleton
from nerode.algebra.components import Rows, restricted_action, strong_components
from nerode.algebra.groups_inside import find_counter
from nerode.algebra.records import CounterWitness
from nerode.core import Budget, BudgetExceeded, InputError, started
from nerode.languages import Alphabet, Dfa, minimise

Literals = tuple[tuple[Source, int], ...]

MOST_SINKS = 3
"""Number of states tried as the silent one, which needs no level because the others tell it."""


def component_cascade(dfa: Dfa, budget: Budget | None = None) -> Cascade:
    """Returns the cascade that follows the components, as shallow as the choice of a silent state allows.

    Args:
        dfa: any automaton; the states of the cascade are its states.
        budget: bounds the images of each component.

    Raises:
        BudgetExceeded: if a component has too many images.

    Implements: [BrzozowskiFich1980] for partially ordered automata.
    """
    rows = dfa.transitions.tolist()
    sinks = [q for q, row in enumerate(rows) if all(target == q for target in row)]
    silent: list[int | None] = [*sinks[:MOST_SINKS]]
    found = [_ComponentCascade(dfa, started(budget), q).build() for q in silent or [None]]
    return min(found, key=lambda cascade: (cascade.depth, cascade.bits))


@dataclass(kw_only=True)
class _Inside:
    """The level and the lookups that say that the automaton is in a component, and in which of its states.

    Attributes:
        level: number of the level, and the label that means "inside".
        before: for each state the alternatives of what holds if the automaton was in it before the letter.
        after: where the state after the letter is said, given that it is inside.
    """

    level: tuple[int, int]
    before: dict[int, list[Literals]]
    after: DecodedLookup


@dataclass(kw_only=True)
class _ComponentPart:
    """A component: its states, and from where it is entered."""

    states: list[int]
    entries: list[tuple[int, int, int]] = field(default_factory=list)
    sources: set[int] = field(default_factory=set)


class _ComponentCascade:
    def __init__(self, dfa: Dfa, budget: Budget, silent: int | None) -> None:
        self.dfa = dfa
        self.budget = budget
        self.silent = silent
        self.rows: Rows = dfa.transitions.tolist()
        self.builder = CascadeBuilder(dfa.num_letters)
        self.parts, self.part_of = self._split()
        self.inside: dict[int, _Inside] = {}

    def _split(self) -> tuple[list[_ComponentPart], list[int]]:
        parts = [_ComponentPart(states=sorted(members)) for members in strong_components(self.rows)]
        part_of = [0] * len(self.rows)
        for number, part in enumerate(parts):
            for q in part.states:
                part_of[q] = number
        for q, row in enumerate(self.rows):
            for symbol, target in enumerate(row):
                if part_of[target] != part_of[q]:
                    parts[part_of[target]].entries.append((q, symbol, target))
                    parts[part_of[target]].sources.add(part_of[q])
        return parts, part_of

    def build(self) -> Cascade:
        """Returns the cascade; components are added in order of the depth at which they can be entered."""
        waiting = set(range(len(self.parts)))
        if self.silent is not None:
            waiting.discard(self.part_of[self.silent])
        while waiting:
            self.budget.check_time()
            ready = [n for n in sorted(waiting) if self.parts[n].sources <= self.inside.keys()]
            depths = {n: self._depth(self.parts[n]) for n in ready}
            wave = [n for n in ready if depths[n] == min(depths.values())]
            waiting.difference_update(wave)
            for group in self._groups(wave):
                if len(self.parts[group[0]].states) > 1:
                    self._add_component(group[0])
                else:
                    self._add_states(group)
        kind = "flip-flop for each state" if len(self.parts) == len(self.rows) else "chain for each component"
        route = f"component by component, one {kind}"
        return self.builder.build(state=self._state(), num_states=len(self.rows), route=route)

    def _depth(self, part: _ComponentPart) -> int:
        return max((self.builder.level_depths[self.inside[s].level[0]] for s in part.sources), default=0)

    def _groups(self, wave: Sequence[int]) -> Iterator[list[int]]:
        """Yields the larger components one by one, and single states together that the same letters leave."""
        alike: dict[tuple[bool, ...], list[int]] = {}
        for n in wave:
            if len(self.parts[n].states) > 1:
                yield [n]
            else:
                (q,) = self.parts[n].states
                alike.setdefault(tuple(target == q for target in self.rows[q]), []).append(n)
        yield from alike.values()

    def _front(self, name: str, entries: dict[tuple[int, int], int], otherwise: Sequence[int]) -> int:
        """Adds the lookup from letter and old state to what happens to a component.

        Args:
            name: of the lookup.
            entries: (state before, letter) → value, for letters that enter.
            otherwise: the value for each letter that does not enter.
        """
        reads: dict[Source, int] = {LETTER: 0}
        rows = []
        for (state, symbol), value in sorted(entries.items()):
            for literals in self.inside[self.part_of[state]].before[state]:
                placed = [(reads.setdefault(source, len(reads)), wanted) for source, wanted in literals]
                rows.append(LookupRow(((0, symbol), *sorted(placed)), value))
        table = Lookup(
            name=name,
            num_values=1 + max([*otherwise, *entries.values()]),
            reads=tuple(reads),
            otherwise=tuple(otherwise),
            rows=tuple(rows),
        )
        return self.builder.add_lookup(table)

    def _add_states(self, group: Sequence[int]) -> None:
        """Adds one level for single states that the same letters leave; label 0 means none of them."""
        commands: list[Command] = [*map(Reset, range(len(group) + 1)), HOLD]
        states = [self.parts[n].states[0] for n in group]
        hold = len(group) + 1
        otherwise = [hold if target == states[0] else 0 for target in self.rows[states[0]]]
        entries = {}
        for label, n in enumerate(group, 1):
            entries.update({(q, symbol): label for q, symbol, _ in self.parts[n].entries})
        name = "in " + " or ".join(map(str, states))
        context = self._front(f"context of {name}", entries, otherwise)
        commands = commands[: self.builder.lookups[context].num_values]
        start = states.index(self.dfa.start) + 1 if self.dfa.start in states else 0
        level = Level(
            name=name, num_labels=len(group) + 1, start=start, context=context, commands=tuple(commands)
        )
        number = self.builder.add_level(level)
        for label, n in enumerate(group, 1):
            (q,) = self.parts[n].states
            before: dict[int, list[Literals]] = {q: [((old(number), label),)]}
            self.inside[n] = _Inside(level=(number, label), before=before, after=DecodedLookup(None, (q,)))

    def _add_component(self, number: int) -> None:
        part = self.parts[number]
        action, map_of = restricted_action(self.rows, part.states)
        levels = Levels(Skeleton(action, self.budget))
        point = {q: i for i, q in enumerate(part.states)}
        roots = [LEFT if j is None else LetterContext(j, 0, 0) for j in map_of]
        enter = {
            target: LetterContext(ENTER, levels.skeleton.singleton(point[target]), 0)
            for _, _, target in part.entries
        }
        begins = self.dfa.start in point
        start = (point[self.dfa.start] if begins else 0, 0)
        blocks = build_chain(levels, contexts=[*roots, *enter.values()], images=[0], start=start)
        add_flag(blocks, begins)
        name = f"{{{','.join(map(str, part.states[:4]))}{',…' * (len(part.states) > 4)}}}."
        chain = ChainWriter(self.builder, blocks, name)
        entries = {(q, symbol): chain.kind(enter[target]) for q, symbol, target in part.entries}
        front = self._front(f"{name}front", entries, [chain.kind(root) for root in roots])
        chain.add_levels(DecodedLookup(front, tuple(range(self.builder.lookups[front].num_values))))
        flag = chain.level_of[len(blocks) - 1, 0, 0]
        state_of = {levels.skeleton.singleton(i): q for i, q in enumerate(part.states)}
        before = self._alternatives(chain, flag, state_of)
        reading = chain.add_reading(DecodedLookup(None, (0,)), new)
        after = DecodedLookup(reading.number, tuple(state_of[image] for image in reading.meanings))
        self.inside[number] = _Inside(level=(flag, 1), before=before, after=after)

    def _alternatives(
        self, chain: ChainWriter, flag: int, state_of: dict[int, int]
    ) -> dict[int, list[Literals]]:
        """Returns for each state of a component what holds if the automaton was in it before the letter.

        If the flag lies deeper than the labels, one lookup sums them up.
        """
        decoded, trees = chain.add_most_of_reading(DecodedLookup(None, (0,)), old)
        depths = [self.builder.source_depth(s) for tree in trees for literals, _ in tree for s, _ in literals]
        if max(depths, default=0) < self.builder.level_depths[flag]:
            decoded = self.builder.follow(f"{chain.name}old point", decoded, trees)
            trees = [[((), image)] for image in decoded.meanings]
        found: dict[int, list[Literals]] = {}
        for value, tree in enumerate(trees):
            here: Literals = ((old(flag), 1),)
            if decoded.number is not None:
                here = (*here, (lookup(decoded.number), value))
            for literals, image in tree:
                found.setdefault(state_of[image], []).append((*here, *literals))
        return found

    def _state(self) -> DecodedLookup:
        """Adds the lookup that says the state; the silent one is the default."""
        reads: dict[Source, int] = {}
        rows = []
        for inside in self.inside.values():
            level, label = inside.level
            flag = (reads.setdefault(new(level), len(reads)), label)
            for value, q in enumerate(inside.after.meanings):
                if inside.after.number is None:
                    rows.append(LookupRow((flag,), q))
                else:
                    source = reads.setdefault(lookup(inside.after.number), len(reads))
                    rows.append(LookupRow(tuple(sorted([flag, (source, value)])), q))
        default = rows.pop().value if self.silent is None else self.silent
        table = Lookup(
            name="state",
            num_values=len(self.rows),
            reads=tuple(reads),
            otherwise=(default,),
            rows=tuple(rows),
        )
        return DecodedLookup(self.builder.add_lookup(table), tuple(range(len(self.rows))))


def add_flag(blocks: list[StageBlock], begins: bool) -> None:
    """Adds the last level of a component as a block: entering sets it, leaving clears it."""
    last = blocks[-1].stages[-1]
    contexts = list(
        dict.fromkeys(f.context for c in last.moves.values() for f in c.following if f is not None)
    )
    number = {context: i for i, context in enumerate(contexts)}
    for choice in last.moves.values():
        choice.following = [f and ContextNode(number[f.context], f.context) for f in choice.following]
    images = dict.fromkeys(
        f for reading in last.readings.values() for f in reading.following if f is not None
    )
    commands: list[Command] = [
        Reset(0) if context is LEFT else Reset(1) if context.letter == ENTER else HOLD for context in contexts
    ]
    flag = Component(tile={}, num_labels=2, start=int(begins), commands=commands)
    nodes = [ContextNode(i, context) for i, context in enumerate(contexts)]
    stage = ChainStage(
        components=[flag],
        moves={node: Choice(component=None, following=[node]) for node in nodes},
        readings={image: ImageChoice(component=None, following=[image]) for image in images},
    )
    blocks.append(StageBlock(leaders=contexts, stages=[stage]))


Finder = Callable[[Budget], Cascade | None]
"""Finds a cascade for an automaton within a budget; None if the method does not apply."""

SHARE = 0.5
"""Part of the seconds left that one construction, or the check of one cascade among several, may take."""

SHARE_AFTER_SUCCESS = 0.1
"""The same, once another construction has succeeded."""


class NotCounterFree(InputError):
    """A language that is not star-free: no cascade of set-reset automata runs its automaton.

    Attributes:
        witness: words that show it.
    """

    def __init__(self, witness: CounterWitness, alphabet: Alphabet) -> None:
        self.witness = witness
        super().__init__(
            f"the language is not star-free ({witness.describe(alphabet)}): it has no formula of past LTL, "
            "no expression without a star, and no cascade of set-reset automata"
        )


def decompose(dfa: Dfa, budget: Budget | None = None) -> Cascade:
    """Returns a cascade of set-reset automata, of the least (depth, bits) that was found.

    Tried are the components one by one, and section-labelled holonomy of the whole automaton and over a tower
    of quotients. `route` says which of them it is.

    Args:
        dfa: any automaton. The states of the cascade are those of `minimise(dfa)`.
        budget: its `images` bound the images of one automaton. A construction that exceeds it is left out,
            unless none is left.

    Raises:
        NotCounterFree: if the language is not star-free.
        BudgetExceeded: if no construction fits the budget.

    Implements: [KrohnRhodes1965], [MalerPnueli1990]
    """
    budget = started(budget)
    minimal = minimise(dfa)
    if (witness := find_counter(minimal, budget)) is not None:
        raise NotCounterFree(witness, minimal.alphabet)
    return _smallest(minimal, budget)


def decompose_solvable(dfa: Dfa, budget: Budget | None = None) -> Cascade:
    """Returns a cascade of set-reset automata and counters modulo prime powers.

    Args:
        dfa: any automaton. The states of the cascade are those of `minimise(dfa)`.
        budget: its `images` bound the images of one automaton, its `elements` a group.

    Raises:
        NotSolvable: if the automaton contains a group that is not solvable.
        BudgetExceeded: if no construction fits the budget.

    Implements: [KrohnRhodes1965], [Shakerinava2026]
    """
    return _decompose(dfa, budget, lambda cascade, limits: abelian_levels(cascade, limits))


def decompose_general(dfa: Dfa, budget: Budget | None = None) -> Cascade:
    """Returns a cascade for any automaton: as `decompose_solvable`, other groups as permutations.

    Args:
        dfa: any automaton. The states of the cascade are those of `minimise(dfa)`.
        budget: its `images` bound the images of one automaton, its `elements` a group.

    Raises:
        BudgetExceeded: if no construction fits the budget.

    Implements: [KrohnRhodes1965]
    """
    return _decompose(dfa, budget, lambda cascade, limits: abelian_levels(cascade, limits, keep_others=True))


def _decompose(dfa: Dfa, budget: Budget | None, finish: Callable[[Cascade, Budget], Cascade]) -> Cascade:
    budget = started(budget)
    minimal = minimise(dfa)
    return _smallest(minimal, budget, lambda cascade: finish(cascade, budget))


def _smallest(
    dfa: Dfa,
    budget: Budget,
    finish: Callable[[Cascade], Cascade] = lambda cascade: cascade,
) -> Cascade:
    """Returns the smallest cascade that some construction finds within the budget.

    Smaller is: fewer labels in permutation levels, then less depth, then fewer bits, then fewer rows.

    Args:
        dfa: a minimal automaton, with or without groups.
        budget: a part of its seconds goes to each construction.
        finish: what to do with each cascade before it is compared.

    Raises:
        BudgetExceeded: if no construction fits the budget.
    """
    found: list[Cascade] = []
    stopped: list[BudgetExceeded] = []
    for construction in _constructions(dfa):
        part = _part_of(budget, SHARE_AFTER_SUCCESS if found else SHARE)
        try:
            if (cascade := construction(part)) is not None:
                found.append(finish(cascade))
        except BudgetExceeded as exceeded:
            stopped.append(exceeded)
        if found and _is_good_enough(found[-1]):
            break
    if found:
        cascade = min(found, key=_size)
        if stopped:
            why = f"another construction exceeded its budget of {stopped[0].resource}"
            return replace(cascade, route=f"{cascade.route} ({why})")
        return cascade
    first = stopped[0]
    limit = budget.limits()[first.resource]
    raise BudgetExceeded(first.resource, limit, known_so_far=first.known_so_far)


def _constructions(dfa: Dfa) -> Iterator[Finder]:
    """Yields what can be tried; the components come first, because they cost little."""
    if len(strong_components(dfa.transitions.tolist())) > 1:
        yield lambda budget: component_cascade(dfa, budget)
    yield lambda budget: holonomy_cascade(dfa, budget)
    yield lambda budget: tower_cascade(dfa, budget)


def _part_of(budget: Budget, share: float) -> Budget:
    """Returns the budget with only a share of the seconds that are left."""
    return replace(budget, seconds=budget.elapsed() + share * max(0.0, budget.seconds - budget.elapsed()))


def _size(cascade: Cascade) -> tuple[int, int, int, int]:
    permuted = sum(level.num_labels for level in cascade.levels if level.kind == "permutation")
    return permuted, cascade.depth, cascade.bits, cascade.num_rows


def _is_good_enough(cascade: Cascade) -> bool:
    """Whether one layer, or none, holds at most one bit more than the number of states needs."""
    if "permutation" in cascade.kinds:
        return False
    return cascade.depth <= 1 and cascade.bits <= 1 + (cascade.num_states - 1).bit_length()
