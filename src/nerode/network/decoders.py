"""From the stream after the last layer to an answer."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from nerode.core import Exact, InputError
from nerode.languages import END, Alphabet, Legal
from nerode.network.affine import Affine


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
