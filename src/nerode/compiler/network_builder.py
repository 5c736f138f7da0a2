"""The stack of layers from which constructions make networks, with plain layers, decoders and pruning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nerode.compiler.construction import Request
from nerode.compiler.forms import DirectionForm, direction, is_positive, old_value, top_digit
from nerode.compiler.layer_builder import DecoderBuilder, LayerBuilder
from nerode.core import Exact, Reference, charge
from nerode.languages import Dfa, Legal
from nerode.network import (
    Affine,
    Decoder,
    Embedding,
    Layer,
    Network,
    PointDecoder,
    Recurrence,
    ScoreDecoder,
    zero_map,
)
from nerode.verdict import Gates

DEAD = "dead"
"""The direction that is 1 from the first letter on after which no word of the language goes on."""


class LayerStack:
    """The layers of a network, added one after the other over one stream.

    Args:
        request: what is compiled, for which target.
        embedding: one-hot letters unless something leaner is given.
        one_hot: for a leaner embedding, directions of which exactly one is 1 for every letter.
    """

    def __init__(
        self,
        request: Request,
        embedding: Embedding | None = None,
        one_hot: Sequence[str] = (),
    ) -> None:
        self.request = request
        self.alphabet = request.facts.language.alphabet
        self.embedding = embedding or Embedding.one_hot(self.alphabet)
        self._one_hot = tuple(one_hot) if embedding else self.embedding.directions
        self.stream: tuple[str, ...] = self.embedding.directions
        self.layers: list[Layer] = []

    @property
    def time_invariant(self) -> bool:
        """Whether the target's gates are the same at every step and stored as a matrix."""
        return not self.request.target.properties.input_dependent

    @property
    def tallies(self) -> bool:
        """Whether flags count events: gates that are fixed, or that have modulus 1, do not overwrite."""
        unit = self.request.target.properties.gates is Gates.UNIT
        return self.time_invariant or unit

    def letter(self, symbol: int) -> DirectionForm:
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

    def flag(self, builder: LayerBuilder, name: str, event: DirectionForm, *, old: str | None = None) -> None:
        """Adds a coordinate that remembers whether `event`, 0 or 1 at each step, was ever 1.

        With input-dependent gates the coordinate is overwritten with 1; with gates that are fixed, or of
        modulus 1, it counts and is compared with 0.

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
        gate: DirectionForm | Exact = 1 if self.tallies else 1 - (1 - retain) * event
        state = builder.coordinate(name, gate=gate, write=event)
        if self.tallies:
            builder.output(name, is_positive(state, relu))
        else:
            builder.output(name, top_digit(state, relu) if retain else state)
        if old is None:
            return
        if exclusive:
            before = builder.previous(name)
            builder.output(old, is_positive(before, relu) if self.tallies else before)
        else:
            now = builder.coordinate(f"{name} now", gate=0, write=event)
            builder.output(
                old,
                is_positive(state - now, relu) if self.tallies else old_value(state, now, relu, retention),
            )

    def add_dead_flag(self, builder: LayerBuilder, bad: DirectionForm) -> None:
        """Finishes a layer with the flag that says that no word goes on like this."""
        self.flag(builder, DEAD, bad)
        self.add(builder)

    def decoder(self) -> DecoderBuilder:
        """Returns a builder for the decoder."""
        return DecoderBuilder(self.stream, len(self.alphabet), one_hot=self._one_hot)

    def network(self, decoder: Decoder, *, route: str, reference: Reference) -> Network:
        """Returns the network, without directions that nobody reads."""
        return Network(
            alphabet=self.alphabet,
            target=self.request.target.name,
            embedding=self.embedding,
            layers=tuple(drop_unread(self.layers, decoder)),
            decoder=decoder,
            origin=self.request.origin(route=route, reference=reference),
        )

    def empty(self) -> Legal:
        """Returns what may follow the empty prefix."""
        language = self.request.facts.language
        return language.legal(language.initial())


def legal_sets(dfa: Dfa) -> list[Legal]:
    """Returns what is legal in each state of an automaton."""
    charge()
    letters = dfa.legal.tolist()
    return [
        Legal(frozenset(a for a, may in enumerate(row) if may), end)
        for row, end in zip(letters, dfa.accepting.tolist(), strict=True)
    ]


def drop_unread(layers: Sequence[Layer], decoder: Decoder) -> list[Layer]:
    """Returns the layers without outputs that neither a later layer nor the decoder reads."""
    wanted = set(decoder.reads)
    kept = []
    for layer in reversed(layers):
        pruned = _drop_reads(_drop_previous(_drop_units(_drop_outputs(layer, wanted))))
        wanted.update(pruned.reads)
        kept.append(pruned)
    return kept[::-1]


def _drop_outputs(layer: Layer, wanted: set[str]) -> Layer:
    keep = [i for i, name in enumerate(layer.outputs) if name in wanted]
    return replace(layer, outputs=tuple(layer.outputs[i] for i in keep), readout=_rows(layer.readout, keep))


def _drop_units(layer: Layer) -> Layer:
    """Drops readout units that no output reads."""
    first = layer.readout_units.num_inputs
    used = _columns(layer.readout)
    keep = [i for i in range(layer.readout_units.num_outputs) if first + i in used]
    return replace(
        layer,
        readout_units=_rows(layer.readout_units, keep),
        readout=_select(layer.readout, [*range(first), *(first + i for i in keep)]),
    )


def _drop_previous(layer: Layer) -> Layer:
    """Stops showing the state before the letter if no output depends on it."""
    if not layer.exposes_previous:
        return layer
    copies = layer.width * (2 if layer.complex_state else 1)
    first = len(layer.reads) + copies
    hidden = set(range(first, first + copies))
    if hidden & (_columns(layer.readout_units) | _columns(layer.readout)):
        return layer
    return replace(
        layer,
        exposes_previous=False,
        readout_units=_select(layer.readout_units, range(first)),
        readout=_select(layer.readout, [c for c in range(layer.readout.num_inputs) if c not in hidden]),
    )


def _drop_reads(layer: Layer) -> Layer:
    """Drops directions of the stream that the layer no longer looks at."""
    recurrence = layer.recurrence
    if recurrence.as_gated() is None and recurrence.as_fixed() is None:
        return layer
    maps = [layer.units, *recurrence.maps(), layer.readout_units, layer.readout]
    used = set().union(*map(_columns, maps))
    keep = [i for i in range(len(layer.reads)) if i in used]
    count = len(layer.reads)

    def narrow(given: Affine) -> Affine:
        return _select(given, [*keep, *range(count, given.num_inputs)])

    return replace(
        layer,
        reads=tuple(layer.reads[i] for i in keep),
        units=narrow(layer.units),
        recurrence=recurrence.with_maps(narrow),
        readout_units=narrow(layer.readout_units),
        readout=narrow(layer.readout),
    )


def _columns(given: Affine) -> set[int]:
    return {column for row in given.rows for column, _ in row}


def _rows(given: Affine, keep: Sequence[int]) -> Affine:
    return replace(given, bias=tuple(given.bias[i] for i in keep), rows=tuple(given.rows[i] for i in keep))


def _select(given: Affine, columns: Sequence[int]) -> Affine:
    """The map on these inputs only; the others are not used."""
    number = {column: i for i, column in enumerate(columns)}
    rows = tuple(tuple((number[column], c) for column, c in row) for row in given.rows)
    return Affine(num_inputs=len(columns), bias=given.bias, rows=rows)


def state_layer(
    name: str,
    state: Sequence[str],
    *,
    start: Sequence[Exact],
    recurrence: Recurrence,
    reads: Sequence[str] = (),
    units: Affine | None = None,
    complex_state: bool = False,
) -> Layer:
    """Returns a layer whose outputs are its state.

    The outputs have the names of the coordinates; of a complex state `re name` and `im name`, all real parts
    first.
    """
    outputs = [f"{part} {s}" for part in ("re", "im") for s in state] if complex_state else list(state)
    seen = len(reads) + len(outputs)
    return Layer(
        name=name,
        reads=tuple(reads),
        state=tuple(state),
        start=tuple(start),
        units=units or zero_map(len(reads)),
        recurrence=recurrence,
        readout_units=zero_map(seen),
        outputs=tuple(outputs),
        readout=Affine(
            num_inputs=seen,
            bias=(0,) * len(outputs),
            rows=tuple(((len(reads) + i, 1),) for i in range(len(outputs))),
        ),
        complex_state=complex_state,
    )


def one_layer_network(
    request: Request, layer: Layer, decoder: Decoder, *, route: str, reference: Reference
) -> Network:
    """Returns the network of one layer over one-hot letters."""
    stack = LayerStack(request)
    stack.append(layer, (*stack.stream, *layer.outputs))
    return stack.network(decoder, route=route, reference=reference)


def one_hot_decoder(dfa: Dfa, names: Sequence[str]) -> ScoreDecoder:
    """Returns the decoder that reads the one-hot vector of the state from these directions."""
    legal = legal_sets(dfa)
    decoder = DecoderBuilder(names, dfa.num_letters)
    for name, answer in zip(names, legal, strict=True):
        decoder.add_legal(answer, direction(name))
    return decoder.build(legal[dfa.start])


def point_decoder(
    dfa: Dfa, reads: Sequence[str], points: Sequence[Sequence[Exact]], states: Sequence[int]
) -> PointDecoder:
    """Returns the decoder that finds the nearest of some points, each standing for a state."""
    legal = legal_sets(dfa)
    return PointDecoder(
        reads=tuple(reads),
        points=tuple(tuple(point) for point in points),
        answers=tuple(legal[q] for q in states),
        empty=legal[dfa.start],
    )
