"""A model in another program compared with the module that it was written from, word by word."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from nerode.core import Budget, BudgetExceeded, InputError, plural

Scores = Callable[[Tensor], Tensor]
"""Words (batch, time) to scores (batch, time, outputs), in the order of ours."""

MOST_WORDS = 20_000
"""Short words that are compared at most; all up to the length that this allows."""

CLOSE = 1e-4
"""Largest difference of scores that are not read as answers, as a share of the largest score."""

BATCH = 512
"""Words that are read side by side at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The words on which two programs gave the same answers.

    Attributes:
        program: name and version of the other one.
        short: all words up to this length.
        long: number of longer words.
        length: of each of them.
        same_bits: whether every score was the same number.
        by_scores: whether scores were compared, because nothing says how they are read.
        letters_per_second: letters that the other program read per CPU second, many words side by side.
    """

    program: str
    short: int
    long: int
    length: int
    same_bits: bool
    by_scores: bool = False
    letters_per_second: int = 0

    @property
    def what(self) -> str:
        """The property that was the same."""
        if self.same_bits:
            return "the same bits"
        return f"scores within {CLOSE:g} of the largest" if self.by_scores else "the same answers"

    def __str__(self) -> str:
        """The comparison in a sentence."""
        more = f" and on {plural(self.long, 'random word')} of {self.length:,} letters" if self.long else ""
        return f"{self.program}: {self.what} on all words up to length {self.short}{more}"


def compare(
    theirs: Scores,
    module: nn.Module,
    *,
    program: str,
    alphabet: Sequence[str],
    decode: Callable[[Tensor], Tensor] | None,
    short: int = 8,
    long: int = 8,
    length: int = 1_000,
    cap: float = 0.0,
    seed: int = 0,
    batch: int = BATCH,
    budget: Budget | None = None,
) -> Compared:
    """Returns on which words another program answers as a module does, step by step.

    Args:
        theirs: the other program.
        module: the one that it was written from.
        program: name and version of the other one.
        alphabet: names of the letters, for the error.
        decode: from scores to answers, as the subject reads them; None if nothing says how.
        short: all words up to this length are read, at most 20,000 of them.
        long: number of random words beside them.
        length: of each.
        cap: the other program gives cap · tanh(score / cap), which changes no answer; 0 for the scores.
        seed: of the random words.
        batch: words that are read side by side at most.
        budget: after which longer words are left out.

    Raises:
        InputError: with the word, if an answer differs.
    """
    budget = (budget or Budget(seconds=30.0)).start()
    reached, read, same = 0, 0, True
    letters, seconds = 0, 0.0

    def timed(words: Tensor) -> Tensor:
        nonlocal letters, seconds
        begun = time.process_time()
        scores = theirs(words)
        letters, seconds = letters + words.numel(), seconds + time.process_time() - begun
        return scores

    rng, size = np.random.default_rng(seed), max(1, min(long, batch))
    with contextlib.suppress(BudgetExceeded):
        for number, words in enumerate(_short_words(len(alphabet), short), start=1):
            for part in torch.split(words, batch):
                same &= _same(timed, module, part, program, alphabet, decode, cap)
            reached = number
            budget.check_time()
        while read < long:
            words = torch.from_numpy(rng.integers(0, len(alphabet), (min(size, long - read), length)))
            same &= _same(timed, module, words, program, alphabet, decode, cap)
            read += len(words)
            budget.check_time()
    return Compared(
        program=program,
        short=reached,
        long=read,
        length=length if read else 0,
        same_bits=same,
        by_scores=decode is None,
        letters_per_second=round(letters / max(seconds, 1e-9)),
    )


def _short_words(letters: int, longest: int) -> Iterator[Tensor]:
    total = 0
    for length in range(1, longest + 1):
        total += letters**length
        if total > MOST_WORDS:
            return
        numbers = torch.arange(letters**length)
        places = letters ** torch.arange(length - 1, -1, -1)
        yield numbers[:, None] // places % letters


@torch.no_grad()
def _same(
    theirs: Scores,
    module: nn.Module,
    words: Tensor,
    program: str,
    alphabet: Sequence[str],
    decode: Callable[[Tensor], Tensor] | None,
    cap: float,
) -> bool:
    ours, found = step_scores(module, words), theirs(words)
    if cap:
        ours = cap * torch.tanh(ours / cap)
    if decode is None:
        differs = ~((ours - found).abs() <= CLOSE * ours.abs().max().clamp(min=1)).all(-1)
    else:
        differs = (decode(ours) != decode(found)).any(-1)
    if bool(differs.any()):
        row = int(differs.any(1).nonzero()[0])
        at = int(differs[row].nonzero()[0]) + 1
        word = " ".join(alphabet[i] for i in words[row, :at].tolist())
        shown = word if len(word) < 200 else f"{word[:200]} …"
        raise InputError(
            f"{program} answers otherwise than nerode's module after {shown}; nothing was written"
        )
    return bool(torch.equal(ours, found.to(ours.dtype)))


def step_scores(module: Any, words: Tensor) -> Tensor:
    """Returns the scores of a module after each letter, step by step."""
    step = getattr(module, "advance", None) or module.step
    state, found = module.initial_state(len(words)), []
    for letter in words.unbind(1):
        scores, state = step(letter, state)
        found.append(scores)
    return torch.stack(found, dim=1)


def session_scores(content: bytes) -> tuple[Scores, str] | None:
    """Returns an ONNX graph as onnxruntime runs it, and its version; None where it is not installed."""
    if importlib.util.find_spec("onnxruntime") is None:
        return None
    onnxruntime: Any = importlib.import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])

    def scores(words: Tensor) -> Tensor:
        return torch.from_numpy(session.run(["scores"], {"letters": words.numpy()})[0])

    return scores, f"onnxruntime {onnxruntime.__version__}"
