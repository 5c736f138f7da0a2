"""Back-off models trained on a text that every Python has: the manual's topics in `pydoc_data`.

Counts, then either Witten-Bell smoothing or absolute discounting, both interpolated with the shorter context;
n-grams below a count are left out, and back-off weights share out what is left over. The result is ARPA text
as toolkits write it, with seven digits. `DecimalOracle` evaluates such a text. Nothing here uses nerode.
"""

from __future__ import annotations

import functools
import importlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext

Ngram = tuple[str, ...]

START, END, UNKNOWN = "<s>", "</s>", "<unk>"
_SENTENCE = re.compile(r"[.!?:;]\s|\n\s*\n")
_WORD = re.compile(r"[a-z]+")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How to train a model.

    Attributes:
        order: n.
        num_words: size of the vocabulary without the unknown word: the most frequent words.
        least: for each order from 2 on, how often an n-gram has to occur to be kept.
        discount: None for Witten-Bell, or what absolute discounting takes off each count.
    """

    order: int
    num_words: int
    least: tuple[int, ...]
    discount: float | None = None


RECIPES = {
    "bigrams": Recipe(order=2, num_words=400, least=(4,)),
    "trigrams": Recipe(order=3, num_words=250, least=(4, 4), discount=0.7),
    "four-grams": Recipe(order=4, num_words=200, least=(6, 5, 5)),
    "ten thousand": Recipe(order=3, num_words=1_000, least=(3, 3)),
}
"""The models of the tests and of the benchmark."""


@functools.cache
def manual() -> list[list[str]]:
    """Returns the sentences of Python's manual on its own language, about 64,000 words."""
    topics: dict[str, str] = importlib.import_module("pydoc_data.topics").topics
    text = "\n\n".join(topics[name] for name in sorted(topics)).lower()
    sentences = [_WORD.findall(part) for part in _SENTENCE.split(text)]
    return [sentence for sentence in sentences if sentence]


def restricted(sentences: Iterable[Sequence[str]], num_words: int) -> list[list[str]]:
    """Returns sentences with all but the most frequent words replaced by the unknown word."""
    sentences = list(sentences)
    counts = Counter(word for sentence in sentences for word in sentence)
    kept = {word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:num_words]}
    return [[word if word in kept else UNKNOWN for word in sentence] for sentence in sentences]


def train(recipe: Recipe, sentences: Iterable[Sequence[str]]) -> str:
    """Returns the ARPA text of a model."""
    counts: list[Counter[Ngram]] = [Counter() for _ in range(recipe.order)]
    for sentence in restricted(sentences, recipe.num_words):
        words = (START, *sentence, END)
        for k in range(recipe.order):
            counts[k].update(words[i : i + k + 1] for i in range(len(words) - k))
    del counts[0][(START,)]
    levels = [_unigrams(counts[0])]
    backoffs: list[dict[Ngram, float]] = []
    for k in range(1, recipe.order):
        before = {*levels[-1], *([(START,)] if k == 1 else [])}
        kept = {g: c for g, c in counts[k].items() if c >= recipe.least[k - 1] and g[:-1] in before}
        level = _interpolated(counts[k], kept, levels, backoffs, recipe.discount)
        backoffs.append(_backoffs(level, levels, backoffs))
        levels.append(level)
    return _written(levels, backoffs)


def _unigrams(counts: Counter[Ngram]) -> dict[Ngram, float]:
    total = sum(counts.values())
    return {ngram: count / total for ngram, count in sorted(counts.items())}


def _interpolated(
    counts: Counter[Ngram],
    kept: dict[Ngram, int],
    levels: list[dict[Ngram, float]],
    backoffs: list[dict[Ngram, float]],
    discount: float | None,
) -> dict[Ngram, float]:
    totals: Counter[Ngram] = Counter()
    kinds: Counter[Ngram] = Counter()
    for ngram, count in counts.items():
        totals[ngram[:-1]] += count
        kinds[ngram[:-1]] += 1
    found = {}
    for ngram, count in sorted(kept.items()):
        total, kind = totals[ngram[:-1]], kinds[ngram[:-1]]
        shorter = _probability(ngram[1:], levels, backoffs)
        if discount is None:
            found[ngram] = (count + kind * shorter) / (total + kind)
        else:
            found[ngram] = (count - discount + discount * kind * shorter) / total
    return found


def _probability(ngram: Ngram, levels: list[dict[Ngram, float]], backoffs: list[dict[Ngram, float]]) -> float:
    weight = 1.0
    while ngram not in levels[len(ngram) - 1]:
        weight *= backoffs[len(ngram) - 2].get(ngram[:-1], 1.0)
        ngram = ngram[1:]
    return weight * levels[len(ngram) - 1][ngram]


def _backoffs(
    level: dict[Ngram, float], levels: list[dict[Ngram, float]], backoffs: list[dict[Ngram, float]]
) -> dict[Ngram, float]:
    """What the n-grams of a context leave over, as a share of what the shorter context leaves over."""
    own: Counter[Ngram] = Counter()
    shorter: Counter[Ngram] = Counter()
    for ngram, p in level.items():
        own[ngram[:-1]] += p  # type: ignore[assignment]
        shorter[ngram[:-1]] += _probability(ngram[1:], levels, backoffs)  # type: ignore[assignment]
    return {context: (1 - own[context]) / (1 - shorter[context]) for context in own}


def _written(levels: list[dict[Ngram, float]], backoffs: list[dict[Ngram, float]]) -> str:
    counts = [len(level) for level in levels]
    counts[0] += 1
    lines = ["\\data\\", *(f"ngram {k}={count}" for k, count in enumerate(counts, start=1)), ""]
    for k, level in enumerate(levels):
        lines.append(f"\\{k + 1}-grams:")
        entries = [(f"{math.log10(p):.7g}", ngram) for ngram, p in level.items()]
        for log, ngram in [*([("-99", (START,))] if k == 0 else []), *entries]:
            weight = backoffs[k].get(ngram) if k < len(backoffs) else None
            tail = "" if weight is None else f"\t{math.log10(weight):.7g}"
            lines.append(f"{log}\t{' '.join(ngram)}{tail}")
        lines.append("")
    return "\n".join([*lines, "\\end\\", ""])


class DecimalOracle:
    """The probabilities of an ARPA text in decimal arithmetic of 40 digits; shares nothing with the package.

    A logarithm of -99 or less is taken as it stands, 10^-99.
    """

    def __init__(self, text: str) -> None:
        self.logs: dict[Ngram, Decimal] = {}
        self.backoffs: dict[Ngram, Decimal] = {}
        length = 0
        for line in text.partition("\\data\\")[2].splitlines():
            fields = line.split()
            if line.endswith("-grams:"):
                length = int(line.strip("\\").partition("-")[0])
            elif length and len(fields) > length:
                ngram = tuple(fields[1 : length + 1])
                self.logs[ngram] = max(Decimal(fields[0]), Decimal(-99))
                if len(fields) == length + 2:
                    self.backoffs[ngram] = max(Decimal(fields[-1]), Decimal(-99))
        self.order = max(map(len, self.logs))
        self.outputs = sorted({g[0] for g in self.logs if len(g) == 1} - {"<s>"})

    def log(self, history: Ngram, word: str) -> Decimal:
        """Returns the decimal logarithm of the probability of a word after a history."""
        if (*history, word) in self.logs:
            return self.logs[(*history, word)]
        return self.backoffs.get(history, Decimal(0)) + self.log(history[1:], word)

    def distribution(self, prefix: Sequence[str], *, normalise: bool = False) -> dict[str, Decimal]:
        """Returns the probabilities of all words and the end after a prefix of a sentence."""
        history = ("<s>", *prefix)
        history = history[max(0, len(history) - self.order + 1) :]
        with localcontext(prec=40):
            found = {word: Decimal(10) ** self.log(history, word) for word in self.outputs}
            total = sum(found.values()) if normalise else Decimal(1)
            return {word: p / total for word, p in found.items()}
