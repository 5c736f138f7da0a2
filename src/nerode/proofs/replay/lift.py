"""From a trained model to a network with exact weights: every float is a fraction over a power of two.

The network computes, in exact arithmetic, what the weights of the module mean; the module does the same up to
rounding. Letters may be one-hot or embedded; there is one cell with nothing around it and a linear head.

    bits       score = 1/2 + output, so that a score is above 1/2 where the module's output is above 0
    classes    a point for each class, its bias on a direction that is always 1: the largest product wins

A module answers after letters only. For the empty word the network has the answer of the language, and what
is claimed of the network does not cover the empty word of the module (`carried_claim`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from torch import Tensor

from nerode.core import InputError, Reference, charge
from nerode.kernel import LANGUAGE_TASKS, Claim
from nerode.languages import (
    Alphabet,
    Language,
    LanguageQuestion,
    Legal,
    MooreQuestion,
    Question,
    language_hash,
)
from nerode.models import Model, Surroundings, dtype_of
from nerode.models.architectures import Elman, Gru, Lstm, Slstm
from nerode.network import (
    Affine,
    Decoder,
    Embedding,
    GatedCell,
    Layer,
    Network,
    Origin,
    PointDecoder,
    Recurrence,
    ScoreDecoder,
    Squashed,
    zero_map,
)
from nerode.proofs.replay.bits import NOT_EMPTY
from nerode.records import Reading

ONE = "one"
"""The direction that is always 1."""

KINDS = ("elman-tanh", "gru-reset-first", "lstm", "slstm")

Matrix = list[list[Fraction]]
Vector = list[Fraction]


def trained_network(
    model: Model, language: Language, *, answers: Sequence[Legal] | None = None, weights: str = ""
) -> Network:
    """Returns the network that a trained model means.

    Args:
        model: one cell of Elman (tanh), GRU (reset gate first), LSTM or sLSTM between letters and a linear
            head.
        language: what it should do.
        answers: what each class says; None if the outputs are bits.
        weights: the SHA-256 of the tensors of the run that the model comes from.

    Raises:
        InputError: if the model has another part.
    """
    require_plain(model)
    alphabet = language.alphabet
    if model.config.letters != len(alphabet):
        raise InputError(f"the model reads {model.config.letters} letters, the alphabet has {len(alphabet)}")
    embedding = _embedding(model, alphabet)
    layer = _layer(model, embedding.directions, with_one=answers is not None)
    weight, bias = head_of(model)
    return Network(
        alphabet=alphabet,
        target=layer.name,
        embedding=embedding,
        layers=(layer,),
        decoder=_decoder(weight, bias, layer.outputs, language, answers),
        origin=Origin(
            language=language.name,
            language_hash=language_hash(language),
            construction="trained",
            route=f"a trained {layer.name} of {layer.width} coordinates, its floats read as exact numbers",
            reference=_REFERENCES[layer.name],
            weights=weights,
        ),
    )


_REFERENCES = {
    "elman-tanh": Reference("Elman1990"),
    "gru": Reference("Cho2014"),
    "lstm": Reference("HochreiterSchmidhuber1997"),
    "slstm": Reference("Beck2024"),
}


def require_plain(model: Model) -> None:
    """Raises InputError unless the model is one cell between letters and a linear head."""
    config = model.config
    around = config.around(0)
    plain = Surroundings(dropout=around.dropout, position=around.position, expansion=around.expansion)
    reasons = []
    if len(config.layers) != 1:
        reasons.append(f"it has {len(config.layers)} layers")
    if config.letters is None:
        reasons.append("it reads features")
    norms = {config.final_norm, config.embedding_norm}
    if norms != {"none"} or config.positions != "none" or config.beginning or around != plain:
        reasons.append("something stands around its cell (norm, residual path, feed-forward part, positions)")
    if config.head != "linear":
        reasons.append("its head is not linear")
    if not is_finite(model):
        reasons.append("a weight is not finite")
    reasons += _obstacles(model)
    if reasons:
        raise InputError(
            f"boxes are for one cell ({', '.join(KINDS)}) between letters and a linear head; this model is "
            f"another: {'; '.join(reasons)}"
        )


def is_finite(model: Model) -> bool:
    """Whether all weights are finite numbers."""
    return all(bool(p.isfinite().all()) for p in model.parameters())


def is_carried(model: Model, claim: Claim) -> bool:
    """Whether a claim about the network of a model also holds of the model.

    The network has the sum of the two biases of a cell. In floats two large ones that nearly cancel round
    worse than their sum does, so that a bound for the network is none for the model. Nor is a bound for
    another format than that of the weights.
    """
    adds_two = getattr(model.layers[0], "recurrent_bias", None) is not None
    return claim.dtype is None or (claim.dtype == dtype_of(model) and not adds_two)


def carried_claim(claim: Claim) -> Claim:
    """Returns a claim about the network of a model as one about the model, which says nothing at first."""
    return replace(claim, covers=claim.covers + NOT_EMPTY) if claim.task in LANGUAGE_TASKS else claim


def find_unlifted(
    model: Model, question: Question, reading: Reading, network: Network, language: Language
) -> str:
    """Returns why claims about a network and a language say nothing about a model and its question, or "".

    The network must be the one that the model means, number by number, wherever it says that it comes from.
    """
    try:
        answers = _answers(question, reading, network, language)
        meant = trained_network(model, language, answers=answers)
    except InputError as error:
        return str(error)
    return "" if replace(meant, origin=network.origin) == network else "its network has other weights"


def _answers(
    question: Question, reading: Reading, network: Network, language: Language
) -> tuple[Legal, ...] | None:
    """The statement of each class about the language; None where the scores are bits.

    Raises:
        InputError: if the right answers about the language are not the right answers to the question.
    """
    if isinstance(question, LanguageQuestion):
        if question.hash != language_hash(language):
            raise InputError("it is about another language")
        if reading == Reading(kind="above"):
            return None
        rows = [row if question.asks == "next" else row[-1:] for row in reading.table]
        # The point of a class is the row of the head of its number.
        named = [column for column in reading.columns if column >= 0]
        if reading.kind != "largest" or len(set(rows)) < len(rows) or named not in ([], [*range(len(rows))]):
            raise InputError("its scores are read in another way, or two classes have one answer")
        return tuple(
            Legal(frozenset(a for a, may in enumerate(row[:-1]) if may), row[-1]) for row in reading.table
        )
    decoder = network.decoder
    assert isinstance(question, MooreQuestion)
    if not isinstance(decoder, PointDecoder) or reading != Reading.by_name(len(question.answers)):
        raise InputError("its scores are read in another way")
    if len(decoder.answers) != len(question.answers) or len(set(decoder.answers)) < len(question.answers):
        raise InputError("several classes have one answer about the language, so that they may be mixed up")
    first = (question.initial(), language.initial())
    known, order = {first}, [first]
    for at, configuration in order:
        charge()
        for letter in question.letters(at):
            after = (question.advance(at, letter), language.advance(configuration, letter))
            if after in known:
                continue
            known.add(after)
            order.append(after)
            expected = question.expected(after[0])
            if any(question.asked(after[0])) and (
                decoder.answers[expected.index(True)] != language.legal(after[1])
            ):
                raise InputError("a class does not say what may follow in the language")
    return decoder.answers


def _obstacles(model: Model) -> list[str]:
    """The part of a cell that has no place in a network with exact weights."""
    match model.layers[0]:
        case Elman() as cell:
            return [] if cell.settings.activation == "tanh" else ["its activation is not tanh"]
        case Gru() as cell:
            return ["its reset gate acts after the product"] if cell.settings.reset_after else []
        case Lstm():
            return []
        case Slstm() as cell:
            found = cell.settings
            special = found.convolution or found.group_norm or found.headwise or found.forget != "sigmoid"
            return ["its sLSTM has a convolution, a norm, blocks of inputs or exp(f)"] if special else []
        case other:
            return [f"its layer is {type(other).__name__}"]


def head_of(model: Model) -> tuple[Matrix, Vector]:
    """Returns the exact weights and biases of the head."""
    weight = _matrix(model.head.weight)  # type: ignore[arg-type]
    bias = model.head.bias
    return weight, [Fraction(0)] * len(weight) if bias is None else _vector(bias)  # type: ignore[arg-type]


def _embedding(model: Model, alphabet: Alphabet) -> Embedding:
    if model.embedding is None:
        return Embedding.one_hot(alphabet)
    vectors = _matrix(model.embedding.weight)  # type: ignore[arg-type]
    return Embedding(
        directions=tuple(f"x{i}" for i in range(len(vectors[0]))), vectors=tuple(map(tuple, vectors))
    )


def _layer(model: Model, reads: tuple[str, ...], *, with_one: bool) -> Layer:
    cell = model.layers[0]
    name, recurrence, start, blocks = _cell(cell)
    width, hidden = len(start), cell.outputs
    outputs = [f"h{i}" for i in range(hidden)]
    rows: list[tuple[tuple[int, int], ...]] = [((len(reads) + i, 1),) for i in range(hidden)]
    bias = [0] * hidden
    if with_one:
        outputs, rows, bias = [*outputs, ONE], [*rows, ()], [*bias, 1]
    seen = len(reads) + width
    return Layer(
        name=name,
        reads=reads,
        state=tuple(f"{block}{i}" for block in blocks for i in range(hidden)),
        start=tuple(start),
        units=zero_map(len(reads)),
        recurrence=recurrence,
        readout_units=zero_map(seen),
        outputs=tuple(outputs),
        readout=Affine(num_inputs=seen, bias=tuple(bias), rows=tuple(rows)),
    )


def _cell(cell: object) -> tuple[str, Recurrence, Vector, str]:
    """The name, the recurrence, the start and the names of the blocks of the state."""
    match cell:
        case Elman():
            (update,) = _gates(cell.read.weight, cell.recurrent, _bias(cell), 1)
            start = _start(cell.start, cell.outputs)
            return "elman-tanh", Squashed(activation="tanh", update=update), start, "h"
        case Gru():
            reset, update, new = _gates(cell.read.weight, cell.recurrent, _bias(cell), 3)
            # The record's gate is the share of the new state, ours that of the old one.
            gates = (reset, _negated(update), new)
            return (
                "gru",
                GatedCell(cell="gru", gates=gates, cap=Fraction(cell.settings.cap)),
                _start(cell.start, cell.outputs),
                "h",
            )
        case Lstm():
            i, f, g, o = _gates(cell.read.weight, cell.recurrent, _bias(cell), 4)
            recurrence = GatedCell(cell="lstm", gates=(i, f, o, g))
            return "lstm", recurrence, _start(cell.start, 2 * cell.outputs), "hc"
        case Slstm():
            recurrent = _spread_heads(_matrix(cell.recurrent.flatten(0, 1)), *cell.recurrent.shape)
            i, f, z, o = _joined_gates(
                _matrix(cell.read.flatten(0, 1)), recurrent, _vector(cell.bias.flatten()), 4
            )
            start = _start(cell.start, 3 * cell.outputs)
            # The module takes the absolute value of n.
            start = [*start[: 2 * cell.outputs], *map(abs, start[2 * cell.outputs :])]
            shares = zip(start[cell.outputs : 2 * cell.outputs], start[2 * cell.outputs :], strict=True)
            if any(c != 0 and n == 0 for c, n in shares):
                # The module keeps all of c where n is 0; the record divides by what n becomes.
                raise InputError("a unit of the sLSTM starts with n = 0 and another c: no record computes it")
            return "slstm", GatedCell(cell="slstm", gates=(i, f, o, z)), start, "hcn"
        case _:
            raise InputError(f"{type(cell).__name__} is not among {', '.join(KINDS)}")


def _bias(cell: Elman | Gru | Lstm) -> Vector:
    bias = _vector(cell.read.bias)
    if cell.recurrent_bias is None:
        return bias
    return [a + b for a, b in zip(bias, _vector(cell.recurrent_bias), strict=True)]


def _gates(read: Tensor, recurrent: Tensor, bias: Vector, count: int) -> list[Affine]:
    return _joined_gates(_matrix(read), _matrix(recurrent), bias, count)


def _joined_gates(read: Matrix, recurrent: Matrix, bias: Vector, count: int) -> list[Affine]:
    """The gates as maps of what the cell reads and of h."""
    size = len(bias) // count
    rows = [_sparse([*a, *b]) for a, b in zip(read, recurrent, strict=True)]
    width = len(read[0]) + len(recurrent[0])
    return [
        Affine(num_inputs=width, bias=tuple(bias[k : k + size]), rows=tuple(rows[k : k + size]))
        for k in range(0, len(bias), size)
    ]


def _spread_heads(rows: Matrix, heads: int, gates_and_places: int, size: int) -> Matrix:
    """The blocks of the heads as one matrix, ordered by gate, then head, then place."""
    places = gates_and_places // 4
    found = []
    for gate in range(4):
        for head in range(heads):
            for place in range(places):
                row = rows[head * gates_and_places + gate * places + place]
                found.append(
                    [Fraction(0)] * (head * size) + row + [Fraction(0)] * ((heads - 1 - head) * size)
                )
    return found


def _negated(gate: Affine) -> Affine:
    return Affine(
        num_inputs=gate.num_inputs,
        bias=tuple(-b for b in gate.bias),
        rows=tuple(tuple((j, -c) for j, c in row) for row in gate.rows),
    )


def _start(start: Tensor | None, width: int) -> Vector:
    return [Fraction(0)] * width if start is None else _vector(start.flatten())


def _decoder(
    weight: Matrix,
    bias: Vector,
    directions: tuple[str, ...],
    language: Language,
    answers: Sequence[Legal] | None,
) -> Decoder:
    empty = language.legal(language.initial())
    if answers is not None:
        if len(weight) != len(answers):
            raise InputError(f"the model has {len(weight)} classes, the task {len(answers)}")
        return PointDecoder(
            reads=directions,
            points=tuple((*row, b) for row, b in zip(weight, bias, strict=True)),
            answers=tuple(answers),
            empty=empty,
        )
    if len(weight) != len(language.alphabet) + 1:
        raise InputError(f"the model has {len(weight)} outputs; a bit for each symbol and the end is needed")
    scores = Affine(
        num_inputs=len(directions),
        bias=tuple(b + Fraction(1, 2) for b in bias),
        rows=tuple(map(_sparse, weight)),
    )
    return ScoreDecoder(reads=directions, units=zero_map(len(directions)), scores=scores, empty=empty)


def _sparse(row: Sequence[Fraction]) -> tuple[tuple[int, Fraction], ...]:
    return tuple((j, c) for j, c in enumerate(row) if c != 0)


def _matrix(values: Tensor) -> Matrix:
    return [[Fraction(v) for v in row] for row in values.detach().tolist()]


def _vector(values: Tensor) -> Vector:
    return [Fraction(v) for v in values.detach().tolist()]
