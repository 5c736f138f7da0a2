"""Words for analyses, given, of a task or random: the answers to them, and their margins by length."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from nerode.analysis.extraction.oracle import Machine, is_member
from nerode.analysis.subject import LoadedNetwork, asked_subject
from nerode.core import InputError, stream
from nerode.languages import END, NOTHING
from nerode.models import Model
from nerode.models.network_module import CompiledModel
from nerode.records import AnalysisRow
from nerode.tasks import Batch, Task
from nerode.training import tested_lengths

LONGEST = 64
"""Words of a task are no longer than this unless it has no shorter ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeWords:
    """Words of one length.

    Attributes:
        inputs: letters (batch, time) or features (batch, time, features).
        symbols: what the letters are called, by number; empty for features.
        batch: the same words with what is due at each position; None without a task.
    """

    inputs: Tensor
    symbols: tuple[str, ...]
    batch: Batch | None = None

    @property
    def length(self) -> int:
        """Letters of each word."""
        return int(self.inputs.shape[1])

    @property
    def has_letters(self) -> bool:
        """Whether the words are of letters, not of features."""
        return self.inputs.ndim == 2

    def spell(self, row: int) -> tuple[str, ...]:
        """Returns the letters of one word; for features, the number of each position."""
        if not self.has_letters:
            return tuple(str(t) for t in range(self.length))
        return tuple(self.symbols[letter] for letter in self.inputs[row].tolist())


def draw_probe(subject: LoadedNetwork, *, count: int, length: int | None = None, seed: int = 0) -> ProbeWords:
    """Returns words of the task of a network, or random ones over its letters.

    Args:
        subject: the network.
        count: how many words.
        length: of each; by default the longest that it was trained on, up to 64.
        seed: of the draw.

    Raises:
        InputError: if the task has no words of this length, or nothing is known of what the network reads.
    """
    rng = stream(seed, "analysis", "words")
    if subject.task is not None:
        length = subject.task.usual_length(LONGEST) if length is None else length
        batch = subject.task.sample(length, count, rng)
        # What a model reads has its own type; tasks give features in double precision.
        inputs = batch.inputs.to(_dtype(subject.model)) if batch.inputs.is_floating_point() else batch.inputs
        return ProbeWords(inputs=inputs, symbols=symbols_of(subject), batch=batch)
    letters = num_letters(subject)
    drawn = torch.from_numpy(rng.integers(0, letters, (count, length or LONGEST)))
    return ProbeWords(inputs=drawn, symbols=symbols_of(subject))


def num_letters(subject: LoadedNetwork) -> int:
    """Returns the size of the alphabet, or raises InputError if the network reads none that is known."""
    if subject.task is not None and subject.task.letters is not None:
        return subject.task.letters
    if isinstance(subject.model, Model) and subject.model.config.letters is not None:
        return subject.model.config.letters
    if isinstance(subject.model, CompiledModel):
        return len(subject.model.network.alphabet)
    raise InputError(f"{subject.name} does not read letters; a network without a task has to")


def symbols_of(subject: LoadedNetwork) -> tuple[str, ...]:
    """Returns what the letters are called; their numbers where they have no names, none for features."""
    if subject.task is not None and subject.task.letters is None:
        return ()
    count = num_letters(subject)
    if subject.imported is not None:
        assert subject.subject is not None
        return subject.subject.letters.alphabet
    language = subject.language or subject.network
    named = getattr(subject.task, "alphabet", None) or (language.alphabet if language is not None else ())
    names = tuple(str(symbol) for symbol in named)
    return names if len(names) == count else tuple(str(n) for n in range(count))


def read_word(subject: LoadedNetwork, text: str) -> Tensor:
    """Returns the letters (1, time) of a word that is written with spaces, or letter by letter.

    Raises:
        InputError: for a symbol that the network does not read, or an empty word.
    """
    symbols = symbols_of(subject)
    parts: Sequence[str] = text.split() if " " in text.strip() else [text] if text in symbols else list(text)
    unknown = [part for part in parts if part not in symbols]
    if unknown or not parts:
        shown = " ".join(symbols[:20]) + (" …" if len(symbols) > 20 else "")
        what = f"has {unknown[0]!r}, which is no letter" if unknown else "is empty"
        raise InputError(f"the word {text!r} {what}; the letters are: {shown}")
    return torch.tensor([[symbols.index(part) for part in parts]])


_SHOWN = 5
"""Likeliest letters that are named where no language is known."""


def answer_words(subject: LoadedNetwork, texts: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yields for each word whether it is accepted and what may follow each prefix, or its class.

    Where nothing is asked the likeliest letters after the word stand there instead.

    Raises:
        InputError: for a symbol that is no letter.
    """
    asked = asked_subject(subject)
    machine = None if asked is None else Machine(asked)
    for text in texts:
        yield _likeliest(subject, text) if machine is None else _answer(machine, text)


def _answer(machine: Machine, text: str) -> dict[str, Any]:
    word = machine.alphabet.encode(text)
    (outputs,) = machine.traces([word])
    if machine.kind == "class":
        return {"word": machine.alphabet.decode(word), "accept": None, "next": [], "class": outputs[-1]}
    follows = [[] if output == NOTHING else output.split(" ") for output in outputs]
    return {
        "word": machine.alphabet.decode(word),
        "accept": is_member(outputs[-1], machine.kind),
        "next": follows if machine.kind == "prediction" else [],
    }


@torch.no_grad()
def _likeliest(subject: LoadedNetwork, text: str) -> dict[str, Any]:
    letters = read_word(subject, text)
    shares = subject.model(letters, None)[0][0, -1].double().softmax(-1)
    names = (*symbols_of(subject), END)
    best = shares.argsort(descending=True)[:_SHOWN].tolist()
    found = {names[i] if i < len(names) else str(i): round(float(shares[i]), 6) for i in best}
    return {"word": text, "likeliest": found}


def plain(value: float) -> float | None:
    """Returns a number as JSON can have it: None for one that is infinite or not a number."""
    value = float(value)
    return value if math.isfinite(value) else None


def _dtype(model: nn.Module) -> torch.dtype:
    return next((p.dtype for p in model.parameters() if p.is_floating_point()), torch.float32)


@torch.no_grad()
def margins(subject: LoadedNetwork, *, longest: int = 512, words: int = 64, seed: int = 0) -> AnalysisRow:
    """Returns the margin of the correct answer at the lengths that the task is tested at.

    Args:
        subject: the network.
        longest: test lengths above this are left out.
        words: how many of each length.
        seed: of the words.

    Raises:
        InputError: if the network has no task, or the task has no answers that can be compared.
    """
    task = subject.task
    if task is None or subject.spec is None:
        raise InputError(f"{subject.name} has no task; without correct answers there is no margin")
    lengths = [n for n in tested_lengths(subject.spec) if n <= longest] or [tested_lengths(subject.spec)[0]]
    found = []
    for length in lengths:
        probe = draw_probe(subject, count=words, length=length, seed=seed)
        assert probe.batch is not None
        scores = subject.model(probe.inputs, None)[0].double()
        sizes = margin(task, scores, probe.batch)[probe.batch.mask]
        right = task.correct(scores, probe.batch)[probe.batch.mask]
        found.append(
            AnalysisRow(
                length=length,
                least=plain(float(sizes.min())),
                low=plain(float(sizes.quantile(0.01))),
                median=plain(float(sizes.median())),
                wrong=float((~right).double().mean()),
            )
        )
    return AnalysisRow(trained=task.training_lengths[1], lengths=tuple(found))


def margin(task: Task, scores: Tensor, batch: Batch) -> Tensor:
    """Returns the lead of the correct answer at each position (batch, time).

    For bits, of the bit that is least sure; for classes, of the correct one before the best other one; where
    several symbols may come next, of the best of them before the best of the others.
    """
    targets = batch.targets
    if task.targets_are_bits:
        return torch.where(targets.bool(), scores, -scores).amin(-1)
    if targets.ndim == 2:
        right = torch.nn.functional.one_hot(targets.long(), scores.shape[-1]).bool()
    elif targets.shape[-1] == scores.shape[-1] + 1:
        right = targets[..., 1:] == 1
    else:
        raise InputError(f"the answers of {task.name} are neither bits nor classes; they have no margin")
    best = scores.masked_fill(~right, -torch.inf).amax(-1)
    other = scores.masked_fill(right, -torch.inf).amax(-1)
    return best - other
