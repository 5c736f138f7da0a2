"""The configurations of a language by number, found as they are needed."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import numpy.typing as npt

from nerode.languages import Language
from nerode.proofs.floats.runner import Answers

Numbers = npt.NDArray[np.int64]

_UNKNOWN = -1


class Configurations:
    """Numbers the configurations of a language in the order in which they are met; the first is the start."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self._letters = len(language.alphabet)
        self._order: list[Hashable] = []
        self._number: dict[Hashable, int] = {}
        self._moves = np.full((16, self._letters), _UNKNOWN, dtype=np.int64)
        self._answers = np.zeros((16, self._letters + 1), dtype=np.bool_)
        self._add(language.initial())

    def __len__(self) -> int:
        return len(self._order)

    def advance(self, numbers: Numbers, letters: Numbers) -> Numbers:
        """Returns the configurations after one letter each."""
        targets = self._moves[numbers, letters]
        for i in np.flatnonzero(targets == _UNKNOWN).tolist():
            targets[i] = self.after(int(numbers[i]), int(letters[i]))
        return targets

    def after(self, number: int, letter: int) -> int:
        """Returns the configuration after one letter."""
        target = int(self._moves[number, letter])
        if target == _UNKNOWN:
            # Adding may put a larger table in the place of the old one.
            target = self._add(self.language.advance(self._order[number], letter))
            self._moves[number, letter] = target
        return target

    def answers(self, numbers: Numbers) -> Answers:
        """Returns what may follow in each configuration."""
        found: Answers = self._answers[numbers]
        return found

    def _add(self, configuration: Hashable) -> int:
        known = self._number.get(configuration)
        if known is not None:
            return known
        number = self._number[configuration] = len(self._order)
        self._order.append(configuration)
        if number == len(self._moves):
            self._moves = np.concatenate([self._moves, np.full_like(self._moves, _UNKNOWN)])
            self._answers = np.concatenate([self._answers, np.zeros_like(self._answers)])
        legal = self.language.legal(configuration)
        self._answers[number, list(legal.symbols)] = True
        self._answers[number, -1] = legal.end
        return number
