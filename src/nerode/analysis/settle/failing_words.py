"""Failing words: from the tests of a task, with long holds, nearly periodic, or searched; made short.

The test sequences of a task are drawn at growing lengths; the first position that a network answers
incorrectly ends a failing word. Blocks of letters are then left out as long as the word goes on failing, so
that a user sees why. A word counts only if it fails alone, step by step.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from nerode.analysis.extraction.oracle import Floats, Machine
from nerode.analysis.extraction.question import NetworkQuestion
from nerode.core import Budget, BudgetExceeded, InputError, stream
from nerode.languages import NOTHING, OUTSIDE, UNASKED, Word, answer_names
from nerode.proofs import Refutation
from nerode.proofs.floats import CALL, QuestionTable, Work, decode, finished, to_rows
from nerode.tasks import Batch, Counting, NgramText, Task, phase_alignment, right_answers
from nerode.training import run

_PART = 512
"""Positions of a sequence that are read at once."""

STEPPED = 2_000
"""Letters up to which a word counts only if it fails step by step; longer ones are read in parts."""

_MOST_PLACES = 2_000
"""Places of a machine whose long words are drawn."""

_TRIED_TOGETHER = 64
"""Shortened words that are tried at once."""

_NEAREST, _SEARCHED = 16, 1_024
"""States that a search keeps for each place and score, and about how many in all."""


def failing_tests(
    model: nn.Module,
    task: Task,
    lengths: Sequence[int],
    *,
    sequences: int,
    axes: bool = True,
    budget: Budget,
) -> Iterator[Refutation]:
    """Yields a failing word for each length at which a test fails, up to its first mistake.

    What else the task varies in its tests comes after the lengths.

    Args:
        model: in evaluation mode.
        task: draws the tests; lengths without a test are passed over.
        lengths: in the order in which they are tried.
        sequences: tests of each length.
        axes: whether what else the task varies is tried.
        budget: limits the time; nothing more is tried when it is up.
    """
    for draw in _draws(task, lengths, sequences, axes=axes):
        try:
            budget.check_time()
            batch = draw()
        except BudgetExceeded:
            return
        except InputError:
            continue
        found = _first_mistake(model, task, batch)
        if found is not None:
            yield found


def _draws(
    task: Task, lengths: Sequence[int], sequences: int, *, axes: bool
) -> Iterator[Callable[[], Batch]]:
    """Ways to draw the tests of a task: at each length, then at each value of what else is varied."""
    for length in lengths:
        rng = stream(0, "settle", task.name, length)
        yield functools.partial(task.draw, "test", length, sequences, rng)
    for axis in task.axes if axes else ():
        for value in axis.values:
            rng = stream(0, "settle", task.name, axis.name, value)
            yield functools.partial(task.draw_at, axis.name, value, sequences, rng)


@torch.no_grad()
def _first_mistake(model: nn.Module, task: Task, batch: Batch) -> Refutation | None:
    """The earliest mistake in a batch of tests."""
    state = None
    for first in range(0, batch.inputs.shape[1], _PART):
        piece = batch.cut(slice(None), slice(first, first + _PART))
        scores, state = run(model, piece.inputs, state)
        wrong = ~(task.correct(scores, piece) & (torch.isfinite(scores).all(-1) | ~piece.mask))
        if wrong.any():
            place = int(wrong.any(0).nonzero()[0])
            row = int(wrong[:, place].nonzero()[0])
            given = scores[row, place]
            return _refutation(
                _names(task),
                _letters(batch.inputs[row, : first + place + 1]),
                _answer(task, piece.targets[row, place]),
                _answer(task, given > 0 if task.targets_are_bits else given.argmax()),
            )
    return None


def _refutation(names: Sequence[str] | None, word: Word, expected: str, got: str) -> Refutation:
    """The refutation by a word; letters without a name have their number."""
    return Refutation(
        word=tuple(str(letter) if names is None else names[letter] for letter in word),
        at=len(word),
        expected=answer_names(expected),
        got=answer_names(got),
    )


def _names(task: Task) -> Sequence[str] | None:
    """The names of the letters of a task; None if they have none."""
    try:
        return task.question().alphabet.symbols
    except InputError:
        named: Sequence[str] | None = getattr(task, "alphabet", None)
        return named


def _letters(inputs: torch.Tensor) -> Word:
    """The letters of a sequence; a feature that is 0 or 1 is one."""
    return tuple((inputs if inputs.dim() == 1 else inputs[:, 0].long()).tolist())


def _answer(task: Task, value: torch.Tensor) -> str:
    """An answer as text: the numbers of the bits that are set, of a class, or of all that would do."""
    if task.targets_are_bits:
        return " ".join(str(i) for i in value.nonzero().flatten().tolist()) or NOTHING
    if value.dim():
        # The next letter comes first, and after it a truth value for each that may follow.
        return " ".join(str(i) for i in value[1:].nonzero().flatten().tolist())
    return str(int(value))


def first_failure(machine: Machine, question: NetworkQuestion, word: Word) -> Refutation | None:
    """Returns the first mistake of a network along a word that it reads alone; None if it makes none.

    A word of more letters than `STEPPED` is read in parts by the form for sequences.
    """
    outputs = machine.traces([word])[0][1:] if len(word) <= STEPPED else _in_parts(machine, question, word)
    return _mistake(question, word, outputs)


def _in_parts(machine: Machine, question: NetworkQuestion, word: Word) -> Iterator[str]:
    """The outputs after each letter of a word that is read in parts."""
    state = None
    for first in range(0, len(word), _PART):
        scores, state = run(machine.model, torch.tensor([word[first : first + _PART]]), state)
        yield from question.read(scores[0])


def _mistake(question: NetworkQuestion, word: Word, outputs: Iterable[str]) -> Refutation | None:
    """The first output after a letter of the word that is not the one expected there."""
    target = question.target
    place = target.initial()
    for number, (letter, got) in enumerate(zip(word, outputs, strict=True), start=1):
        place = target.advance(place, letter)
        expected = target.answer(place)
        if expected in (OUTSIDE, NOTHING):
            return None
        if expected not in (UNASKED, got):
            return _refutation(question.alphabet.symbols, word[:number], expected, got)
    return None


def shorten(
    machine: Machine, question: NetworkQuestion, failing: Refutation, *, letters: int, budget: Budget
) -> Refutation:
    """Returns a failing word that is no longer than the given one, and often much shorter.

    Args:
        machine: the network.
        question: what it is asked.
        failing: a word that fails.
        letters: that may be read in all.
        budget: limits the time.
    """
    best, left = failing, letters
    size = len(best.word) // 2
    while size:
        for words in _shortened(question.alphabet.encode(best.word), size):
            left -= sum(map(len, words))
            if left < 0 or not budget.left():
                return best
            found = _shortest_mistake(machine, question, words)
            if found is not None:
                best = found
                break
        else:
            size //= 2
            continue
        size = min(size, len(best.word) // 2)
    return best


def _shortest_mistake(
    machine: Machine, question: NetworkQuestion, words: Sequence[Word]
) -> Refutation | None:
    """The shortest failing word that some words begin with, confirmed alone."""
    tried = [_mistake(question, w, t[1:]) for w, t in zip(words, machine.traces(words), strict=True)]
    for found in sorted((t for t in tried if t is not None), key=lambda t: len(t.word)):
        alone = first_failure(machine, question, question.alphabet.encode(found.word))
        if alone is not None:
            return alone
    return None


def _shortened(word: Word, size: int) -> Iterator[list[Word]]:
    """The words without one block of a size, some at a time, the last letter kept."""
    starts = list(range(0, len(word) - 1, size))
    for first in range(0, len(starts), _TRIED_TOGETHER):
        yield [
            word[:start] + word[min(start + size, len(word) - 1) :]
            for start in starts[first : first + _TRIED_TOGETHER]
        ]


def failing_hold(
    machine: Machine, question: NetworkQuestion, *, length: int, words: int, budget: Budget
) -> Refutation | None:
    """Returns a failing word among words with long runs of one letter, None if none fails.

    Gates that leak a little are right on short words and on busy ones; a long hold shows them.

    Args:
        machine: the network.
        question: what it is asked; letters after which nothing is asked any more are not drawn.
        length: of the words.
        words: how many.
        budget: limits the time.
    """
    rng = stream(0, "settle", "holds")
    drawn = []
    for number in range(words):
        stay = (0.5, 0.9, 0.98)[number % 3]
        drawn.append(_held_word(question, length, stay, rng))
        if not budget.left():
            break
    return _shortest_mistake(machine, question, [word for word in drawn if word])


def _held_word(question: NetworkQuestion, length: int, stay: float, rng: np.random.Generator) -> Word:
    place: Any = question.target.initial()
    word: list[int] = []
    for _ in range(length):
        after, open_letters = question.continuations(place)
        if not open_letters:
            break
        if not (word and word[-1] in open_letters and rng.random() < stay):
            word.append(int(rng.choice(open_letters)))
        else:
            word.append(word[-1])
        place = after[word[-1]]
    return tuple(word)


def failing_long_word(
    machine: Machine, question: NetworkQuestion, *, length: int, words: int, budget: Budget
) -> Refutation | None:
    """Returns a failing word among long ones that are nearly periodic, None if none fails or there is none.

    A word repeats what it had some letters ago most of the time: a hold if that is one letter, a tour of the
    automaton if it is more. All are read at once, in parts.

    Args:
        machine: the network.
        question: what it is asked.
        length: of the words.
        words: how many.
        budget: limits the time.
    """
    return finished(long_words(machine, question, length=length, words=words, budget=budget))


@torch.no_grad()
def long_words(
    machine: Machine, question: NetworkQuestion, *, length: int, words: int, budget: Budget
) -> Work[Refutation | None]:
    """Looks for a failing word among long ones, as a strategy that can be paused; as `failing_long_word`."""
    known = _PlaceTable.of(question)
    if known is None:
        return None
    drawn, places = known.words(length, words, stream(0, "settle", "long", length))
    state = None
    for first in range(0, length, _PART):
        if not budget.left():
            return None
        part = slice(first, first + _PART)
        yield words * _PART
        scores, state = run(machine.model, torch.from_numpy(drawn[:, part]), state)
        wrong = known.wrong(question, scores, places[:, part])
        for row, place in zip(*np.nonzero(wrong), strict=True):
            word = tuple(drawn[row, : first + int(place) + 1].tolist())
            alone = first_failure(machine, question, word)
            if alone is not None:
                return alone
            break
    return None


def failing_searched_word(
    machine: Machine, question: NetworkQuestion, *, letters: int, budget: Budget
) -> Refutation | None:
    """Returns a failing word that a search led by the margins finds, None if it finds none.

    Of the states that words of one length lead to, those nearest to a wrong answer go on: for each place of
    the machine and each score a few, and some at random. Random words seldom meet what they have in common.

    Args:
        machine: the network.
        question: what it is asked.
        letters: length of the longest word.
        budget: limits the time.
    """
    return finished(shrinking_margins(machine, question, letters=letters, budget=budget))


@torch.no_grad()
def shrinking_margins(
    machine: Machine, question: NetworkQuestion, *, letters: int, budget: Budget
) -> Work[Refutation | None]:
    """Looks for a failing word by margins, as a strategy that can be paused; as `failing_searched_word`."""
    known = _PlaceTable.of(question)
    if known is None or not machine.sees_states:
        return None
    model: Any = machine.model
    rng = stream(0, "settle", "searched")
    state, places = dict(model.initial_state(1)), np.zeros(1, dtype=np.int64)
    moves: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]] = []
    for _ in range(letters):
        if not budget.left():
            return None
        parents, read = np.nonzero(known.open[places])
        yield CALL + len(read)
        scores, state = model.step(torch.from_numpy(read), {k: v[parents] for k, v in state.items()})
        places = known.moves[places[parents], read]
        margins = known.margins(question, scores, places)
        moves.append((parents, read))
        lowest = int(margins.min(axis=1).argmin())
        if margins[lowest].min() <= 0:
            found = first_failure(machine, question, _traced_back(moves, lowest))
            if found is not None:
                return found
        chosen = _nearest_to_wrong(places, margins, to_rows(state, len(places)), rng)
        moves[-1] = (parents[chosen], read[chosen])
        places, state = places[chosen], {k: v[chosen] for k, v in state.items()}
    return None


def _traced_back(moves: Sequence[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]], row: int) -> Word:
    """The word that led to a row: each move has the rows before and the letters that were read."""
    word = []
    for parents, read in reversed(moves):
        word.append(int(read[row]))
        row = int(parents[row])
    return tuple(reversed(word))


def _nearest_to_wrong(
    places: npt.NDArray[np.int64], margins: Floats, rows: npt.NDArray[np.uint8], rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Different states: for each place and score those with the smallest margins, and a few at random."""
    present = np.unique(places)
    kept = min(_NEAREST, max(1, _SEARCHED // (len(present) * (margins.shape[1] + 1))))
    chosen: list[npt.NDArray[np.int64]] = []
    for place in present:
        there = np.flatnonzero(places == place)
        there = there[np.unique(rows[there], axis=0, return_index=True)[1]]
        chosen.append(there[np.argsort(margins[there], axis=0, kind="stable")[:kept].ravel()])
        chosen.append(rng.permutation(there)[:kept])
    return np.unique(np.concatenate(chosen))


@dataclass(frozen=True, kw_only=True)
class _PlaceTable:
    """The machine of a question as tables.

    Attributes:
        moves: the place after each letter.
        open: the letters after which something is still asked.
        expected: the correct answer at each place.
        asked: which truth values count there.
        classes: the class that is expected, -1 where none is asked for; None if scores are no classes.
    """

    moves: npt.NDArray[np.int64]
    open: npt.NDArray[np.bool_]
    expected: npt.NDArray[np.bool_]
    asked: npt.NDArray[np.bool_]
    classes: npt.NDArray[np.int64] | None

    @classmethod
    def of(cls, question: NetworkQuestion) -> _PlaceTable | None:
        """Returns the tables; None if there are too many places or a word can come to an end."""
        known, letters = QuestionTable(question.target), range(len(question.alphabet))
        moves: list[list[int]] = []
        while len(moves) < len(known):
            moves.append([known.after(len(moves), letter) for letter in letters])
            if len(known) > _MOST_PLACES:
                return None
        places = [known[number] for number in range(len(known))]
        inside = np.array([question.target.answer(place) not in (OUTSIDE, NOTHING) for place in places])
        free = inside[np.array(moves)]
        if not free[inside].any(axis=1).all():
            return None
        numbers = np.arange(len(known))
        classes = [question.class_of(place) for place in places] if question.reading.table else None
        return cls(
            moves=np.array(moves, dtype=np.int64),
            open=free,
            expected=known.expected(numbers),
            asked=known.asked(numbers),
            classes=None if classes is None else np.array(classes),
        )

    def words(
        self, length: int, count: int, rng: np.random.Generator
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Returns words that are nearly periodic, and the place after each of their letters."""
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

    def wrong(
        self, question: NetworkQuestion, scores: torch.Tensor, places: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.bool_]:
        """Returns where the first mistake of each word is, if it makes one."""
        bits, readable = decode(question.reading, scores)
        differs = (bits.numpy() != self.expected[places]) | ~readable.numpy()[..., None]
        missed = (differs & self.asked[places]).any(-1)
        found: npt.NDArray[np.bool_] = np.zeros(missed.shape, dtype=np.bool_)
        rows = np.flatnonzero(missed.any(axis=1))
        found[rows, missed[rows].argmax(axis=1)] = True
        return found

    def margins(
        self, question: NetworkQuestion, scores: torch.Tensor, places: npt.NDArray[np.int64]
    ) -> Floats:
        """Returns how far each score of each row is from a wrong answer; none is below 0 where none is."""
        given = scores.numpy().astype(np.float64)
        if self.classes is None:
            return np.where(self.expected[places], given, -given)
        wanted = self.classes[places]
        if question.reading.kind == "above":
            signed = np.where(wanted[:, None] == 1, given, -given)
            return np.where(wanted[:, None] < 0, np.inf, signed)
        rows = np.arange(len(places))
        compared = np.where(wanted < 0, given.argmax(axis=1), wanted)
        found: Floats = given[rows, compared][:, None] - given
        found[rows, compared] = np.inf
        return found


def failing_examination(model: nn.Module, task: Task) -> tuple[str, Refutation] | None:
    """Returns the first of the other tests of a task that a network fails: phase alignment, completion.

    The name of the test comes first. The word is what the network read, or the beginning that it was given.
    """
    if isinstance(task, Counting):
        return _failed_alignment(model, task)
    return _failed_completion(model, task) if isinstance(task, NgramText) else None


def _failed_alignment(model: nn.Module, task: Counting) -> tuple[str, Refutation] | None:
    on, off = task.settings.on, task.settings.off
    for test in phase_alignment(functools.partial(run, model), on=on, off=off):
        if not test.passed:
            answers = "".join(a for a, bit in zip(test.answers, test.signal, strict=True) if bit == "1")
            word, wanted = tuple(test.signal), right_answers(on) * 2
            found = Refutation(word=word, at=len(word), expected=(wanted,), got=(answers,))
            return f"the test {test.name}", found
    return None


def _failed_completion(model: nn.Module, task: NgramText) -> tuple[str, Refutation] | None:
    rng = stream(0, "settle", "completions")
    prefixes = task.prefixes(rng)
    for decoder in ("greedy", "sampled"):
        sentences = task.complete(functools.partial(run, model), prefixes, decoder, rng)
        for prefix, sentence in zip(prefixes.tolist(), sentences, strict=True):
            if not task.language.accepts(sentence):
                given = tuple(task.alphabet[word] for word in prefix)
                rest = tuple(task.alphabet[word] for word in sentence[len(prefix) :])
                wanted = ("the rest of a sentence",)
                found = Refutation(word=given, at=len(given), expected=wanted, got=rest)
                return f"{decoder} completion", found
    return None
