"""The comparison of weights with the network that explains them, on all short words: a test, no proof."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from nerode.compiler import CONSTRUCTIONS
from nerode.core import Budget, started
from nerode.languages import Legal
from nerode.models.base import State
from nerode.models.lower.lowering import Lowered
from nerode.models.model import Model
from nerode.models.network_module.decoder import legal_table
from nerode.network import Interpreter, LogitDecoder, NetworkState

LENGTH = 8
"""Words up to this length are read."""

MOST_WORDS = 20_000
"""Words that are read, in shortlex order."""

_BATCH = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The outcome of a comparison of weights with their network.

    Attributes:
        words: how many words both have read, in shortlex order; the empty one counts where both answer it.
        length: they are all the words up to this length.
        word: the first word on which the answers differ; None if there is none.
    """

    words: int
    length: int
    word: tuple[int, ...] | None = None

    def __str__(self) -> str:
        return f"same answers on all words to length {self.length}" if self.length else "compared on no word"


@dataclass(slots=True)
class _Level:
    """Words of one length in shortlex order, with the states of both after each, and the answers."""

    words: list[tuple[int, ...]]
    exact: list[NetworkState]
    state: State
    answers: list[Legal]


def compare_answers(
    lowered: Lowered, *, length: int = LENGTH, most: int = MOST_WORDS, budget: Budget | None = None
) -> Explanation:
    """Returns whether weights and the network that they are made from give the same answers on short words.

    Distributions are not compared: they are promised after prefixes of sentences alone, and elsewhere the
    rounding of large logits decides.

    Args:
        lowered: the weights and their network.
        length: of the longest words.
        most: number of words, in shortlex order.
        budget: limits the time; the comparison then ends before these limits.
    """
    budget = started(budget)
    network, model = lowered.program.network, lowered.model
    if isinstance(network.decoder, LogitDecoder):
        return Explanation(words=0, length=0)
    interpreter = Interpreter(network)
    read = 0
    empty = _empty_scores(model)
    if empty is not None:
        if not _agrees(empty, [network.decoder.empty]).all():
            return Explanation(words=0, length=0, word=())
        read = 1
    predicts = _predicts(network.origin.construction)
    level = _Level([()], [interpreter.start()], model.initial_state(1), [network.decoder.empty])
    for reached in range(length):
        following = _Level([], [], {}, [])
        for part in _next_level(level, interpreter, model, most - read, predicts=predicts):
            words, answers, scores, exact, state = part
            wrong = (~_agrees(scores, answers)).nonzero()
            if len(wrong):
                return Explanation(words=read, length=reached, word=words[int(wrong[0])])
            read += len(words)
            following.words += words
            following.exact += exact
            following.answers += answers
            following.state = _joined(following.state, state)
            if budget.elapsed() > budget.seconds:
                return Explanation(words=read, length=reached)
        if read >= most or not following.words:
            return Explanation(words=read, length=reached)
        level = following
    return Explanation(words=read, length=length)


def _predicts(construction: str) -> bool:
    """Whether a network is for valid prefixes only."""
    return construction in CONSTRUCTIONS and CONSTRUCTIONS[construction].predicts_only


_Part = tuple[list[tuple[int, ...]], list[Legal], Tensor, list[NetworkState], State]


@torch.no_grad()
def _next_level(
    level: _Level, interpreter: Interpreter, model: Model, most: int, *, predicts: bool
) -> Iterator[_Part]:
    """Yields the words that are one letter longer, in batches, with answers, scores and states.

    A network for valid prefixes is asked of the letters alone that it calls legal.
    """
    letters = len(interpreter.network.alphabet)
    pairs = [
        (row, letter)
        for row, answer in enumerate(level.answers)
        for letter in range(letters)
        if not predicts or letter in answer.symbols
    ][: max(0, most)]
    for first in range(0, len(pairs), _BATCH):
        part = pairs[first : first + _BATCH]
        rows = torch.tensor([row for row, _ in part])
        scores, state = model.step(
            torch.tensor([letter for _, letter in part]),
            {name: value[rows] for name, value in level.state.items()},
        )
        stepped = [interpreter.step(level.exact[row], letter) for row, letter in part]
        words = [(*level.words[row], letter) for row, letter in part]
        yield words, [answer.legal for _, answer in stepped], scores, [after for after, _ in stepped], state


def _agrees(scores: Tensor, answers: list[Legal]) -> Tensor:
    """Whether the scores of each row mean the answer; scores that are not finite mean none."""
    same = ((scores > 0.5) == legal_table(answers, scores.shape[-1] - 1)).all(-1)
    return same & torch.isfinite(scores).all(-1)


@torch.no_grad()
def _empty_scores(model: Model) -> Tensor | None:
    scores = model.empty_scores()
    return None if scores is None else scores[None]


def _joined(state: State, more: State) -> State:
    return {name: torch.cat([state[name], value]) for name, value in more.items()} if state else more
