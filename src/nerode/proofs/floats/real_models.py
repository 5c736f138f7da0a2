"""Models of real architectures that do a language: made, examined, written beside the network, replayed.

Proofs are looked for first, then long words are read; a model that fails comes with the letter at which it
does. A folder `model/` holds the weights and, per float format, the certificate that speaks of them: it names
the hash of the weights in that format, and a replay computes every listed step again.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from nerode.compiler import Options
from nerode.core import (
    Budget,
    InputError,
    NotCompilable,
    charge,
    plural,
)
from nerode.kernel import (
    LANGUAGE_TASKS,
    PREDICT,
    VALID_PREFIXES,
    Certificate,
    Failure,
    Refutation,
)
from nerode.languages import Language, Legal, asked_of
from nerode.models import (
    Model,
    State,
    dtype_of,
    fixed_bits,
    read_model,
    save_model,
)
from nerode.models.lower import BlockStyle, Lowered, is_decoder, lowerings, main_refusal, show_word
from nerode.network import LogitDecoder, Network
from nerode.proofs.find.closure import certify_module
from nerode.proofs.find.heads import certify_decoder, run_decoder
from nerode.proofs.floats.loops import search_loops
from nerode.proofs.floats.model_claims import SECONDS, certified, known, refuted, rest
from nerode.proofs.folder import MODEL_FOLDER, write_float_certificate
from nerode.proofs.replay.table import answer_on_empty_word
from nerode.proofs.runner import QuestionTable, above_half, as_legal, make_runner
from nerode.records import REFUTED, TESTED, ModelClaim, unexamined
from nerode.verdict import Facts

LONGEST = 100_000
"""Letters of the words that a real architecture is read on."""

LEAST = 10_000
"""Letters that are read however long it takes."""

CHUNK = 2_048
"""Letters that are read at once."""

OTHERS = ("bfloat16", "float16")
"""Formats in which a whole model is looked at, too: its weights have few bits."""


SHORT = 10_000
"""A model that is wrong after at most so many letters is refused."""


@dataclass(frozen=True, kw_only=True)
class RealModel:
    """A model of a real architecture with what is known of it.

    Attributes:
        lowered: the model, whose `claims` are complete, and the network that it was made from.
        certificates: the proofs that are listed state by state, one per float format.
    """

    lowered: Lowered
    certificates: tuple[Certificate, ...] = ()

    @property
    def model(self) -> Model:
        """The model."""
        return self.lowered.model

    @property
    def network(self) -> Network:
        """The exact network that explains the weights."""
        return self.lowered.program.network

    @property
    def wrong(self) -> int | None:
        """The number of letters after which an answer is wrong; None if none is known."""
        return next((c.length for c in self._refuting if isinstance(c.length, int)), None)

    @property
    def refusal(self) -> NotCompilable | None:
        """The refusal of a model that a known word of at most 10,000 letters refutes."""
        if self.wrong is None or self.wrong > SHORT:
            return None
        claim = self._refuting[0]
        reason = f"in {claim.dtype} it is wrong after {plural(self.wrong, 'letter')}, on {claim.word}"
        return NotCompilable(self.network.target, [reason], word=claim.word)

    @property
    def _refuting(self) -> list[ModelClaim]:
        return [claim for claim in self.model.claims if claim.scope == REFUTED]

    @property
    def reach(self) -> float:
        """The length up to which it is proved in the type of its weights."""
        proved = [c.length for c in self.model.claims if c.is_proof and c.dtype == dtype_of(self.model)]
        return max((float("inf") if n == "all" else float(n) for n in proved), default=0.0)

    @property
    def rank(self) -> tuple[bool, float, float]:
        """For comparisons: a model that is not known to fail, that is proved farther, that fails later."""
        return self.wrong is None, self.reach, self.wrong or 0


def load_architecture(
    language: Language,
    architecture: str,
    *,
    dtype: torch.dtype = torch.float32,
    facts: Facts | None = None,
    budget: Budget | None = None,
    seconds: float = SECONDS,
    surroundings: BlockStyle | None = None,
) -> Model:
    """Returns an ordinary model of an architecture whose weights do a language; `claims` says how far.

    It is the model that `nerode compile LANG --to ARCHITECTURE` writes. Several ways to write the weights are
    tried, those that floats do not round first. A model that fails on a word of at most 10,000 letters is
    refused; one that fails later comes with a warning.

    Args:
        language: what it should do.
        architecture: a name of the zoo that the compiler knows as a target.
        dtype: the type of its weights.
        facts: what is known about the language; computed when None.
        budget: limits of the compiler.
        seconds: CPU time for proofs and long words; with 0 the model is tried on a few words only.
        surroundings: "published" for the whole model as published, "zoo" for its layers between ReLU maps
            with a learned start; None for the first where there is a construction whose claims are no weaker.

    Raises:
        UnknownName: if there is no such architecture.
        NotCompilable: with all reasons, if the architecture cannot do the language or carry its network, or
            the format is too coarse for it; with the word, if there is one on which every way fails.
    """
    found = make_architecture(
        language,
        architecture,
        dtype=dtype,
        facts=facts,
        seconds=seconds,
        surroundings=surroundings,
        options=None if budget is None else Options(budget=budget),
    )
    if found.wrong is not None:
        warnings.warn(
            f"this {architecture} model of {language.name} is wrong in {dtype} after {found.wrong:,} "
            "letters; its claims say how far it is proved, and a wider type goes further",
            stacklevel=2,
        )
    return found.model


def make_architecture(
    language: Language,
    architecture: str,
    *,
    dtype: torch.dtype = torch.float32,
    facts: Facts | None = None,
    seconds: float = SECONDS,
    surroundings: BlockStyle | None = None,
    options: Options | None = None,
    longest: int = LONGEST,
    others: Sequence[str] = OTHERS,
) -> RealModel:
    """Returns what `load_architecture` returns, with its network and certificates.

    The arguments are those of `load_architecture`, the user's options for networks, how many letters of
    random words it is read on, and in which other formats a whole model is looked at.
    """
    if seconds < 0:
        raise InputError(f"{seconds} seconds for proofs; give 0 or more")
    ways = lowerings(language, architecture, options, dtype=dtype, block=surroundings, facts=facts)
    return choose_lowering(ways, language, seconds=seconds, longest=longest, others=others)


def choose_lowering(
    ways: Iterable[Lowered | NotCompilable],
    language: Language,
    *,
    seconds: float = SECONDS,
    longest: int = LONGEST,
    others: Sequence[str] = OTHERS,
) -> RealModel:
    """Returns the lowering of which most is proved, or the first of which nothing is known to be wrong.

    Raises:
        NotCompilable: if there is none, or a word of at most 10,000 letters refutes the best.
    """
    refusals: list[NotCompilable] = []
    best: RealModel | None = None
    for way in ways:
        if isinstance(way, NotCompilable):
            refusals.append(way)
            continue
        with fixed_bits(1):
            found = _examine(way, language, seconds, longest, others)
        if best is None or found.rank > best.rank:
            best = found
        # Of the zoo's ways the first that is not wrong is taken; a published model has to be proved.
        done = way.block == "zoo" or not seconds or best.reach == float("inf")
        if best.wrong is None and done:
            return best
    if best is None:
        raise main_refusal(refusals)
    if best.refusal is not None:
        raise best.refusal
    return best


def _examine(
    lowered: Lowered, language: Language, seconds: float, longest: int, others: Sequence[str]
) -> RealModel:
    """Looks for a proof or the shortest word that refutes, and reads long words."""
    model, network = lowered.model, lowered.program.network
    dtype = dtype_of(model)
    tried = "A few random words of the language were read."
    model.claims = (ModelClaim(scope=TESTED, says=tried, dtype=dtype, length=256),)
    found = RealModel(lowered=lowered)
    if isinstance(network.decoder, LogitDecoder):
        reason = f"The distributions of the model were not looked at in {dtype}."
        model.claims = (unexamined(reason, dtype=dtype),)
        return found
    if not seconds:
        return found
    budget = Budget(seconds=max(seconds, 1e-3)).start()
    if lowered.block == "published":
        return _examine_whole(found, language, longest, budget, others)
    if is_decoder(network):
        return _examine_heads(found, language, budget)
    exact = certified(network, language, rest(budget, 0.3))
    tasks = [] if isinstance(exact, Refutation) else [c.task for c in exact if c.task in LANGUAGE_TASKS]
    task = tasks[0] if tasks else None
    return _prove_and_read(found, language, task, longest, budget, 0.9)


def _examine_heads(found: RealModel, language: Language, budget: Budget) -> RealModel:
    """Looks for a proof of a softmax decoder by lemmas about its heads, and reads a few words."""
    model, dtype = found.model, dtype_of(found.model)
    tested = run_decoder(model, language)
    if isinstance(tested, Refutation):
        model.claims = (refuted(tested, dtype),)
        return found
    lemmas = certify_decoder(model, found.network, language, budget=rest(budget))
    if isinstance(lemmas, Failure):
        unproved = unexamined(f"Nothing is proved of the decoder in {dtype}: {lemmas.what}.", dtype=dtype)
        model.claims = (*known([tested]), unproved)
        return found
    model.claims = known([*lemmas.claims, tested])
    return replace(found, certificates=(lemmas,))


def _examine_whole(
    found: RealModel, language: Language, longest: int, budget: Budget, others: Sequence[str]
) -> RealModel:
    """Looks for proofs in several formats: all its float states are few."""
    model = found.model
    proved = _prove_and_read(found, language, PREDICT, longest, budget, 0.3)
    if proved.reach == float("inf"):
        for dtype in others:
            copy = _converted(model, dtype)
            if dtype != dtype_of(model) and copy is not None:
                proved = _prove(proved, copy, language, PREDICT, rest(budget))
    return proved


def _prove_and_read(
    found: RealModel, language: Language, task: str | None, longest: int, budget: Budget, share: float
) -> RealModel:
    """Looks for a proof, then reads long words in a share of the seconds that are left."""
    model = found.model
    proved = _prove(found, model, language, task, rest(budget, 0.7))
    tested: tuple[ModelClaim, ...] = ()
    if proved.wrong is None and proved.reach != float("inf"):
        tested = _read_loops(model, language, task or VALID_PREFIXES, longest, rest(budget, 0.5))
        model.claims = (*(claim for claim in model.claims if claim.is_proof), *tested)
        if any(isinstance(c.length, int) and c.length <= proved.reach for c in tested if c.scope == REFUTED):
            # Batches round otherwise: of them the proof speaks, and it would mislead who reads single words.
            model.claims = tested
            return _prove(found, model, language, task, rest(budget), alone=True)
    if proved.wrong is None:
        read = _read_long_words(model, language, task == PREDICT, longest, rest(budget, share))
        model.claims = (*(claim for claim in model.claims if claim.is_proof), *tested, *read)
    return proved


def _read_loops(
    model: Model, language: Language, task: str, longest: int, budget: Budget
) -> tuple[ModelClaim, ...]:
    """The length to which words that repeat letters were read, or the first wrong answer on one of them.

    Random words of a language that counts are short or soon wrong; its long words are loops.
    """
    dtype = dtype_of(model)
    runner = make_runner(model, language, dtype=dtype, decode=above_half)
    report = search_loops(runner, language, task=task, longest=longest, predict=False, budget=budget)
    if report.horizon is not None:
        return (refuted(report.horizon.refutation(language.alphabet), dtype),)
    if not report.tested:
        return ()
    says = f"{plural(report.loops, 'loop')} were read to this length, every answer correct. It is no proof."
    return (ModelClaim(scope=TESTED, says=says, dtype=dtype, length=report.tested),)


def _prove(
    found: RealModel,
    model: Model,
    language: Language,
    task: str | None,
    budget: Budget,
    *,
    alone: bool = False,
) -> RealModel:
    """Looks at all float states of a model in its type; claims and certificates are added to those found."""
    dtype, own = dtype_of(model), found.model
    verdict = certify_module(
        model,
        language,
        dtype=dtype,
        task=task,
        decode=above_half,
        empty=answer_on_empty_word(model),
        alone=alone,
        budget=budget,
    )
    certificate = verdict.certificate
    if model is not own and verdict.length != "all":
        return found
    proofs = () if certificate is None else known(certificate.claims)
    others = own.claims if verdict.refutation is None else (refuted(verdict.refutation, dtype),)
    own.claims = (*(c for c in own.claims if c.is_proof), *proofs, *(c for c in others if not c.is_proof))
    added = () if certificate is None else (certificate,)
    return replace(found, certificates=(*found.certificates, *added))


def _converted(model: Model, dtype: str) -> Model | None:
    """A copy in another type; None if that does not hold the range of a weight."""
    wanted = getattr(torch, dtype)
    copy = Model(model.config).to(wanted)
    weights = {name: value.to(wanted) for name, value in model.state_dict().items()}
    # The logarithm of a rate is rounded, which a closure over the rounded one takes into account.
    if any(not torch.isfinite(value).all() for value in weights.values()):
        return None
    copy.load_state_dict(weights)
    return copy.requires_grad_(False)


@torch.no_grad()
def _read_long_words(
    model: Model, language: Language, all_words: bool, longest: int, budget: Budget
) -> tuple[ModelClaim, ...]:
    """The length to which words were read by `forward`, or the first wrong answer; nothing without words."""
    dtype = dtype_of(model)
    words = [_lawful_word(language, longest)]
    if all_words:
        words.insert(0, np.random.default_rng(0).integers(0, len(language.alphabet), longest).tolist())
    read = 0
    for word in words:
        state = None
        expected = _answers(language, word)
        for first in range(0, len(word), CHUNK):
            if budget.elapsed() > budget.seconds and read >= LEAST:
                break
            part = slice(first, first + CHUNK)
            scores, state = model(torch.tensor([word[part]]), state)
            wrong = ((scores[0] > 0.5) != expected[part]).any(-1).nonzero()
            if len(wrong):
                at = first + int(wrong[0]) + 1
                says = "The answer after this many letters of a random word is wrong."
                shown = show_word(word[:at], language.alphabet)
                return (ModelClaim(scope=REFUTED, says=says, dtype=dtype, length=at, word=shown),)
            read = max(read, first + len(word[part]))
    if not read:
        return ()
    says = "A random word of this length was read by `forward`, every answer correct. It is no proof."
    return (ModelClaim(scope=TESTED, says=says, dtype=dtype, length=read),)


def _lawful_word(language: Language, length: int) -> list[int]:
    """A random word whose prefixes can all be continued; shorter if it has to end.

    A letter after which nothing may follow is taken only if there is no other.
    """
    random = np.random.default_rng(0)
    legal = functools.cache(language.legal)

    @functools.cache
    def choices(configuration: Hashable) -> list[tuple[int, Hashable]]:
        after = [(a, language.advance(configuration, a)) for a in sorted(legal(configuration).symbols)]
        return [(a, target) for a, target in after if legal(target).symbols] or after

    word: list[int] = []
    configuration = language.initial()
    while len(word) < length and (found := choices(configuration)):
        letter, configuration = found[int(random.integers(len(found)))]
        word.append(letter)
    return word


def _answers(language: Language, word: Sequence[int]) -> Tensor:
    """The letters that may follow each non-empty prefix, and last whether it may end."""
    known = QuestionTable(asked_of(language))
    return torch.from_numpy(known.expected(known.along(0, word)))


def write_real_model(folder: Path, found: RealModel) -> None:
    """Writes a model and its certificates into the folder of its network, as `model/`.

    The certificate of a softmax decoder speaks of the network, too, and is written beside it.
    """
    place = folder / MODEL_FOLDER
    save_model(place, found.model)
    beside = folder if is_decoder(found.network) else place
    for certificate in found.certificates:
        dtype = certificate.claims[0].dtype
        assert dtype is not None
        write_float_certificate(beside, dtype, certificate)


MOST_ATTENDED = 20_000
"""The longest word that is read letter by letter where a model keeps all of its positions."""


class ModelReader:
    """The model in the folder of a network, read word by word.

    Args:
        folder: of the network.

    Raises:
        InputError: if it has no model.
        FormatError: if the model was altered.

    Attributes:
        dtype: the type of its weights.
        about: its architecture and type, for people.
        tokens: the letters of a long word that were read by `feed`.
        answer: what may follow them; None if the model says nothing before the first letter.
    """

    def __init__(self, folder: Path) -> None:
        place = folder / MODEL_FOLDER
        if not place.is_dir():
            raise InputError(
                f"{folder} has no {MODEL_FOLDER}/; `nerode compile LANG --to ARCHITECTURE -o DIR` writes one"
            )
        self._model = read_model(place).eval()
        self.dtype = dtype_of(self._model)
        names = dict.fromkeys(layer.name for layer in self._model.config.layers)
        self.about = f"{', '.join(names)} in {self.dtype}"
        self.tokens, self.answer = 0, answer_on_empty_word(self._model)
        self._state: State | None = None

    @property
    def kept(self) -> int | None:
        """Positions that heads keep of what `feed` has read; None for a model whose state has one size."""
        return self.tokens + int(self._model.config.beginning) if self._model.grows else None

    @torch.no_grad()
    def feed(self, letters: Sequence[int]) -> None:
        """Reads on in one long word, letter by letter.

        Raises:
            InputError: if the model attends, and the word is longer than its cache may get.
        """
        model = self._model
        if model.grows and self.tokens + len(letters) > MOST_ATTENDED:
            raise InputError(
                f"the word has more than {MOST_ATTENDED:,} letters; attention keeps all of them, and a step "
                "takes longer with each; give a shorter word, or run the exact network without --model"
            )
        if self._state is None:
            self._state = model.initial_state(1)
        scores = None
        for letter in letters:
            rows, self._state = model.step(torch.tensor([int(letter)]), self._state)
            scores = rows[0]
            charge()
        if scores is not None:
            self.tokens += len(letters)
            self.answer = as_legal(np.asarray(above_half(scores).numpy(), dtype=np.bool_))

    @torch.no_grad()
    def run(self, word: Sequence[int]) -> list[Legal | None]:
        """Returns what may follow each prefix; None for the empty one if the model says nothing there."""
        answers = [answer_on_empty_word(self._model)]
        state = self._model.initial_state(1)
        for letter in word:
            scores, state = self._model.step(torch.tensor([letter]), state)
            answers.append(as_legal(np.asarray(above_half(scores[0]).numpy(), dtype=np.bool_)))
        return answers
