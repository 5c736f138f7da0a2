"""A quick look at whether a model answers as a language does; a trial, not a proof."""

from __future__ import annotations

import numpy as np
import torch

from nerode.languages import Language
from nerode.models.model import Model

_WORDS, _LENGTH = 4, 256


@torch.no_grad()
def first_error(model: Model, language: Language, *, seed: int = 0) -> int | None:
    """Returns the position of a wrong answer on a few random prefixes of words, or None if all are right.

    Args:
        model: its scores are above 1/2 where a symbol, or the end as the last one, may follow.
        language: what it should do.
        seed: of the letters.
    """
    letters = range(len(language.alphabet))
    for number in range(_WORDS):
        random = np.random.default_rng([seed, number])
        word: list[int] = []
        expected: list[list[bool]] = []
        configuration = language.initial()
        while len(word) < _LENGTH and (choices := sorted(language.legal(configuration).symbols)):
            word.append(int(random.choice(choices)))
            configuration = language.advance(configuration, word[-1])
            legal = language.legal(configuration)
            expected.append([*(a in legal.symbols for a in letters), legal.end])
        if not word:
            return None
        scores, _ = model(torch.tensor([word]))
        wrong = ((scores[0] > 0.5) != torch.tensor(expected)).any(-1).nonzero()
        if len(wrong):
            return int(wrong[0]) + 1
    return None
