"""A cascade on the residual stream of a published model: one-hot groups of constant length.

Every variable is a group of places: the letter; the label of a level after the letter, and before it; the
value of a lookup; whether a letter may follow. One place of a group holds the unit S, the others 0, at
every depth and position. The embedding fills in the default of each group; a block moves the S to another
place of the group. One place always holds S, and four constants complete the sum of squares to H S², where H
is the width of the stream, a power of two. So the mean square is S² without rounding, and the eps of the norm
is absorbed: an RMS norm divides by exactly S, and what reads the stream reads 0 and 1.

This file lays out the stream. `docs/published-models.md` has the whole argument.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn

from nerode.algebra.cascades import Cascade, Level, Lookup, Reset, Source
from nerode.core import DTYPES, NotCompilable
from nerode.languages import Dfa
from nerode.models.base import Surroundings
from nerode.models.config import ModelConfig
from nerode.models.kernels.arguments import dtype_name
from nerode.models.model import Model, finish_model, zero_model
from nerode.models.zoo import LayerConfig

LOGIT = 1024.0
"""A score is this where a letter may follow, and minus this where not: exp(-2048) is 0."""

ALWAYS = 0
"""The place that holds the unit at every position."""

MOST_PARAMETERS = 20_000_000
"""Numbers of a model; larger ones are refused."""

Wanted = tuple[Source, int]
"""A literal: a source, and the value that it should have."""

Form = dict[int, float]
"""Places with their coefficients."""


@dataclass(frozen=True, slots=True)
class Conjunction:
    """A conjunction of literals, and what it adds to the indicator of each value of a lookup."""

    literals: tuple[Wanted, ...]
    adds: Mapping[int, int]


@dataclass(slots=True)
class PlaceGroup:
    """The places of a variable, and the value that it has before it is computed."""

    first: int
    size: int
    default: int

    def place(self, value: int) -> int:
        """Returns the place of a value."""
        return self.first + value


@dataclass(slots=True)
class StreamBlock:
    """One block of a model.

    Attributes:
        channels: the form on the stream that each channel of the recurrence reads, and whether it comes one
            letter late.
        written: (place, unit) → units of the stream; a unit is a conjunction of literals.
        known: units by what they say.
    """

    channels: list[tuple[Form, bool]] = field(default_factory=list)
    written: dict[tuple[int, int], float] = field(default_factory=dict)
    known: dict[object, int] = field(default_factory=dict)

    def channel(self, form: Form, *, late: bool = False) -> int:
        """Adds a channel and returns its number."""
        self.channels.append((form, late))
        return len(self.channels) - 1

    def write(self, place: int, unit: int, amount: float) -> None:
        """Adds a multiple of what a unit says to a place of the stream."""
        self.written[place, unit] = self.written.get((place, unit), 0.0) + amount


BlockT = TypeVar("BlockT", bound=StreamBlock)


def terms_of(lookup: Lookup) -> Iterator[Conjunction]:
    """Yields conjunctions whose sum is the indicator of a lookup's value: defaults, then exceptions."""
    if lookup.has_selector:
        for case, value in enumerate(lookup.otherwise):
            yield Conjunction(((lookup.reads[0], case),), {value: 1})
    else:
        yield Conjunction((), {lookup.otherwise[0]: 1})
    for row in lookup.rows:
        default = lookup.otherwise[row.literals[0][1] if lookup.has_selector else 0]
        if default != row.value:
            literals = tuple((lookup.reads[position], value) for position, value in row.literals)
            yield Conjunction(literals, {row.value: 1, default: -1})


def reset_label(level: Level, value: int) -> int | None:
    """Returns the label to which a level is reset where its context has a value; None where it holds."""
    command = level.commands[value]
    return command.label if isinstance(command, Reset) else None


@dataclass(slots=True)
class LevelResets:
    """The form that is 1 where a level moves, and those that are 1 where it moves to each label.

    Attributes:
        moves: at the beginning mark, too, where the level moves to its start.
        to: for each label that is reached.
        reads: what the forms read.
    """

    moves: Form
    to: dict[int, Form] = field(default_factory=dict)
    reads: tuple[Source, ...] = ()

    def add(self, level: Level, value: int, place: int, amount: float) -> None:
        """Adds what the command of a context's value says, where a place holds the unit."""
        label = reset_label(level, value)
        if label is None:
            return
        for form in (self.moves, self.to.setdefault(label, {})):
            form[place] = form.get(place, 0.0) + amount


def _reads_letter(term: Conjunction) -> bool:
    """Whether a conjunction reads nothing but the letter, which is none at the beginning mark."""
    return all(source.kind == "letter" for source, _ in term.literals)


def four_squares(number: int) -> tuple[int, int, int, int]:
    """Returns four whole numbers whose squares sum to a number, the largest first (Lagrange)."""
    for a in range(math.isqrt(number), -1, -1):
        for b in range(min(a, math.isqrt(number - a * a)), -1, -1):
            for c in range(min(b, math.isqrt(number - a * a - b * b)), -1, -1):
                d = math.isqrt(number - a * a - b * b - c * c)
                if a * a + b * b + c * c + d * d == number:
                    return a, b, c, d
    raise AssertionError(f"{number} is negative")


class WholeModel(ABC, Generic[BlockT]):
    """The plan of a whole published model for a star-free language; one subclass per architecture.

    A subclass decides in which block each level and lookup is computed, and writes the weights. The order is
    that of the cascade: a level after what its context reads. Lookups and what may follow are made of units.

    Args:
        cascade: set-reset levels.
        dfa: the minimal automaton, whose states are those of the cascade.
    """

    architecture: str

    dtypes: tuple[str, ...] = tuple(DTYPES)
    """The float formats whose range holds all numbers of the model."""

    def __init__(self, cascade: Cascade, dfa: Dfa) -> None:
        self.cascade = cascade
        self.letters = cascade.num_letters
        self.legal = [[*row, end] for row, end in zip(dfa.legal, dfa.accepting, strict=True)]
        self.groups: dict[Source, PlaceGroup] = {}
        self.ready: dict[Source, int] = {Source("letter", 0): 0}
        self.width = 1
        self.tokens = self.group(Source("letter", 0), self.letters + 1, self.letters)
        self.head: list[Form] = []
        self.blocks: list[BlockT] = []
        self.defined_at_mark: dict[int, bool] = {}
        read = {source for lookup in self.cascade.lookups for source in lookup.reads}
        self.plan(read)
        self.block(1)

    @property
    def mark(self) -> int:
        """The place that holds the unit at the beginning mark."""
        return self.tokens.place(self.letters)

    @abstractmethod
    def add_level(self, number: int, level: Level, *, wants_old: bool) -> None:
        """Plans a level, whose context can be read."""

    @abstractmethod
    def new_block(self) -> BlockT:
        """Returns an empty block."""

    @abstractmethod
    def units_of(self, lookup: Lookup) -> tuple[int, BlockT]:
        """Returns the block whose units can read what a lookup reads, and when they are ready."""

    @abstractmethod
    def unit(self, block: BlockT, literals: tuple[Wanted, ...], *, at_mark: bool) -> int:
        """Returns the number of a conjunction, which is never true at the beginning mark unless asked."""

    @abstractmethod
    def config(self) -> ModelConfig:
        """Returns the settings of the model."""

    @abstractmethod
    def fill(self, model: Model, unit: float) -> None:
        """Sets the weights of the blocks, which are all zero before; the unit is that of the stream."""

    def plan(self, read: set[Source]) -> None:
        """Plans levels and lookups as soon as what they read is there, then what may follow."""
        cascade = self.cascade
        levels = dict(enumerate(cascade.levels))
        lookups = {n: table for n, table in enumerate(cascade.lookups) if Source("lookup", n) in read}
        while levels or lookups:
            done = len(levels) + len(lookups)
            for number, lookup in list(lookups.items()):
                if self._can_read(lookup):
                    self.place_lookup(number, lookups.pop(number))
            for number, level in list(levels.items()):
                if self._can_read(cascade.lookups[level.context]):
                    self.add_level(number, levels.pop(number), wants_old=Source("old", number) in read)
            assert len(levels) + len(lookups) < done
        self.add_reader(cascade.lookups[cascade.state])

    def block(self, number: int) -> BlockT:
        """Returns a block by its number, from 1."""
        while len(self.blocks) < number:
            self.blocks.append(self.new_block())
        return self.blocks[number - 1]

    def add_lookup(self, number: int, lookup: Lookup) -> None:
        """Plans a lookup that others read: units move the unit of the group from the default to the value."""
        source, default = Source("lookup", number), lookup.otherwise[0]
        self.ready[source], block = self.units_of(lookup)
        group = self.group(source, lookup.num_values, default)
        for term in terms_of(lookup):
            unit = self.unit(block, term.literals, at_mark=self.defined_at_mark[number])
            for value, factor in term.adds.items():
                block.write(group.place(value), unit, factor)
            block.write(group.place(default), unit, -sum(term.adds.values()))

    def add_reader(self, lookup: Lookup) -> None:
        """Plans what may follow, from the lookup of the state: by units, unless the head can read labels."""
        if self.read_labels(lookup):
            return
        _, block = self.units_of(lookup)
        for letter in range(self.letters + 1):
            group = self.group(Source("legal", letter), 2, 0)
            for term in terms_of(lookup):
                amount = self.follows(term, letter)
                if amount:
                    unit = self.unit(block, term.literals, at_mark=True)
                    block.write(group.place(1), unit, amount)
                    block.write(group.place(0), unit, -amount)
            self.head.append({group.place(1): 1.0, group.place(0): -1.0})

    def place_lookup(self, number: int, lookup: Lookup) -> None:
        """Plans a lookup that can be read, unless that was done."""
        if Source("lookup", number) not in self.groups:
            self.defined_at_mark[number] = all(self._defined(source) for source in lookup.reads)
            self.add_lookup(number, lookup)

    def _can_read(self, lookup: Lookup) -> bool:
        return all(source in self.ready for source in lookup.reads)

    def _defined(self, source: Source) -> bool:
        """Whether a source has a value at the beginning mark that the lookups speak of."""
        return source.kind == "new" or (source.kind == "lookup" and self.defined_at_mark[source.number])

    def group(self, source: Source, size: int, default: int) -> PlaceGroup:
        """Gives places to a variable."""
        self.groups[source] = found = PlaceGroup(self.width, size, default)
        self.width += size
        return found

    def place(self, literal: Wanted) -> int:
        """Returns the place that holds the unit where a literal holds."""
        source, value = literal
        return self.groups[source].place(value)

    def first_block(self, lookup: Lookup) -> int:
        """Returns the first block, from 1, that can read what a lookup reads."""
        return 1 + max((self.ready[source] for source in lookup.reads), default=0)

    def conjunction(self, literals: Sequence[Wanted], *, at_mark: bool) -> Form:
        """Returns the form that is 1 where all literals hold, and 0 or less elsewhere.

        Args:
            literals: what is wanted.
            at_mark: whether it may be 1 at the beginning mark.
        """
        size = len(literals)
        form: Form = {ALWAYS: 1.0 - size}
        if not at_mark:
            form[self.mark] = -max(1.0, size)
        for literal in literals:
            place = self.place(literal)
            form[place] = form.get(place, 0.0) + 1.0
        return form

    def resets(self, level: Level) -> LevelResets:
        """Returns when a level moves, and where to; a context of conjunctions goes on the stream."""
        context = self.cascade.lookups[level.context]
        terms = list(terms_of(context))
        found = LevelResets(moves={self.mark: 1.0})
        if not all(_reads_letter(term) for term in terms):
            source = Source("lookup", level.context)
            self.place_lookup(level.context, context)
            values = [(source, value) for value in range(context.num_values)]
            for literal in values:
                found.add(level, literal[1], self.place(literal), 1)
            if not self.defined_at_mark[level.context]:
                found.add(level, self.groups[source].default, self.mark, -1)
            found.reads = (source,)
            return found
        for term in terms:
            for value, factor in term.adds.items():
                if term.literals:
                    found.add(level, value, self.place(term.literals[0]), factor)
                else:
                    found.add(level, value, ALWAYS, factor)
                    found.add(level, value, self.mark, -factor)
        found.reads = context.reads
        return found

    def follows(self, term: Conjunction, letter: int) -> int:
        """Returns how often a term of the state says that a letter, or the end, may follow."""
        return sum(factor for state, factor in term.adds.items() if self.legal[state][letter])

    def read_labels(self, lookup: Lookup) -> bool:
        """Lets the head read the state where no conjunction of two literals is needed; returns whether."""
        terms = list(terms_of(lookup))
        if any(len(term.literals) > 1 for term in terms):
            return False
        for letter in range(self.letters + 1):
            form: Form = {}
            for term in terms:
                amount = 2 * self.follows(term, letter) - sum(term.adds.values())
                place = self.place(term.literals[0]) if term.literals else ALWAYS
                form[place] = form.get(place, 0.0) + amount
            self.head.append(form)
        return True

    def build(self, dtype: torch.dtype) -> Model:
        """Returns the model, its weights frozen, in a type.

        Raises:
            NotCompilable: if it would be too large, or the type too narrow.
        """
        if dtype_name(dtype) not in self.dtypes:
            raise NotCompilable(
                self.architecture,
                [f"the whole model keeps numbers beyond {dtype_name(dtype)}; use a wider type"],
            )
        config = self.config()
        assert config.width is not None
        # In float64 only a larger unit absorbs the eps of the norm; in the others it would be too large.
        unit = 2.0**20 if dtype == torch.float64 else 64.0
        model = zero_model(config)
        size = sum(p.numel() for p in model.parameters())
        if size > MOST_PARAMETERS:
            raise NotCompilable(self.architecture, [f"the whole model would have {size:,} parameters"])
        with torch.no_grad():
            assert isinstance(model.embedding, nn.Embedding)
            self._fill_embedding(model.embedding.weight, unit)
            self.fill(model, unit)
            for row, form in zip(_matrix(model.head), self.head, strict=True):
                for place, amount in form.items():
                    row[place] = LOGIT * amount
        return finish_model(model, dtype)

    def model_config(self, layer: LayerConfig, around: Surroundings, width: int) -> ModelConfig:
        """Returns the settings of a model whose blocks are all alike."""
        return ModelConfig(
            layers=(layer,) * len(self.blocks),
            surroundings=around,
            letters=self.letters,
            outputs=self.letters + 1,
            width=width,
            beginning=True,
            final_norm="rms",
            head_bias=False,
        )

    def stream_width(self, least: int = 1) -> int:
        """Returns the width of the stream: a power of two that holds the groups and four constants."""
        return 1 << (max(self.width + 4, least) - 1).bit_length()

    def _fill_embedding(self, table: Tensor, unit: float) -> None:
        width = table.shape[1]
        table[:, ALWAYS] = unit
        for source, group in self.groups.items():
            if source.kind != "letter":
                table[:, group.place(group.default)] = unit
        for letter in range(self.letters + 1):
            table[letter, self.tokens.place(letter)] = unit
        for number, size in enumerate(four_squares(width - 1 - len(self.groups))):
            table[:, self.width + number] = size * unit


def _matrix(head: nn.Module) -> Tensor:
    assert isinstance(head, nn.Linear)
    return head.weight
