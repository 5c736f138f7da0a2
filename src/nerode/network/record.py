"""The Network record: what the compiler writes and every later stage reads, up to the decoder's answer.

At each position the stream is a vector with named directions. It starts as the embedding of the letter;
each layer reads some directions, updates its state, and appends new directions; the decoder reads the
stream after the last layer (for the empty prefix, the start states with a zero letter).

One layer, at one position:

    u = relu(units(reads))                                  feed-forward units
    h = recurrence(h_previous; reads, u)                    see moves.py
    v = relu(readout_units(reads, h, h_previous))           feed-forward units
    outputs = readout(reads, h, h_previous, v)              appended to the stream

`h_previous` is visible to the readout only where `exposes_previous` says so: an exclusive scan, which an
architecture may or may not offer. Units are ReLUs; in a readout they may also be signs (a norm without
epsilon) and powers of four of whole numbers, tame maps that exact arithmetic has (docs/theory/senses.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from nerode.core import Exact, InputError, Reference, Shown, plural
from nerode.languages import END, Alphabet, Legal
from nerode.network.affine import Affine
from nerode.network.moves import Recurrence


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreDecoder:
    """One score for each letter and one for the end: legal exactly when the score is above 1/2.

    Attributes:
        reads: directions of the stream.
        units: affine maps whose ReLUs the scores may use.
        scores: inputs are `reads` then the units; rows are the letters in order, then the end.
        empty: the answer for the empty prefix, where no letter has been read yet.
    """

    reads: tuple[str, ...]
    units: Affine
    scores: Affine
    empty: Legal
    kind: str = "scores"

    def check(self, *, stream: tuple[str, ...], alphabet: Alphabet) -> None:
        """Raises InputError if the maps do not fit the stream and the alphabet."""
        _check_reads(self.reads, stream)
        wanted = (len(self.reads), len(self.reads) + self.units.num_outputs, len(alphabet) + 1)
        got = (self.units.num_inputs, self.scores.num_inputs, self.scores.num_outputs)
        if got != wanted:
            raise InputError(f"the decoder's maps have dimensions {got} instead of {wanted}")

    @property
    def num_entries(self) -> int:
        """Number of stored non-zero numbers."""
        return self.units.num_entries + self.scores.num_entries


@dataclass(frozen=True, slots=True, kw_only=True)
class PointDecoder:
    """The answer of the point that is nearest to the stream (largest real inner product).

    All points must have the same norm, so that the nearest one is the one with the largest product.

    Attributes:
        reads: directions of the stream.
        points: the points that the stream can take.
        answers: what is legal at each of them.
        empty: the answer for the empty prefix.
    """

    reads: tuple[str, ...]
    points: tuple[tuple[Exact, ...], ...]
    answers: tuple[Legal, ...]
    empty: Legal
    kind: str = "points"

    def check(self, *, stream: tuple[str, ...], alphabet: Alphabet) -> None:
        """Raises InputError if the points do not fit the stream."""
        _check_reads(self.reads, stream)
        if len(self.points) != len(self.answers) or not self.points:
            raise InputError(f"the decoder has {len(self.points)} points but {len(self.answers)} answers")
        if any(len(p) != len(self.reads) for p in self.points):
            raise InputError(f"a decoder point does not have {len(self.reads)} coordinates")

    @property
    def num_entries(self) -> int:
        """Number of stored non-zero numbers."""
        return sum(1 for p in self.points for e in p if e != 0)


LogSum = tuple[tuple[Fraction, Fraction], ...]
"""A weight of a softmax: the sum of scale · ln(ratio) over its pairs (scale, ratio)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogitDecoder:
    """A distribution over letters and the end, from a linear map of the stream.

    Output i has the score sum over j of value_j · weight_ij. For "softmax" the weights are sums of logarithms
    of rationals, so that the distribution is known exactly wherever the values make the exponents whole.
    For "sparsemax" and "hardmax" they are rationals: a weight is a LogSum whose only pair is
    (weight, 1) and stands for the number itself.

    Attributes:
        reads: directions of the stream (the hidden neurons after their ReLU).
        normaliser: "softmax", "sparsemax" or "hardmax".
        rows: sparse rows, one for each letter and one for the end; entries are (j, weight).
        empty: what may start a word.
    """

    reads: tuple[str, ...]
    normaliser: str
    rows: tuple[tuple[tuple[int, LogSum], ...], ...]
    empty: Legal
    kind: str = "logits"

    def check(self, *, stream: tuple[str, ...], alphabet: Alphabet) -> None:
        """Raises InputError if the rows do not fit the stream and the alphabet."""
        _check_reads(self.reads, stream)
        if self.normaliser not in ("softmax", "sparsemax", "hardmax"):
            raise InputError(
                f"unknown normaliser {self.normaliser!r}; allowed are softmax, sparsemax, hardmax"
            )
        if len(self.rows) != len(alphabet) + 1:
            raise InputError(f"the decoder has {len(self.rows)} rows for {len(alphabet)} letters and {END}")
        for row in self.rows:
            for j, weight in row:
                if not 0 <= j < len(self.reads):
                    raise InputError("a decoder row reads a direction that does not exist")
                if any(ratio <= 0 for _, ratio in weight):
                    raise InputError("a softmax weight has the logarithm of a number that is not positive")
                if self.normaliser != "softmax" and any(ratio != 1 for _, ratio in weight):
                    raise InputError(f"a weight of a {self.normaliser} is a number, not a logarithm")

    @property
    def num_entries(self) -> int:
        """Number of stored weights."""
        return sum(map(len, self.rows))


Decoder = ScoreDecoder | PointDecoder | LogitDecoder


def _check_reads(reads: tuple[str, ...], stream: tuple[str, ...]) -> None:
    known = frozenset(stream)
    missing = [name for name in reads if name not in known]
    if missing:
        raise InputError(f"the decoder reads {missing[0]!r}, which is not on the stream")


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
        readout: inputs are those of `readout_units`, then the units.
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

    def __repr__(self) -> str:
        layers = plural(self.depth, "layer")
        return f"<network of {self.origin.language} for {self.target}: {layers}, width {self.width}>"

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
    def attends(self) -> bool:
        """Whether some layer is made of attention heads; softmax then computes what the record says."""
        return any(layer.recurrence.kind == "attention" for layer in self.layers)

    @property
    def exact(self) -> bool:
        """Whether exact arithmetic computes it: there is no tanh, sigmoid or exp."""
        return all(layer.recurrence.exact for layer in self.layers)

    @property
    def num_parameters(self) -> int:
        """Number of stored non-zero numbers."""
        embedding = sum(1 for v in self.embedding.vectors for e in v if e != 0)
        return embedding + sum(layer.num_parameters for layer in self.layers) + self.decoder.num_entries


def _check_names(names: tuple[str, ...], what: str) -> None:
    if len(set(names)) != len(names):
        repeated = next(n for n in names if names.count(n) > 1)
        raise InputError(f"the {what} name {repeated!r} twice")
