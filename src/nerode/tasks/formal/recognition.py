"""Recognition of a language, half of the words near misses; and prediction of the letters that may come next.

A near miss is a few edits away from a word of the language and not in it. Those of a round come from words of
the language by the same numbers of replaced, inserted and deleted letters, at random places; those that are
in the language after all are thrown away. The kinds of edits are drawn for each round. Where nearly all are
thrown away (a word that contains something many times contains it after an edit, too) and the automaton is
small, the others come from the automaton of edit scripts.
"""

from __future__ import annotations

import copy
import functools
import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional

from nerode.core import InputError, Reference, stream
from nerode.languages import Dfa, Language, LanguageQuestion, RegularLanguage, resolve_language
from nerode.languages.sampling import NearMissScripts, sample_near_miss
from nerode.records import Reading
from nerode.tasks.formal.language_task import FormalLanguageTask, LanguageSettings, all_positions, presets
from nerode.tasks.formal.source import AutomatonWords, WordSource
from nerode.tasks.task import Batch, Integers, Labels, TaskKind, counted

_ROUNDS = 64
_MIXED = 16
"""Rounds of a part of what is wanted only, so that the kinds of edits are mixed."""

_COPIES = 8
_SOURCES = 128
"""Later rounds edit many words in several ways each: few edits of a long word may take it out."""

_TRIED = 3
"""Rounds after which the share of rejected words is checked."""

_KEPT = 4
"""One of so many words has to be kept; otherwise scripts are drawn, if their automaton is small."""

_SMALL = 20_000
"""Pairs of states, times pairs of letters, times edits, up to which the automaton of scripts is small."""

_ONE_BY_ONE = 8
"""Words drawn by the slow sampler that always finds one if there is one."""


def near_misses(
    source: WordSource, letters: int, length: int, edits: int, count: int, rng: np.random.Generator
) -> Integers:
    """Returns words of a length that are not in the language, at most `edits` edits away from one that is.

    Args:
        source: the language.
        letters: number of letters.
        length: of the result; the words of the language may be longer or shorter.
        edits: most letters replaced, inserted or deleted, together.
        count: how many.
        rng: where the randomness comes from.

    Raises:
        InputError: if there is no such word, or hardly any.
    """
    if not any(source.has(n) for n in range(max(0, length - edits), length + edits + 1)):
        raise InputError(f"no word of the language is {edits} edits away from length {length}")
    found: list[Integers] = []
    missing, drawn = count, 0
    for number in range(_ROUNDS):
        hard = number == _MIXED or (number == _TRIED and _wasted(drawn, found))
        if hard and isinstance(source, AutomatonWords) and _is_small(source.dfa, edits):
            others = _scripts(source.dfa, edits).words(length, missing, rng)
            return np.concatenate([*found, np.array(others, dtype=np.int64).reshape(missing, length)])
        size, copies = (8 + count // 8, 1) if number < _MIXED else (_SOURCES, _COPIES)
        words = _edited(source, letters, length, edits, size, copies, rng)
        if words is None:
            continue
        drawn += len(words)
        words = rng.permutation(words[~source.accepted(words)[:, -1]])[:missing]
        found.append(words)
        missing -= len(words)
        if not missing:
            return np.concatenate(found)
    if missing == count:
        found = [_slowly(source, length, edits, rng)]
    kept = np.concatenate(found)
    return kept[rng.integers(0, len(kept), count)]


def _wasted(drawn: int, found: list[Integers]) -> bool:
    return sum(map(len, found)) * _KEPT < drawn


def _is_small(dfa: Dfa, edits: int) -> bool:
    return (dfa.num_states * (dfa.num_letters + 1)) ** 2 * edits <= _SMALL


@functools.lru_cache(maxsize=32)
def _scripts(dfa: Dfa, edits: int) -> NearMissScripts:
    return NearMissScripts(dfa, edits)


def _edited(
    source: WordSource,
    letters: int,
    length: int,
    edits: int,
    size: int,
    copies: int,
    rng: np.random.Generator,
) -> Integers | None:
    """Edits of the same kinds, at random places; None if no word of the language has the length needed."""
    kinds = rng.integers(0, 3, int(rng.integers(1, edits + 1)))
    replaced, inserted, deleted = (int((kinds == kind).sum()) for kind in range(3))
    before = length - inserted + deleted
    if (replaced and letters < 2) or length < inserted + replaced or not source.has(before):
        return None
    words = source.words(before, size, rng).repeat(copies, axis=0)
    count = len(words)
    rows = np.arange(count)
    for _ in range(deleted):
        places = np.arange(words.shape[1] - 1)
        gone = rng.integers(0, words.shape[1], count)[:, None]
        words = np.take_along_axis(words, places + (places >= gone), axis=1)
    for _ in range(inserted):
        new = rng.integers(0, words.shape[1] + 1, count)
        words = np.concatenate([words, rng.integers(0, letters, (count, 1))], axis=1)
        places = np.arange(words.shape[1])
        order = np.where(places == new[:, None], len(places) - 1, places - (places > new[:, None]))
        words = np.take_along_axis(words, order, axis=1)
    for _ in range(replaced):
        place = rng.integers(0, length, count)
        words[rows, place] = (words[rows, place] + rng.integers(1, letters, count)) % letters
    return words


def _slowly(source: WordSource, length: int, edits: int, rng: np.random.Generator) -> Integers:
    if not isinstance(source, AutomatonWords):
        raise InputError(f"hardly any word of length {length} is {edits} edits away from the language")
    words = [sample_near_miss(source.dfa, length, edits, rng) for _ in range(_ONE_BY_ONE)]
    return np.array(words, dtype=np.int64).reshape(len(words), length)


_MOST_EDITS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class RecognitionSettings(LanguageSettings):
    """Settings of recognition.

    Attributes:
        labels: "last" for one answer at the end, "all" for one about each prefix.
        edits: how many edits a word that is not in the language is away from one that is, at most.
    """

    labels: Labels = "last"
    edits: int = 1

    def __post_init__(self) -> None:
        # Without arguments, `super` does not find the class that slots have made.
        LanguageSettings.__post_init__(self)
        if not 1 <= self.edits <= _MOST_EDITS:
            raise InputError(f"edits is {self.edits}; give 1 to {_MOST_EDITS}")


def membership_reading(letters: int, *, accepted: int) -> Reading:
    """Returns the reading of two classes, one of which says that a word is in the language."""
    nothing = (False,) * letters
    return Reading.of_classes([(*nothing, number == accepted) for number in (0, 1)])


class Recognition(FormalLanguageTask):
    """Half of the words are in the language (class 1), half are near misses (class 0).

    At a length where the language has no word, or where all words near it are in it, there is one class
    only.

    References: [Butoi2025]
    """

    name = "language-recognition"
    outputs = 2

    def __init__(self, settings: RecognitionSettings) -> None:
        one_letter = len(resolve_language(settings.language).alphabet) == 1
        super().__init__(settings, few=one_letter)
        self._labels, self._edits = settings.labels, settings.edits
        self._classes: dict[int, tuple[bool, bool]] = {}

    def question(self) -> LanguageQuestion:
        """Returns the question for the members of the language."""
        return LanguageQuestion(self.language, "end", "all")

    def reading(self) -> Reading:
        """Returns the reading by two classes, the second for members."""
        return membership_reading(len(self.alphabet), accepted=1)

    def drawn_from(self) -> Language:
        """Returns the language of all words, which are few if there is one letter only."""
        everything = Dfa.build(self.alphabet, lambda state, symbol: state, start=0, accept=[0])
        return RegularLanguage(name=self.language.name, automaton=everything, convention="all words")

    def words(self, length: int, count: int, rng: np.random.Generator) -> Integers:
        """Returns words of the language and near misses, shuffled."""
        inside, outside = self.classes(length)
        if not (inside or outside):
            raise InputError(f"{self.name} has no word of length {length}, nor one that is nearly in it")
        positive = (count + int(rng.integers(2))) // 2 if inside and outside else count * inside
        parts = []
        if positive:
            parts.append(self.source.words(length, positive, rng))
        if count - positive:
            parts.append(self._near_misses(length, count - positive, rng))
        words = np.concatenate(parts) if parts else np.empty((0, length), dtype=np.int64)
        return words[rng.permutation(count)]

    def has(self, length: int) -> bool:
        """Returns whether there are words of a length, in the language or near it."""
        return self.source.has(length) or self.classes(length)[1]

    def classes(self, length: int) -> tuple[bool, bool]:
        """Returns whether the language has words of a length, and whether there are near misses of it."""
        if length not in self._classes:
            self._classes[length] = (
                self.source.has(length),
                length > 0 and self._has_near_misses(length),
            )
        return self._classes[length]

    def label(self, words: Integers) -> Batch:
        """Returns words with whether each prefix is in the language."""
        inside = self.source.accepted(words).astype(np.int64)
        return Batch.of(words, inside, counted(self._labels, *words.shape))

    def _near_misses(self, length: int, count: int, rng: np.random.Generator) -> Integers:
        return near_misses(self.source, len(self.alphabet), length, self._edits, count, rng)

    def _has_near_misses(self, length: int) -> bool:
        try:
            self._near_misses(length, 1, stream(0, "classes", length))
        except InputError:
            return False
        return True


KIND = TaskKind(
    name="language-recognition",
    title="whether a word is in the language; the others are a few edits away from it",
    settings=RecognitionSettings,
    build=Recognition,
    reference=Reference("Butoi2025"),
    presets=presets("recognise"),
)


class Prediction(FormalLanguageTask):
    """Words of a language; the targets are bits, one per letter and one for the end.

    A position is correct if all its bits are, and a word if all its positions are. The empty prefix is not
    asked about, as in the papers.

    References: [Bhattamishra2020], [Sarrof2024]
    """

    name = "language-prediction"
    targets_are_bits = True

    def __init__(self, settings: LanguageSettings) -> None:
        super().__init__(settings)
        self.outputs = len(self.alphabet) + 1
        self._reading = Reading(kind="above")

    def read_by(self, reading: Reading) -> Prediction:
        """Returns the task with another reading of scores, that of a language model: by probabilities."""
        found = copy.copy(self)
        found._reading = reading
        return found

    def question(self) -> LanguageQuestion:
        """Returns the question for what may follow: all prefixes, or else those of words of the language.

        Probabilities cannot say that nothing may follow, so they are asked about prefixes of words alone.
        """
        return LanguageQuestion(self.language, words="valid" if self._by_share else "strongest")

    def reading(self) -> Reading:
        """Returns the reading by the signs of the scores, or by their probabilities."""
        return self._reading

    def bits(self, scores: Tensor) -> Tensor:
        """Returns the scores that are above 0, or those whose probability is large enough."""
        if not self._by_share:
            return super().bits(scores)
        return scores.double().log_softmax(-1) >= math.log(self._reading.limit)

    @property
    def _by_share(self) -> bool:
        return self._reading.kind == "softmax"

    def label(self, words: Integers) -> Batch:
        """Returns words with the sets of letters that may follow each prefix."""
        return Batch.of(words, self.source.legal(words), all_positions(words))


class NextToken(FormalLanguageTask):
    """Words of a language; the loss is that of the next letter, and a letter that may come next is correct.

    Targets have the next symbol first, and after it a 1 for each symbol that may follow and a 0 for the
    others (batch, time, 1 + outputs). Which of several legal symbols comes next is chance, so that
    guessing it is not what counts.

    References: [Sarrof2024]
    """

    name = "language-next-token"

    def __init__(self, settings: LanguageSettings) -> None:
        super().__init__(settings)
        self.outputs = len(self.alphabet) + 1

    def label(self, words: Integers) -> Batch:
        """Returns words with the next letter of each position and all that may be next."""
        targets = np.empty((*words.shape, 1 + self.outputs), dtype=np.int16)
        targets[:, :-1, 0] = words[:, 1:]
        targets[:, -1, 0] = self.outputs - 1
        targets[..., 1:] = self.source.legal(words)
        return Batch.of(words, targets, all_positions(words))

    def loss(self, scores: Float[Tensor, "batch time outputs"], batch: Batch) -> Tensor:
        """Returns the mean loss of the next letters."""
        return functional.cross_entropy(batch.counted(scores), batch.counted(batch.targets[..., 0]).long())

    def correct(
        self, scores: Float[Tensor, "batch time outputs"], batch: Batch
    ) -> Bool[Tensor, "batch time"]:
        """Returns at which positions the letter with the highest score may come next."""
        best = scores.argmax(-1, keepdim=True)
        return (batch.targets[..., 1:].gather(-1, best)[..., 0] == 1) | ~batch.mask


PREDICTION = TaskKind(
    name="language-prediction",
    title="the symbols that may follow each prefix of a word, and whether it may end",
    settings=LanguageSettings,
    build=Prediction,
    reference=Reference("Bhattamishra2020"),
    presets=presets("predict"),
)

NEXT_TOKEN = TaskKind(
    name="language-next-token",
    title="the next symbol of a word, or its end; correct if it is a legal one",
    settings=LanguageSettings,
    build=NextToken,
    reference=Reference("Sarrof2024"),
    presets=presets("next"),
)
