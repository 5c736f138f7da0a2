"""The decoders of compiled networks as modules."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from nerode.core import InputError, real_part
from nerode.languages import Legal
from nerode.models.network_module.numbers import AffineMap, Converter
from nerode.network import Decoder, LogitDecoder, PointDecoder, ScoreDecoder


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
