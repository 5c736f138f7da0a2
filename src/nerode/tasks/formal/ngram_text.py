"""The text of the n-gram paper: two sentence templates, and completion from the first six words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from nerode.core import InputError, Reference
from nerode.tasks.formal.language_task import LanguageSettings
from nerode.tasks.formal.recognition import NextToken
from nerode.tasks.formal.source import AutomatonWords
from nerode.tasks.task import Answer, Integers, TaskKind

LENGTHS = (14, 20)
"""Words of the sentences of the first and of the second template."""

_MOST_WORDS = 30
"""A completion that has not ended by then has failed."""

Decoder = Literal["greedy", "sampled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NgramTextSettings:
    """Settings of the n-gram text.

    Attributes:
        prefix: words that a completion begins with.
        completions: unseen sentences whose beginnings are completed after training.
    """

    prefix: int = 6
    completions: int = 200

    def __post_init__(self) -> None:
        if not 1 <= self.prefix < LENGTHS[0]:
            raise InputError(f"prefix is {self.prefix}; sentences are cut after 1 to {LENGTHS[0] - 1} words")
        if self.completions < 2:
            raise InputError(f"completions is {self.completions}; give 2 or more, half for each template")


class NgramText(NextToken):
    """Sentences of the language `ngram-seed`; after each word the next one, or the end, is predicted.

    The paper trains on 40 sentences, half of each template, for 25 epochs: `run.sample` and `run.epochs` of a
    spec. A fixed sample has exactly as many of each, and one more of the first if their number is odd.

    References: [Nandakumar2024]
    """

    name = "ngram-text"
    source: AutomatonWords

    def __init__(self, settings: NgramTextSettings) -> None:
        super().__init__(
            LanguageSettings(language="ngram-seed", shortest=LENGTHS[0], longest=LENGTHS[1], pool=0)
        )
        # All sentences of a template are as likely in the model, too; without it they are drawn together.
        self.source = AutomatonWords(self.language.dfa())
        self._completions, self._prefix = settings.completions, settings.prefix

    @property
    def test_lengths(self) -> tuple[int, ...]:  # type: ignore[override]
        """The two lengths there are; there is nothing longer."""
        return LENGTHS

    def trains_on(self, length: int) -> bool:
        """Returns whether sentences have this length."""
        return length in LENGTHS

    def choose_lengths(self, lengths: Sequence[int], count: int, rng: np.random.Generator) -> list[int]:
        """Returns the lengths in turn, so that each template has its half."""
        return [lengths[number % len(lengths)] for number in range(count)]

    def examine(self, answer: Answer, rng: np.random.Generator) -> dict[str, Any]:
        """Returns which share of unseen beginnings is completed to a sentence of the language.

        "greedy" takes the most likely word each time, "sampled" draws it; "examples" has a few completions.
        """
        prefixes = self.prefixes(rng)
        found: dict[str, Any] = {}
        decoders: tuple[Decoder, ...] = ("greedy", "sampled")
        for decoder in decoders:
            sentences = self.complete(answer, prefixes, decoder, rng)
            right = [self.language.accepts(sentence) for sentence in sentences]
            found[decoder] = sum(right) / len(right)
            found[f"{decoder}_examples"] = [
                {"text": " ".join(self.alphabet[word] for word in sentence), "right": ok}
                for sentence, ok in list(zip(sentences, right, strict=True))[::67]
            ]
        return found

    def prefixes(self, rng: np.random.Generator) -> Integers:
        """Returns beginnings of sentences that are not trained on, half of each template."""
        half = self._completions // 2
        counts = (half, self._completions - half)
        drawn = [
            self.draw("test", length, n, rng).inputs.numpy()
            for length, n in zip(LENGTHS, counts, strict=True)
        ]
        return np.concatenate([words[:, : self._prefix] for words in drawn])

    @torch.no_grad()
    def complete(
        self, answer: Answer, prefixes: Integers, decoder: Decoder, rng: np.random.Generator
    ) -> list[tuple[int, ...]]:
        """Returns the sentences that a model makes of beginnings, without their end.

        A sentence that has not ended after 30 words is returned as far as it went.
        """
        end = self.outputs - 1
        words = [prefixes]
        ended = np.zeros(len(prefixes), dtype=np.bool_)
        scores, state = answer(torch.from_numpy(prefixes), None)
        for _ in range(_MOST_WORDS - prefixes.shape[1]):
            chosen = _choose(scores[:, -1].double(), decoder, rng)
            ended |= chosen == end
            words.append(np.where(ended, end, chosen)[:, None])
            if ended.all():
                break
            # What follows the end is ignored, but it has to be a word.
            scores, state = answer(torch.from_numpy(np.where(ended, 0, chosen)[:, None]), state)
        rows = np.concatenate(words, axis=1).tolist()
        return [tuple(row[: row.index(end)] if end in row else row) for row in rows]


def _choose(scores: torch.Tensor, decoder: Decoder, rng: np.random.Generator) -> Integers:
    if decoder == "greedy":
        best: Integers = scores.argmax(-1).numpy()
        return best
    borders = scores.softmax(-1).cumsum(-1).numpy()
    points = rng.random((len(borders), 1)) * borders[:, -1:]
    drawn: Integers = (borders[:, :-1] <= points).sum(axis=1)
    return drawn


KIND = TaskKind(
    name="ngram-text",
    title="sentences of two templates, word by word; completion from six words afterwards",
    settings=NgramTextSettings,
    build=NgramText,
    reference=Reference("Nandakumar2024"),
)
