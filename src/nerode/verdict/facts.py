"""Facts about a language that theorems may use: the algebra's profile and what follows from it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nerode.algebra import COMPUTED, AccessTree, GroupInside, GroupStructure, Profile
from nerode.algebra.classes import OUTSIDE, ComponentTable, fixed_pair, split_letter
from nerode.core import DTYPES, Budget, BudgetExceeded, budgeted_property, prime_factors
from nerode.languages import START, CounterLanguage, Dfa, Language, Word, minimise, resolve_language
from nerode.verdict.classes import Condition
from nerode.verdict.potentials import StablePair, find_counting, find_stable_pair
from nerode.verdict.records import VerdictTask

_MOST_MAPS = 20_000
"""Actions of words that a search for a clock lists at most."""

_MOST_PAIRED_STATES = 40
"""States of an automaton up to which overwritten pairs of them are searched."""

_MOST_LOCAL_STATES = 700
"""States of an automaton up to which it is tested whether a window decides."""

_LONGEST_CLOCK = 12
"""Largest modulus of a clock that is searched for."""

_SHORT_CLOCK, _WINDOW = 4, 3
"""Largest modulus and window that are searched for together."""


@dataclass(frozen=True)
class Facts:
    """A language together with its algebraic profile.

    Attributes:
        language: the language.
        profile: what the algebra found within the budget.
        task: what the network is asked to do.
        dtype: the float format for the IEEE sense.
        budget: limits for building the automaton.
    """

    language: Language
    profile: Profile
    task: VerdictTask
    dtype: str
    budget: Budget

    @functools.cached_property
    def found(self) -> dict[str, object]:
        """Findings of later stages about the language, by name."""
        return {}

    @budgeted_property
    def automaton(self) -> Dfa | None:
        """The minimal automaton, None if the language is not regular or too large to build."""
        if not self.profile.regular or self.profile.source != COMPUTED:
            return None
        try:
            # Facts may be asked long after they were collected: the seconds count from the question on.
            return self.language.dfa(self.budget.start())
        except BudgetExceeded:
            return None

    @property
    def regular(self) -> bool:
        """Whether the language is regular."""
        return self.profile.regular

    @budgeted_property
    def quasi_aperiodic(self) -> bool | None:
        """Whether the language is a regular language in AC0; star-free languages are."""
        if self.profile.star_free:
            return True
        return self.profile.holds("quasi-aperiodic")

    @budgeted_property
    def two_groups(self) -> bool | None:
        """Whether every group inside has an order that is a power of two."""
        if any(not g.structure.is_two_group for g in self.profile.groups):
            return False
        return True if self.groups_known else None

    @property
    def groups_known(self) -> bool:
        """Whether the list of groups inside is complete."""
        return self.profile.regular and self.profile.groups_complete and self.profile.star_free is not None

    @property
    def num_counters(self) -> int | None:
        """For a counter language, how many counters its machine has."""
        return self.language.machine.num_counters if isinstance(self.language, CounterLanguage) else None

    def parameters_in(self, family: str) -> Mapping[str, int] | None:
        """Returns the parameters of the member of a family that the language is, by name or by automaton.

        Letters may have other names; of two letters, either may come first.
        """
        if self.language.family == family:
            return self.language.parameters
        if self.automaton is None:
            return None
        name = f"family {family}"
        if name not in self.found:
            forms = _up_to_names(self.automaton)
            members = (resolve_language(text) for text in _members(family, self.automaton))
            equal = (m for m in members if not forms.isdisjoint(_up_to_names(m.dfa(self.budget.start()))))
            self.found[name] = next((dict(m.parameters) for m in equal), None)
        found: Mapping[str, int] | None = self.found[name]  # type: ignore[assignment]
        return found

    @property
    def window_determined(self) -> bool | None:
        """Whether a finite window of the input settles the task at every position.

        Prediction only has to be right on prefixes of valid words, so strictly local languages qualify;
        recognition must also remember an error for ever, so only definite languages do.
        """
        name = "strictly-local" if self.task is VerdictTask.PREDICT else "definite"
        holds = self.profile.holds(name)
        if holds is None and self.language.family == "bounded-dyck":
            # After "(" the words ()()…() and ()()…()) end alike and leave the depths 1 and 0.
            return False if self.language.parameters["depth"] > 1 else None
        return holds

    @budgeted_property
    def letters_act_alike(self) -> bool | None:
        """Whether membership depends on the length alone."""
        if self.automaton is None:
            return None
        table = self.automaton.transitions
        return bool((table == table[:, :1]).all())

    @budgeted_property
    def _components(self) -> ComponentTable | None:
        """The components of the automaton; to predict, of its live part."""
        if self.automaton is None:
            return None
        return ComponentTable.of_automaton(self.automaton, live=self.task is VerdictTask.PREDICT)

    @budgeted_property
    def letter_split(self) -> tuple[int, int, int] | None:
        """Two states of one component and a letter that takes them apart; None if there are none."""
        return None if self._components is None else split_letter(self._components)

    @budgeted_property
    def fixed_pair(self) -> tuple[tuple[int, int], Word] | int | None:
        """Two states of one component that a word fixes, or the window that decides; None if not known."""
        if self.automaton is None or self.automaton.num_states > _MOST_LOCAL_STATES:
            return None
        return None if self._components is None else fixed_pair(self._components)

    @property
    def _deep_brackets(self) -> bool:
        """Whether the word () fixes two depths of a bounded Dyck language: the empty one and a deeper one."""
        return self.language.family == "bounded-dyck" and self.language.parameters["depth"] > 1

    @property
    def letter_constant(self) -> bool | None:
        """Whether the component of a state and a letter determine the next (live) state."""
        if self._components is None:
            return None if self.regular and not self._deep_brackets else False
        return self.letter_split is None

    @property
    def locally_r_trivial(self) -> bool | None:
        """Whether no word fixes two (live) states of one component."""
        if self.fixed_pair is None:
            return None if self.regular and not self._deep_brackets else False
        return isinstance(self.fixed_pair, int)

    @property
    def c_rasp(self) -> bool | None:
        """Whether iterated counts of letters tell the states apart; in bounded Dyck languages they do."""
        holds = self.profile.holds("c-rasp")
        return True if holds is None and self.language.family == "bounded-dyck" else holds

    @budgeted_property
    def clocked_pair(self) -> tuple[tuple[int, int], Word] | int | None:
        """Two states that a word fixes whatever m positions are known modulo; an int if there are none."""
        if self._components is None or len(self._components.rows) > _MOST_LOCAL_STATES:
            return None
        return fixed_pair(self._components, clocked=True)

    @property
    def clocked_local(self) -> bool | None:
        """Whether the language is locally R-trivial once the position modulo some m is known."""
        if self.locally_r_trivial or not self.regular:
            return self.locally_r_trivial
        if self.clocked_pair is None:
            # The word () fixes the empty and a deeper stack, which words of even length join.
            return False if self._deep_brackets and self.language.parameters["depth"] > 2 else None
        return isinstance(self.clocked_pair, int)

    @property
    def letter_split_text(self) -> str:
        """The letter that takes two states of a component apart, in words."""
        if self.letter_split is None:
            return "a letter takes two states of one component apart"
        letter = self.language.alphabet.symbols[self.letter_split[2]]
        return f"{letter!r} takes two states of one component apart"

    def letter_split_witness(self) -> Mapping[str, Any] | None:
        """Returns two states of one component, by words that lead there, and the letter."""
        if self.letter_split is None or self.automaton is None:
            return None
        p, q, letter = self.letter_split
        return {**self._ways(p, q), "letter": self.language.alphabet.symbols[letter]}

    def _ways(self, p: int, q: int) -> dict[str, str]:
        """Shortest words that lead to two states."""
        assert self.automaton is not None
        tree = AccessTree(self.automaton.transitions.tolist(), self.automaton.start)
        decode = self.language.alphabet.decode
        return {"first": decode(tree.word(p)), "second": decode(tree.word(q))}

    @property
    def letter_decides(self) -> bool | None:
        """Whether the current letter alone settles the task, so that no memory is needed."""
        name, reach = ("strictly-local", 2) if self.task is VerdictTask.PREDICT else ("definite", 1)
        if not self.regular:
            return False
        if (holds := self.profile.holds(name)) is not True:
            return holds
        k = self.profile.classes[name].parameter
        return None if k is None else k <= reach

    @budgeted_property
    def position_decides(self) -> bool | None:
        """Whether the length of a prefix settles the task; to predict, on prefixes of valid words alone."""
        if self.automaton is None:
            return None
        if self.task is VerdictTask.RECOGNISE:
            return self.letters_act_alike
        live = self.automaton.live
        for q in np.flatnonzero(live):
            following = {int(p) for p in self.automaton.transitions[q] if live[p]}
            if len(following) > 1:
                return False
        return True

    @budgeted_property
    def position_period(self) -> int | None:
        """The period in which the answers come back, where the position decides; None elsewhere."""
        if not self.position_decides or self.automaton is None:
            return None
        live, seen, state = self.automaton.live, dict[int, int](), int(self.automaton.start)
        while state not in seen:
            seen[state] = len(seen)
            following = [int(p) for p in self.automaton.transitions[state] if live[p]]
            if self.task is VerdictTask.RECOGNISE:
                following = [int(p) for p in self.automaton.transitions[state]]
            if not following:
                return 1
            state = following[0]
        return len(seen) - seen[state]

    @budgeted_property
    def one_letter_counter(self) -> bool | None:
        """Whether some letter alone counts: its powers move (live) states around in a cycle."""
        if self.automaton is None:
            return None
        states = range(self.automaton.num_states)
        kept = [q for q in states if self.task is VerdictTask.RECOGNISE or self.automaton.live[q]]
        for letter in range(self.automaton.num_letters):
            column = self.automaton.transitions[:, letter]
            cyclic = set(kept)
            while (image := {int(column[q]) for q in cyclic} & cyclic) != cyclic:
                cyclic = image
            if any(int(column[q]) != q for q in cyclic):
                return True
        return False

    @budgeted_property
    def stable_pair(self) -> StablePair | None:
        """Two states that no counting with windows and clocks tells apart; None if none is found."""
        if self.automaton is None or self.c_rasp or self.clocked_local:
            return None
        return find_stable_pair(self.automaton, live=self.task is VerdictTask.PREDICT)

    @property
    def windowed_counts(self) -> bool | None:
        """Whether counting with a window and a clock does the language."""
        if self.c_rasp or self.clocked_local:
            return True
        return self._counts(moduli=_SHORT_CLOCK, window=_WINDOW)

    @property
    def clocked_counts(self) -> bool | None:
        """Whether counting with a clock, and no letter but the last, does the language."""
        return True if self.c_rasp else self._counts(moduli=_LONGEST_CLOCK, window=0)

    def _counts(self, *, moduli: int, window: int) -> bool | None:
        if self.quasi_aperiodic is False:
            return False
        if self.automaton is None or self.stable_pair is not None:
            return None if self.automaton is None else False
        name, live = f"counting {window}", self.task is VerdictTask.PREDICT
        if name not in self.found:
            self.found[name] = find_counting(self.automaton, live=live, moduli=moduli, window=window)
        return True if self.found[name] else None

    def stable_witness(self) -> Mapping[str, Any] | None:
        """Returns two states that no counting tells apart, by words that lead there, with e and x."""
        if (pair := self.stable_pair) is None:
            return None
        decode = self.language.alphabet.decode
        ways = self._ways(pair.state, pair.other)
        return {**ways, "idempotent": decode(pair.idempotent), "word": decode(pair.word)}

    @budgeted_property
    def overwrites(self) -> bool | None:
        """Whether a word merges two states inside their component that a letter takes to different ones."""
        if (merged := self._merged_pairs) is None or self._components is None:
            return None if merged is None else False
        rows = self._components.rows
        moves = (move for p, q in merged for move in zip(rows[p], rows[q], strict=True))
        return any(p != q and OUTSIDE not in (p, q) for p, q in moves)

    @budgeted_property
    def overwrites_beyond_windows(self) -> bool | None:
        """Whether words of every length keep two states apart that a word then merges, all in a component."""
        if (left := self._merged_pairs) is None:
            return None
        while (kept := {p: to for p, to in left.items() if any(t in left for t in to)}).keys() != left.keys():
            left = kept
        return bool(left)

    @budgeted_property
    def _merged_pairs(self) -> dict[tuple[int, int], set[tuple[int, int]]] | None:
        """The pairs of states that words merge inside their component, each with those that letters make."""
        if self.is_group_language:
            return {}
        if self._components is None or len(self._components.rows) > _MOST_PAIRED_STATES:
            return None
        rows, component = self._components.rows, self._components.component
        inside = [q for states in self._components.groups() for q in states]
        moves = {
            (p, q): {
                pair
                for pair in zip(rows[p], rows[q], strict=True)
                if OUTSIDE not in pair and component[pair[0]] == component[pair[1]] == component[p]
            }
            for p in inside
            for q in inside
            if p != q and component[p] == component[q]
        }
        merged: set[tuple[int, int]] = set()
        while new := {
            pair for pair in moves.keys() - merged if any(p == q or (p, q) in merged for p, q in moves[pair])
        }:
            merged |= new
        return {pair: moves[pair] for pair in merged}

    @budgeted_property
    def clock(self) -> int | None:
        """The least m ≤ 12 such that the language is star-free once the position modulo m is known.

        None if there is none, or if it was not found within the limits. A counter whose loop has a length
        divisible by m refutes m; the actions of words of length m generate all such loops.
        """
        if self.profile.star_free:
            return 1
        if self.automaton is None or not self.quasi_aperiodic:
            return None
        letters = {tuple(map(int, column)) for column in self.automaton.transitions.T}
        words = letters
        for m in range(2, _LONGEST_CLOCK + 1):
            words = {tuple(g[q] for q in f) for f in words for g in letters}
            if _generates_no_group(words):
                return m
        return None

    @budgeted_property
    def group_primes(self) -> frozenset[int] | None:
        """The odd primes that divide the order of a group inside; None if the groups are not all known."""
        if not self.groups_known:
            return None
        return frozenset(p for g in self.profile.groups for p in prime_factors(g.structure.order) if p > 2)

    @budgeted_property
    def is_group_language(self) -> bool | None:
        """Whether every letter permutes the states; star-free languages of several states have no groups."""
        if self.automaton is None:
            return False if self.profile.star_free else None
        table = np.sort(self.automaton.transitions, axis=0)
        return bool((table == np.arange(len(table))[:, None]).all())

    @property
    def group_of_language(self) -> GroupInside | None:
        """For a group language, its syntactic group."""
        return self.largest_group() if self.is_group_language else None

    @budgeted_property
    def most_points_moved(self) -> int | None:
        """For a group language, the largest number of states that one letter moves."""
        if self.automaton is None or not self.is_group_language:
            return None
        table = self.automaton.transitions
        return int((table != np.arange(len(table))[:, None]).sum(axis=0).max())

    def largest_group(self, *, solvable: bool | None = None) -> GroupInside | None:
        """Returns the largest group inside, optionally among the (non-)solvable ones."""
        for group in self.profile.groups:
            if solvable is None or group.structure.solvable is solvable:
                return group
        return None

    def odd_group(self) -> GroupInside | None:
        """Returns a group inside whose order is not a power of two."""
        return next((g for g in self.profile.groups if not g.structure.is_two_group), None)

    @property
    def exact_integers_below(self) -> int:
        """Integers up to this bound are exact in the float format."""
        return 1 << DTYPES[self.dtype].bits

    def group_names(self) -> str:
        """The groups inside as a list."""
        return ", ".join(g.structure.name for g in self.profile.groups) or "none"

    def counter_witness(self) -> Mapping[str, Any] | None:
        """Returns the words u, v, x of a counter, ready to be printed."""
        if self.profile.counter is None:
            return None
        found = self.profile.counter.to_json(self.language.alphabet)
        if self.profile.groups:
            found["group"] = self.profile.groups[0].structure.name
        return found

    def group_witness(self, group: GroupInside | None) -> Mapping[str, Any] | None:
        """Returns a group with words that generate it and a counter, ready to be printed."""
        counter = self.counter_witness()
        if group is None:
            return counter
        alphabet = self.language.alphabet
        return {
            **(counter or {}),
            "group": group.structure.name,
            "order": group.structure.order,
            "states": list(group.points),
            "generators": [alphabet.decode(w) for w in group.generators],
        }


@functools.lru_cache(maxsize=16)
def _up_to_names(dfa: Dfa) -> frozenset[tuple[object, ...]]:
    """The minimal automaton without its letters' names, and that of two letters in the other order.

    Every architecture, sense and task asks it of the same few automata, which may have thousands of states.
    """
    columns = [dfa.transitions] + [dfa.transitions[:, ::-1]] * (dfa.num_letters == 2)
    forms = (minimise(replace(dfa, transitions=table)) for table in columns)
    return frozenset((form.transitions.tobytes(), form.start, form.accepting.tobytes()) for form in forms)


def _members(family: str, dfa: Dfa) -> Iterator[str]:
    """Names of the members of a family that have as many letters and states as an automaton."""
    states, kinds = dfa.num_states, dfa.num_letters // 2
    if family == "bounded-dyck" and dfa.num_letters == 2 * kinds:
        if kinds == 1 and states > 2:
            yield from (f"d-{states - 2}", f"dyck-1-{states - 2}")
        depth = next((m for m in range(1, states) if (kinds ** (m + 1) - 1) >= (states - 1) * (kinds - 1)), 0)
        if kinds > 1 and (kinds ** (depth + 1) - 1) == (states - 1) * (kinds - 1):
            yield f"dyck-{kinds}-{depth}"
    if family == "flip-flop" and states == 9:
        yield family
    if family == "offset-counting" and states > 3:
        yield f"{family}-{states - 2}"


def _generates_no_group(generators: set[tuple[int, ...]]) -> bool:
    """Whether every map that is a product of these has powers that settle; False beyond the limit."""
    found, waiting = set(generators), list(generators)
    while waiting:
        f = waiting.pop()
        powers = f
        for _ in range(len(f)):
            powers = tuple(f[q] for q in powers)
        if tuple(f[q] for q in powers) != powers or len(found) > _MOST_MAPS:
            return False
        for g in generators:
            if (h := tuple(g[q] for q in f)) not in found:
                found.add(h)
                waiting.append(h)
    return True


LanguageCondition = Condition[Facts]


letter_constant = LanguageCondition("of letter-constant components", lambda f: f.letter_constant)


def num_components(dfa: Dfa) -> int:
    """Returns the number of strong components of an automaton."""
    return len(set(ComponentTable.of(dfa.transitions.tolist()).component))


locally_r_trivial = LanguageCondition("locally R-trivial", lambda f: f.locally_r_trivial)
clocked_local = LanguageCondition(
    "locally R-trivial once the position modulo m is known", lambda f: f.clocked_local
)


def in_class(name: str) -> LanguageCondition:
    """Returns the condition of belonging to a class of the algebra."""
    return _of_regular(name.replace("-", " "), lambda f: f.profile.holds(name))


def of_family(names: Iterable[str], text: str) -> LanguageCondition:
    """Returns the condition of being defined as a member of one of these families."""
    allowed = frozenset(names)
    return LanguageCondition(text, lambda f: f.language.family in allowed)


def member_of(family: str, text: str) -> LanguageCondition:
    """Returns the condition of being a language of a family, however the language is given."""
    return LanguageCondition(text, lambda f: f.parameters_in(family) is not None)


def with_group(text: str, holds: Callable[[GroupStructure], bool]) -> LanguageCondition:
    """Returns the condition of being a group language with such a group; undecided without an automaton."""

    def decide(facts: Facts) -> bool | None:
        if facts.automaton is None:
            return None
        group = facts.group_of_language
        return group is not None and holds(group.structure)

    return LanguageCondition(text, decide)


def _of_regular(text: str, holds: Callable[[Facts], bool | None]) -> LanguageCondition:
    """A condition that no language has that is not regular."""
    return LanguageCondition(text, lambda f: holds(f) if f.regular else False)


window_determined = _of_regular("settled by a finite window", lambda f: f.window_determined)
regular = LanguageCondition("regular", lambda f: f.regular)
star_free = _of_regular("star-free", lambda f: f.profile.star_free)
quasi_aperiodic = _of_regular("regular in AC0 (quasi-aperiodic)", lambda f: f.quasi_aperiodic)
solvable = _of_regular("one with only solvable groups in the monoid", lambda f: f.profile.solvable)
two_groups = _of_regular("one with only 2-groups in the monoid", lambda f: f.two_groups)
group_language = _of_regular("one in which every letter permutes the states", lambda f: f.is_group_language)
length_only = _of_regular("one in which only the length of a word matters", lambda f: f.letters_act_alike)
letter_decides = LanguageCondition("settled by the current letter", lambda f: f.letter_decides)
position_decides = _of_regular("settled by the position alone", lambda f: f.position_decides)
one_letter_counter = _of_regular(
    "one in which the powers of one letter count", lambda f: f.one_letter_counter
)
overwrites = _of_regular("one in which a word overwrites a state for good", lambda f: f.overwrites)
overwrites_beyond_windows = _of_regular(
    "one in which a word overwrites a state for good, seen after every window",
    lambda f: f.overwrites_beyond_windows,
)
windowed_counts = _of_regular("of C-RASP with a window and a clock", lambda f: f.windowed_counts)
clocked_counts = _of_regular("of C-RASP with a clock", lambda f: f.clocked_counts)
stable_pair = _of_regular(
    "one with states that no counting with windows and clocks tells apart",
    lambda f: f.quasi_aperiodic and f.stable_pair is not None,
)
r_trivial = in_class("r-trivial")
c_rasp = _of_regular("of C-RASP", lambda f: f.c_rasp)
thousands_of_moves = LanguageCondition(
    "one with more than 3,000 moves",
    lambda f: f.automaton is not None and f.automaton.transitions.size > 3_000,
)
counter_machine = LanguageCondition(
    "given by a counter machine", lambda f: isinstance(f.language, CounterLanguage)
)
counts_decide = LanguageCondition(
    "given by a counter machine that needs not know the letter before",
    lambda f: (
        isinstance(f.language, CounterLanguage)
        and (f.task is VerdictTask.PREDICT or not f.language.machine.reads_last or _in_blocks(f.language))
    ),
)
bounded_dyck = member_of("bounded-dyck", "a bounded Dyck language")
named_bounded_dyck = of_family({"bounded-dyck"}, "a bounded Dyck language by its name")
flip_flop = member_of("flip-flop", "the flip-flop language")
offset_counting = member_of("offset-counting", "offset counting")
bracket_stack = of_family({"dyck"}, "a Dyck language with several kinds of brackets")


def _in_blocks(language: CounterLanguage) -> bool:
    """Whether no letter may come back after another one: which have occurred tells the last one."""
    machine = language.machine
    letters = range(len(machine.alphabet))
    follows = np.eye(len(letters), dtype=np.bool_)
    for rule in machine.rules:
        for last in letters if rule.after is None else rule.after - {START}:
            follows[last, list(rule.symbols)] = True
    for _ in letters:
        follows = follows @ follows
    return not (follows & follows.T & ~np.eye(len(letters), dtype=np.bool_)).any()
