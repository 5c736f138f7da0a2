"""A cascade as tables: for each level its command by the letter and the labels above it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from nerode.algebra.cascades import HOLD, Add, Cascade, Command, Permute, Reset
from nerode.core import Budget, prime_factors, started
from nerode.languages import Dfa

Labels = tuple[int, ...]
Table = Mapping[tuple[int, ...], Command]
"""From a letter followed by the old labels of the parents to a command."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TabledLevel:
    """One level.

    Attributes:
        num_labels: the labels are 0 … num_labels-1.
        start: the label before the first letter.
        parents: the earlier levels whose old labels decide what to do.
        table: the command for each letter and labels of the parents that occur together.
    """

    num_labels: int
    start: int
    parents: tuple[int, ...]
    table: Table

    @functools.cached_property
    def commands(self) -> tuple[Command, ...]:
        """The commands that occur, Hold first."""
        found = dict.fromkeys(self.table.values())
        return (*([HOLD] if HOLD in found else []), *(c for c in found if c != HOLD))

    @property
    def kind(self) -> str:
        """The kind of component: "reset", "cyclic" or "permutation"."""
        kinds = set(map(type, self.commands))
        return "permutation" if Permute in kinds else "cyclic" if Add in kinds else "reset"

    @property
    def resets(self) -> bool:
        """Whether some command forgets the label."""
        return any(isinstance(command, Reset) for command in self.commands)


@dataclass(frozen=True, kw_only=True, eq=False)
class LevelMachine:
    """Levels that run side by side, each reading only levels before it.

    Attributes:
        dfa: the automaton that they run.
        levels: the levels.
        states: the state of the automaton for each combination of labels that occurs.
    """

    dfa: Dfa
    levels: tuple[TabledLevel, ...]
    states: Mapping[Labels, int]

    @functools.cached_property
    def depths(self) -> tuple[int, ...]:
        """The layer of each level, counted from 1."""
        found: list[int] = []
        for level in self.levels:
            found.append(1 + max((found[parent] for parent in level.parents), default=0))
        return tuple(found)

    @property
    def depth(self) -> int:
        """Number of layers."""
        return max(self.depths, default=0)

    def at(self, depth: int) -> list[int]:
        """Returns the levels of a layer."""
        return [number for number, own in enumerate(self.depths) if own == depth]

    def is_read(self, number: int) -> bool:
        """Whether a later level reads this one."""
        return any(number in level.parents for level in self.levels)


def tabulate(cascade: Cascade, dfa: Dfa, budget: Budget | None = None) -> LevelMachine:
    """Returns a cascade as tables, filled for all configurations that occur."""
    budget = started(budget)
    parents = [cascade.parents(number) for number in range(len(cascade.levels))]
    tables: list[dict[tuple[int, ...], Command]] = [{} for _ in cascade.levels]
    start = cascade.initial()
    reached = {start}
    queue = [start]
    for labels in queue:
        for letter in range(cascade.num_letters):
            commands = cascade.commands(labels, letter)
            for table, command, above in zip(tables, commands, parents, strict=True):
                table[letter, *(labels[p] for p in above)] = command
            following = cascade.step(labels, letter)
            if following not in reached:
                reached.add(following)
                queue.append(following)
        budget.check("elements", len(reached), configurations=len(reached))
    levels = [
        TabledLevel(num_labels=level.num_labels, start=level.start, parents=above, table=table)
        for level, above, table in zip(cascade.levels, parents, tables, strict=True)
    ]
    return _explored(dfa, levels, budget)


def _explored(dfa: Dfa, levels: Sequence[TabledLevel], budget: Budget) -> LevelMachine:
    """The machine of some levels, with the states that their labels stand for."""
    start = tuple(level.start for level in levels)
    states = {start: dfa.start}
    queue = [start]
    for labels in queue:
        for letter, target in enumerate(dfa.transitions[states[labels]].tolist()):
            following = tuple(
                level.table[letter, *(labels[p] for p in level.parents)].apply(label, level.num_labels)
                for level, label in zip(levels, labels, strict=True)
            )
            if following not in states:
                states[following] = target
                queue.append(following)
            elif states[following] != target:
                raise AssertionError(f"the labels {following} stand for two states")
        budget.check("elements", len(states), configurations=len(states))
    return LevelMachine(dfa=dfa, levels=tuple(levels), states=states)


def in_binary(machine: LevelMachine, budget: Budget | None = None) -> LevelMachine:
    """Returns the machine with every counter modulo a power of two split into its binary digits."""
    return _in_digits(machine, budget, lambda m: [2] * (m.bit_length() - 1) if m & (m - 1) == 0 else [m])


def in_primes(machine: LevelMachine, budget: Budget | None = None) -> LevelMachine:
    """Returns the machine with every counter split into counters modulo primes, and modulo 4."""
    return _in_digits(machine, budget, lambda m: [m] if m == 4 else prime_factors(m))


def _in_digits(
    machine: LevelMachine, budget: Budget | None, bases_of: Callable[[int], list[int]]
) -> LevelMachine:
    """The machine with every counter split into digits, whose bases are those of its modulus.

    A digit is a counter modulo its base that reads the lower digits: it also counts their carry.
    """
    written = _Rewriting(machine)
    split = [bases_of(level.num_labels) if level.kind == "cyclic" else [] for level in machine.levels]
    if all(len(bases) < 2 for bases in split):
        return machine
    for level, bases in zip(machine.levels, split, strict=True):
        if len(bases) > 1:
            written.add_digits(level, bases)
        else:
            written.add(level)
    return _explored(machine.dfa, written.levels, started(budget))


def without_counter_resets(
    machine: LevelMachine, budget: Budget | None = None, *, modulus: int = 3
) -> LevelMachine:
    """Returns the machine with every counter that is also reset split in two.

    A counter runs on for ever, and a register takes the counter's value minus the label at a reset to that
    label; the label is the difference of the two.

    Args:
        machine: the machine.
        budget: limits.
        modulus: the smallest modulus of a counter that is split.
    """
    written = _Rewriting(machine)
    split = [
        level.kind == "cyclic" and bool(level.resets) and level.num_labels >= modulus
        for level in machine.levels
    ]
    if not any(split):
        return machine
    for level, is_split in zip(machine.levels, split, strict=True):
        if is_split:
            written.add_difference(level)
        else:
            written.add(level)
    return _explored(machine.dfa, written.levels, started(budget))


class _Rewriting:
    """New levels for old ones; an old label is a tuple of new labels of several levels."""

    def __init__(self, machine: LevelMachine) -> None:
        self.levels: list[TabledLevel] = []
        self._parts: list[tuple[int, ...]] = []
        self._ways: list[Mapping[int, list[Labels]]] = []
        self._machine = machine

    def add(self, level: TabledLevel) -> None:
        """Adds a level that keeps its label, but may read levels that were split."""
        above, table = self._inherited(level)
        self._parts.append((len(self.levels),))
        self._ways.append({label: [(label,)] for label in range(level.num_labels)})
        self.levels.append(replace(level, parents=above, table=table))

    def add_digits(self, level: TabledLevel, bases: Sequence[int]) -> None:
        """Adds the digits of a counter, lowest first."""
        above, table = self._inherited(level)
        first, weight = len(self.levels), 1
        for digit, base in enumerate(bases):
            lower = range(first, first + digit)
            rows = {
                (*key, *_digits(low, bases[:digit])): _digit_command(command, base, weight, low)
                for key, command in table.items()
                for low in range(weight)
            }
            start = level.start // weight % base
            self.levels.append(
                TabledLevel(num_labels=base, start=start, parents=(*above, *lower), table=rows)
            )
            weight *= base
        self._parts.append(tuple(range(first, first + len(bases))))
        self._ways.append({label: [_digits(label, bases)] for label in range(level.num_labels)})

    def add_difference(self, level: TabledLevel) -> None:
        """Adds a counter that is never reset, and the register of what to subtract."""
        above, table = self._inherited(level)
        m, first = level.num_labels, len(self.levels)
        kept = {key: HOLD if isinstance(c, Reset) else c for key, c in table.items()}
        self.levels.append(TabledLevel(num_labels=m, start=level.start, parents=above, table=kept))
        stored = {
            (*key, count): Reset((count - c.label) % m) if isinstance(c, Reset) else HOLD
            for key, c in table.items()
            for count in range(m)
        }
        self.levels.append(TabledLevel(num_labels=m, start=0, parents=(*above, first), table=stored))
        self._parts.append((first, first + 1))
        self._ways.append({label: [((label + r) % m, r) for r in range(m)] for label in range(m)})

    def _inherited(self, level: TabledLevel) -> tuple[tuple[int, ...], dict[tuple[int, ...], Command]]:
        """The parents of an old level and its table, in terms of new levels."""
        above = tuple(part for parent in level.parents for part in self._parts[parent])
        table: dict[tuple[int, ...], Command] = {}
        for (letter, *labels), command in level.table.items():
            keys: list[tuple[int, ...]] = [(letter,)]
            for parent, label in zip(level.parents, labels, strict=True):
                keys = [(*key, *way) for key in keys for way in self._ways[parent][label]]
            table.update(dict.fromkeys(keys, command))
        return above, table


def _digits(value: int, bases: Sequence[int]) -> Labels:
    """The digits of a number, lowest first."""
    found = []
    for base in bases:
        value, digit = divmod(value, base)
        found.append(digit)
    return tuple(found)


def _digit_command(command: Command, base: int, weight: int, low: int) -> Command:
    """The command to the digit of a counter that counts `weight`, given the value of the lower digits."""
    if isinstance(command, Reset):
        return Reset(command.label // weight % base)
    if isinstance(command, Add):
        amount = (command.amount + low) // weight % base
        return Add(amount) if amount else HOLD
    return command
