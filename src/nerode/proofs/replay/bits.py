"""Replaying a certificate in floats against the module, by a program that shares no code with the search.

The evidence numbers the joint states and says where each letter leads. Nothing is searched here: every listed
transition is computed by the module. The first that leads to a number gives the bits that it stands for; all
others must come to the same bits, and the answer must be that of the question. What is listed is enough if it
holds the start and is closed under the letters. A score that is not a finite number is no answer.

The module is asked in batches of each size that the evidence names. In a batch of one there is nothing
beside the word; in larger ones it is taken for granted, and said in the claim, that a row depends neither on
the other rows nor on its place. Rows that a batch has to spare test that: transitions stand in several of
them, and every row is compared.

Two more things are taken for granted: that a step depends on nothing but the letter and the state, and that
it does not matter how a state lies in memory. Torch may compute a tensor with gaps by other instructions
than a contiguous one, so some runs with the module's own tensors are compared with the list, too: a test.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

import torch
from torch import Tensor, nn

from nerode.core import Budget, InputError, started
from nerode.kernel import Certificate, Claim, Failure, first_not_implied, language_claim
from nerode.languages import Language, Legal, Question, asked_of, language_hash, legal_bits
from nerode.proofs.replay.listing import Listed, fingerprint, read_listing

METHOD = "bit-closure"

_ALONE, _TOGETHER = 100, 25
"""Letters of a run with the module's own tensors: of a single word, and of each word of a batch."""

NOT_EMPTY = " The empty prefix, where no letter has been read, is not covered."
"""The end of a claim about a module that answers after letters only."""

MOST_BYTES = 1_000_000_000
"""Bytes of all states together, which a replay holds in memory."""

_FORMATS = {
    torch.float64: "float64",
    torch.complex128: "float64",
    torch.float32: "float32",
    torch.complex64: "float32",
    torch.bfloat16: "bfloat16",
    torch.float16: "float16",
}


class Stepping(Protocol):
    """The interface of a module that is replayed."""

    def initial_state(self, batch: int) -> dict[str, Tensor]:
        """Returns the state before the first letter."""
        ...

    def step(self, x: Tensor, state: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        """Returns the scores after the letters, and the state after them."""
        ...


def recheck(
    module: Stepping,
    asked: Language | Question,
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
        asked: the question, or a language that is asked about by the task of the evidence.
        certificate: claims with the evidence of this method only.
        decode: how scores are read: as bits, where every score has to be a finite number, or as 0 and 1 with
            2 in rows that cannot be read; None takes the module's own `legal`, or "above 1/2" if it has none.
        empty: what the module says about the empty prefix, if the certificate covers it.
        network: the SHA-256 of the network that the module was made from; None for that of its weights.
        budget: limits the time.

    Raises:
        BudgetExceeded: if the time is up before every transition has been replayed.
    """
    sha = asked.hash if isinstance(asked, Question) else language_hash(asked)
    if foreign := _foreign(certificate, METHOD, sha, network or fingerprint(module)):
        return foreign
    read = decode or getattr(module, "legal", None) or (lambda scores: scores > 0.5)
    try:
        listed = read_listing(certificate.evidence[METHOD], len(asked.alphabet))
        question = asked_of(asked, listed.task)
        failure = _fits(module, listed) or _check_empty(question, listed, empty)
        if failure is None:
            table = _StateTable(module, listed)
            failure = _replay(module, question, listed, table, read, started(budget))
            if failure is None:
                failure = _walk(module, question, listed, table)
    except InputError as error:
        return Failure(what=str(error), entry=f"evidence.{METHOD}")
    return failure or first_not_implied(certificate.claims, [_shown(listed)])


def find_foreign(certificate: Certificate, method: str, language: Language, network: str) -> Failure | None:
    """Returns why a certificate is not about this language and network by this method, None if it is."""
    return _foreign(certificate, method, language_hash(language), network)


def _foreign(certificate: Certificate, method: str, language: str, network: str) -> Failure | None:
    if certificate.language != language:
        return Failure(what="the certificate is for another language", entry="language")
    if certificate.network != network:
        return Failure(what="the certificate is for another network", entry="network")
    if set(certificate.evidence) != {method}:
        return Failure(what=f"the evidence is not that of {method} alone", entry="evidence")
    return None


def _fits(module: Stepping, listed: Listed) -> Failure | None:
    """The reason why the evidence is not about this module; its start is compared, too."""
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
    if _holds_nan(start):
        return Failure(
            what="the module's state holds a NaN at the start", entry=f"evidence.{METHOD}.moves[0]"
        )
    first = _bits(start, 1).numpy().tobytes()
    if len(first) * len(listed.moves) > MOST_BYTES:
        what = f"its {len(listed.moves):,} states of {len(first):,} bytes are more than {MOST_BYTES:,} bytes"
        return Failure(what=what, entry=f"evidence.{METHOD}.moves")
    return None


def _check_empty(question: Question, listed: Listed, empty: Legal | None) -> Failure | None:
    if not listed.covers_empty:
        return None
    if empty is None:
        return Failure(
            what="the module says nothing about the empty prefix", entry=f"evidence.{METHOD}.empty"
        )
    got, at = legal_bits(empty, len(question.alphabet)), question.initial()
    differs = zip(question.expected(at), got, question.asked(at), strict=True)
    if not any(counts and bit != wanted for wanted, bit, counts in differs):
        return None
    return _wrong_answer(question, (), at, got)


Transition = tuple[int, int, int, Hashable]
"""From a state, by a letter, to a state, and the configuration of the question there."""


class _StateTable:
    """The bits of the states, one row each, and which of them are known.

    The start is known; the others are learned from the module.
    """

    def __init__(self, module: Stepping, listed: Listed) -> None:
        first = _bits(module.initial_state(1), 1)
        self.rows = first.repeat(len(listed.moves), 1)
        self.known = torch.zeros(len(listed.moves), dtype=torch.bool)
        self.known[0] = True

    def with_known_sources(self, transitions: list[Transition]) -> list[Transition]:
        """Returns the first transitions, up to one from a state that is yet to be learned.

        That of the first is known: every state is led to by a transition that stands before its own.
        """
        unknown = (~self.known[[transition[0] for transition in transitions]]).nonzero().flatten()
        return transitions[: int(unknown[0])] if len(unknown) else transitions

    def compare(self, numbers: Tensor, bits: Tensor) -> Tensor:
        """Returns where bits are others than those of the numbered states; new numbers are learned first."""
        new = (~self.known[numbers]).nonzero().flatten()
        self.rows[numbers[new]] = bits[new]  # of several rows for one number any will do: all are compared
        self.known[numbers] = True
        return (bits != self.rows[numbers]).any(1)


def _replay(
    module: Stepping,
    question: Question,
    listed: Listed,
    table: _StateTable,
    read: Callable[[Tensor], Tensor],
    budget: Budget,
) -> Failure | None:
    """Computes every listed transition, in batches of every listed size."""
    transitions = list(_transitions(question, listed))
    for batch in listed.batches:
        first = 0
        while first < len(transitions):
            budget.check_time(transitions_replayed=first, transitions=len(transitions), batch=batch)
            some = table.with_known_sources(transitions[first : first + batch])
            failure = _replay_some(module, question, listed, table, read, some, batch)
            if failure is not None:
                return failure
            first += len(some)
    return None


def _transitions(question: Question, listed: Listed) -> Iterator[Transition]:
    """Walks over the listed moves in order, and over the question with them.

    Every state must have been reached by an earlier one, so that the question's configuration there is
    known; all ways to it must agree about that. Depths never decrease along the list, so that the first
    way to a state is a shortest one.

    Raises:
        InputError: if the list is not closed under the letters, or its order is another.
    """
    configurations: list[Hashable] = [None] * len(listed.moves)
    depths = [-1] * len(listed.moves)
    configurations[0], depths[0] = question.initial(), 0
    for i, row in enumerate(listed.moves):
        if depths[i] < 0 or (i and depths[i] < depths[i - 1]):
            raise InputError(f"the state {i} is not listed in the order of its shortest words")
        inside = listed.length is None or depths[i] < listed.length
        letters = question.letters(configurations[i])
        for letter, target in enumerate(row):
            if not inside or letter not in letters:
                if target != -1:
                    raise InputError(f"the state {i} has a move where no letter is read")
                continue
            if target == -1:
                raise InputError(f"the state {i} lacks the move of {question.alphabet.symbols[letter]!r}")
            reached = question.advance(configurations[i], letter)
            if depths[target] < 0:
                configurations[target], depths[target] = reached, depths[i] + 1
            elif configurations[target] != reached:
                raise InputError(f"the state {target} stands for two configurations of the question")
            yield i, letter, target, reached


def _replay_some(
    module: Stepping,
    question: Question,
    listed: Listed,
    table: _StateTable,
    read: Callable[[Tensor], Tensor],
    transitions: Sequence[Transition],
    batch: int,
) -> Failure | None:
    filled = list(itertools.islice(itertools.cycle(transitions), batch))
    sources, letters, targets, reached = zip(*filled, strict=True)
    with torch.no_grad():
        scores, after = module.step(torch.tensor(letters), _state(listed, table.rows[list(sources)]))
        got, expected = read(scores), torch.tensor([question.expected(at) for at in reached])
        asked = torch.tensor([question.asked(at) for at in reached])
        readable = scores.isfinite().all(-1)
        if got.dtype == torch.int8:
            readable, got = (got <= 1).all(-1), got == 1
    if got.shape != expected.shape or got.dtype != torch.bool:
        what = f"the scores decode to {got.dtype} of shape {tuple(got.shape)}"
        return Failure(what=what, entry=f"evidence.{METHOD}.module")
    if _holds_nan(after):
        what = f"after one of the states from {filled[0][0]} on the module's state holds a NaN"
        return Failure(what=what, entry=f"evidence.{METHOD}.moves")
    differs = table.compare(torch.tensor(targets), _bits(after, batch))
    wrong = (((got != expected) | ~readable[:, None]) & asked).any(1)
    for row in (wrong | differs).nonzero().flatten().tolist():
        i, letter, target, at = filled[row]
        if wrong[row]:
            given = got[row].tolist() if readable[row] else None
            return _wrong_answer(question, (*_word(listed, i), letter), at, given)
        if differs[row]:
            name = question.alphabet.symbols[letter]
            what = (
                f"{name!r} leads the module from the state {i} to other bits than those of the state {target}"
            )
            return Failure(what=f"{what}, in batches of {batch}", entry=f"evidence.{METHOD}.moves[{i}]")
    return None


def _walk(module: Stepping, question: Question, listed: Listed, table: _StateTable) -> Failure | None:
    """Runs the module on random letters, handing on its own tensors, and follows the list beside it.

    There is a run in batches of each size that the evidence names; each row of a batch goes its own way.
    """
    choose = random.Random(0)
    for batch in listed.batches:
        with torch.no_grad():
            state, numbers = module.initial_state(batch), [0] * batch
            for _ in range(_ALONE if batch == 1 else _TOGETHER):
                open_letters = [[a for a, to in enumerate(listed.moves[i]) if to >= 0] for i in numbers]
                if not all(open_letters):
                    break
                letters = [choose.choice(some) for some in open_letters]
                _, state = module.step(torch.tensor(letters), state)
                before = numbers
                numbers = [listed.moves[i][a] for i, a in zip(before, letters, strict=True)]
                differs = (_bits(state, batch) != table.rows[numbers]).any(1)
                if differs.any():
                    row = int(differs.nonzero()[0])
                    name, source = question.alphabet.symbols[letters[row]], before[row]
                    what = f"a run comes by {name!r} from the state {source} to other bits than a replay"
                    return Failure(what=what, entry=f"evidence.{METHOD}.moves[{source}]")
    return None


def _wrong_answer(
    question: Question, word: Sequence[int], at: Hashable, got: Sequence[bool] | None
) -> Failure:
    found = question.refutation(word, at, got)
    return Failure(
        what=(
            f"after {question.alphabet.decode(word)} the module says {{{', '.join(found.got)}}}, expected is "
            f"{{{', '.join(found.expected)}}}"
        ),
        refutation=found,
    )


def _state(listed: Listed, rows: Tensor) -> dict[str, Tensor]:
    """The states with these bits as tensors."""
    state = {}
    first = 0
    for name, shape, dtype in listed.layout:
        kind = getattr(torch, dtype)
        size = torch.empty(shape, dtype=kind).nbytes
        part = rows[:, first : first + size].clone(memory_format=torch.contiguous_format)
        first += size
        flat = part.reshape(-1).view(kind) if size else torch.empty(0, dtype=kind)
        state[name] = flat.reshape(len(rows), *shape)
    return state


def _bits(state: dict[str, Tensor], batch: int) -> Tensor:
    """The bits of each word's state, its tensors in the order of their names."""
    parts = [torch.empty(batch, 0, dtype=torch.uint8)]
    for name in sorted(state):
        tensor = state[name].detach().cpu().resolve_conj().resolve_neg().contiguous()
        if tensor.nbytes:
            parts.append(tensor.reshape(-1).view(torch.uint8).reshape(batch, -1))
    return torch.cat(parts, dim=1)


def _holds_nan(state: dict[str, Tensor]) -> bool:
    """Whether the state has a NaN; NaNs have several bit patterns, so bits could not be compared."""
    return any(bool(tensor.isnan().any()) for tensor in state.values())


def _word(listed: Listed, state: int) -> tuple[int, ...]:
    """A shortest word that leads to a state, by the listed moves."""
    predecessor: dict[int, tuple[int, int]] = {}
    for i, row in enumerate(listed.moves):
        for letter, target in enumerate(row):
            if target > 0:
                predecessor.setdefault(target, (i, letter))
    word = []
    while state:
        state, letter = predecessor[state]
        word.append(letter)
    return tuple(reversed(word))


def _shown(listed: Listed) -> Claim:
    """The claim that a successful replay shows."""
    claim = language_claim(
        task=listed.task,
        method=METHOD,
        dtype=listed.dtype,
        order="rounded",
        length="all" if listed.length is None else listed.length,
    )
    return replace(claim, covers=claim.covers + limits(listed.batches, covers_empty=listed.covers_empty))


def covers_single_words(certificate: Certificate) -> bool:
    """Whether a certificate covers words that are read alone; in a batch the roundings may be others."""
    listed = certificate.evidence.get(METHOD)
    return listed is None or 1 in listed["batches"]


def limits(batches: Sequence[int], *, covers_empty: bool) -> str:
    """Returns what a claim says about its limits."""
    said = f" Words were read in batches of {' and of '.join(f'{size:,}' for size in batches)}."
    if max(batches) > 1:
        said += (
            " Of a batch it is taken for granted that what a word gives depends neither on the other words "
            "nor on its row."
        )
    return said if covers_empty else said + NOT_EMPTY
