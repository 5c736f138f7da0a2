"""Words that a module answers incorrectly: confirmed alone, made short, and searched in three ways.

holds      words with long runs of one letter
long       nearly periodic words, read in parts
margins    words along which the margin of the answers gets smaller
coarse     walks that take states for the same when they are near (`find.walk`)

Many words are read at once, and sums in a batch may be rounded otherwise than for one word alone. So a word
counts only if it fails alone: letter by letter, or in parts by the form for sequences where it is long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch

from nerode.core import Budget, InputError, stream
from nerode.kernel import Refutation
from nerode.languages import NO_ANSWER, Word, answer_names
from nerode.models import is_stateful
from nerode.proofs.find.schedule import FIRST_SLICE, Work
from nerode.proofs.find.walk import CALL, Walk, grid_marks
from nerode.proofs.reading import UNREADABLE, distances
from nerode.proofs.replay.subject import Subject
from nerode.proofs.runner import (
    Answers,
    Numbers,
    QuestionTable,
    Runner,
    State,
    make_runner,
    to_rows,
)

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

STEPPED = 2_000
"""Letters up to which a word counts only if it fails step by step; longer ones are read in parts."""

_PART = 512
"""Positions of a word that are read at once."""

_MOST_PLACES = 2_000
"""Configurations of a question whose long words are drawn."""

_TRIED_TOGETHER = 64
"""Shortened words that are tried at once."""

_NEAREST, _SEARCHED = 16, 1_024
"""States that a search keeps for each configuration and score, and about how many in all."""

_GRIDS = (0.1, 0.02)
"""Sizes of the cells of coarse walks, in standard deviations of a coordinate."""

_COARSE_STATES = 20_000
"""States that each coarse walk finds."""


def runner_of(subject: Subject) -> Runner:
    """Returns the module of a subject with its scores read as answers to its question.

    Raises:
        InputError: if nothing is asked of single words.
    """
    if subject.question is None or subject.module is None:
        raise InputError(f"nothing is asked of single words of {subject.name}")
    runner = make_runner(subject.module, subject.question, reading=subject.reading, empty=subject.empty)  # type: ignore[arg-type]
    return replace(runner, longest=subject.letters.longest)


class WordReader:
    """A module that reads words, and its answers to the weaker of its questions.

    A word is read as long as the question goes on: on valid prefixes, up to a letter that may not follow.
    """

    def __init__(self, subject: Subject) -> None:
        self.runner = runner_of(subject)
        assert subject.module is not None
        self.question = subject.asked.weaker() or subject.asked
        self.reading = subject.reading
        self.table = QuestionTable(self.question)
        self.steps = is_stateful(subject.module)

    def first_failure(self, word: Word) -> Refutation | None:
        """Returns the first mistake along a word that is read alone; None if there is none."""
        if len(word) <= STEPPED:
            return self._first_mistake(word, self._traces([word])[0])
        state, number = None, 0
        for first in range(0, len(word), _PART):
            part = word[first : first + _PART]
            got, state = self._in_parts(np.array([part], dtype=np.int64), state)
            found = self._first_mistake(word, got[0], number, first)
            if found is not None:
                return found
            number = int(self.table.along(number, part)[-1])
        return None

    def shortest_failure(self, words: Sequence[Word]) -> Refutation | None:
        """Returns the shortest failing word that some words begin with, confirmed alone."""
        tried = [self._first_mistake(w, got) for w, got in zip(words, self._traces(words), strict=True)]
        for found in sorted((t for t in tried if t is not None), key=lambda t: len(t.word)):
            alone = self.first_failure(self.encode(found))
            if alone is not None:
                return alone
        return None

    def encode(self, found: Refutation) -> Word:
        """Returns the letters of a failing word by number."""
        return tuple(self.question.alphabet.encode(found.word))

    def read_parts(self, letters: Numbers, state: State | None) -> tuple[torch.Tensor, State]:
        """Returns the scores after each letter of words (batch, time), and the last state."""
        with torch.no_grad():
            scores, after = self.runner.module(torch.from_numpy(letters), state)  # type: ignore[operator]
        return scores, after

    def _in_parts(self, letters: Numbers, state: State | None) -> tuple[Answers, State]:
        scores, after = self.read_parts(letters, state)
        return self.runner.read(scores), after

    def _traces(self, words: Sequence[Word]) -> list[Answers]:
        """The answers after each letter of words."""
        return self._stepped(words) if self.steps else self._in_batch(words)

    def _stepped(self, words: Sequence[Word]) -> list[Answers]:
        """The answers after each letter of words, all at once; those that have ended are left out."""
        order = sorted(range(len(words)), key=lambda i: -len(words[i]))
        answers: list[list[Answers]] = [[] for _ in words]
        state = {name: part.repeat_interleave(len(words), 0) for name, part in self.runner.start().items()}
        for place in range(len(words[order[0]]) if words else 0):
            active = [i for i in order if len(words[i]) > place]
            state = {name: part[: len(active)] for name, part in state.items()}
            got, state = self.runner.step(np.array([words[i][place] for i in active], dtype=np.int64), state)
            for i, row in zip(active, got, strict=True):
                answers[i].append(row)
        return [np.array(rows, dtype=np.int8) for rows in answers]

    def _in_batch(self, words: Sequence[Word]) -> list[Answers]:
        """By the form for sequences; what is read after the end of a word changes nothing before."""
        longest = max(map(len, words), default=0)
        if not longest:
            return [np.zeros((0, self.runner.names), dtype=np.int8)] * len(words)
        letters = np.array([[*word, *[0] * (longest - len(word))] for word in words], dtype=np.int64)
        got, _ = self._in_parts(letters, None)
        return [row[: len(word)] for word, row in zip(words, got, strict=True)]

    def _first_mistake(self, word: Word, got: Answers, number: int = 0, first: int = 0) -> Refutation | None:
        """The first wrong answer after a letter, from a configuration and a position on."""
        for at, answer in enumerate(got, start=first):
            if not self.table.letters(np.array([number]))[0, word[at]]:
                return None
            number = self.table.after(number, word[at])
            if self.table.are_wrong(np.array([number]), answer[None])[0]:
                return self._refutation(word[: at + 1], number, answer)
        return None

    def _refutation(self, word: Word, number: int, got: Answers) -> Refutation:
        """The refutation by a word, with the answers as texts."""
        question = self.question
        said = NO_ANSWER if (got == UNREADABLE).any() else question.text(tuple(map(bool, got)))
        return Refutation(
            word=tuple(question.alphabet.symbols[letter] for letter in word),
            at=len(word),
            expected=answer_names(question.answer(self.table[number])),
            got=answer_names(said),
        )


def shorten(reader: WordReader, failing: Refutation, *, letters: int, budget: Budget) -> Refutation:
    """Returns a failing word that is no longer than the given one, and often much shorter.

    Blocks of letters are left out as long as the word goes on failing, so that a user sees why.

    Args:
        reader: of the module.
        failing: a word that fails.
        letters: that may be read in all.
        budget: limits the time.
    """
    best, left = failing, letters
    size = len(best.word) // 2
    while size:
        for words in _shortened(reader.encode(best), size):
            left -= sum(map(len, words))
            if left < 0 or not budget.left():
                return best
            found = reader.shortest_failure(words)
            if found is not None:
                best = found
                break
        else:
            size //= 2
            continue
        size = min(size, len(best.word) // 2)
    return best


def _shortened(word: Word, size: int) -> Iterator[list[Word]]:
    """The words without one block of a size, some at a time, the last letter kept."""
    starts = list(range(0, len(word) - 1, size))
    for first in range(0, len(starts), _TRIED_TOGETHER):
        yield [
            word[:start] + word[min(start + size, len(word) - 1) :]
            for start in starts[first : first + _TRIED_TOGETHER]
        ]


def failing_hold(reader: WordReader, *, length: int, words: int, budget: Budget) -> Refutation | None:
    """Returns a failing word among words with long runs of one letter, None if none fails.

    Gates that leak a little are right on short words and on busy ones; a long hold shows them.

    Args:
        reader: of the module.
        length: of the words.
        words: how many.
        budget: limits the time.
    """
    rng = stream(0, "settle", "holds")
    drawn = []
    for number in range(words):
        stay = (0.5, 0.9, 0.98)[number % 3]
        drawn.append(_held_word(reader.table, length, stay, rng))
        if not budget.left():
            break
    return reader.shortest_failure([word for word in drawn if word])


def _held_word(table: QuestionTable, length: int, stay: float, rng: np.random.Generator) -> Word:
    number, word = 0, list[int]()
    for _ in range(length):
        may_follow = np.flatnonzero(table.letters(np.array([number]))[0]).tolist()
        if not may_follow:
            break
        if not (word and word[-1] in may_follow and rng.random() < stay):
            word.append(int(rng.choice(may_follow)))
        else:
            word.append(word[-1])
        number = table.after(number, word[-1])
    return tuple(word)


def long_words(reader: WordReader, *, length: int, words: int, budget: Budget) -> Work[Refutation | None]:
    """Looks for a failing word among long ones that are nearly periodic, as a strategy that can be paused.

    A word repeats what it had some letters ago most of the time: a hold if that is one letter, a tour of the
    automaton if it is more. All are read at once, in parts.
    """
    known = _EndlessWords.of(reader)
    if known is None:
        return None
    drawn, places = known.draw(length, words, stream(0, "settle", "long", length))
    state = None
    for first in range(0, length, _PART):
        if not budget.left():
            return None
        part = slice(first, first + _PART)
        yield words * _PART
        scores, state = reader.read_parts(np.ascontiguousarray(drawn[:, part]), state)
        wrong = known.table.are_wrong(places[:, part], reader.runner.read(scores))
        for row in np.flatnonzero(wrong.any(axis=1)):
            word = tuple(drawn[row, : first + int(wrong[row].argmax()) + 1].tolist())
            alone = reader.first_failure(word)
            if alone is not None:
                return alone
    return None


@torch.no_grad()
def shrinking_margins(reader: WordReader, *, letters: int, budget: Budget) -> Work[Refutation | None]:
    """Looks for a failing word that margins lead to, as a strategy that can be paused.

    Of the states that words of one length lead to, those nearest to a wrong answer go on: for each place of
    the question and each score a few, and some at random. Random words seldom meet what they have in common.
    """
    known = _EndlessWords.of(reader)
    if known is None or not reader.steps:
        return None
    runner, rng = reader.runner, stream(0, "settle", "searched")
    state, places = runner.start(), np.zeros(1, dtype=np.int64)
    moves: list[tuple[Numbers, Numbers]] = []
    for _ in range(letters):
        if not budget.left():
            return None
        parents, read = np.nonzero(known.open[places])
        yield CALL + len(read)
        scores, state = runner.module.step(
            torch.from_numpy(read), {k: v[torch.from_numpy(parents)] for k, v in state.items()}
        )
        places = known.moves[places[parents], read]
        margins = known.margins(scores, places)
        moves.append((parents, read))
        lowest = int(margins.min(axis=1).argmin())
        if margins[lowest].min() <= 0:
            found = reader.first_failure(_traced_back(moves, lowest))
            if found is not None:
                return found
        chosen = _nearest_to_wrong(places, margins, to_rows(state, len(places)), rng)
        moves[-1] = (parents[chosen], read[chosen])
        places, state = places[chosen], {k: v[torch.from_numpy(chosen)] for k, v in state.items()}
    return None


def _traced_back(moves: Sequence[tuple[Numbers, Numbers]], row: int) -> Word:
    """The word that led to a row: each move has the rows before and the letters that were read."""
    word = []
    for parents, read in reversed(moves):
        word.append(int(read[row]))
        row = int(parents[row])
    return tuple(reversed(word))


def _nearest_to_wrong(
    places: Numbers, margins: Floats, rows: npt.NDArray[np.uint8], rng: np.random.Generator
) -> Numbers:
    """Different states: for each place and score those with the smallest margins, and a few at random."""
    present = np.unique(places)
    kept = min(_NEAREST, max(1, _SEARCHED // (len(present) * (margins.shape[1] + 1))))
    chosen: list[Numbers] = []
    for place in present:
        there = np.flatnonzero(places == place)
        there = there[np.unique(rows[there], axis=0, return_index=True)[1]]
        chosen.append(there[np.argsort(margins[there], axis=0, kind="stable")[:kept].ravel()])
        chosen.append(rng.permutation(there)[:kept])
    return np.unique(np.concatenate(chosen))


@dataclass(frozen=True, kw_only=True)
class _EndlessWords:
    """The configurations of a question whose words never have to end, as tables.

    Attributes:
        reader: of the module.
        table: the configurations, numbered here.
        moves: the configuration after each letter.
        open: the letters that are read on.
        classes: the class of the reading that is expected, -1 where none is asked for; None if the scores
            are no classes.
    """

    reader: WordReader
    table: QuestionTable
    moves: Numbers
    open: Bools
    classes: Numbers | None

    @classmethod
    def of(cls, reader: WordReader) -> _EndlessWords | None:
        """Returns the tables; None if there are too many configurations or a word can come to an end."""
        table, letters = QuestionTable(reader.question), range(len(reader.question.alphabet))
        moves: list[list[int]] = []
        while len(moves) < len(table):
            here, may_follow = len(moves), table.letters(np.array([len(moves)]))[0]
            if not may_follow.any() or len(table) > _MOST_PLACES:
                return None
            moves.append([table.after(here, a) if may_follow[a] else here for a in letters])
        numbers = np.arange(len(table))
        named = reader.reading is not None and bool(reader.reading.table)
        classes = (
            np.array([_class_of(reader, table, number) for number in range(len(table))]) if named else None
        )
        return cls(
            reader=reader, table=table, moves=np.array(moves), open=table.letters(numbers), classes=classes
        )

    def draw(self, length: int, count: int, rng: np.random.Generator) -> tuple[Numbers, Numbers]:
        """Returns words that are nearly periodic, and the configuration after each of their letters."""
        periods = np.array([1, 2, 1, 3, 1, 2, 4, 6])[np.arange(count) % 8]
        stays = np.array([0.9, 0.99, 0.999, 0.9999])[np.arange(count) // 2 % 4]
        rows = np.arange(count)
        drawn = np.zeros((count, length), dtype=np.int64)
        places = np.zeros((count, length), dtype=np.int64)
        at = np.zeros(count, dtype=np.int64)
        for time in range(length):
            chances = rng.random(self.open.shape[1] * count).reshape(count, -1) * self.open[at]
            letters = chances.argmax(axis=1)
            before = drawn[rows, np.maximum(time - periods, 0)]
            again = (time >= periods) & self.open[at, before] & (rng.random(count) < stays)
            drawn[:, time] = np.where(again, before, letters)
            at = places[:, time] = self.moves[at, drawn[:, time]]
        return drawn, places

    def margins(self, scores: torch.Tensor, places: Numbers) -> Floats:
        """Returns how far each score of each row is from a wrong answer; none is below 0 where none is."""
        reading = self.reader.reading
        given = (scores - 0.5 if reading is None else distances(reading, scores)).numpy().astype(np.float64)
        if self.classes is None:
            signed = np.where(self.table.expected(places), given, -given)
            return np.where(self.table.asked(places), signed, np.inf)
        wanted = self.classes[places]
        if reading is not None and reading.kind == "above":
            signed = np.where(wanted[:, None] == 1, given, -given)
            return np.where(wanted[:, None] < 0, np.inf, signed)
        rows = np.arange(len(places))
        compared = np.where(wanted < 0, given.argmax(axis=1), wanted)
        found: Floats = given[rows, compared][:, None] - given
        found[rows, compared] = np.inf
        return found


def _class_of(reader: WordReader, table: QuestionTable, number: int) -> int:
    """The number of the class that is expected in a configuration, -1 where none is asked for."""
    wanted, asked = table.expected(np.array([number]))[0], table.asked(np.array([number]))[0]
    if not asked.any():
        return -1
    assert reader.reading is not None
    for index, row in enumerate(reader.reading.table):
        if (np.array(row) == wanted)[asked].all():
            return index
    text = reader.question.text(tuple(wanted.tolist()))
    raise InputError(f"no class of the network is the answer {text!r}")


def coarse_walks(reader: WordReader, walk: Walk, *, budget: Budget) -> Work[Refutation | None]:
    """Looks for a failing word by walks that take near states for the same, as a strategy that can be paused.

    A coarse walk goes deeper than one that tells states apart by their bits, and may pass by a failure.

    Args:
        reader: of the module.
        walk: through states bit for bit, as far as it came: how far its numbers are spread.
        budget: limits the time.
    """
    spread = walk.values.std(axis=0)
    for grid in _GRIDS:
        marks = grid_marks(grid, np.where(spread > 0, spread, 1.0), walk.layout)
        coarse = Walk(reader.runner, reader.question, marks=marks, most=_COARSE_STATES)
        while coarse.end is None and budget.left():
            before = coarse.steps
            coarse.advance(FIRST_SLICE, budget)
            yield coarse.steps - before
        if coarse.refutation is not None:
            found = reader.first_failure(reader.encode(coarse.refutation))
            if found is not None:
                return found
    return None
