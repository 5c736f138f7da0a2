"""The walk: all cells of a cover, breadth first from the start, with the answer checked on each.

What is verified: the start cell holds the start; every image of a cell under a letter lies in cells that the
walk visits, which the domain of the cover shows; and on every cell the answer is the one of the language.
When no new cell turns up, every run of every length stays in the cells seen, so the network is correct at
every length.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from nerode.kernel.claims import VALID_PREFIXES, Failure, Refutation
from nerode.kernel.guard import CellPoint, PointGuard, agrees
from nerode.kernel.letters import LanguageMachine, LetterNames, NextLetters
from nerode.kernel.network import CheckedNetwork
from nerode.kernel.step import Stepper
from nerode.kernel.work import Undecided, WorkCount

WalkCell = Hashable


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckProblem:
    """A network and a language, already read, with the work spent on them."""

    network: CheckedNetwork
    language: LanguageMachine
    work: WorkCount


@dataclass(frozen=True, slots=True)
class Image:
    """A cell that holds (a part of) the image of a cell under a letter.

    Attributes:
        cell: where the image lies.
        expected: what the language allows there.
        got: what the network says there; None if it does not say the same on the whole image.
    """

    cell: WalkCell
    expected: NextLetters
    got: NextLetters | None


class Domain(ABC):
    """The cells of a cover, and their images under letters."""

    names_words: bool
    """Whether the run of every word that leads to a cell is in it, so that a wrong answer names a word."""

    steps_evenly = True
    """Whether the last cells take about as long as the first; if so, a walk that will not end is stopped."""

    @abstractmethod
    def start(self) -> WalkCell:
        """Returns the cell that holds the start."""

    @abstractmethod
    def legal(self, cell: Any) -> NextLetters:
        """Returns what may follow the prefixes of a cell."""

    @abstractmethod
    def images(self, cell: Any, letter: int) -> Iterable[Image]:
        """Returns cells that together hold the image of a cell.

        Raises:
            Undecided: if the image lies in no cells of the cover.
        """

    @abstractmethod
    def refine(self, cell: Any) -> Sequence[WalkCell]:
        """Returns smaller cells that together hold a cell of which some image was not decided."""

    # What follows is for the guard alone, which looks at points instead of cells.

    floats = False
    """Whether points are floats."""

    def first_counts(self) -> tuple[int, ...]:
        """Returns the counters of the cover at the start."""
        return ()

    @abstractmethod
    def draw(self, cell: Any, choose: Random) -> CellPoint:
        """Returns some point of a cell."""

    @abstractmethod
    def moved(self, point: CellPoint, states: Any, letter: int) -> CellPoint:
        """Returns the point after a letter, from the states there."""

    @abstractmethod
    def contains(self, cell: Any, point: CellPoint) -> bool:
        """Whether a point lies in a cell."""

    def noise(self, choose: Random) -> Callable[[], float] | None:
        """Returns what is added to the coordinates of a state after a letter; None for nothing."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkResult:
    """Result of a walk.

    Attributes:
        failure: the first failure, None if there is none.
        cells: how many cells were found.
        closed: whether all were visited.
        digest: SHA-256 of the table of the walk, "" if it did not close.
    """

    failure: Failure | None
    cells: int
    closed: bool
    digest: str


class _Wrong(Exception):
    """A failure, found at a cell."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.what)
        self.failure = failure


class _Walker:
    def __init__(
        self, problem: CheckProblem, domain: Domain, task: str, limit: int, guard: PointGuard | None
    ) -> None:
        self.problem = problem
        self.guard = guard
        self.work = problem.work
        self.num_letters = len(problem.language.letters.symbols)
        self.domain = domain
        self.task = task
        self.limit = limit
        self.order: list[Any] = []
        self.number: dict[WalkCell, int] = {}
        self.predecessor: list[tuple[int, int]] = []
        self.full = False

    def run(self) -> WalkResult:
        table = hashlib.sha256()
        self.work.begin_walk(self.num_letters if self.domain.steps_evenly else 0)
        try:
            self._check_empty_word()
            first = self.domain.start()
            self._find(first, -1, -1)
            self._heed(None if self.guard is None else self.guard.at_start(first))
            for i, cell in enumerate(self.order):
                table.update(f"{self._line(i, cell)}\n".encode())
                if self.full:
                    return self._result(None, closed=False)
        except _Wrong as wrong:
            return self._result(wrong.failure, closed=False)
        finally:
            self.work.end_walk()
        return self._result(None, closed=True, digest=table.hexdigest())

    def _result(self, failure: Failure | None, *, closed: bool, digest: str = "") -> WalkResult:
        return WalkResult(failure=failure, cells=len(self.order), closed=closed, digest=digest)

    def _check_empty_word(self) -> None:
        language, got = self.problem.language, self.problem.network.empty
        expected = language.legal(language.initial())
        if not agrees(self.task, expected, got):
            raise _Wrong(wrong_answer(language.letters, (), expected, got))

    def _line(self, i: int, cell: Any) -> str:
        """One line of the table: the cells that each letter leads to from a cell."""
        row = []
        legal = self.domain.legal(cell).letters if self.task == VALID_PREFIXES else None
        for letter in range(self.num_letters):
            self.work.count_steps(i * self.num_letters + letter)
            if legal is not None and letter not in legal:
                row.append("-")
                continue
            try:
                row.append(",".join(self._images(i, cell, letter)))
            except Undecided as doubt:
                smaller = self.domain.refine(cell)
                if not smaller:
                    word = (*self._word(i), letter)
                    raise _Wrong(self._open(word, str(doubt))) from None
                return "= " + ",".join(str(self._find(new, i, letter)) for new in smaller)
        return " ".join(row)

    def _images(self, i: int, cell: Any, letter: int) -> list[str]:
        found, cells = [], []
        for image in self.domain.images(cell, letter):
            if image.got is None:
                raise Undecided("the answer is not the same on the whole cell")
            if not agrees(self.task, image.expected, image.got):
                letters = self.problem.language.letters
                if not self.domain.names_words:
                    said, wanted = letters.names(image.got), letters.names(image.expected)
                    raise Undecided(f"the answer {_set(said)} is not {_set(wanted)}")
                word = (*self._word(i), letter)
                raise _Wrong(wrong_answer(letters, word, image.expected, image.got))
            cells.append(image.cell)
            found.append(str(self._find(image.cell, i, letter)))
        self._heed(None if self.guard is None else self.guard.look(i, cell, letter, cells))
        return list(dict.fromkeys(found))

    def _heed(self, failure: Failure | None) -> None:
        if failure is not None:
            raise _Wrong(failure)

    def _find(self, cell: WalkCell, i: int, letter: int) -> int:
        """The number of a cell, which is new if it has none."""
        known = self.number.get(cell)
        if known is None:
            known = len(self.order)
            if known >= self.limit:
                self.full = True
                return -1
            self.number[cell] = known
            self.order.append(cell)
            self.predecessor.append((i, letter))
            self.work.count_cells(len(self.order))
        return known

    def _word(self, i: int) -> tuple[int, ...]:
        """A word that leads to a cell."""
        letters = []
        while i > 0:
            i, letter = self.predecessor[i]
            letters.append(letter)
        return tuple(reversed(letters))

    def _open(self, word: tuple[int, ...], doubt: str) -> Failure:
        letters = self.problem.language.letters
        return Failure(what=f"after {letters.decode(word)} the claim is not shown: {doubt}", entry="evidence")


def walk(
    problem: CheckProblem, domain: Domain, task: str, *, limit: int | None = None, guarded: bool = False
) -> WalkResult:
    """Returns what a walk over all cells of a domain finds.

    Args:
        problem: network, language and work.
        domain: the cells.
        task: PREDICT, VALID_PREFIXES or RECOGNISE.
        limit: cells after which the walk stops unfinished; the budget's if not given.
        guarded: whether points of the cells are looked at as well, as in all walks that prove something.

    Raises:
        OverBudget: if the budget ends first.
    """
    most = problem.work.budget.cells
    guard = PointGuard(problem.network, problem.language, domain, task, problem.work) if guarded else None
    return _Walker(problem, domain, task, most + 1 if limit is None else min(limit, most + 1), guard).run()


def wrong_answer(
    letters: LetterNames, word: Sequence[int], expected: NextLetters, got: NextLetters
) -> Failure:
    """Returns the failure of a network on a word."""
    refutation = Refutation(
        word=tuple(letters.symbols[a] for a in word),
        at=len(word),
        expected=letters.names(expected),
        got=letters.names(got),
    )
    said, wanted = _set(refutation.got), _set(refutation.expected)
    return Failure(
        what=f"after {letters.decode(word)} the network says {said}, the language {wanted}",
        refutation=refutation,
    )


def _set(names: Sequence[str]) -> str:
    return f"{{{', '.join(names)}}}"


class ConfigurationDomain(Domain):
    """Cells (what is known of the state, configuration of the language), each with one image per letter."""

    names_words = True

    def __init__(self, problem: CheckProblem, stepper: Stepper) -> None:
        self.language = problem.language
        self.stepper = stepper

    def arrival(self, cell: Any, letter: int, known: WalkCell, got: NextLetters | None) -> list[Image]:
        """Returns the image of a cell, from what is known of the state and the answer there."""
        target = self.language.advance(cell[1], letter)
        return [Image((known, target), self.language.legal(target), got)]

    def legal(self, cell: Any) -> NextLetters:
        """Returns what may follow the configuration."""
        return self.language.legal(cell[1])

    def refine(self, cell: Any) -> Sequence[WalkCell]:
        """Returns nothing: there are no smaller cells."""
        return ()

    def moved(self, point: CellPoint, states: Any, letter: int) -> CellPoint:
        """Returns the point after a letter."""
        return CellPoint(states, self.language.advance(point.configuration, letter))


class PointDomain(ConfigurationDomain):
    """Cells with one value per coordinate: the joint configurations of network and language."""

    # Layers remember their steps, so that most cells are much quicker than the first ones.
    steps_evenly = False

    def start(self) -> WalkCell:
        """Returns start state and first configuration."""
        return self.stepper.start(), self.language.initial()

    def images(self, cell: Any, letter: int) -> list[Image]:
        """Returns the next state and configuration."""
        new, got = self.stepper.step(cell[0], letter)
        return self.arrival(cell, letter, new, got)

    def draw(self, cell: Any, choose: Random) -> CellPoint:
        """Returns the only point."""
        return CellPoint(*cell)

    def contains(self, cell: Any, point: CellPoint) -> bool:
        """Whether it is the point of the cell."""
        return bool(cell == (point.states, point.configuration))
