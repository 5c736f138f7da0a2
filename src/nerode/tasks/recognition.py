"""Recognition: is the word in the language?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from nerode.core import InputError, Reference, stream
from nerode.languages import Dfa, Language, RegularLanguage, resolve_language
from nerode.tasks.formal.language_task import LanguageSettings, LanguageTask, presets
from nerode.tasks.formal.near_misses import near_misses
from nerode.tasks.lengths import Labels, counted
from nerode.tasks.table import TaskKind, register_task
from nerode.tasks.task import Batch
from nerode.tasks.walk import Integers

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


class Recognition(LanguageTask):
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
        return Batch(
            inputs=torch.from_numpy(words),
            targets=torch.from_numpy(self.source.accepted(words).astype(np.int64)),
            mask=torch.from_numpy(counted(self._labels, *words.shape)),
        )

    def _near_misses(self, length: int, count: int, rng: np.random.Generator) -> Integers:
        return near_misses(self.source, len(self.alphabet), length, self._edits, count, rng)

    def _has_near_misses(self, length: int) -> bool:
        try:
            self._near_misses(length, 1, stream(0, "classes", length))
        except InputError:
            return False
        return True


register_task(
    TaskKind(
        name="language-recognition",
        title="whether a word is in the language; the others are a few edits away from it",
        settings=RecognitionSettings,
        build=Recognition,
        reference=Reference("Butoi2025"),
    ),
    **presets("recognise"),
)
