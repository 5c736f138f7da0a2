"""Predictive modelling: after each letter, which letters may come next, and may the word end?"""

from __future__ import annotations

import torch

from nerode.core import Reference
from nerode.tasks.formal.language_task import LanguageSettings, LanguageTask, all_positions, presets
from nerode.tasks.table import TaskKind, register_task
from nerode.tasks.task import Batch
from nerode.tasks.walk import Integers


class Prediction(LanguageTask):
    """Words of a language; the targets are bits, one a letter and one for the end.

    A position is right if all its bits are, and a word if all its positions are. The empty prefix is not
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


register_task(
    TaskKind(
        name="language-prediction",
        title="the symbols that may follow each prefix of a word, and whether it may end",
        settings=LanguageSettings,
        build=Prediction,
        reference=Reference("Bhattamishra2020"),
    ),
    **presets("predict"),
)
