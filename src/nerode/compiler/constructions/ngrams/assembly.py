"""The parts that all n-gram networks share: names, embedding, output layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from nerode.compiler.affine import Affine
from nerode.compiler.constructions.ngrams.embedding import WordPoints
from nerode.compiler.decoders import LogitDecoder, LogSum
from nerode.compiler.network import Embedding
from nerode.core.exact import Exact, simplify
from nerode.languages.alphabet import Alphabet
from nerode.languages.language import Legal

Rows = list[dict[int, Exact]]


def point_embedding(points: WordPoints) -> Embedding:
    """Returns the embedding of the words as points of the sphere."""
    return Embedding(
        directions=tuple(f"e{c}" for c in range(points.width)),
        vectors=points.points,
    )


def neuron_names(
    alphabet: Alphabet, leftovers: Sequence[Sequence[tuple[int, ...]]], matched: Sequence[tuple[int, ...]]
) -> tuple[str, ...]:
    """Returns a readable name for each neuron: what it remembers or the context that it matches."""
    delays = [f"delay {age}.{c}" for age, group in enumerate(leftovers) for c in range(len(group))]
    return (*delays, *(" ".join(alphabet.symbols[w] for w in context) for context in matched))


def sparse_rows(rows: Rows) -> tuple[tuple[tuple[int, Exact], ...], ...]:
    """Returns rows as sorted tuples without zeros."""
    return tuple(tuple((j, simplify(c)) for j, c in sorted(row.items()) if c != 0) for row in rows)


def affine(num_inputs: int, rows: Rows, bias: Sequence[Exact] | None = None) -> Affine:
    """Returns an affine map of sparse rows."""
    offsets = tuple(bias) if bias is not None else (0,) * len(rows)
    return Affine(num_inputs=num_inputs, bias=offsets, rows=sparse_rows(rows))


def thresholded(num_reads: int, width: int, bias: Sequence[Exact]) -> tuple[Affine, Affine]:
    """Returns the readout relu(h + b): its units and the map that passes them on."""
    units = affine(num_reads + width, [{num_reads + j: 1} for j in range(width)], bias)
    passed = affine(num_reads + 2 * width, [{num_reads + width + j: 1} for j in range(width)])
    return units, passed


def logit_decoder(
    reads: tuple[str, ...],
    columns: Sequence[Mapping[int, LogSum]],
    *,
    num_outputs: int,
    normaliser: str,
    empty: Legal,
) -> LogitDecoder:
    """Returns the output layer whose column j is what neuron j adds."""
    rows: list[list[tuple[int, LogSum]]] = [[] for _ in range(num_outputs)]
    for j, column in enumerate(columns):
        for output, weight in column.items():
            rows[output].append((j, weight))
    return LogitDecoder(
        reads=reads, normaliser=normaliser, rows=tuple(tuple(row) for row in rows), empty=empty
    )


def scaled(value: int, gap: int) -> Exact:
    """Returns value/gap as an exact number."""
    return simplify(Fraction(value, gap))
