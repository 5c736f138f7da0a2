"""The files of a polished network, read by its checker with every entry looked at; and bounds on its numbers.

subject.json        the model: one layer of orthogonal blocks, and the hash of its weights
model.safetensors   its weights
polish.json         the certificate; its words and names are here, so that maker and checker have the same

Arrays of objects hold Python integers; a value is its entry over SCALE.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nerode.core import Budget, FormatError, NerodeError, load_extra, read_json
from nerode.languages.groups import FiniteMonoid, finite_monoid
from nerode.records import WEIGHTS_FILE, Folder

POLISH_FILE = "polish.json"
POLISH_FORMAT = "nerode-polish"
POLISH_VERSION = 2
POLISH_BITS = 160
"""Matrices are written in multiples of 2^-160."""

SCALE = 1 << POLISH_BITS

POLISH_CLAIM = (
    "Near the matrices is an exact representation of the group. With it, in exact arithmetic, the largest "
    "score after every word is that of the product of its letters; the model itself, one letter after the "
    "other in its own floats with every operation rounded to nearest and sums in any order, has this up to a "
    "length"
)
"""The sentence of a certificate; no other words are accepted."""

MAX_BYTES = 200_000_000
MAX_ELEMENTS = 2_000
MAX_STATE = 1 << 20
"""Numbers of a state; for sums of many more than that, float32 has no bound on the rounding."""

_KEYS = {"format", "version", "claim", "group", "letters", "weights", "blocks"}
_LAYER = {"form": "matrix", "write": False, "learned_start": False}
_MODEL = {"features": None, "width": None, "positions": "none", "final_norm": "none", "head": "none"}
_AROUND = {"norm": "none", "residual": False, "feed_forward": "none"}


class Refused(NerodeError):
    """A certificate does not show what it claims."""


Numbers = npt.NDArray[Any]
"""Python integers in a numpy array of objects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedProof:
    """The statement of a certificate.

    Attributes:
        group: the group.
        letters: the element of each letter.
        weights: hash of the tensors.
        blocks: for each block of the model its matrices (letters, n, n), over SCALE.
    """

    group: FiniteMonoid
    letters: tuple[int, ...]
    weights: str
    blocks: tuple[Numbers, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weights:
    """The weights of a model of orthogonal blocks.

    Attributes:
        dtype: their type.
        size: of the blocks.
        matrices: M (letters, blocks, n, n).
        readout: C (elements, blocks · n · n).
        bias: c (elements,).
    """

    dtype: str
    size: int
    matrices: npt.NDArray[Any]
    readout: npt.NDArray[Any]
    bias: npt.NDArray[Any]


def is_polished(folder: Path) -> bool:
    """Whether a folder holds a polished network with its certificate, and no compiled one."""
    return (folder / POLISH_FILE).exists() and not (folder / "certificate.json").exists()


def read_proof(folder: Path) -> StatedProof:
    """Returns what the certificate says.

    Raises:
        FormatError: if it is missing, or not such a certificate.
    """
    path = folder / POLISH_FILE
    data = read_json(path, max_bytes=MAX_BYTES)
    if (
        not isinstance(data, dict)
        or data.get("format") != POLISH_FORMAT
        or data.get("version") != POLISH_VERSION
    ):
        raise FormatError(
            f"is not a certificate of the format {POLISH_FORMAT!r}, version {POLISH_VERSION}", path=path
        )
    try:
        return _proof(data)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, NerodeError) as error:
        raise FormatError(f"is not as such a certificate is written: {error}", path=path) from None


def _proof(data: dict[str, Any]) -> StatedProof:
    odd = sorted(data.keys() ^ _KEYS)
    if odd:
        raise ValueError(f"{odd[0][:40]!r} is {'unknown' if odd[0] in data else 'missing'}")
    if not data["letters"] or not data["blocks"]:
        raise ValueError("there are no letters, or no blocks")
    if data["claim"] != POLISH_CLAIM:
        raise ValueError("it claims something else than what is checked")
    group = finite_monoid(str(data["group"]), Budget(elements=MAX_ELEMENTS))
    if not group.is_group:
        raise ValueError(f"{group.name} is not a group")
    return StatedProof(
        group=group,
        letters=tuple(group.element(str(name)) for name in data["letters"]),
        weights=str(data["weights"]),
        blocks=tuple(_block(block, len(data["letters"])) for block in data["blocks"]),
    )


def _block(data: Any, letters: int) -> Numbers:
    size = len(data[0])
    if len(data) != letters or any(len(m) != size or any(len(row) != size for row in m) for m in data):
        raise ValueError("a block does not have one square matrix per letter")
    if any(type(x) is not int or abs(x) > 2 * SCALE for matrix in data for row in matrix for x in row):
        raise ValueError("an entry of a matrix is not a whole number from -2^161 to 2^161")
    return np.array(data, dtype=object)


def read_weights(folder: Path, proof: StatedProof) -> Weights:
    """Returns the weights of the model, if it is the one, and of the kind, that the proof is about.

    Raises:
        FormatError: if a file is missing or damaged.
        Refused: if it is another model.
    """
    place = Folder(folder)
    content, digest = place.read(WEIGHTS_FILE, max_bytes=MAX_BYTES), place.file_hash(WEIGHTS_FILE)
    if digest != proof.weights:
        raise Refused("the weights are not those that the certificate was written for")
    config = place.subject.network
    blocks, size = _shape(config.config, proof)
    if place.subject.files.get(WEIGHTS_FILE) != digest:
        raise Refused("the subject names other weights")
    tensors = _tensors(content, folder / WEIGHTS_FILE)
    expected = {
        "W.weight": (blocks * size * size, len(proof.letters)),
        "C.weight": (proof.group.order, blocks * size * size),
        "C.bias": (proof.group.order,),
    }
    named = {name.rpartition("layer.")[2]: value for name, value in tensors.items()}
    if {name: value.shape for name, value in named.items()} != expected or len(named) != len(tensors):
        raise Refused("the weights are not those of one layer of orthogonal blocks")
    dtypes = {str(value.dtype) for value in tensors.values()}
    if len(dtypes) != 1 or not dtypes <= {"float32", "float64"}:
        raise Refused(f"the weights are {' and '.join(sorted(dtypes))}; float32 or float64 is needed")
    if not all(np.isfinite(value).all() for value in tensors.values()):
        raise Refused("a weight is not finite")
    (dtype,) = dtypes
    if config.dtype != dtype:
        raise Refused(f"the subject says {str(config.dtype)[:40]}, its weights are {dtype}")
    return Weights(
        dtype=dtype,
        size=size,
        matrices=named["W.weight"].T.reshape(-1, blocks, size, size),
        readout=named["C.weight"],
        bias=named["C.bias"],
    )


def _tensors(content: bytes, path: Path) -> dict[str, npt.NDArray[Any]]:
    safetensors, reader = load_extra("safetensors"), load_extra("safetensors.numpy")
    try:
        return reader.load(content)  # type: ignore[no-any-return]
    except (safetensors.SafetensorError, KeyError, TypeError, AttributeError) as error:
        raise FormatError(f"is not a safetensors file of float32 or float64: {error}", path=path) from None


def _shape(model: Any, proof: StatedProof) -> tuple[int, int]:
    """The number of blocks and their size; refused unless the model is what the proof speaks of."""
    try:
        (layer,), (around,) = model["layers"], model["surroundings"]
        settings = layer["settings"]
        size = int(settings["size"])
        wanted = (
            (model, _MODEL | {"letters": len(proof.letters), "outputs": proof.group.order}),
            (layer, {"name": "orthogonal"}),
            (settings, _LAYER | {"blocks": len(proof.blocks), "outputs": proof.group.order}),
            (around, _AROUND),
        )
        odd = [name for table, row in wanted for name, value in row.items() if table[name] != value]
        if settings["columns"] not in (None, size):
            odd.append("columns")
    except (KeyError, TypeError, ValueError):
        raise Refused("the model is not one layer of orthogonal blocks") from None
    if odd:
        raise Refused(f"the model is not what the proof speaks of: {odd[0]} is another")
    if any(block.shape[1] != size for block in proof.blocks):
        raise Refused("a matrix is not as large as the blocks")
    if len(proof.blocks) * size**2 > MAX_STATE:
        raise Refused(f"the state has more than {MAX_STATE:,} numbers")
    return len(proof.blocks), size


UNITS = {
    "float32": (Fraction(1, 2**24), Fraction(1, 2**126)),
    "float64": (Fraction(1, 2**53), Fraction(1, 2**1022)),
}
"""Of each format: the relative error of an operation, and the least number that is never flushed to zero."""

LARGEST = {"float32": 2**127, "float64": 2**1023}
"""Of each format a number that it holds, as it does all smaller ones up to rounding."""

ROOM = Fraction(1)
"""The drift of a state beyond which the bounds say nothing more."""


def to_scale(values: Any) -> Numbers:
    """Returns numbers over SCALE, each rounded down; floats and fractions are taken for what they are."""
    flat = np.asarray(values, dtype=object)
    scaled = np.empty(flat.shape, dtype=object)
    for place, value in np.ndenumerate(flat):
        scaled[place] = math.floor(Fraction(value) * SCALE)
    return scaled


def norm_above(entries: Numbers) -> int:
    """Returns an upper bound of the Euclidean norm of numbers over SCALE, over SCALE."""
    return math.isqrt(int((entries * entries).sum())) + 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NearRepresentation:
    """Matrices near an exact representation of a group.

    Attributes:
        matrices: of the elements (elements, n, n), over SCALE.
        error: bound of the distance of each entry, and of the spectral norm of all of a matrix, over SCALE.
    """

    matrices: Numbers
    error: int


def near_representation(matrices: Numbers, products: npt.NDArray[Any], budget: Budget) -> NearRepresentation:
    """Returns how far an exact representation is at most from matrices M with M(1) = I.

    Let ε bound ‖M(gh) - M(h) M(g)‖ for all g and h, and K the norms of all M(g) and of their inverses. If
    2Kε < 1, there is an exact representation within Kε / (1 - 2Kε) of M; the argument is in
    docs/theory/near-representations.md.

    Args:
        matrices: of the elements in order.
        products: the number of gh in row g and column h.
        budget: limits the time.

    Raises:
        Refused: if they are too far from one.
    """
    off = 0
    for h, matrix in enumerate(matrices):
        budget.check_time(elements=h)
        wrong = matrices[products[:, h]] * SCALE - matrix @ matrices
        off = max(off, int((wrong * wrong).sum(axis=(-1, -2)).max()))
    defect = Fraction(math.isqrt(off) + 1, SCALE * SCALE)
    if defect >= 1:
        raise Refused("a block is no representation, and near none")
    # M(g⁻¹) M(g) is within the defect of I, so the inverse of M(g) is hardly larger than M(g⁻¹).
    largest = max(_stretch(matrix, Fraction(0)) for matrix in matrices) / (1 - defect)
    if 2 * largest * defect >= 1:
        raise Refused("a block is no representation, and near none")
    distance = largest * defect / (1 - 2 * largest * defect)
    return NearRepresentation(matrices=matrices, error=math.ceil(distance * SCALE))


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """The drift of a block of a module away from the exact points.

    Attributes:
        step: bound of what one step adds to ‖H̃ - H‖.
        size: bound of ‖H̃‖ while the drift is within ROOM.
    """

    step: Fraction
    size: Fraction


def drift_of(given: list[Numbers], letters: list[int], exact: NearRepresentation, *, dtype: str) -> Drift:
    """Returns how fast a block may drift.

    With H̃ = M̃ H̃' + F in floats and H = M H' exactly, the difference D obeys D = M D' + (M̃ - M) H̃' + F.
    Products of the M are again some M(g), so what a step adds is never stretched by more than the largest
    ‖M(g)‖, and the drift grows linearly.

    Args:
        given: M̃ of each letter (n × n), over SCALE.
        letters: the element of each letter.
        exact: M of each element, up to its error.
        dtype: the format of the floats.
    """
    unit, tiny = UNITS[dtype]
    n = len(given[0])
    spill = Fraction(exact.error + 1, SCALE)
    stretch = max(_stretch(matrix, spill) for matrix in exact.matrices)
    distance = weight = Fraction(0)
    for number, element in enumerate(letters):
        off = Fraction(norm_above(given[number] - exact.matrices[element]), SCALE) + n * spill
        distance = max(distance, off)
        weight = max(weight, Fraction(norm_above(given[number]), SCALE) + n * Fraction(1, SCALE))
    terms = (n + 1) * unit
    gamma = terms / (1 - terms)
    size = stretch * _root_above(n) + ROOM
    step = stretch * ((distance + gamma * weight) * size + n * n * tiny)
    return Drift(step=step, size=size)


def _stretch(matrix: Numbers, spill: Fraction) -> Fraction:
    """A bound of the spectral norm: its square is at most 1 + ‖MᵀM - I‖, and √(1 + x) ≤ 1 + x/2."""
    n = len(matrix)
    square = (matrix.T @ matrix) >> POLISH_BITS
    rest = square - np.diag([SCALE] * n).astype(object)
    excess = Fraction(norm_above(rest), SCALE) + Fraction(n, SCALE)
    largest = Fraction(int(np.abs(matrix).max()), SCALE) + spill
    return 1 + (excess + 2 * n * n * largest * spill) / 2


def _root_above(n: int) -> Fraction:
    return Fraction(math.isqrt(n * SCALE * SCALE) + 1, SCALE)
