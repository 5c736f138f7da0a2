"""Covers: from the evidence of a method to its domain of cells, the walk, and the claims that follow.

A cover has the keys `task`, `cells`, `digest` and those that say what a cell knows (`COVER_KEYS`). What is
verified: the walk over the domain closes without a failure, and finds as many cells and the same table as the
cover says (which adds no trust, but shows that maker and kernel compute the same).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from nerode.kernel.boxes import BoxDomain, NodeDomain, check_rounding, read_noise
from nerode.kernel.caps import CappedDomain
from nerode.kernel.claims import (
    DTYPES,
    LANGUAGE_TASKS,
    PREDICT,
    SCOPES,
    VALID_PREFIXES,
    Certificate,
    Claim,
    Failure,
    language_claim,
    ngram_claim,
    noise_claim,
    rounded_claim,
)
from nerode.kernel.languages import NgramTable
from nerode.kernel.meter import METHOD as INTEGERS, ExactnessMeter
from nerode.kernel.ngrams import worst_windows, wrong_distribution
from nerode.kernel.reader import check_keys, quoted, read_whole
from nerode.kernel.step import ExactArithmetic, Stepper
from nerode.kernel.unknowns import MAX_CELLS, UnknownsDomain, read_knowledge
from nerode.kernel.walk import CheckProblem, Domain, PointDomain, WalkResult, find_failing_word, walk
from nerode.kernel.windows import nilpotent_window
from nerode.kernel.work import Undecided, Unreadable

Json = Any
Shown = Sequence[Claim] | Failure

_UNKNOWNS = ("counters", "affine", "intervals", "merged")

COVER_KEYS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "joint-closure": ((), ()),
    "counter-invariant": ((), _UNKNOWNS),
    "stack-invariant": (("slots", "codes"), _UNKNOWNS),
    "interval-closure": (("intervals",), _UNKNOWNS),
    "boxes": (("noise", "layers"), ()),
    "state-boxes": (("noise", "letters", "boxes"), ()),
    "n-gram-contexts": (("words",), ()),
    "saturating-closure": (("caps",), ()),
}
"""For each method the keys that its cover has besides those of all covers, and those that it may have."""

EXACT_COVERS = ("joint-closure", "counter-invariant", "stack-invariant", "interval-closure")
"""The methods whose cells hold the numbers of the network exactly, so that its sums can be bounded."""

_FIRST_LOOK = 1_000
"""Cells that are searched for a failing word before a cover with unknowns is walked."""

_PATIENCE = 6_000
"""Cells beyond the stated number that are searched for a word on which the network fails."""

_MOST_CELLS = 10**9

_FARTHEST = Fraction(1)
"""Without a bound to claim, a network this far from its model is refuted; 2 is the farthest there is."""

NGRAMS = "n-gram-contexts"


class CoverWalk:
    """The walk of one cover.

    Args:
        problem: network, language and work.
        method: the method that the cover is for.
        cover: the cover; `cells` and `digest` are not looked at.
        limit: cells after which the walk stops unfinished.
        metered: whether sums are bounded, for claims in float formats.
        valid_too: whether valid prefixes are also walked by themselves, where fewer values occur.

    Attributes:
        task: what is shown.
        result: what the walk found.
        meters: by task, the bounds of all sums.
        domain: the cells.
    """

    def __init__(
        self,
        problem: CheckProblem,
        method: str,
        cover: Mapping[str, Json],
        *,
        limit: int | None,
        metered: bool,
        valid_too: bool,
    ) -> None:
        self.task: str = read_task(cover)
        self.meters: dict[str, ExactnessMeter] = {}
        self._problem = problem
        self.domain: Domain
        if method == "joint-closure":
            meter = ExactnessMeter(problem.network) if metered else None
            stepper = Stepper(problem.network, ExactArithmetic(problem.network, meter))
            self.domain = PointDomain(problem, stepper)
            self.result = walk(problem, self.domain, self.task, limit=limit)
            if meter is not None:
                self.meters[self.task] = meter
        elif method in EXACT_COVERS:
            self.result = self._walk_unknowns(cover, valid_too and self.task == PREDICT)
        else:
            if method == "boxes":
                self.domain = BoxDomain(problem, cover)
            elif method == "state-boxes":
                self.domain = NodeDomain(problem, cover)
            else:
                self.domain = CappedDomain(problem, cover["caps"])
            self.result = walk(problem, self.domain, self.task, limit=limit)
            if isinstance(self.domain, NodeDomain) and self.result.closed:
                self.domain.require_as_many_boxes(self.result.cells)

    def _walk_unknowns(self, cover: Mapping[str, Json], valid_first: bool) -> WalkResult:
        known = read_knowledge(cover, self._problem.network)
        failure = find_failing_word(self._problem, self.task, limit=_FIRST_LOOK)
        if failure is not None:
            return WalkResult(failure=failure, cells=0, closed=False, digest="")
        self.domain = domain = UnknownsDomain(self._problem, known)
        if valid_first:
            result = walk(self._problem, domain, VALID_PREFIXES, limit=MAX_CELLS)
            self.meters[VALID_PREFIXES] = domain.meter.snapshot()
            if not result.closed:
                return result
        result = walk(self._problem, domain, self.task, limit=MAX_CELLS)
        self.meters[self.task] = domain.meter
        return result

    def failure(self, entry: str) -> Failure | None:
        """Returns why the cover shows nothing, with a failing word if one is found."""
        if self.result.closed:
            return None
        found = self.result.failure
        if found is not None and found.refutation is not None:
            return found
        what = f"the walk has more than {self.result.cells:,} cells" if found is None else found.what
        return find_failing_word(self._problem, self.task) or Failure(what=what, entry=entry)


def read_task(cover: Mapping[str, Json]) -> str:
    """Returns the task of a cover.

    Raises:
        Unreadable: if it is none that covers show.
    """
    task = cover["task"]
    if task not in LANGUAGE_TASKS:
        raise Unreadable(f"task is {quoted(task)}; covers show {', '.join(LANGUAGE_TASKS)}")
    return str(task)


class CoverCheck:
    """Checks the covers of one certificate; each is walked once, for all claims that rest on it."""

    def __init__(self, problem: CheckProblem, stated: Certificate) -> None:
        self._problem = problem
        self._stated = stated
        self._walks: dict[str, CoverWalk | Failure] = {}

    def claims(self, method: str, claims: Sequence[Claim]) -> Shown:
        """Returns the claims of a method that its cover shows, or why it shows nothing."""
        if method == NGRAMS:
            return self._ngram_claims(claims)
        found = self._walk(method)
        if isinstance(found, Failure):
            return found
        rounded = any(claim.dtype is not None for claim in claims)
        return _claims_of(self._problem, method, self._stated.evidence[method], found, rounded)

    def float_claims(self, method: str) -> Shown:
        """Returns the claims in float formats that hold on the cells of a cover."""
        if method not in self._stated.evidence:
            raise Unreadable(f"the certificate has no evidence for {method}")
        found = self._walk(method)
        if isinstance(found, Failure):
            return found
        return [claim for task, meter in found.meters.items() for claim in meter.claims(task)]

    def _walk(self, method: str) -> CoverWalk | Failure:
        if method not in self._walks:
            self._walks[method] = self._walk_anew(method)
        return self._walks[method]

    def _walk_anew(self, method: str) -> CoverWalk | Failure:
        cover = self._cover(method)
        stated = read_whole(cover["cells"], "cells", 1, _MOST_CELLS)
        self._problem.work.count_cells(stated)
        floats = [claim for claim in self._stated.claims if claim.method == INTEGERS]
        found = CoverWalk(
            self._problem,
            method,
            cover,
            limit=stated + _PATIENCE,
            metered=bool(floats),
            valid_too=any(claim.task == VALID_PREFIXES for claim in floats),
        )
        entry = f"evidence.{method}"
        failure = found.failure(entry)
        if failure is not None:
            return failure
        for key in ("cells", "digest"):
            value = getattr(found.result, key)
            if cover[key] != value:
                what = f"{key} is {quoted(cover[key], 70)}, but the walk has {value}"
                return Failure(what=what, entry=f"{entry}.{key}")
        return found

    def _cover(self, method: str) -> Mapping[str, Json]:
        needed, optional = COVER_KEYS[method]
        common = ("task", "cells") if method == NGRAMS else ("task", "cells", "digest")
        return check_keys(self._stated.evidence[method], (*common, *needed), "evidence", optional)

    def _ngram_claims(self, claims: Sequence[Claim]) -> Shown:
        cover = self._cover(NGRAMS)
        task = read_task(cover)
        model = ngram_model(self._problem, cover)
        worst = worst_windows(self._problem, model, task)
        if worst[task].cells != cover["cells"]:
            what = f"cells is {quoted(cover['cells'])}, but there are {worst[task].cells} windows"
            return Failure(what=what, entry=f"evidence.{NGRAMS}.cells")
        shown = []
        for claim in claims:
            found = worst[claim.task] if claim.task in (task, VALID_PREFIXES) else None
            if found is None:
                raise Undecided(f"a cover for {task!r} does not show {claim.task!r}")
            if found.distance if claim.eps is None else found.distance >= claim.eps:
                return wrong_distribution(model, found, claim.eps)
            shown.append(ngram_claim(task=claim.task, words=model.order - 1, eps=claim.eps))
        return shown


def ngram_model(problem: CheckProblem, cover: Mapping[str, Json]) -> NgramTable:
    """Returns the model of the language, after checking that the network looks no farther back than it.

    Raises:
        Undecided: if the language is not that of an n-gram model, or the network looks at more words.
    """
    model = problem.language
    if not isinstance(model, NgramTable) or model.order < 2:
        raise Undecided("the language is not that of an n-gram model with contexts")
    if cover["task"] not in (PREDICT, VALID_PREFIXES):
        raise Undecided(f"distributions are not compared for the task {quoted(cover['task'])}")
    if cover["words"] != model.order - 1 or type(cover["words"]) is not int:
        raise Undecided(f"contexts have {model.order - 1} words, not {quoted(cover['words'])}")
    window = nilpotent_window(problem.network)
    if window > model.order - 1:
        raise Undecided(f"the network looks at {window} words, the model at {model.order - 1}")
    return model


def _claims_of(
    problem: CheckProblem, method: str, cover: Mapping[str, Json], found: CoverWalk, rounded: bool
) -> list[Claim]:
    """The claims that a closed walk shows: exact ones, under noise, and in float32 if that is asked for."""
    task = found.task
    shown = [language_claim(task=task, method=method)]
    if task == PREDICT:
        shown.append(language_claim(task=VALID_PREFIXES, method=method))
    if "noise" in cover:
        noise = read_noise(cover["noise"])
        shown.append(noise_claim(task=task, method=method, eps=noise))
        if rounded and isinstance(found.domain, NodeDomain):
            answers = [found.domain.expected[node] for node in range(len(found.domain.boxes))]
            check_rounding(problem.network, found.domain.boxes, answers, noise, task)
            shown.append(rounded_claim(task=task, method=method, eps=noise / 2))
    return shown


def prove_cover(
    problem: CheckProblem, method: str, description: Mapping[str, Json], eps: Fraction | None
) -> tuple[dict[str, Json], Shown]:
    """Returns the cover of a description, and the claims that it shows or why it shows nothing."""
    needed, optional = COVER_KEYS[method]
    cover = dict(check_keys(dict(description), ("task", *needed), "a description", optional))
    entry = f"evidence.{method}"
    try:
        if method == NGRAMS:
            return _prove_ngrams(problem, cover, eps)
        found = CoverWalk(problem, method, cover, limit=None, metered=True, valid_too=True)
    except Undecided as doubt:
        failure = find_failing_word(problem, read_task(cover))
        return cover, failure or Failure(what=str(doubt), entry=entry)
    failure = found.failure(entry)
    if failure is not None:
        return cover, failure
    cover |= {"cells": found.result.cells, "digest": found.result.digest}
    claims = [language_claim(task=found.task, method=method)]
    if "noise" in cover:
        try:
            claims = _claims_of(problem, method, cover, found, rounded=True)
        except Undecided:
            claims = _claims_of(problem, method, cover, found, rounded=False)
        claims = [claim for claim in claims if claim.task == found.task]
    return cover, [*claims, *_float_claims(found)]


def _float_claims(found: CoverWalk) -> list[Claim]:
    """The claims in float formats for the task, and those for valid prefixes that are stronger."""
    if found.task not in found.meters:
        return []
    claims = list(found.meters[found.task].claims(found.task))
    if found.task == PREDICT and VALID_PREFIXES in found.meters:
        best = {dtype: len(SCOPES) for dtype in DTYPES}
        for claim in claims:
            if claim.dtype is not None:
                best[claim.dtype] = min(best[claim.dtype], SCOPES.index(claim.scope))
        claims += [
            claim
            for claim in found.meters[VALID_PREFIXES].claims(VALID_PREFIXES)
            if claim.dtype is not None and SCOPES.index(claim.scope) < best[claim.dtype]
        ]
    return claims


def _prove_ngrams(
    problem: CheckProblem, cover: dict[str, Json], eps: Fraction | None
) -> tuple[dict[str, Json], Shown]:
    """The cover of an n-gram model; without eps the distance that is found is claimed, rounded up."""
    task = read_task(cover)
    model = ngram_model(problem, cover)
    worst = worst_windows(problem, model, task)
    claims: list[Claim] = []
    for wanted in (PREDICT, VALID_PREFIXES) if task == PREDICT else (VALID_PREFIXES,):
        found = worst[wanted]
        if found.distance >= (eps or _FARTHEST):
            return cover, wrong_distribution(model, found, eps or _FARTHEST)
        bound = eps or rounded_up(found.distance)
        claims.append(ngram_claim(task=wanted, words=model.order - 1, eps=bound))
    return {**cover, "cells": worst[task].cells}, claims


def rounded_up(value: Fraction) -> Fraction | None:
    """Returns the next number with three digits above a distance; None for none."""
    if value == 0:
        return None
    unit = Fraction(1)
    while value < 100 * unit:
        unit /= 10
    while value >= 1_000 * unit:
        unit *= 10
    return (value // unit + 1) * unit
