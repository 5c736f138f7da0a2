"""The decoder of a network as the head of an ordinary model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import torch
from torch import Tensor, nn

from nerode.core import NotCompilable, to_complex, to_float
from nerode.models.lower.stream import Plan, compose
from nerode.models.network_module.decoder import legal_table
from nerode.models.network_module.numbers import Converter
from nerode.models.weight_writer import PlaceForm, combine
from nerode.network import LogitDecoder, LogSum, PointDecoder, ScoreDecoder


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
