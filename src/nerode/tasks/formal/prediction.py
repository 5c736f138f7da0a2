"""Prediction of the next letters of a word: the set of those that may come next, or the one that does."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional

from nerode.core import Reference
from nerode.tasks.formal.language_task import FormalLanguageTask, LanguageSettings, all_positions, presets
from nerode.tasks.task import Batch, Integers, TaskKind


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

    def label(self, words: Integers) -> Batch:
        """Returns words with the sets of symbols that may follow each prefix."""
        return Batch(
            inputs=torch.from_numpy(words),
            targets=torch.from_numpy(self.source.legal(words)),
            mask=all_positions(words),
        )


class NextToken(FormalLanguageTask):
    """Words of a language; the loss is that of the next symbol, and a letter that may come next is correct.

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
        """Returns words with the next symbol of each position and all that may be next."""
        targets = np.empty((*words.shape, 1 + self.outputs), dtype=np.int16)
        targets[:, :-1, 0] = words[:, 1:]
        targets[:, -1, 0] = self.outputs - 1
        targets[..., 1:] = self.source.legal(words)
        return Batch(
            inputs=torch.from_numpy(words), targets=torch.from_numpy(targets), mask=all_positions(words)
        )

    def loss(self, scores: Float[Tensor, "batch time outputs"], batch: Batch) -> Tensor:
        """Returns the mean loss of the next symbols."""
        return functional.cross_entropy(scores[batch.mask], batch.targets[..., 0][batch.mask].long())

    def correct(
        self, scores: Float[Tensor, "batch time outputs"], batch: Batch
    ) -> Bool[Tensor, "batch time"]:
        """Returns at which positions the symbol with the highest score may come next."""
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
