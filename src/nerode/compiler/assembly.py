"""Putting layers and a decoder together, with the parts that many constructions end with."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from nerode.compiler.construction import Request
from nerode.compiler.forms import Form, direction, total
from nerode.compiler.layer_builder import DecoderBuilder, LayerBuilder, Relu
from nerode.compiler.piecewise import conjunction, is_positive, old_value, top_digit
from nerode.compiler.pruning import drop_unread
from nerode.compiler.tables import DecisionTable
from nerode.core import Exact, Reference
from nerode.languages import Dfa, Legal
from nerode.network import Decoder, Embedding, Layer, Network

DEAD = "dead"
"""The direction that is 1 from the first letter on after which no word of the language goes on."""

V = TypeVar("V", bound=Hashable)

Literal = Callable[[int, int], Sequence[Form]]
"""The literals, each 0 or 1, that say that a variable has a value."""


class Assembly:
    """Layers added one after the other, over one stream.

    Args:
        request: what is compiled, for which target.
        embedding: one-hot letters unless something leaner is given.
        one_hot: for a leaner embedding, directions of which exactly one is 1 for every letter.
    """

    def __init__(
        self, request: Request, embedding: Embedding | None = None, one_hot: Sequence[str] = ()
    ) -> None:
        self.request = request
        self.alphabet = request.facts.language.alphabet
        self.embedding = embedding or Embedding.one_hot(self.alphabet)
        self._one_hot = tuple(one_hot) if embedding else self.embedding.directions
        self.stream: tuple[str, ...] = self.embedding.directions
        self.layers: list[Layer] = []

    @property
    def time_invariant(self) -> bool:
        """Whether the target's gates are the same at every step."""
        return not self.request.target.properties.input_dependent

    def letter(self, symbol: int) -> Form:
        """Returns 1 where the current letter is this one; for one-hot embeddings."""
        return direction(f"x={self.alphabet.symbols[symbol]}")

    def layer(self, name: str, *, exposes_previous: bool = False) -> LayerBuilder:
        """Returns a builder for the next layer."""
        return LayerBuilder(name, self.stream, exposes_previous=exposes_previous, one_hot=self._one_hot)

    def add(self, builder: LayerBuilder) -> None:
        """Adds a finished layer."""
        self.append(builder.build(time_invariant=self.time_invariant), builder.stream)

    def append(self, layer: Layer, stream: Sequence[str]) -> None:
        """Adds a layer that was made by hand, with the stream after it."""
        self.layers.append(layer)
        self.stream = tuple(stream)

    def flag(self, builder: LayerBuilder, name: str, event: Form, *, old: str | None = None) -> None:
        """Adds a coordinate that remembers whether `event`, 0 or 1 at each step, was ever 1.

        With input-dependent gates the coordinate is overwritten with 1; with fixed gates it counts and is
        compared with 0.

        Args:
            builder: the layer.
            name: the direction that says whether it was, the current step included.
            event: what to look for.
            old: a direction that says the same without the current step, if it is needed.
        """
        exclusive = self.request.options.exclusive_scan
        relu = builder.readout_relu
        retention = self.request.options.retention
        retain = retention if old is not None and not exclusive else 0
        gate: Form | Exact = 1 if self.time_invariant else 1 - (1 - retain) * event
        state = builder.coordinate(name, gate=gate, write=event)
        if self.time_invariant:
            builder.output(name, is_positive(state, relu))
        else:
            builder.output(name, top_digit(state, relu) if retain else state)
        if old is None:
            return
        if exclusive:
            before = builder.previous(name)
            builder.output(old, is_positive(before, relu) if self.time_invariant else before)
        else:
            now = builder.coordinate(f"{name} now", gate=0, write=event)
            builder.output(
                old,
                is_positive(state - now, relu)
                if self.time_invariant
                else old_value(state, now, relu, retention),
            )

    def add_dead_flag(self, builder: LayerBuilder, bad: Form) -> None:
        """Finishes a layer with the flag that says that no word goes on like this."""
        self.flag(builder, DEAD, bad)
        self.add(builder)

    def decoder(self) -> DecoderBuilder:
        """Returns a builder for the decoder."""
        return DecoderBuilder(self.stream, len(self.alphabet), one_hot=self._one_hot)

    def network(self, decoder: Decoder, *, construction: str, route: str, reference: Reference) -> Network:
        """Returns the network, without directions that nobody reads."""
        return Network(
            alphabet=self.alphabet,
            target=self.request.target.name,
            embedding=self.embedding,
            layers=tuple(drop_unread(self.layers, decoder)),
            decoder=decoder,
            origin=self.request.origin(construction=construction, route=route, reference=reference),
        )

    def empty(self) -> Legal:
        """Returns what may follow the empty prefix."""
        language = self.request.facts.language
        return language.legal(language.initial())


def legal_sets(dfa: Dfa) -> list[Legal]:
    """Returns what is legal in each state of an automaton."""
    letters = dfa.legal.tolist()
    return [
        Legal(frozenset(a for a, may in enumerate(row) if may), end)
        for row, end in zip(letters, dfa.accepting.tolist(), strict=True)
    ]


def decode_table(
    decoder: DecoderBuilder, table: DecisionTable[Legal], literal: Literal, guard: Sequence[Form] = ()
) -> None:
    """Adds the scores of a table of legal sets, one unit for each row.

    Args:
        decoder: gets the scores.
        table: what is legal.
        literal: the literals of a variable's value.
        guard: literals without which nothing is legal.
    """
    decoder.add_legal(table.otherwise, conjunction(guard, decoder.relu))
    for literals, legal in table.rows:
        parts = [form for variable, value in literals for form in literal(variable, value)]
        unit = conjunction([*guard, *parts], decoder.relu)
        decoder.add_legal(legal, unit)
        decoder.add_legal(table.otherwise, -unit)


def table_indicator(
    table: DecisionTable[V],
    wanted: Callable[[V], bool],
    literal: Literal,
    relu: Relu,
    guard: Sequence[Form] = (),
) -> Form:
    """Returns 1 where all literals of the guard hold and the table has a wanted value, and 0 elsewhere."""
    default = wanted(table.otherwise)
    found = [conjunction(guard, relu)] if default else []
    for literals, value in table.rows:
        if wanted(value) != default:
            parts = [form for variable, number in literals for form in literal(variable, number)]
            unit = conjunction([*guard, *parts], relu)
            found.append(-unit if default else unit)
    return total(found)
