"""The decoders of compiled networks: as modules of their own, and as heads of ordinary models."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from nerode.core import InputError, NotCompilable, real_part, to_complex, to_float
from nerode.languages import Legal
from nerode.models.compiled.numbers import AffineMap, Converter
from nerode.models.compiled.plan import Plan, compose
from nerode.models.weight_writer import PlaceForm, combine
from nerode.network import Decoder, LogitDecoder, LogSum, PointDecoder, ScoreDecoder


class CompiledDecoder(nn.Module, ABC):
    """Scores of the letters and the end, and what they mean."""

    @abstractmethod
    def forward(self, reads: Tensor) -> Tensor:
        """Returns the scores (…, letters + 1) of what the decoder reads."""

    def legal(self, scores: Float[Tensor, "*batch outputs"]) -> Bool[Tensor, "*batch outputs"]:
        """Returns what may follow."""
        return scores > 0.5

    def distribution(self, scores: Float[Tensor, "*batch outputs"]) -> Float[Tensor, "*batch outputs"]:
        """Returns the probabilities of what follows.

        Raises:
            InputError: for a network that says what is legal, not how likely it is.
        """
        raise InputError("this network says what is legal; it has no probabilities. Use `legal`.")


class Scores(CompiledDecoder):
    """Affine scores of the stream and some units; legal above 1/2."""

    def __init__(self, record: ScoreDecoder, numbers: Converter) -> None:
        super().__init__()
        self.units = AffineMap.of(record.units, numbers, place="decoder, units")
        self.scores = AffineMap.of(record.scores, numbers, place="decoder, scores")

    def forward(self, reads: Tensor) -> Tensor:
        """Returns the scores."""
        if self.units.rows:
            reads = torch.cat([reads, self.units(reads).relu()], dim=-1)
        scores: Tensor = self.scores(reads)
        return scores


class Points(CompiledDecoder):
    """The answer of the nearest point, as scores 0 and 1."""

    def __init__(self, record: PointDecoder, numbers: Converter, *, letters: int) -> None:
        super().__init__()
        # The stream is real, so only the real parts of the points take part in the product.
        rows = [[(j, real_part(e)) for j, e in enumerate(p)] for p in record.points]
        kept = [tuple((j, e) for j, e in row if e != 0) for row in rows]
        self.products = AffineMap(len(record.reads), kept, None, numbers, place="decoder, points")
        self.register_buffer("answers", legal_table(record.answers, letters))
        self.answers: Tensor

    def forward(self, reads: Tensor) -> Tensor:
        """Returns 1 for what the nearest point allows and 0 for the rest."""
        nearest = self.products(reads).argmax(-1)
        return self.answers[nearest].to(reads.dtype)


class Logits(CompiledDecoder):
    """Logits of a distribution."""

    def __init__(self, record: LogitDecoder, numbers: Converter) -> None:
        super().__init__()
        self.normaliser = record.normaliser
        make = _logarithm_map if record.normaliser == "softmax" else _number_map
        self.scores = make(record, numbers, "decoder, weights")

    def forward(self, reads: Tensor) -> Tensor:
        """Returns the logits."""
        scores: Tensor = self.scores(reads)
        return scores

    def legal(self, scores: Float[Tensor, "*batch outputs"]) -> Bool[Tensor, "*batch outputs"]:
        """Returns what the distribution allows.

        A softmax gives no zero. Its scores are 0 for what is forbidden and ln 2 or more for the rest, so
        that the middle between the two tells them apart. The others do, up to rounding.
        """
        if self.normaliser == "softmax":
            return scores > math.log(2) / 2
        return self.distribution(scores) > _noise(scores)

    def distribution(self, scores: Float[Tensor, "*batch outputs"]) -> Float[Tensor, "*batch outputs"]:
        """Returns the probabilities."""
        match self.normaliser:
            case "softmax":
                return scores.softmax(-1)
            case "sparsemax":
                return sparsemax(scores)
            case _:
                # Scores that are equal in the network may differ by their rounding.
                best = (scores >= scores.amax(-1, keepdim=True) - _noise(scores)).to(scores.dtype)
                return best / best.sum(-1, keepdim=True)


def _noise(scores: Tensor) -> float:
    """The largest number that rounding may make of a zero."""
    return math.sqrt(torch.finfo(scores.dtype).eps)


def make_decoder(record: Decoder, numbers: Converter, *, letters: int) -> CompiledDecoder:
    """Returns the module of a decoder."""
    match record:
        case ScoreDecoder():
            return Scores(record, numbers)
        case PointDecoder():
            return Points(record, numbers, letters=letters)
        case LogitDecoder():
            return Logits(record, numbers)


def legal_table(answers: Iterable[Legal], letters: int) -> Bool[Tensor, "answers outputs"]:
    """Returns a row for each answer: whether each letter, and last the end, may follow."""
    return torch.tensor([[*(i in a.symbols for i in range(letters)), a.end] for a in answers])


def sparsemax(scores: Float[Tensor, "*batch outputs"]) -> Float[Tensor, "*batch outputs"]:
    """Returns the points of the probability simplex that are nearest to the scores.

    Implements: [MartinsAstudillo2016]
    """
    ordered = scores.sort(-1, descending=True).values
    total = ordered.cumsum(-1)
    ranks = torch.arange(1, scores.shape[-1] + 1, dtype=scores.dtype, device=scores.device)
    support = (1 + ranks * ordered > total).sum(-1, keepdim=True)
    threshold = (total.gather(-1, support - 1) - 1) / support
    return (scores - threshold).relu()


def _number_map(record: LogitDecoder, numbers: Converter, place: str) -> AffineMap:
    """The map whose coefficients are numbers, each the scale of the only pair of its weight."""
    rows = [tuple((j, w[0][0]) for j, w in row if w and w[0][0] != 0) for row in record.rows]
    return AffineMap(len(record.reads), rows, None, numbers, place=place)


def _logarithm_map(record: LogitDecoder, numbers: Converter, place: str) -> AffineMap:
    """The map whose coefficients are sums of logarithms."""
    ones = [tuple((j, 1) for j, _ in row) for row in record.rows]
    scores = AffineMap(len(record.reads), ones, None, Converter(numbers.dtype), place=place)
    scores.values.copy_(numbers.logarithms((w for row in record.rows for _, w in row), place))
    return scores


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A head that can be written into a model.

    Attributes:
        hidden: weights and biases of the hidden ReLU units; none for a linear map.
        last: weights of the scores over the hidden units, or over the features.
        bias: what is added to the scores.
    """

    hidden: Sequence[tuple[Tensor, float]]
    last: Tensor
    bias: Tensor

    @property
    def outputs(self) -> int:
        """Number of scores."""
        return len(self.last)

    def fill(self, head: nn.Module) -> None:
        """Sets the weights of a model's head."""
        last = head
        if self.hidden:
            assert isinstance(head, nn.Sequential)
            first, last = head[0], head[2]
            assert isinstance(first, nn.Linear)
            first.weight.copy_(torch.stack([row for row, _ in self.hidden]))
            first.bias.copy_(torch.tensor([bias for _, bias in self.hidden]))
        assert isinstance(last, nn.Linear)
        last.weight.copy_(self.last)
        last.bias.copy_(self.bias)


def make_head(
    plan: Plan, columns: Mapping[int, int], architecture: str, waiting: Sequence[tuple[int, PlaceForm]] = ()
) -> Head:
    """Returns the head of a plan for features that hold some of its places.

    Args:
        plan: the plan.
        columns: the feature that holds each place.
        architecture: for errors.
        waiting: places and forms of ReLU units that no block has computed; the head has to.

    Raises:
        NotCompilable: if the decoder reads a place that the features do not hold, or would need two layers
            of units.
    """
    units, scores = _decoder_rows(plan)
    late = {place: len(units) + i for i, (place, _) in enumerate(waiting)}
    if any(not late.keys().isdisjoint(unit.terms) for unit in units):
        raise NotCompilable(architecture, ["the decoder needs two layers of ReLU units after the state"])
    units = [*units, *(form for _, form in waiting)]
    writer = _Writer(columns, architecture)
    if not units:
        return Head(
            hidden=[],
            last=torch.stack([writer.row(score.direct) for score in scores]),
            bias=_constants(scores),
        )
    return writer.with_units(units, late, scores)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Score:
    """A score: a form over places and coefficients of units."""

    direct: PlaceForm
    units: Mapping[int, float]


class _Writer:
    """Turns forms into rows over features."""

    def __init__(self, columns: Mapping[int, int], architecture: str) -> None:
        self.columns, self.architecture = columns, architecture
        self.width = 1 + max(columns.values())

    def row(self, form: PlaceForm) -> Tensor:
        """The coefficients of a form; its constant is left out."""
        row = torch.zeros(self.width, dtype=torch.float64)
        for place, c in form.terms.items():
            if place not in self.columns:
                raise NotCompilable(self.architecture, ["the decoder reads more than the state of the layer"])
            row[self.columns[place]] = to_float(c)
        return row

    def with_units(
        self, units: Sequence[PlaceForm], late: Mapping[int, int], scores: Sequence[_Score]
    ) -> Head:
        """The head with a hidden layer; what a score reads past it becomes z = relu(z) - relu(-z)."""
        hidden = list(units)
        rows: list[dict[int, float]] = []
        for score in scores:
            row = dict(score.units)
            past = {}
            for place, c in score.direct.terms.items():
                if place in late:
                    row[late[place]] = row.get(late[place], 0.0) + to_float(c)
                else:
                    past[place] = c
            if past:
                row |= {len(hidden): 1.0, len(hidden) + 1: -1.0}
                hidden += [PlaceForm(past), PlaceForm(past).scaled(-1)]
            rows.append(row)
        last = torch.zeros(len(rows), len(hidden), dtype=torch.float64)
        for i, row in enumerate(rows):
            for j, weight in row.items():
                last[i, j] = weight
        return Head(
            hidden=[(self.row(form), to_float(form.constant)) for form in hidden],
            last=last,
            bias=_constants(scores),
        )


def _constants(scores: Sequence[_Score]) -> Tensor:
    return torch.tensor([to_float(score.direct.constant) for score in scores], dtype=torch.float64)


def _decoder_rows(plan: Plan) -> tuple[list[PlaceForm], list[_Score]]:
    """The hidden units of a decoder, and its scores."""
    decoder, reads = plan.network.decoder, plan.reads
    match decoder:
        case ScoreDecoder():
            units = compose(decoder.units, reads)
            direct = compose(decoder.scores, [*reads, *[PlaceForm()] * len(units)])
            first = len(reads)
            return units, [
                _Score(direct=form, units={j - first: to_float(c) for j, c in row if j >= first})
                for form, row in zip(direct, decoder.scores.rows, strict=True)
            ]
        case PointDecoder():
            units, last = point_head(decoder, reads, len(plan.network.alphabet))
            return units, [_Score(direct=PlaceForm(), units=dict(enumerate(row))) for row in last.tolist()]
        case LogitDecoder():
            return [], [_logit(row, decoder.normaliser, reads) for row in decoder.rows]


def _logit(row: Sequence[tuple[int, LogSum]], normaliser: str, reads: Sequence[PlaceForm]) -> _Score:
    numbers = Converter(torch.float64)
    if normaliser == "softmax":
        weights = [Fraction(w) for w in numbers.logarithms((w for _, w in row), "decoder").tolist()]
    else:
        weights = [w[0][0] if w else Fraction(0) for _, w in row]
    parts = [(reads[j], weight) for (j, _), weight in zip(row, weights, strict=True)]
    return _Score(direct=combine(parts), units={})


def point_head(
    decoder: PointDecoder, reads: Sequence[PlaceForm], letters: int
) -> tuple[list[PlaceForm], Tensor]:
    """Returns hidden units, and the rows of the scores over them.

    The product with a point is its squared norm n² there and at most n² - gap at the others. Two units for
    each point make of it 1 above n² - gap/4 and 0 below n² - 3 gap/4.
    """
    points = np.array([[to_complex(e).real for e in point] for point in decoder.points])
    products = points @ points.T
    norm = float(products[0, 0])
    others = products[products < norm - 1e-9 * max(1.0, norm)]
    gap = norm - float(others.max()) if others.size else max(norm, 1.0)
    slope, threshold = 2 / gap, norm - 0.75 * gap
    rising, rows = [], []
    answers = legal_table(decoder.answers, letters).double()
    seen: set[tuple[float, ...]] = set()
    for point, answer in zip(points, answers, strict=True):
        key = tuple(np.round(point, 9) + 0.0)
        if key in seen:
            continue
        seen.add(key)
        parts = [(form, Fraction(slope * e)) for form, e in zip(reads, point.tolist(), strict=True)]
        rising.append(combine(parts, Fraction(-slope * threshold)))
        rows.append(answer)
    down = [form.plus(PlaceForm({}, -1)) for form in rising]
    upward = torch.stack(rows, dim=1)
    return [*rising, *down], torch.cat([upward, -upward], dim=1)
