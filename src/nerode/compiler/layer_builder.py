"""Writing layers and decoders by the names of their directions.

A builder collects affine forms; what is read from the stream, the order of columns and the shape of every
map follow from the forms. The same ReLU asked for twice is made once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from nerode.compiler.forms import DirectionForm, constant, direction, reduce_one_hot, second_digit
from nerode.core import Exact, InputError
from nerode.languages import Legal
from nerode.network import (
    Affine,
    AffineBuilder,
    AttentionHeads,
    ByChoice,
    Factor,
    Fixed,
    Gated,
    Layer,
    Recurrence,
    Row,
    ScoreDecoder,
)


class _Units:
    """Units of one hidden layer; their values are named by a prefix and a number."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._number: dict[DirectionForm, int] = {}

    def add(self, form: DirectionForm) -> DirectionForm:
        """Returns the ReLU of a form."""
        if form.is_constant:
            return constant(form.bias if form.bias > 0 else 0)
        number = self._number.setdefault(form, len(self._number))
        return direction(f"{self._prefix}{number}")

    @property
    def forms(self) -> list[DirectionForm]:
        """The arguments of the units, in order."""
        return list(self._number)

    @property
    def names(self) -> list[str]:
        """The names of the units' values, in order."""
        return [f"{self._prefix}{i}" for i in range(len(self._number))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Householder factors and a write for each of some choices, exactly one of which is 1 at a time."""

    choices: Sequence[DirectionForm]
    writes: Sequence[tuple[Exact, ...]]
    factors: Sequence[tuple[Factor, ...]]


class LayerBuilder:
    """Collects one layer.

    The units of `relu` and the gates and writes read the stream; the units of `readout_relu` and the outputs
    also read the state, and the state before the letter where the layer exposes it.

    Args:
        name: what the layer is for.
        stream: all directions that exist before the layer.
        exposes_previous: whether the readout may see the state before the letter.
        complex_state: whether coordinates may be complex; a form of one is then its real part.
        one_hot: directions of which exactly one is 1 at each position; forms are shortened with that.
    """

    def __init__(
        self,
        name: str,
        stream: Sequence[str],
        *,
        exposes_previous: bool = False,
        complex_state: bool = False,
        one_hot: Sequence[str] = (),
    ) -> None:
        self.name = name
        self._stream = tuple(stream)
        self.exposes_previous = exposes_previous
        self.complex_state = complex_state
        self._one_hot = tuple(one_hot)
        self._units = _Units("unit ")
        self._readout_units = _Units("readout unit ")
        self._gates: dict[str, DirectionForm] = {}
        self._writes: dict[str, DirectionForm] = {}
        self._start: list[Exact] = []
        self._outputs: dict[str, DirectionForm] = {}

    def relu(self, form: DirectionForm) -> DirectionForm:
        """Returns the ReLU of a form of the stream, for gates and writes."""
        return self._units.add(reduce_one_hot(form, self._one_hot))

    def coordinate(
        self, name: str, *, gate: DirectionForm | Exact, write: DirectionForm | Exact, start: Exact = 0
    ) -> DirectionForm:
        """Adds a state coordinate and returns its value after the letter, for the readout."""
        if name in self._gates:
            raise InputError(f"layer {self.name} has two coordinates called {name!r}")
        self._gates[name] = self._short(gate)
        self._writes[name] = self._short(write)
        self._start.append(start)
        return direction(f"state {name}")

    def _short(self, form: DirectionForm | Exact) -> DirectionForm:
        return reduce_one_hot(form, self._one_hot) if isinstance(form, DirectionForm) else constant(form)

    def previous(self, name: str) -> DirectionForm:
        """Returns the value of a coordinate before the letter, for the readout."""
        if not self.exposes_previous:
            raise InputError(f"layer {self.name} does not expose its state before the letter")
        return direction(f"previous {name}")

    def delayed(
        self, name: str, write: DirectionForm | Exact, retain: Fraction, *, start: Exact = 0
    ) -> tuple[DirectionForm, DirectionForm]:
        """Adds a bit that is held for one step; returns its coordinate and the bit before, for the readout.

        Without the state before the letter the gate is `retain`, and the bit before is the second digit.
        """
        state = self.coordinate(name, gate=0 if self.exposes_previous else retain, write=write, start=start)
        if self.exposes_previous:
            return state, self.previous(name)
        return state, second_digit(state, self.readout_relu, retain)

    def imaginary(self, value: DirectionForm) -> DirectionForm:
        """Returns the imaginary part of a coordinate of which `value` is the real part, now or before."""
        (name,) = value.terms
        if not self.complex_state:
            raise InputError(f"layer {self.name} has no complex coordinates")
        return direction(_imaginary(name))

    def readout_relu(self, form: DirectionForm) -> DirectionForm:
        """Returns the ReLU of a form of the stream and the state, for outputs."""
        return self._readout_units.add(self._short(form))

    def output(self, name: str, form: DirectionForm) -> DirectionForm:
        """Appends a direction to the stream and returns its value, for later layers."""
        if name in self._outputs:
            raise InputError(f"layer {self.name} has two outputs called {name!r}")
        self._outputs[name] = self._short(form)
        return direction(name)

    @property
    def stream(self) -> tuple[str, ...]:
        """All directions that exist after the layer."""
        return (*self._stream, *self._outputs)

    def build(
        self,
        *,
        time_invariant: bool = False,
        matrix: Sequence[Row] | None = None,
        recurrence: Recurrence | None = None,
        selection: Selection | None = None,
        heads: Sequence[str] | None = None,
    ) -> Layer:
        """Returns the layer.

        Args:
            time_invariant: whether to store the gates as a fixed diagonal matrix.
            matrix: a fixed matrix that moves the state in place of the gates.
            recurrence: a recurrence in place of the gates and the writes.
            selection: Householder factors and writes, chosen by forms of the stream.
            heads: the kinds of attention heads whose hold and values the gates and writes are.

        Raises:
            InputError: if a form reads what it may not, or a gate varies in a time-invariant layer.
        """
        choices = selection.choices if selection is not None else ()
        before = (*self._units.forms, *self._gates.values(), *self._writes.values(), *choices)
        after = (*self._readout_units.forms, *self._outputs.values())
        reads = _used(self._stream, (*before, *after))
        seen = [*reads, *self._shown("state")]
        if self.exposes_previous:
            seen += self._shown("previous")
        inner = [*reads, *self._units.names]
        if recurrence is None and matrix is not None:
            recurrence = Fixed(matrix=tuple(matrix), write=_affine(inner, self._writes.values()))
        if selection is not None:
            selector, writes = _affine(inner, choices), tuple(selection.writes)
            recurrence = ByChoice.from_factors(
                factors=tuple(selection.factors), writes=writes, selector=selector
            )
        if heads is not None:
            hold, values = (_affine(inner, forms.values()) for forms in (self._gates, self._writes))
            recurrence = AttentionHeads(heads=tuple(heads), hold=hold, values=values)
        return Layer(
            name=self.name,
            reads=reads,
            state=tuple(self._gates),
            start=tuple(self._start),
            units=_affine(reads, self._units.forms),
            recurrence=recurrence or self._recurrence(inner, time_invariant=time_invariant),
            readout_units=_affine(seen, self._readout_units.forms),
            outputs=tuple(self._outputs),
            readout=_affine([*seen, *self._readout_units.names], self._outputs.values()),
            exposes_previous=self.exposes_previous,
            complex_state=self.complex_state,
        )

    def _shown(self, when: str) -> list[str]:
        names = [f"{when} {name}" for name in self._gates]
        return names + [_imaginary(name) for name in names] if self.complex_state else names

    def _recurrence(self, inner: list[str], *, time_invariant: bool) -> Recurrence:
        write = _affine(inner, self._writes.values())
        if not time_invariant:
            return Gated(gate=_affine(inner, self._gates.values()), write=write)
        varying = [name for name, gate in self._gates.items() if not gate.is_constant]
        if varying:
            raise InputError(f"layer {self.name}: the gate of {varying[0]!r} depends on the input")
        fixed = [gate.bias for gate in self._gates.values()]
        matrix = tuple(((i, gate),) if gate != 0 else () for i, gate in enumerate(fixed))
        return Fixed(matrix=matrix, write=write)


class DecoderBuilder:
    """Collects a decoder with one score for each letter and one for the end.

    Args:
        stream: all directions that exist after the last layer.
        num_letters: letters of the alphabet; the score of the end has this number.
        one_hot: directions of which exactly one is 1 at each position.
    """

    def __init__(self, stream: Sequence[str], num_letters: int, *, one_hot: Sequence[str] = ()) -> None:
        self._stream = tuple(stream)
        self._one_hot = tuple(one_hot)
        self._units = _Units("unit ")
        self._scores = [constant(0)] * (num_letters + 1)

    def relu(self, form: DirectionForm) -> DirectionForm:
        """Returns the ReLU of a form of the stream."""
        return self._units.add(reduce_one_hot(form, self._one_hot))

    def add(self, output: int, form: DirectionForm) -> None:
        """Adds a form to the score of a letter, or of the end."""
        self._scores[output] = self._scores[output] + form

    def add_legal(self, legal: Legal, form: DirectionForm) -> None:
        """Adds a form to the score of everything that is legal."""
        for symbol in sorted(legal.symbols):
            self.add(symbol, form)
        if legal.end:
            self.add(len(self._scores) - 1, form)

    def build(self, empty: Legal) -> ScoreDecoder:
        """Returns the decoder."""
        scores = [reduce_one_hot(score, self._one_hot) for score in self._scores]
        reads = _used(self._stream, (*self._units.forms, *scores))
        return ScoreDecoder(
            reads=reads,
            units=_affine(reads, self._units.forms),
            scores=_affine([*reads, *self._units.names], scores),
            empty=empty,
        )


def _imaginary(name: str) -> str:
    return f"imaginary {name}"


def _used(stream: Sequence[str], forms: Iterable[DirectionForm]) -> tuple[str, ...]:
    mentioned = {name for form in forms for name in form.terms}
    return tuple(name for name in stream if name in mentioned)


def _affine(inputs: Sequence[str], forms: Iterable[DirectionForm]) -> Affine:
    builder = AffineBuilder(inputs)
    for number, form in enumerate(forms):
        builder.row(str(number), form.terms, form.bias)
    return builder.build()
