"""The Cascade record: levels of finite memory, each commanded by the letter and by the levels above.

One step on a letter, with the labels of all levels before it ("old"):

1. the lookups that read letters and old labels are evaluated;
2. each level takes the command that belongs to the value of its context lookup, which gives the "new" labels;
3. the lookups that read new labels are evaluated; the lookup `state` is the state of the automaton.

Layers. A level whose context reads nothing but letters has depth 1, otherwise its depth is one more than the
greatest depth of a level that its context reads, directly or through other lookups; levels of one depth share
a layer. A lookup has the greatest depth of the levels that it reads, 0 if it reads letters only. A lookup
reads only lookups of smaller depth, so in a network it is one hidden ReLU layer between the layer of its own
depth and the next one. The lookup `state` alone may also read lookups of its own depth: it belongs to the
decoder.

Example: (ab)* with states 0, 1 (after an a) and 2 (dead). Level 0 remembers the last letter, level 1 whether
two equal letters came in a row (or a b first), which needs the last letter *before* the current one.

    lookups  0  reads letter          a → 0, b → 1
             1  reads letter, old 0   0 except (a, 1) → 1 and (b, 0) → 1
             2  reads new 1, new 0    0 → 0, 1 → 2 except (0, 1) → 1            the state
    levels   0  context 0: reset to 1 | reset to 0
             1  context 1: hold | reset to 1
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from nerode.algebra.cascades.lookups import Evaluation, Lookup, Source
from nerode.algebra.permutations import Permutation
from nerode.core import InputError

Labels = tuple[int, ...]
"""The state of a cascade: the label of each level."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Keep the label."""

    def apply(self, label: int, num_labels: int) -> int:
        """Returns the label itself."""
        return label

    def check(self, num_labels: int) -> None:
        """Nothing can be wrong."""


@dataclass(frozen=True, slots=True)
class Reset:
    """Forget the label and take this one."""

    label: int

    def apply(self, label: int, num_labels: int) -> int:
        """Returns the new label, whatever the old one was."""
        return self.label

    def check(self, num_labels: int) -> None:
        """Raises InputError if there is no such label."""
        if not 0 <= self.label < num_labels:
            raise InputError(f"a reset to label {self.label} of a level with {num_labels} labels")


@dataclass(frozen=True, slots=True)
class Add:
    """Add an amount to the label, modulo the number of labels."""

    amount: int

    def apply(self, label: int, num_labels: int) -> int:
        """Returns the sum."""
        return (label + self.amount) % num_labels

    def check(self, num_labels: int) -> None:
        """Raises InputError if the amount is not reduced; zero is written as Hold."""
        if not 0 < self.amount < num_labels:
            raise InputError(f"an addition of {self.amount} modulo {num_labels}; give 1…{num_labels - 1}")


@dataclass(frozen=True, slots=True)
class Permute:
    """Replace label i by images[i]."""

    images: Permutation

    def apply(self, label: int, num_labels: int) -> int:
        """Returns the image of the label."""
        return self.images[label]

    def check(self, num_labels: int) -> None:
        """Raises InputError if this is not a permutation of the labels, or is the identity."""
        if sorted(self.images) != list(range(num_labels)):
            raise InputError(f"{self.images} is not a permutation of {num_labels} labels")
        if self.images == tuple(range(num_labels)):
            raise InputError("the identity is written as Hold")


Command = Hold | Reset | Add | Permute

HOLD = Hold()


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One component: a label out of finitely many, and what each value of its context does to it.

    Attributes:
        name: what the label says, for people.
        num_labels: the labels are 0 … num_labels-1.
        start: the label before the first letter.
        context: number of the lookup that decides what to do; it reads no new labels, and old labels of
            earlier levels only.
        commands: `commands[v]` is the command when the context has the value v.
    """

    name: str
    num_labels: int
    start: int
    context: int
    commands: tuple[Command, ...]

    def __post_init__(self) -> None:
        if self.num_labels < 2 or not 0 <= self.start < self.num_labels:
            raise InputError(f"level {self.name} has {self.num_labels} labels and starts in {self.start}")
        for command in self.commands:
            command.check(self.num_labels)
        if {Add, Permute} <= set(map(type, self.commands)):
            raise InputError(f"level {self.name} both adds and permutes; write the additions as permutations")

    @property
    def kind(self) -> str:
        """The kind of component: "reset", "cyclic" (adds modulo num_labels) or "permutation"."""
        kinds = set(map(type, self.commands))
        return "permutation" if Permute in kinds else "cyclic" if Add in kinds else "reset"

    @property
    def bits(self) -> int:
        """Binary digits that a label takes."""
        return (self.num_labels - 1).bit_length()


@dataclass(frozen=True, kw_only=True)
class Cascade:
    """Levels, top first, and the lookups that connect them.

    Attributes:
        num_letters: letters of the alphabet of the automaton.
        levels: each level reads only levels before it.
        lookups: each lookup reads only lookups before it.
        state: number of the lookup whose value is the automaton's state after the letter (before the first
            letter: the start state); it reads new labels alone, directly or through other lookups.
        num_states: states of the automaton.
        route: in one sentence, which construction this is.
    """

    num_letters: int
    levels: tuple[Level, ...]
    lookups: tuple[Lookup, ...]
    state: int
    num_states: int
    route: str

    def __post_init__(self) -> None:
        for number, table in enumerate(self.lookups):
            self._check_lookup(number, table)
        for number, level in enumerate(self.levels):
            self._check_level(number, level)
        if not 0 <= self.state < len(self.lookups):
            raise InputError(f"the lookup {self.state} that says the state does not exist")
        self._check_state()
        self._check_depths()

    def _check_lookup(self, number: int, table: Lookup) -> None:
        for source in table.reads:
            if source.kind not in ("letter", "old", "new", "lookup"):
                raise InputError(f"the lookup {table.name} reads a {source.kind!r}")
            if not 0 <= source.number < self._num_sources(source.kind, number):
                raise InputError(
                    f"the lookup {table.name} reads {source.kind} {source.number}: it is not there yet"
                )
        if table.has_selector and len(table.otherwise) != self.num_values(table.reads[0]):
            raise InputError(
                f"the lookup {table.name} has {len(table.otherwise)} defaults for what it reads first"
            )
        for row in table.rows:
            for position, value in row.literals:
                if not 0 <= value < self.num_values(table.reads[position]):
                    raise InputError(f"a row of the lookup {table.name} asks for a value that does not occur")

    def _num_sources(self, kind: str, number: int) -> int:
        return {"letter": 1, "lookup": number}.get(kind, len(self.levels))

    def _check_level(self, number: int, level: Level) -> None:
        if not 0 <= level.context < len(self.lookups):
            raise InputError(f"the context {level.context} of level {level.name} does not exist")
        if len(level.commands) != self.lookups[level.context].num_values:
            raise InputError(f"level {level.name} does not have one command for each value of its context")
        if "new" in self._kinds[level.context]:
            raise InputError(f"the context of level {level.name} reads labels after the letter")
        if any(parent >= number for parent in self.parents(number)):
            raise InputError(f"level {level.name} reads a level that does not come before it")

    def _check_state(self) -> None:
        if self.lookups[self.state].num_values != self.num_states:
            raise InputError(f"the lookup that says the state does not have {self.num_states} values")
        for source in self._closures[self.state]:
            if source.kind != "new":
                raise InputError(f"the lookup that says the state reads {source.kind} {source.number}")

    def _check_depths(self) -> None:
        depths = self._lookup_depths
        for number, table in enumerate(self.lookups):
            below = [depths[s.number] for s in table.reads if s.kind == "lookup"]
            if number != self.state and any(depth >= depths[number] for depth in below):
                raise InputError(f"the lookup {table.name} reads a lookup of its own depth {depths[number]}")

    def num_values(self, source: Source) -> int:
        """Returns how many values a source has."""
        if source.kind == "letter":
            return self.num_letters
        if source.kind == "lookup":
            return self.lookups[source.number].num_values
        return self.levels[source.number].num_labels

    @functools.cached_property
    def _closures(self) -> list[frozenset[Source]]:
        """For each lookup the letters and labels that it reads, directly or through other lookups."""
        found: list[frozenset[Source]] = []
        for table in self.lookups:
            direct = frozenset(s for s in table.reads if s.kind != "lookup")
            found.append(direct.union(*(found[s.number] for s in table.reads if s.kind == "lookup")))
        return found

    @functools.cached_property
    def _kinds(self) -> list[set[str]]:
        return [{source.kind for source in closure} for closure in self._closures]

    @functools.cached_property
    def _lookup_depths(self) -> list[int]:
        return [
            max((self.level_depths[s.number] for s in c if s.kind != "letter"), default=0)
            for c in self._closures
        ]

    def parents(self, level: int) -> tuple[int, ...]:
        """Returns the levels whose old labels decide what this level does."""
        closure = self._closures[self.levels[level].context]
        return tuple(sorted(source.number for source in closure if source.kind == "old"))

    @property
    def read_by_state(self) -> tuple[int, ...]:
        """The levels whose new labels decide the state of the automaton."""
        closure = self._closures[self.state]
        return tuple(sorted(source.number for source in closure if source.kind == "new"))

    @functools.cached_property
    def level_depths(self) -> tuple[int, ...]:
        """The layer of each level, counted from 1."""
        depths: list[int] = []
        for number in range(len(self.levels)):
            depths.append(1 + max((depths[parent] for parent in self.parents(number)), default=0))
        return tuple(depths)

    @property
    def layers(self) -> tuple[tuple[int, ...], ...]:
        """The levels of depth 1, of depth 2 and so on."""
        return tuple(
            tuple(i for i, d in enumerate(self.level_depths) if d == depth)
            for depth in range(1, self.depth + 1)
        )

    @property
    def depth(self) -> int:
        """Length of the longest chain of levels that read each other."""
        return max(self.level_depths, default=0)

    @property
    def bits(self) -> int:
        """Binary digits that the labels of all levels take together."""
        return sum(level.bits for level in self.levels)

    @property
    def num_rows(self) -> int:
        """Rows of all lookups: the number of hidden units that a network needs."""
        return sum(len(table.rows) for table in self.lookups)

    @property
    def kinds(self) -> Counter[str]:
        """Number of levels of each kind."""
        return Counter(level.kind for level in self.levels)

    def initial(self) -> Labels:
        """Returns the labels before the first letter."""
        return tuple(level.start for level in self.levels)

    def step(self, labels: Labels, letter: int) -> Labels:
        """Returns the labels after one more letter."""
        return tuple(
            command.apply(label, level.num_labels)
            for command, label, level in zip(self.commands(labels, letter), labels, self.levels, strict=True)
        )

    def commands(self, labels: Labels, letter: int) -> tuple[Command, ...]:
        """Returns the command that a letter gives each level."""
        values = self._contexts.run((letter,), labels)
        place = self._contexts.place
        return tuple(level.commands[values[place[level.context]]] for level in self.levels)

    def state_of(self, labels: Labels) -> int:
        """Returns the state of the automaton for which the labels stand."""
        return self._decoding.run((), labels)[-1]

    @functools.cached_property
    def _contexts(self) -> Evaluation:
        goals = {level.context for level in self.levels}
        return Evaluation(self.lookups, goals, 1, len(self.levels))

    @functools.cached_property
    def _decoding(self) -> Evaluation:
        return Evaluation(self.lookups, {self.state}, 0, len(self.levels))

    def trace(self, word: Sequence[int]) -> tuple[int, ...]:
        """Returns the states of the automaton before, between and after the letters of a word."""
        labels = self.initial()
        states = [self.state_of(labels)]
        for letter in word:
            labels = self.step(labels, letter)
            states.append(self.state_of(labels))
        return tuple(states)

    def run(self, word: Sequence[int]) -> int:
        """Returns the state of the automaton after a word of letter numbers."""
        labels = self.initial()
        for letter in word:
            labels = self.step(labels, letter)
        return self.state_of(labels)
