"""Re-checks a polished network: that it multiplies in its group, at every length, from its files alone.

The folder has a model of orthogonal blocks, H_t = M(x_t) H_{t-1} with H_0 = I and scores C vec(H_t) + c,
and a certificate that names for each block an exact representation E of the group and a basis B. B E(x) B⁻¹
may have tiny imaginary parts, as B is written with finitely many digits; scores are read off the real part.

1. E(gh) = E(h) E(g) for all elements, in exact arithmetic: so the network with the matrices B E(x) B⁻¹ is at
   one of finitely many points after every word, that of the product of its letters;
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

from nerode.core import Budget, Exact, exact_sum, started
from nerode.kernel import EXACT, TRACK, UP_TO_LENGTH, Claim
from nerode.languages.groups import FiniteMonoid
from nerode.proofs.polished import (
    LARGEST,
    ROOM,
    SCALE,
    UNITS,
    Conjugated,
    Drift,
    Numbers,
    Refused,
    StatedBlock,
    StatedProof,
    Weights,
    conjugate,
    drift_of,
    embed,
    enclose,
    norm_above,
    read_proof,
    read_weights,
    to_scale,
)

METHOD = "representation"

ExactRows = list[list[Exact]]


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
        exact = f"With the matrices B E(x) B⁻¹ of the certificate in exact arithmetic, {says}."
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
        tables = [_all_elements(proof, number, budget) for number in range(len(proof.blocks))]
        points = [_points(block, table, budget) for block, table in zip(proof.blocks, tables, strict=True)]
        margins, slack = _margins(points, weights.readout, weights.bias, weights.size)
        smallest = _smallest_margin(margins, slack, proof.group)
        length = _float_length(proof, weights, points, margins, slack)
        _compare(proof, smallest, length, weights.dtype)
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


def _generating_letters(group: FiniteMonoid, letters: Sequence[int]) -> list[int]:
    """Numbers of letters that make all elements, each needed when it was taken."""
    chosen: list[int] = []
    reached = {group.identity}
    for number, letter in enumerate(letters):
        if letter in reached:
            continue
        chosen.append(number)
        reached, frontier = {group.identity}, [group.identity]
        while frontier:
            g = frontier.pop()
            for taken in chosen:
                after = group.product(g, letters[taken])
                if after not in reached:
                    reached.add(after)
                    frontier.append(after)
    if len(reached) != group.order:
        raise Refused(f"the letters make {len(reached)} of the {group.order} elements of {group.name}")
    return chosen


def _all_elements(proof: StatedProof, number: int, budget: Budget) -> dict[int, list[ExactRows]]:
    """E of every element, part by part; refused unless E(g a) = E(a) E(g) for all elements and letters.

    It is enough to look at letters that generate the group: E(1) = I, and every other letter is a product of
    these, at which its stated matrix has to be the one found.
    """
    group, letters = proof.group, proof.letters
    parts = proof.blocks[number].parts
    found: dict[int, list[ExactRows]] = {group.identity: [_identity(len(part[0])) for part in parts]}
    frontier = [group.identity]
    generating = _generating_letters(group, letters)
    while frontier:
        g = frontier.pop()
        budget.check_time(block=number, elements=len(found))
        for a in generating:
            after = group.product(g, letters[a])
            image = [_times(part[a], known) for part, known in zip(parts, found[g], strict=True)]
            if after not in found:
                found[after] = image
                frontier.append(after)
            elif found[after] != image:
                raise Refused(
                    f"block {number} is no representation: two words with the product "
                    f"{group.element_names[after]} have different matrices"
                )
    for a, letter in enumerate(letters):
        if [part[a] for part in parts] != found[letter]:
            raise Refused(
                f"block {number} is no representation: {proof.group.element_names[letter]} is wrong"
            )
    return found


def _identity(n: int) -> ExactRows:
    return [[int(i == j) for j in range(n)] for i in range(n)]


def _times(left: ExactRows, right: ExactRows) -> ExactRows:
    columns = list(zip(*right, strict=True))
    return [
        [exact_sum(a * b for a, b in zip(row, column, strict=True)) for column in columns] for row in left
    ]


def _points(block: StatedBlock, table: dict[int, list[ExactRows]], budget: Budget) -> Conjugated:
    """The matrices B E(g) B⁻¹ of all elements in order, with the bound of their error."""
    error = Fraction(0)
    exact = []
    size = len(block.basis)
    for g in range(len(table)):
        budget.check_time(elements=g)
        rows = [[(Fraction(0), Fraction(0))] * size for _ in range(size)]
        first = 0
        for part in table[g]:
            for i, row in enumerate(part):
                for j, entry in enumerate(row):
                    real, imaginary, slack = enclose(entry)
                    rows[first + i][first + j] = (real, imaginary)
                    error = max(error, slack)
            first += len(part)
        exact.append(embed(rows))
    found = conjugate(embed(block.basis), exact, error)
    if found is None:
        raise Refused("a basis is singular")
    return found


def _margins(
    points: list[Conjugated], readout: npt.NDArray[Any], bias: npt.NDArray[Any], size: int
) -> tuple[Numbers, int]:
    """Margins of the score of each element (row) above each other one, over SCALE; and the error of all."""
    states = np.stack(
        [np.concatenate([p.matrices[g][:size, :size].ravel() for p in points]) for g in range(len(bias))]
    )
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
    proof: StatedProof, weights: Weights, points: list[Conjugated], margins: Numbers, slack: int
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


def _compare(proof: StatedProof, margin: Fraction, length: int, dtype: str) -> None:
    """Refuses a certificate that claims more than was found."""
    if Fraction(proof.margin) > margin:
        raise Refused(f"a margin of {proof.margin:g} is claimed; {float(margin):g} is shown")
    if proof.dtype != dtype:
        raise Refused(f"lengths are claimed in {proof.dtype}; the weights are {dtype}")
    if proof.length > length:
        raise Refused(f"length {proof.length:,} is claimed in {dtype}; {length:,} is shown")


def _float_below(value: Fraction) -> float:
    found = float(value)
    return found if Fraction(found) <= value else float(np.nextafter(found, 0.0))
