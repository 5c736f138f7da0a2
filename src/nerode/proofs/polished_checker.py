"""Re-checks a polished network: that it multiplies in its group, at every length, from its files alone.

The folder has a model of orthogonal blocks, H_t = M(x_t) H_{t-1} with H_0 = I and scores C vec(H_t) + c,
and a certificate that names for each block and letter a matrix with many digits.

1. the products of these matrices nearly multiply as the group does, so an exact representation is near them:
   the network with its matrices is at one of finitely many points after every word, that of the product;
2. at each of these points the score of the correct element is the largest, with a margin: so that network is
   correct at every length;
3. the matrices of the model are so near that rounding takes N steps to use up the margin: so the model itself
   is correct up to length N in its own floats.

Nothing that computes is shared with what makes such certificates; torch is not needed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nerode.core import Budget, started
from nerode.kernel import EXACT, LANGUAGE_FILE, TRACK, UP_TO_LENGTH, Claim
from nerode.languages import question_from_description
from nerode.languages.groups import FiniteMonoid
from nerode.proofs.polished import (
    LARGEST,
    POLISH_BITS,
    ROOM,
    SCALE,
    UNITS,
    Drift,
    NearRepresentation,
    Numbers,
    Refused,
    StatedProof,
    Weights,
    drift_of,
    near_representation,
    norm_above,
    read_proof,
    read_weights,
    to_scale,
)
from nerode.records import Folder, Reading, TokenLetters

METHOD = "representation"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepresentationCheck:
    """The result of a check.

    Attributes:
        ok: whether every claim of the certificate holds.
        problem: why not, in one sentence; "" if it does.
        group: in which letters are multiplied.
        letters: how many of its elements are read.
        margin: how far the correct score is above all others at the exact points, at least.
        dtype: the floats of the model.
        length: the model is correct up to this length in its floats.
    """

    ok: bool
    problem: str = ""
    group: str = ""
    letters: int = 0
    margin: float = 0.0
    dtype: str = ""
    length: int = 0

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The proved statements as claims of a certificate; none if the certificate is refused."""
        if not self.ok:
            return ()
        says = "the largest score after every word is that of the product of its letters"
        exact = f"With an exact representation near its matrices, in exact arithmetic, {says}."
        floats = (
            "In the stated dtype, one letter after the other, every operation rounded to nearest and sums in "
            f"any order: {says}."
        )
        return (
            Claim(scope=EXACT, method=METHOD, task=TRACK, covers=exact),
            Claim(
                scope=UP_TO_LENGTH,
                method=METHOD,
                task=TRACK,
                covers=floats,
                dtype=self.dtype,
                length=self.length,
            ),
        )


def check_polished(folder: Path, *, budget: Budget | None = None) -> RepresentationCheck:
    """Returns whether the certificate of a folder holds, and what it shows.

    Args:
        folder: where it is.
        budget: limits the time; none when not given.

    Raises:
        FormatError: if a file is missing or cannot be read.
        BudgetExceeded: if the time is up before the check ends.
    """
    budget = started(budget or Budget(seconds=math.inf))
    try:
        proof = read_proof(folder)
        weights = read_weights(folder, proof)
        products = proof.group.times(tuple(range(proof.group.order)))
        tables = [_all_elements(proof.group, proof.letters, block) for block in proof.blocks]
        points = [near_representation(table, products, budget) for table in tables]
        margins, slack = _margins(points, weights.readout, weights.bias)
        smallest = _smallest_margin(margins, slack, proof.group)
        length = _float_length(proof, weights, points, margins, slack)
        _require_question(folder, proof)
    except Refused as refused:
        return RepresentationCheck(ok=False, problem=str(refused))
    return RepresentationCheck(
        ok=True,
        group=proof.group.name,
        letters=len(proof.letters),
        margin=_float_below(smallest),
        dtype=weights.dtype,
        length=length,
    )


def _require_question(folder: Path, proof: StatedProof) -> None:
    """Raises Refused unless products are the answers to the question of the subject, if it has one."""
    place, order = Folder(folder), proof.group.order
    place.require_files()
    subject, asked = place.subject, place.subject.question
    if asked is None:
        return
    if LANGUAGE_FILE not in subject.files:
        raise Refused("the subject asks a question, but does not name what it is about")
    question = question_from_description(
        place.read_json(LANGUAGE_FILE), name=asked.name, asks=asked.asks, words=asked.words
    )
    symbols = question.alphabet.symbols
    if len(symbols) != len(proof.letters) or subject.letters != TokenLetters.numbered(symbols):
        raise Refused("the letters are not those of the question, in its order")
    if subject.reading != Reading.by_name(order) or len(question.answers) != order:
        raise Refused("the scores are not read as one class for each element")
    first = (question.initial(), proof.group.identity)
    known, reached = {first}, [first]
    for at, g in reached:
        for letter in question.letters(at):
            after = question.advance(at, letter)
            product = proof.group.product(g, proof.letters[letter])
            wanted = question.expected(after)
            if any(question.asked(after)) and wanted != tuple(i == product for i in range(order)):
                raise Refused(f"after {symbols[letter]} the product is not the answer to the question")
            if (after, product) not in known:
                known.add((after, product))
                reached.append((after, product))


def _all_elements(group: FiniteMonoid, letters: Sequence[int], block: Numbers) -> Numbers:
    """The matrices of all elements (elements, n, n): products of those of the letters along words."""
    found = {group.identity: np.eye(block.shape[1], dtype=int).astype(object) * SCALE}
    reached = [group.identity]
    for g in reached:
        for letter, matrix in zip(letters, block, strict=True):
            after = group.product(g, letter)
            if after not in found:
                found[after] = (matrix @ found[g]) >> POLISH_BITS
                reached.append(after)
    if len(reached) != group.order:
        raise Refused(f"the letters make {len(reached)} of the {group.order} elements of {group.name}")
    for letter, matrix in zip(letters, block, strict=True):
        if norm_above(matrix - found[letter]) > SCALE >> 20:
            raise Refused(f"a block is no representation: {group.element_names[letter]} is wrong")
    return np.array([found[g] for g in range(group.order)], dtype=object)


def _margins(
    points: list[NearRepresentation], readout: npt.NDArray[Any], bias: npt.NDArray[Any]
) -> tuple[Numbers, int]:
    """Margins of the score of each element (row) above each other one, over SCALE; and the error of all."""
    states = np.concatenate([p.matrices.reshape(len(bias), -1) for p in points], axis=1)
    weight, constant = to_scale(readout), to_scale(bias) * SCALE
    scores = states @ weight.T + constant
    right = np.diagonal(scores)[:, None]
    off = max(p.error for p in points)
    heaviest = int(np.abs(weight).sum(axis=1).max()) + weight.shape[1]
    widest = int(np.abs(states).sum(axis=1).max())
    # Each score is off by the error of the states, times the weights, and by 1 in each weight and the bias.
    error = off * heaviest + widest + SCALE
    return (right - scores) // SCALE, 2 * (error // SCALE + 1) + 1


def _smallest_margin(margins: Numbers, slack: int, group: FiniteMonoid) -> Fraction:
    order = len(margins)
    smallest = None
    for g in range(order):
        for other in range(order):
            if other == g:
                continue
            value = int(margins[g, other]) - slack
            if value <= 0:
                names = group.element_names
                raise Refused(
                    f"where the product is {names[g]}, the score of {names[other]} is not shown to be smaller"
                )
            smallest = value if smallest is None else min(smallest, value)
    if smallest is None:
        raise Refused("the group has one element, so there is nothing to decide")
    return Fraction(smallest, SCALE)


def _float_length(
    proof: StatedProof, weights: Weights, points: list[NearRepresentation], margins: Numbers, slack: int
) -> int:
    """The largest N for which N steps of rounding leave every margin positive."""
    letters = list(proof.letters)
    drifts = [
        drift_of([to_scale(m) for m in weights.matrices[:, b]], letters, point, dtype=weights.dtype)
        for b, point in enumerate(points)
    ]
    size, outputs = weights.size, len(weights.bias)
    readout = to_scale(weights.readout).reshape(outputs, len(points), size * size)
    reading = [
        _reading_error(readout[o], weights.bias[o], drifts, dtype=weights.dtype) for o in range(outputs)
    ]
    best = min(ROOM // drift.step for drift in drifts)
    for g in range(outputs):
        apart = readout - readout[g]
        for other in range(outputs):
            if other == g:
                continue
            left = Fraction(int(margins[g, other]) - slack, SCALE) - reading[g] - reading[other]
            spent = sum(
                (Fraction(norm_above(apart[other, b]) + size * size, SCALE) * drift.step)
                for b, drift in enumerate(drifts)
            )
            # Strictly less than the margin.
            best = min(best, -(-left // spent) - 1)
    return max(0, int(best))


def _reading_error(weight: Numbers, bias: Any, drifts: list[Drift], *, dtype: str) -> Fraction:
    """A bound of the rounding of one score: a sum of products and the bias, in any order."""
    unit, tiny = UNITS[dtype]
    terms = weight.size + 2
    gamma = terms * unit / (1 - terms * unit)
    total = abs(Fraction(float(bias)))
    for row, drift in zip(weight, drifts, strict=True):
        total += Fraction(norm_above(row) + row.size, SCALE) * drift.size
    # No partial sum is larger, whatever the order.
    if (1 + gamma) * total > LARGEST[dtype]:
        raise Refused(f"a score may leave the range of {dtype}")
    return gamma * total + terms * tiny


def _float_below(value: Fraction) -> float:
    found = float(value)
    return found if Fraction(found) <= value else float(np.nextafter(found, 0.0))
