"""The bits of scores in ways to read a word: whole, letter by letter, in chunks, in a batch, on more threads.

Sums in another order round in another way. So a model may answer otherwise while it is decoded with a cache
than when it reads the whole word, or in a batch than alone. Each way is compared with the plainest: the whole
word, alone, on one thread. That is a test of some words; a proof is a claim "any evaluation order".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from nerode.analysis.probes import draw_probe
from nerode.analysis.subject import LoadedNetwork
from nerode.core import Budget, BudgetExceeded, InputError, started
from nerode.models import dtype_name, is_stateful
from nerode.models.network_module import CompiledModel
from nerode.proofs import ANY_ORDER, CERTIFICATE_FILE, read_certificate

CHUNKS = (1, 7, 64)
"""Letters that are read at once; with 1 by `forward`, which need not do what `step` does."""

THREADS = (2, 3)
"""Numbers of threads beside one."""

WORDS, LENGTH = 8, 256


@dataclass(frozen=True, slots=True, kw_only=True)
class WayOfReading:
    """One way to read the words, and where its bits are others.

    Attributes:
        way: in words.
        position: the first position, from 1, at which a score of some word has other bits; None for none.
        word: the number of that word, from 1.
        share: of the scores, those with other bits.
        largest: the largest difference, as a part of the largest score.
        left_out: why it was not tried; empty if it was.
    """

    way: str
    position: int | None = None
    word: int | None = None
    share: float = 0.0
    largest: float = 0.0
    left_out: str = ""

    def to_json(self) -> dict[str, Any]:
        """Returns it as a JSON object."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class SameBits:
    """The bits of a model's scores in several ways to read words.

    Attributes:
        name: of the model.
        dtype: of its weights.
        words, length: how many words were read, and their letters.
        ways: each way, in order.
        proved: the method by which the network's certificate claims the same bits in every order; empty for
            none.
    """

    name: str
    dtype: str
    words: int
    length: int
    ways: tuple[WayOfReading, ...]
    proved: str = ""

    @property
    def same(self) -> bool:
        """Whether all ways that were tried gave the same bits."""
        return all(way.position is None for way in self.ways)

    def to_json(self) -> dict[str, Any]:
        """Returns it as a JSON object."""
        return {
            **{name: getattr(self, name) for name in ("name", "dtype", "words", "length", "proved", "same")},
            "ways": [way.to_json() for way in self.ways],
        }


def same_bits(
    subject: LoadedNetwork,
    *,
    length: int | None = None,
    word: Tensor | None = None,
    seed: int = 0,
    folder: Path | None = None,
    budget: Budget | None = None,
) -> SameBits:
    """Returns in which ways of reading a model has other bits, and from which position on.

    Args:
        subject: the model.
        length: letters of the random words; 256 if the task has words of that length.
        word: the one word to read, (1, time), instead of random ones.
        seed: of the words.
        folder: where the network was compiled to, whose certificate is read; None for another model.
        budget: limits; ways for which there was no time are named.

    Raises:
        InputError: if nothing is known of what the model reads, or its task has no words of this length.
    """
    budget = started(budget)
    words = _words(subject, length, seed) if word is None else word.expand(2, -1).contiguous()
    model = subject.model
    with _threads(1), torch.no_grad():
        plain = torch.cat([model(row, None)[0] for row in _rows(words)])
    ways = []
    for way, read in _ways(model, words, steps=is_stateful(model)):
        try:
            budget.check_time()
            with torch.no_grad(), budget.running():
                ways.append(_compared(way, plain, read()))
        except BudgetExceeded as stop:
            ways.append(WayOfReading(way=way, left_out=str(stop)))
        except InputError as problem:
            ways.append(WayOfReading(way=way, left_out=str(problem)))
    return SameBits(
        name=subject.name,
        dtype=dtype_name(plain.dtype),
        words=len(words),
        length=words.shape[1],
        ways=tuple(ways),
        proved=_proved(subject.model, folder),
    )


def _words(subject: LoadedNetwork, length: int | None, seed: int) -> Tensor:
    if length is not None:
        return draw_probe(subject, count=WORDS, length=length, seed=seed).inputs
    try:
        return draw_probe(subject, count=WORDS, length=LENGTH, seed=seed).inputs
    except InputError:
        return draw_probe(subject, count=WORDS, seed=seed).inputs


def _ways(model: nn.Module, words: Tensor, *, steps: bool) -> Iterator[tuple[str, Callable[[], Tensor]]]:
    """The ways to read words, each with what does it on one thread unless it says otherwise."""
    if steps:
        yield "letter by letter", lambda: _alone(words, lambda row: _stepped(model, row))
    for size in CHUNKS if steps else ():
        if size < words.shape[1]:
            name = f"in chunks of {size}" if size > 1 else "in chunks of one letter"
            yield name, lambda size=size: _alone(words, lambda row: _chunked(model, row, size))  # type: ignore[misc]
    yield f"{len(words)} words in a batch", lambda: _on(1, lambda: model(words, None)[0])
    if words.shape[1] > 1:
        yield "as the first half of a word", lambda: _alone(words, lambda row: _halved(model, row))
    for count in THREADS:
        yield (
            f"on {count} threads",
            lambda count=count: torch.cat(  # type: ignore[misc]
                [_on(count, lambda row=row: model(row, None)[0]) for row in _rows(words)]  # type: ignore[misc]
            ),
        )


def _rows(words: Tensor) -> list[Tensor]:
    return [words[i : i + 1] for i in range(len(words))]


def _alone(words: Tensor, read: Callable[[Tensor], Tensor]) -> Tensor:
    """The scores of words that are read one after the other, on one thread."""
    return torch.cat([_on(1, lambda row=row: read(row)) for row in _rows(words)])  # type: ignore[misc]


def _stepped(model: Any, row: Tensor) -> Tensor:
    state, scores = model.initial_state(1), []
    for letter in row.unbind(1):
        score, state = model.step(letter, state)
        scores.append(score)
    return torch.stack(scores, dim=1)


def _chunked(model: nn.Module, row: Tensor, size: int) -> Tensor:
    state, scores = None, []
    for part in [row[:, i : i + size] for i in range(0, row.shape[1], size)]:
        score, state = model(part, state)
        scores.append(score)
    return torch.cat(scores, dim=1)


def _halved(model: nn.Module, row: Tensor) -> Tensor:
    """The scores of the first half as read alone; behind them those of the whole word."""
    half = row.shape[1] // 2
    return torch.cat([model(row[:, :half], None)[0], model(row, None)[0][:, half:]], dim=1)


def _on(threads: int, work: Callable[[], Tensor]) -> Tensor:
    with _threads(threads):
        return work()


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _compared(way: str, plain: Tensor, found: Tensor) -> WayOfReading:
    """The first place at which the scores (words, time, outputs) of a way have other bits."""
    differs = (_bytes(plain) != _bytes(found)).any(-1)
    if not differs.any():
        return WayOfReading(way=way)
    positions = differs.any(-1)
    first = int(positions.any(0).nonzero()[0])
    return WayOfReading(
        way=way,
        position=first + 1,
        word=int(positions[:, first].nonzero()[0]) + 1,
        share=differs.double().mean().item(),
        largest=((plain - found).abs().max() / plain.abs().max().clamp_min(1e-300)).item(),
    )


def _bytes(scores: Tensor) -> Tensor:
    """The bytes of each score, on an axis of their own."""
    flat = scores.detach().cpu().contiguous()
    return flat.view(torch.uint8).reshape(*flat.shape, -1)


def _proved(model: nn.Module, folder: Path | None) -> str:
    """The method of the claim "any evaluation order" in the certificate of a compiled network."""
    if not isinstance(model, CompiledModel) or folder is None or not (folder / CERTIFICATE_FILE).exists():
        return ""
    claims = read_certificate(folder / CERTIFICATE_FILE).claims
    dtype = dtype_name(model.dtype)
    return next((c.method for c in claims if c.scope == ANY_ORDER and c.dtype == dtype), "")
