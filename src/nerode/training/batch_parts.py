"""A pass over a batch in parts, each on a thread of its own: the same parts for any number of threads.

How a batch is cut depends on its size alone, and what the parts give is joined in their order. So one thread,
which takes the parts one after the other, gives the same bits as several.
"""

from __future__ import annotations

import contextvars
import functools
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from nerode.models import Model, SharedTerms, State, add_optional, num_threads, share_threads, sharing

_NUMBERS, _MOST = 1 << 18, 8
"""The features of a part, of all its positions together, and the most parts."""

T = TypeVar("T")


def run(model: nn.Module, inputs: Tensor, state: Any = None) -> tuple[Tensor, Any]:
    """Returns the scores, in float32 at least and on the CPU, and the state.

    What is read goes to where the weights are, features in their type.
    """
    weight = next(model.parameters(), None)
    if weight is not None:
        inputs = inputs.to(weight.device, weight.dtype if inputs.is_floating_point() else inputs.dtype)
    scores, state = model(inputs, state)
    scores = scores.cpu()
    return (scores if scores.dtype == torch.float64 else scores.float()), state


def read_parts(model: nn.Module, pieces: Iterable[Tensor]) -> Iterator[Tensor]:
    """Yields the scores of sequences that are read piece by piece, their rows in parts."""
    parts: list[tuple[slice, Any]] = []
    for inputs in pieces:
        parts = parts or [(rows, None) for rows in cut_rows(model, inputs)]
        found = run_works([partial(run, model, inputs[rows], state) for rows, state in parts])
        parts = [(rows, state) for (rows, _), (_, state) in zip(parts, found, strict=True)]
        yield found[0][0] if len(found) == 1 else torch.cat([scores for scores, _ in found])


class BatchPass:
    """The scores of a batch, and the gradients of the weights from those of the scores.

    Args:
        model: `forward(x, state) -> (scores, state)`.
        inputs: of the batch.
        state: what the sequences begin with; None for the initial state of the model.
        parts: whether it may be cut into parts.
        scores: those of a pass that was made already; None to make one.

    Attributes:
        scores: of all sequences.
    """

    def __init__(
        self,
        model: nn.Module,
        inputs: Tensor,
        state: State | None = None,
        *,
        parts: bool = True,
        scores: Tensor | None = None,
    ) -> None:
        # A state may hold gradients of its own, which parts would have to share.
        rows = cut_rows(model, inputs) if state is None and parts else [slice(0, len(inputs))]
        self._parts: list[Tensor] = []
        self._terms = SharedTerms()
        if len(rows) == 1:
            self.scores = run(model, inputs, state)[0] if scores is None else scores
            return
        with sharing() as self._terms:
            found = run_works([partial(run, model, inputs[own]) for own in rows])
        self._parts = [scores for scores, _ in found]
        self.scores = torch.cat([part.detach() for part in self._parts]).requires_grad_()

    def backward(self, loss: Tensor, weights: Sequence[Tensor]) -> None:
        """Sets the gradients of the weights, which have none yet.

        Args:
            loss: of the scores.
            weights: of the model.
        """
        loss.backward()  # type: ignore[no-untyped-call]
        if not self._parts:
            return
        assert self.scores.grad is not None
        sources = [*weights, *self._terms.leaves]
        given = torch.split(self.scores.grad, [len(part) for part in self._parts])
        found = run_works(
            [
                partial(torch.autograd.grad, part, sources, own, allow_unused=True)
                for part, own in zip(self._parts, given, strict=True)
            ]
        )
        gradients = [add_optional(terms) for terms in zip(*found, strict=True)]
        count = len(weights)
        gradients = self._terms.add_gradients(weights, gradients[:count], gradients[count:])
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.grad = gradient


def cut_rows(model: nn.Module, inputs: Tensor) -> list[slice]:
    """Returns the parts of a batch, as rows of it; a single one if the batch is small.

    A model of the user's own gets the whole batch: it may look from one sequence at another, or change
    itself. So does one that draws random numbers: they would go to whoever asks first.
    """
    if not isinstance(model, Model) or (model.training and _draws(model)):
        return [slice(0, len(inputs))]
    width = model.config.width or model.config.letters or model.config.features or 1
    wanted = inputs.shape[0] * inputs.shape[1] * width // _NUMBERS
    count = max(1, min(wanted, _MOST, len(inputs)))
    borders = [len(inputs) * number // count for number in range(count + 1)]
    return [slice(*pair) for pair in itertools.pairwise(borders)]


def _draws(model: Model) -> bool:
    """Whether a pass in training draws random numbers."""
    return any(model.config.around(number).dropout for number in range(len(model.config.layers)))


def run_works(works: Sequence[Callable[[], T]]) -> list[T]:
    """Returns what the works give, in their order; each thread takes some of them, this one too."""
    threads = num_threads()
    takers = min(threads, len(works))
    if takers == 1:
        return [work() for work in works]
    results: dict[int, T] = {}
    grad = torch.is_grad_enabled()

    def take(number: int) -> None:
        with share_threads((threads + number) // takers), torch.set_grad_enabled(grad):
            for place in range(number, len(works), takers):
                results[place] = works[place]()

    # Each taker has the budget and the shared terms of whoever asked.
    pool = _pool(os.getpid(), takers - 1)
    others = [pool.submit(contextvars.copy_context().run, take, number) for number in range(1, takers)]
    try:
        take(0)
    finally:
        problems = [other.exception() for other in others]
    for problem in problems:
        if problem is not None:
            raise problem
    return [results[place] for place in range(len(works))]


@functools.lru_cache(maxsize=4)
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """Threads that wait for work; a copy of this process made by fork has none of them, and gets its own."""
    return ThreadPoolExecutor(threads, thread_name_prefix=f"nerode-{process}")
