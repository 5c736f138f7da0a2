"""Replaying a certificate in floats against the module, by a program that shares no code with the search.

The evidence lists the bits of every joint state and where each letter leads. Nothing is searched here: every
listed transition is computed again by the module, and the listed bits and the language's answer are compared
with what comes out. What is listed is enough if it holds the start and is closed under the letters.

The module is asked in batches of each size that the evidence names. In a batch of one there is nothing
beside the word; in larger ones it is taken for granted that a row does not depend on the other rows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from nerode.certificates.certificate import VALID_PREFIXES, Certificate, Claim, language_claim
from nerode.certificates.checker_problem import (
    LANGUAGE_TASKS,
    Failure,
    agrees,
    refuse_unless_implied,
    refute,
)
from nerode.certificates.floats.arithmetic import fingerprint
from nerode.core.budget import Budget
from nerode.core.errors import InputError
from nerode.languages.description import language_hash
from nerode.languages.language import Language, Legal

Json = Any
METHOD = "bit-closure"
NO_EMPTY = " The empty prefix, where no letter has been read, is not covered."

KEYS = ("arithmetic", "batches", "dtype", "empty", "layout", "length", "module", "moves", "states", "task")


_FORMATS = {
    torch.float64: "float64",
    torch.complex128: "float64",
    torch.float32: "float32",
    torch.complex64: "float32",
    torch.bfloat16: "bfloat16",
    torch.float16: "float16",
}


class Stepping(Protocol):
    """What is replayed."""

    def initial_state(self, batch: int) -> dict[str, Tensor]:
        """Returns the state before the first letter."""
        ...

    def step(self, x: Tensor, state: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        """Returns the scores after the letters, and the state after them."""
        ...


def recheck(
    module: Stepping,
    language: Language,
    certificate: Certificate,
    *,
    decode: Callable[[Tensor], Tensor] | None = None,
    empty: Legal | None = None,
    network: str | None = None,
    budget: Budget | None = None,
) -> Failure | None:
    """Returns why a certificate of bit closure does not hold for a module, None if it holds.

    Args:
        module: the module, in the dtype of the certificate.
        language: what it should do.
        certificate: claims with the evidence of this method only.
        decode: how scores are read; None takes the module's own `legal`, or "above 1/2" if it has none.
        empty: what the module says about the empty prefix, if the certificate covers it.
        network: the SHA-256 of the network that the module was made from; None for that of its weights.
        budget: limits the time.

    Raises:
        BudgetExceeded: if the time is up before every transition has been replayed.
    """
    if certificate.language != language_hash(language):
        return Failure(what="the certificate is for another language", entry="language")
    if certificate.network != (network or fingerprint(module)):
        return Failure(what="the certificate is for another network", entry="network")
    if set(certificate.evidence) != {METHOD}:
        return Failure(what=f"the evidence is not that of {METHOD} alone", entry="evidence")
    read = decode or getattr(module, "legal", None) or (lambda scores: scores > 0.5)
    try:
        listed = _read(certificate.evidence[METHOD], len(language.alphabet))
        failure = _fits(module, listed) or _check_empty(language, listed, empty)
        if failure is None:
            failure = _replay(module, language, listed, read, budget or Budget())
    except InputError as error:
        return Failure(what=str(error), entry=f"evidence.{METHOD}")
    return failure or refuse_unless_implied(certificate.claims, [_shown(listed)])


@dataclass(frozen=True, kw_only=True)
class _Listed:
    """The evidence, read and found well-formed."""

    task: str
    dtype: str
    length: int | None
    covers_empty: bool
    module: str
    batches: tuple[int, ...]
    layout: tuple[tuple[str, tuple[int, ...], str], ...]
    states: tuple[bytes, ...]
    moves: tuple[tuple[int, ...], ...]


def _read(evidence: Json, letters: int) -> _Listed:
    """Returns the evidence, or raises InputError for what does not make sense."""
    if not isinstance(evidence, dict) or set(evidence) != set(KEYS):
        raise InputError(f"the evidence has not the keys {', '.join(KEYS)}")
    length, states, moves = evidence["length"], evidence["states"], evidence["moves"]
    if length != "all" and (type(length) is not int or length < 0):
        raise InputError(f"the evidence speaks of the length {str(length)[:40]!r}")
    if evidence["task"] not in LANGUAGE_TASKS or type(evidence["empty"]) is not bool:
        raise InputError(f"the evidence speaks of the task {str(evidence['task'])[:40]!r}")
    if not isinstance(states, list) or not isinstance(moves, list) or not 0 < len(states) == len(moves):
        raise InputError("the evidence has not one row of moves for each of its states")
    batches = evidence["batches"]
    if not isinstance(batches, list) or not batches or any(type(b) is not int or b < 1 for b in batches):
        raise InputError("the evidence does not say in which batches it was computed")
    for row in moves:
        if not isinstance(row, list) or len(row) != letters:
            raise InputError(f"a row of moves has not {letters} entries")
        if any(type(target) is not int or not -1 <= target < len(states) for target in row):
            raise InputError("a move leads to a state that is not listed")
    try:
        bits = tuple(bytes.fromhex(state) for state in states)
        layout = tuple((str(n), tuple(map(int, shape)), str(d)) for n, shape, d in evidence["layout"])
    except (TypeError, ValueError):
        raise InputError("the states or their layout are not written as they should be") from None
    return _Listed(
        task=evidence["task"],
        dtype=str(evidence["dtype"]),
        length=None if length == "all" else length,
        covers_empty=evidence["empty"],
        module=str(evidence["module"]),
        batches=tuple(batches),
        layout=layout,
        states=bits,
        moves=tuple(map(tuple, moves)),
    )


def _fits(module: Stepping, listed: _Listed) -> Failure | None:
    """Why the evidence is not about this module; its start is among what is compared."""
    found = fingerprint(module)
    if found != listed.module:
        what = f"the certificate is for another module: its SHA-256 is {found}, not {listed.module[:64]}"
        return Failure(what=what, entry=f"evidence.{METHOD}.module")
    with torch.no_grad():
        start = module.initial_state(1)
    layout = tuple(
        (name, tuple(start[name].shape[1:]), str(start[name].dtype).removeprefix("torch."))
        for name in sorted(start)
    )
    if layout != listed.layout:
        return Failure(what="the module has a state of another form", entry=f"evidence.{METHOD}.layout")
    weights = list(module.parameters()) if isinstance(module, nn.Module) else []
    formats = {_FORMATS.get(t.dtype) for t in weights or start.values()} - {None}
    if formats != {listed.dtype}:
        return Failure(
            what=f"the module does not compute in {listed.dtype}", entry=f"evidence.{METHOD}.dtype"
        )
    if _bits(start, 1)[0] != listed.states[0]:
        return Failure(what="the module starts in another state", entry=f"evidence.{METHOD}.states[0]")
    return None


def _check_empty(language: Language, listed: _Listed, empty: Legal | None) -> Failure | None:
    if not listed.covers_empty:
        return None
    expected = language.legal(language.initial())
    if empty is None:
        return Failure(
            what="the module says nothing about the empty prefix", entry=f"evidence.{METHOD}.empty"
        )
    return None if agrees(listed.task, expected, empty) else refute(language.alphabet, (), expected, empty)


Transition = tuple[int, int, int, Legal]
"""From a state, by a letter, to a state, and what may follow there."""


def _replay(
    module: Stepping,
    language: Language,
    listed: _Listed,
    read: Callable[[Tensor], Tensor],
    budget: Budget,
) -> Failure | None:
    """Computes every listed transition again, in batches of every listed size."""
    transitions = list(_transitions(language, listed))
    for batch in listed.batches:
        for first in range(0, len(transitions), batch):
            budget.check_time(transitions_replayed=first, transitions=len(transitions), batch=batch)
            failure = _replay_some(module, language, listed, read, transitions[first : first + batch], batch)
            if failure is not None:
                return failure
    return None


def _transitions(language: Language, listed: _Listed) -> Iterator[Transition]:
    """Walks over the listed moves in order, and over the language with them.

    Every state must have been reached by an earlier one, so that the language's configuration there is
    known; all ways to it must agree about that. Depths never decrease along the list, so that the first
    way to a state is a shortest one.

    Raises:
        InputError: if the list is not closed under the letters, or its order is another.
    """
    legal = functools.cache(language.legal)
    configurations: list[Hashable] = [None] * len(listed.states)
    depths = [-1] * len(listed.states)
    configurations[0], depths[0] = language.initial(), 0
    for i, row in enumerate(listed.moves):
        if depths[i] < 0 or (i and depths[i] < depths[i - 1]):
            raise InputError(f"the state {i} is not listed in the order of its shortest words")
        inside = listed.length is None or depths[i] < listed.length
        symbols = legal(configurations[i]).symbols
        for letter, target in enumerate(row):
            if not inside or (listed.task == VALID_PREFIXES and letter not in symbols):
                if target != -1:
                    raise InputError(f"the state {i} has a move where no letter is read")
                continue
            if target == -1:
                raise InputError(f"the state {i} lacks the move of {language.alphabet.symbols[letter]!r}")
            reached = language.advance(configurations[i], letter)
            if depths[target] < 0:
                configurations[target], depths[target] = reached, depths[i] + 1
            elif configurations[target] != reached:
                raise InputError(f"the state {target} stands for two configurations of the language")
            yield i, letter, target, legal(reached)


def _replay_some(
    module: Stepping,
    language: Language,
    listed: _Listed,
    read: Callable[[Tensor], Tensor],
    transitions: Sequence[Transition],
    batch: int,
) -> Failure | None:
    filled = [*transitions, *[transitions[-1]] * (batch - len(transitions))]
    with torch.no_grad():
        letters = torch.tensor([letter for _, letter, _, _ in filled])
        scores, after = module.step(letters, _state(listed, [i for i, _, _, _ in filled]))
        answers = read(scores).tolist()
    for (i, letter, target, expected), flags, bits in zip(
        transitions, answers, _bits(after, batch), strict=False
    ):
        got = _legal(tuple(flags))
        if not agrees(listed.task, expected, got):
            return refute(language.alphabet, (*_word(listed, i), letter), expected, got)
        if bits != listed.states[target]:
            name = language.alphabet.symbols[letter]
            what = (
                f"{name!r} leads the module from the state {i} to other bits than those of the state {target}"
            )
            return Failure(what=f"{what}, in batches of {batch}", entry=f"evidence.{METHOD}.moves[{i}]")
    return None


@functools.lru_cache(maxsize=4096)
def _legal(flags: tuple[bool, ...]) -> Legal:
    return Legal(frozenset(a for a, legal in enumerate(flags[:-1]) if legal), flags[-1])


def _state(listed: _Listed, numbers: Sequence[int]) -> dict[str, Tensor]:
    """The listed states of these numbers as tensors."""
    state = {}
    first = 0
    for name, shape, dtype in listed.layout:
        kind = getattr(torch, dtype)
        size = torch.empty(shape, dtype=kind).nbytes
        joined = b"".join(listed.states[i][first : first + size] for i in numbers)
        first += size
        flat = torch.frombuffer(bytearray(joined), dtype=kind) if joined else torch.empty(0, dtype=kind)
        state[name] = flat.reshape(len(numbers), *shape)
    return state


def _bits(state: dict[str, Tensor], batch: int) -> list[bytes]:
    """The bits of each word's state, its tensors in the order of their names."""
    parts = []
    for name in sorted(state):
        tensor = state[name].detach().cpu().resolve_conj().resolve_neg().contiguous()
        size = tensor.nbytes // batch
        data = tensor.reshape(-1).view(torch.uint8).numpy().tobytes() if size else b""
        parts.append([data[k * size : (k + 1) * size] for k in range(batch)])
    return [b"".join(row) for row in zip(*parts, strict=True)] if parts else [b""] * batch


def _word(listed: _Listed, state: int) -> tuple[int, ...]:
    """A shortest word that leads to a state, by the listed moves."""
    came: dict[int, tuple[int, int]] = {}
    for i, row in enumerate(listed.moves):
        for letter, target in enumerate(row):
            if target > 0:
                came.setdefault(target, (i, letter))
    word = []
    while state:
        state, letter = came[state]
        word.append(letter)
    return tuple(reversed(word))


def _shown(listed: _Listed) -> Claim:
    """The claim that a successful replay shows."""
    claim = language_claim(
        task=listed.task,
        method=METHOD,
        dtype=listed.dtype,
        order="rounded",
        length="all" if listed.length is None else listed.length,
    )
    return claim if listed.covers_empty else replace(claim, covers=claim.covers + NO_EMPTY)
