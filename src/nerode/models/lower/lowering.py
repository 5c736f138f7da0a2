"""The lowerings of a language: weights of an architecture, each with the network that they are made from.

A lowering is a way to make the weights. The whole model as published is written from the cascade of a
star-free network, where there is a construction. Layers in the zoo's surroundings do not see their state
before the letter: where there is a convolution, it remembers that state; elsewhere cascades keep it by
retentive overwrites. For these each format first gets the gate that forgets soonest, so that the model has
few states in it and a closure can list them all, and then the usual one, which tolerates more rounding.

Weights are compared with the network that explains them on all short words, which is a test and no proof.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from nerode.compiler import CONSTRUCTIONS, Options, Program, compile_program, language_facts
from nerode.core import Budget, BudgetExceeded, InputError, NotCompilable, plural, started
from nerode.languages import Language, Legal, with_powers
from nerode.models.base import State
from nerode.models.folder import dtype_of
from nerode.models.lower.assembly import network_to_architecture, remembers
from nerode.models.lower.heads import TARGETS
from nerode.models.lower.published_blocks import (
    PUBLISHED_CONSTRUCTION,
    has_published,
    program_to_published,
    require_published,
)
from nerode.models.model import Model
from nerode.models.native.calls import fixed_bits
from nerode.models.network_module.decoder import legal_table
from nerode.models.zoo import find_kind
from nerode.network import Interpreter, LogitDecoder, Network, NetworkState
from nerode.verdict import Facts, find_architecture, householder

BlockStyle = Literal["published", "zoo"]
"""What is around the layers: the whole model as published, or the zoo's ReLU maps and learned start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowered:
    """Weights of an architecture and the program that they are made from.

    Attributes:
        program: its network explains the weights.
        model: its claims are still to be found.
        block: "published" or "zoo".
    """

    program: Program
    model: Model
    block: BlockStyle


def lower(program: Program, *, block: BlockStyle, dtype: torch.dtype = torch.float32) -> Lowered:
    """Returns the weights of a program's target.

    Raises:
        UnknownName: if the zoo has no such architecture.
        NotCompilable: with the reason, if the architecture cannot carry the network.
        InputError: for a type that is too narrow for the weights.
    """
    if block == "published":
        model = program_to_published(program, dtype=dtype)
    else:
        model = network_to_architecture(program.network, program.network.target, dtype=dtype)
    return Lowered(program=program, model=model, block=block)


def lowerings(
    language: Language,
    to: str,
    options: Options | None = None,
    *,
    dtype: torch.dtype = torch.float32,
    block: BlockStyle | None = None,
    facts: Facts | None = None,
) -> Iterator[Lowered | NotCompilable]:
    """Yields models of an architecture whose weights do a language, the best way first.

    Each model is read on a few words of the language; that is no proof. A way that fails yields the reason,
    and the word if there is one.

    Args:
        language: what it should do.
        to: a name of the zoo that the compiler knows as a target.
        options: the user's choices for the network; ways to show a state that they leave open are tried.
        dtype: the type of the weights.
        block: the only surroundings to try; None for the published ones and then the zoo's.
        facts: what is known about the language; computed when None.

    Raises:
        UnknownName: if there is no such architecture.
    """
    to, options = to.lower(), options or Options()
    if to not in TARGETS:
        find_kind(to)
    facts = facts or language_facts(language, started(options.budget))
    seen: list[Network] = []
    for style, way in _ways(to, dtype, options, block):
        try:
            if style == "published":
                require_published(to)
            program = compile_program(language, to, replace(way, budget=started(options.budget)), facts=facts)
            if style == "zoo" and program.network in seen:
                continue
            seen += [program.network] if style == "zoo" else []
            lowered = _lowered(program, style, dtype)
        except NotCompilable as refusal:
            yield _shortened(refusal, to)
        except BudgetExceeded as stop:
            yield NotCompilable(to, [str(stop)])
        else:
            error = failing_word(lowered, language)
            yield lowered if error is None else _refused(lowered, language, error)


def _lowered(program: Program, block: BlockStyle, dtype: torch.dtype) -> Lowered:
    """The weights of a program; a type that is too narrow for them is a refusal, since others may do."""
    try:
        return lower(program, block=block, dtype=dtype)
    except InputError as problem:
        raise NotCompilable(program.network.target, [str(problem)]) from None


def main_refusal(refusals: Sequence[NotCompilable]) -> NotCompilable:
    """Returns the refusal that says most: a theorem's, or a carrier's, or the compiler's, or the only one."""
    possible = [refusal for refusal in refusals if refusal.impossible]
    # The first refusal of an architecture with a published model is about that.
    networks = refusals[1:] if has_published(refusals[0].target) else refusals
    carried = [refusal for refusal in networks if not refusal.tried]
    return (possible or carried or networks or refusals)[0]


def _shortened(refusal: NotCompilable, architecture: str) -> NotCompilable:
    """A refusal of the compiler without the constructions that are for other languages."""
    if refusal.impossible or not refusal.tried:
        return refusal
    names: dict[str, list[str]] = {}
    for name, reason in refusal.tried.items():
        names.setdefault(reason, []).append(name)
    reasons = [f"{reason} ({', '.join(found)})" for reason, found in names.items()]
    if architecture not in TARGETS and not remembers(architecture):
        reasons[-1] += (
            f". The layer of {architecture} shows its state after the letter only; take an architecture with "
            "a short convolution, such as mamba-signed or deltanet-signed, or write the network alone with "
            "--to CLASS"
        )
    return NotCompilable(refusal.target, reasons, tried=refusal.tried)


def _refused(lowered: Lowered, language: Language, error: Sequence[int]) -> NotCompilable:
    """The refusal of a model that is wrong on a word."""
    dtype = dtype_of(lowered.model)
    shown = with_powers([language.alphabet.symbols[letter] for letter in error])
    reason = f"its roundings in {dtype} give a wrong answer after {plural(len(error), 'letter')} ({shown})"
    return NotCompilable(
        lowered.program.network.target,
        [reason + _in_float64(lowered, language)],
        word=shown,
    )


def _in_float64(lowered: Lowered, language: Language) -> str:
    """The end of a sentence: whether the widest type would do on the same words."""
    if dtype_of(lowered.model) == "float64":
        return "; no type here is wide enough"
    try:
        wide = lower(lowered.program, block=lowered.block, dtype=torch.float64)
    except (NotCompilable, InputError):
        return ""
    error = failing_word(wide, language)
    if error is None:
        return "; float64 gives none on these words: use --dtype float64"
    return f", in float64 after {len(error):,}; no type here is wide enough"


_DIGITS = {torch.float64: 24, torch.float32: 11, torch.bfloat16: 4, torch.float16: 5}
"""Binary places of a retentive overwrite: the format holds the value before the last, and little more."""


def _ways(
    architecture: str, dtype: torch.dtype, options: Options, block: BlockStyle | None
) -> list[tuple[BlockStyle, Options]]:
    """Surroundings and options, the published ones first, then those with the fewest float states.

    Reflections by whole numbers come before all others: floats do not round them.
    """
    found: list[tuple[BlockStyle, Options]] = []
    # Networks for valid prefixes are smaller than cascades, which published models are written from.
    if block == "published" or (block is None and not options.predicts and has_published(architecture)):
        found.append(
            ("published", replace(options, construction=options.construction or PUBLISHED_CONSTRUCTION))
        )
    if block == "published":
        return found
    if architecture in TARGETS:
        return [*found, ("zoo", options)]
    plain = replace(options, exclusive_scan=False)
    ways = [plain]
    if options.retention == Options().retention:
        ways.insert(0, replace(plain, retention=Fraction(1, 2 ** _DIGITS.get(dtype, 2))))
    if remembers(architecture) and options.exclusive_scan:
        ways = [options, replace(options, sign_resets=False), *ways]
    if householder(find_architecture(architecture).properties):
        ways = [replace(ways[0], exact_floats=True), *ways]
    return [*found, *(("zoo", way) for way in ways)]


_WORDS, _LENGTH = 4, 256


@torch.no_grad()
def failing_word(lowered: Lowered, language: Language, *, seed: int = 0) -> tuple[int, ...] | None:
    """Returns a word of the language on which a model is wrong, None if it was right on a few.

    A network of distributions is not read: its scores are logits.
    """
    if isinstance(lowered.program.network.decoder, LogitDecoder):
        return None
    return first_error(lowered.model, language, seed=seed)


@torch.no_grad()
def first_error(model: Model, language: Language, *, seed: int = 0) -> tuple[int, ...] | None:
    """Returns a prefix of one of a few random words after which an answer is wrong, None if there is none.

    Args:
        model: its scores are above 1/2 where a symbol, or the end as the last one, may follow.
        language: what it should do.
        seed: of the letters.
    """
    for number in range(_WORDS):
        random = np.random.default_rng([seed, number])
        word: list[int] = []
        expected: list[Legal] = []
        configuration = language.initial()
        while len(word) < _LENGTH and (choices := sorted(language.legal(configuration).symbols)):
            word.append(int(random.choice(choices)))
            configuration = language.advance(configuration, word[-1])
            expected.append(language.legal(configuration))
        if not word:
            return None
        scores, _ = model(torch.tensor([word]))
        wrong = ((scores[0] > 0.5) != legal_table(expected, len(language.alphabet))).any(-1).nonzero()
        if len(wrong):
            return tuple(word[: int(wrong[0]) + 1])
    return None


LENGTH = 8
"""Words up to this length are read."""

MOST_WORDS = 20_000
"""Words that are read, in shortlex order; those that lead to known states are not."""

_BATCH = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The outcome of a comparison of weights with their network.

    Attributes:
        words: how many words were compared; the empty one counts where both answer it.
        length: all words up to this length are among them.
        word: the first word on which the answers differ; None if there is none.
    """

    words: int
    length: int
    word: tuple[int, ...] | None = None

    def __str__(self) -> str:
        return f"same answers on all words to length {self.length}" if self.length else "compared on no word"


@dataclass(slots=True)
class _Level:
    """Words of one length in shortlex order, with the states of both after each, and the answers.

    Words with the same states, bit for bit, have the same future: the first stands for all of them, and
    `counts` says how many they are.
    """

    words: list[tuple[int, ...]]
    counts: list[int]
    exact: list[NetworkState]
    state: State
    answers: list[Legal]

    def add(self, part: _Level, known: dict[tuple[NetworkState, bytes], int]) -> None:
        """Adds later words of the same length."""
        fresh = []
        for row, states in enumerate(zip(part.exact, _bits(part.state), strict=True)):
            at = known.setdefault(states, len(self.counts))
            if at < len(self.counts):
                self.counts[at] += part.counts[row]
            else:
                fresh.append(row)
                self.counts.append(part.counts[row])
        self.words += [part.words[row] for row in fresh]
        self.exact += [part.exact[row] for row in fresh]
        self.answers += [part.answers[row] for row in fresh]
        self.state = _joined(self.state, {name: value[fresh] for name, value in part.state.items()})


@fixed_bits(1)
@torch.no_grad()
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
    empty = model.empty_scores()
    if empty is not None:
        if not _agrees(empty[None], [network.decoder.empty]).all():
            return Explanation(words=0, length=0, word=())
        read = 1
    made_by = CONSTRUCTIONS.get(network.origin.construction)
    predicts = made_by is not None and made_by.predicts_only
    level = _Level([()], [1], [interpreter.start()], model.initial_state(1), [network.decoder.empty])
    compared = read
    for reached in range(length):
        following, known = _Level([], [], [], {}, []), dict[tuple[NetworkState, bytes], int]()
        for part, scores in _next_level(level, interpreter, model, most - read, predicts=predicts):
            wrong = (~_agrees(scores, part.answers)).nonzero()
            if len(wrong):
                return Explanation(words=compared, length=reached, word=part.words[int(wrong[0])])
            read += len(part.words)
            compared += sum(part.counts)
            following.add(part, known)
            if budget.elapsed() > budget.seconds:
                return Explanation(words=compared, length=reached)
        if read >= most or not following.words:
            return Explanation(words=compared, length=reached)
        level = following
    return Explanation(words=compared, length=length)


def _next_level(
    level: _Level, interpreter: Interpreter, model: Model, most: int, *, predicts: bool
) -> Iterator[tuple[_Level, Tensor]]:
    """Yields the words that are one letter longer, in batches, with their scores.

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
        after, answers = [after for after, _ in stepped], [answer.legal for _, answer in stepped]
        yield _Level(words, [level.counts[row] for row, _ in part], after, state, answers), scores


def _agrees(scores: Tensor, answers: list[Legal]) -> Tensor:
    """Whether the scores of each row mean the answer; scores that are not finite mean none."""
    same = ((scores > 0.5) == legal_table(answers, scores.shape[-1] - 1)).all(-1)
    return same & torch.isfinite(scores).all(-1)


def _joined(state: State, more: State) -> State:
    return {name: torch.cat([state[name], value]) for name, value in more.items()} if state else more


def _bits(state: State) -> list[bytes]:
    """The bits of each row of a state, which has at least one part."""
    parts = [state[name].contiguous() for name in sorted(state) if state[name].numel()]
    rows = [part.reshape(len(part), -1).view(torch.uint8) for part in parts]
    return [row.numpy().tobytes() for row in torch.cat(rows, dim=1)]
