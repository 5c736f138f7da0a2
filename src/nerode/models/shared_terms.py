"""Terms that depend on the weights alone, computed once for all parts of a batch.

The kernel of a convolution or the exponential of a matrix is the same for each sequence. Where the parts of a
batch are read on several threads, the first one that needs such a term computes it, and the others get the
same tensors. These are leaves of the graph of each part: the gradients that come back are added in the order
of the parts, and go through the term once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import torch
from torch import Tensor

T = TypeVar("T")


class SharedTerms:
    """The terms of one pass over a batch, in the order in which they were computed."""

    def __init__(self) -> None:
        self._terms: list[tuple[list[Tensor], list[Tensor]]] = []
        self._found: dict[tuple[Any, ...], tuple[Any, tuple[Any, ...]]] = {}
        self._lock = threading.RLock()

    @property
    def leaves(self) -> list[Tensor]:
        """The tensors of the parts, of all terms that have gradients."""
        return [leaf for _, leaves in self._terms for leaf in leaves]

    def give(self, function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
        """Returns what the function gave to whoever asked first with these very arguments."""
        key = (function, *(a if isinstance(a, int | str) else id(a) for a in arguments))
        with self._lock:
            if key not in self._found:
                value = function(*arguments)
                roots: list[Tensor] = []
                leaves: list[Tensor] = []
                values = value if isinstance(value, tuple) else (value,)
                shared = tuple(_leaf(own, roots, leaves) for own in values)
                if roots:
                    self._terms.append((roots, leaves))
                # The arguments are kept, so that no other object gets their id.
                self._found[key] = (shared if isinstance(value, tuple) else shared[0]), arguments
            found: T = self._found[key][0]
            return found

    def add_gradients(
        self,
        weights: Sequence[Tensor],
        dweights: Sequence[Tensor | None],
        dleaves: Sequence[Tensor | None],
    ) -> list[Tensor | None]:
        """Returns the gradients of the weights, those that come through the terms added to `dweights`."""
        gradients, sources = [*dweights, *dleaves], [*weights, *self.leaves]
        # A term may be made of earlier ones.
        for roots, _ in reversed(self._terms):
            first = len(sources) - len(roots)
            pairs = zip(roots, gradients[first:], strict=True)
            used = [(root, gradient) for root, gradient in pairs if gradient is not None]
            del sources[first:], gradients[first:]
            if used:
                more = torch.autograd.grad(
                    [root for root, _ in used],
                    sources,
                    [gradient for _, gradient in used],
                    allow_unused=True,
                )
                gradients = [add_optional(pair) for pair in zip(gradients, more, strict=True)]
        return gradients


def _leaf(root: Any, roots: list[Tensor], leaves: list[Tensor]) -> Any:
    """The tensor for the parts; it and its root are added to the lists if there are gradients."""
    if not isinstance(root, Tensor) or not root.requires_grad:
        return root
    roots.append(root)
    leaves.append(root.detach().requires_grad_())
    return leaves[-1]


def add_optional(terms: Sequence[Tensor | None]) -> Tensor | None:
    """Returns the sum of the tensors in their order; None if there is none."""
    total: Tensor | None = None
    for term in terms:
        if term is not None:
            total = term if total is None else total + term
    return total


_running: ContextVar[SharedTerms | None] = ContextVar("shared terms", default=None)


@contextmanager
def sharing() -> Iterator[SharedTerms]:
    """Begins a pass over a batch in parts."""
    terms = SharedTerms()
    token = _running.set(terms)
    try:
        yield terms
    finally:
        _running.reset(token)


def shared(function: Callable[..., T], *arguments: Any) -> T:
    """Returns function(*arguments), a tensor or a tuple; computed once if parts of a batch ask for it.

    Args:
        function: of the weights alone, the same object each time.
        arguments: modules, weights, terms that are shared themselves, integers or strings.
    """
    terms = _running.get()
    return function(*arguments) if terms is None else terms.give(function, arguments)
