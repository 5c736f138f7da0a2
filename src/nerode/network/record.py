"""The Network record: what the compiler writes and every later stage reads.

At each position the stream is a vector with named directions. It starts as the embedding of the letter;
each layer reads some directions, updates its state, and appends new directions; the decoder reads the
stream after the last layer (for the empty prefix, the start states with a zero letter).

One layer, at one position:

    u = relu(units(reads))                                  feed-forward units
    h = recurrence(h_previous; reads, u)                    see moves.py
    v = relu(readout_units(reads, h, h_previous))           feed-forward units
    outputs = readout(reads, h, h_previous, v)              appended to the stream

`h_previous` is visible to the readout only where `exposes_previous` says so: an exclusive scan, which an
architecture may or may not offer.
"""

from __future__ import annotations

from dataclasses import dataclass

from nerode.core import Exact, InputError, Reference, Shown
from nerode.languages import Alphabet
from nerode.network.affine import Affine
from nerode.network.decoders import Decoder
from nerode.network.moves import Recurrence


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding:
    """The vector that each letter puts on the stream: `vectors[letter][direction]`."""

    directions: tuple[str, ...]
    vectors: tuple[tuple[Exact, ...], ...]

    def __post_init__(self) -> None:
        _check_names(self.directions, "directions of the embedding")
        if any(len(v) != len(self.directions) for v in self.vectors):
            raise InputError(f"an embedding vector does not have {len(self.directions)} entries")

    @classmethod
    def one_hot(cls, alphabet: Alphabet) -> Embedding:
        """Returns one direction for each letter, called x=letter."""
        n = len(alphabet)
        return cls(
            directions=tuple(f"x={symbol}" for symbol in alphabet),
            vectors=tuple(tuple(int(i == j) for j in range(n)) for i in range(n)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One recurrent layer; see the top of the file for what it computes.

    Attributes:
        name: what the layer is for.
        reads: directions of the stream that it looks at.
        state: names of its state coordinates.
        start: the state before the first letter.
        units: affine maps whose ReLUs the recurrence may read; inputs are `reads`.
        recurrence: how the state moves; its maps read `reads` then the units.
        exposes_previous: whether the readout also sees the state before the letter.
        complex_state: whether the state is complex; the readout then sees the real parts of all
            coordinates, followed by their imaginary parts, in place of the coordinates.
        readout_units: inputs are reads, state (and previous state).
        outputs: directions that it appends to the stream.
        readout: inputs are those of `readout_units`, then the ReLUs of them.
    """

    name: str
    reads: tuple[str, ...]
    state: tuple[str, ...]
    start: tuple[Exact, ...]
    units: Affine
    recurrence: Recurrence
    readout_units: Affine
    outputs: tuple[str, ...]
    readout: Affine
    exposes_previous: bool = False
    complex_state: bool = False

    def __post_init__(self) -> None:
        _check_names(self.state, f"state coordinates of layer {self.name}")
        width = len(self.state)
        if len(self.start) != width:
            raise InputError(f"layer {self.name} has {width} coordinates but {len(self.start)} start values")
        copies = (2 if self.exposes_previous else 1) * (2 if self.complex_state else 1)
        seen = len(self.reads) + width * copies
        expected = (
            ("units", self.units.num_inputs, len(self.reads)),
            ("readout units", self.readout_units.num_inputs, seen),
            ("readout", self.readout.num_inputs, seen + self.readout_units.num_outputs),
            ("outputs", self.readout.num_outputs, len(self.outputs)),
        )
        for what, got, wanted in expected:
            if got != wanted:
                raise InputError(f"layer {self.name}: the {what} have dimension {got} instead of {wanted}")
        self.recurrence.check(width=width, num_inputs=len(self.reads) + self.units.num_outputs)

    @property
    def width(self) -> int:
        """Number of state coordinates."""
        return len(self.state)

    @property
    def num_parameters(self) -> int:
        """Number of stored non-zero numbers."""
        maps = (self.units, self.readout_units, self.readout)
        return sum(m.num_entries for m in maps) + self.recurrence.num_entries + self.width


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The origin of a network.

    Attributes:
        language: name of the language.
        language_hash: SHA-256 of its canonical description.
        construction: kebab-case name of the construction.
        route: why this construction was chosen and what it looks like, in one sentence.
        reference: the result that it implements.
        weights: for a trained network the SHA-256 of the tensors of its run; "" for a compiled one.
    """

    language: str
    language_hash: str
    construction: str
    route: str
    reference: Reference
    weights: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Network(Shown):
    """A network with exact weights."""

    alphabet: Alphabet
    target: str
    embedding: Embedding
    layers: tuple[Layer, ...]
    decoder: Decoder
    origin: Origin

    def __post_init__(self) -> None:
        if len(self.embedding.vectors) != len(self.alphabet):
            raise InputError("the embedding does not have one vector for each letter")
        stream = list(self.embedding.directions)
        for layer in self.layers:
            known = frozenset(stream)
            missing = [name for name in layer.reads if name not in known]
            if missing:
                raise InputError(f"layer {layer.name} reads {missing[0]!r}, which is not on the stream")
            stream.extend(layer.outputs)
            _check_names(tuple(stream), f"directions after layer {layer.name}")
            self._check_letters(layer)
        self.decoder.check(stream=tuple(stream), alphabet=self.alphabet)

    def _check_letters(self, layer: Layer) -> None:
        letters = layer.recurrence.num_letters
        if letters is not None and letters != len(self.alphabet):
            raise InputError(
                f"layer {layer.name} has transitions for {letters} letters, the alphabet has "
                f"{len(self.alphabet)}"
            )

    @property
    def depth(self) -> int:
        """Number of layers."""
        return len(self.layers)

    @property
    def width(self) -> int:
        """The largest number of state coordinates of one layer."""
        return max((layer.width for layer in self.layers), default=0)

    @property
    def state_size(self) -> int:
        """Number of state coordinates of all layers together."""
        return sum(layer.width for layer in self.layers)

    @property
    def num_parameters(self) -> int:
        """Number of stored non-zero numbers."""
        embedding = sum(1 for v in self.embedding.vectors for e in v if e != 0)
        return embedding + sum(layer.num_parameters for layer in self.layers) + self.decoder.num_entries


def _check_names(names: tuple[str, ...], what: str) -> None:
    if len(set(names)) != len(names):
        repeated = next(n for n in names if names.count(n) > 1)
        raise InputError(f"the {what} name {repeated!r} twice")
