"""Models of compiled networks: settled in floats, handed out with their claims, written, read again.

A module of the network itself, or the weights of a real architecture: proofs are looked for first, then long
words are read. A model that fails comes with the word. A folder `model/` holds the weights and, per float
format, the certificate that speaks of them: it names the hash of the weights in that format, and a replay
computes every listed step again.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nerode.compiler import Options
from nerode.core import (
    Budget,
    InputError,
    NerodeError,
    NotCompilable,
    charge,
    plural,
    started,
)
from nerode.kernel import ANY_ORDER, LANGUAGE_TASKS, PREDICT, Certificate, Claim, Failure, Refutation
from nerode.languages import (
    Language,
    Legal,
    asked_of,
    describe_language,
    language_hash,
    resolve_language,
    with_powers,
)
from nerode.models import Model, State, dtype_name, dtype_of, fixed_bits, read_model, save_model
from nerode.models.lower import BlockStyle, Lowered, is_decoder, lowerings, main_refusal
from nerode.models.network_module import CompiledModel, load_model as load_bare
from nerode.network import LogitDecoder, Network
from nerode.proofs.find.agreement import compare_on_random_words
from nerode.proofs.find.heads import read_decoder, run_decoder
from nerode.proofs.find.walk import MOST_STATES
from nerode.proofs.find.words import WordReader, runner_of
from nerode.proofs.folder import MODEL_FOLDER, write_float_certificate
from nerode.proofs.replay.attention.records import METHOD as HEADS
from nerode.proofs.replay.subject import Subject, make_subject
from nerode.proofs.replay.table import ABOVE_HALF, answer_on_empty_word
from nerode.proofs.runner import above_half, as_legal
from nerode.proofs.settle import Settled, SettleSettings, settle
from nerode.records import (
    REFUTED,
    TESTED,
    AskedQuestion,
    Folder,
    ModelClaim,
    NetworkEntry,
    SubjectRecord,
    TokenLetters,
    unexamined,
)
from nerode.verdict import Facts

Json = Any

SECONDS = 10.0
"""CPU time for the claims of one model."""

LONGEST_LOOP = 1 << 16
"""Length to which loops are read where no proof reaches all lengths."""

LONGEST = 10_000
"""Letters of the words that a real architecture is read on."""

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
    """Returns an ordinary model of an architecture whose weights do a language, with its network and claims.

    Several ways to write the weights are tried, those that floats do not round first. A model that fails on a
    word of at most 10,000 letters is refused.

    Args:
        language: what it should do.
        architecture: a name of the zoo that the compiler knows as a target.
        dtype: the type of its weights.
        facts: what is known about the language; computed when None.
        seconds: CPU time for proofs and long words; with 0 the model is tried on a few words only.
        surroundings: "published" for the whole model as published, "zoo" for its layers between ReLU maps
            with a learned start; None for the first where there is a construction whose claims are no weaker.
        options: the user's, for networks.
        longest: letters of the random words that it is read on.
        others: further formats in which a whole model is looked at.

    Raises:
        UnknownName: if there is no such architecture.
        NotCompilable: with all reasons, if the architecture cannot do the language or carry its network, or
            the format is too coarse for it; with the word, if there is one on which every way fails.
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
    """Settles a model and reads long words; in other formats it is only proved."""
    model, network, dtype = lowered.model, lowered.program.network, dtype_of(lowered.model)
    tried = "A few random words of the language were read."
    model.claims = (ModelClaim(scope=TESTED, says=tried, dtype=dtype, length=256),)
    if isinstance(network.decoder, LogitDecoder):
        model.claims = (
            unexamined(f"The distributions of the model were not looked at in {dtype}.", dtype=dtype),
        )
    if isinstance(network.decoder, LogitDecoder) or not seconds:
        return RealModel(lowered=lowered)
    budget = Budget(seconds=max(seconds, 1e-3)).start()
    published, decoder = lowered.block == "published", is_decoder(network)
    task: str | None = PREDICT if published else None
    if not published and not decoder:
        exact = _settle_exact(network, language, _rest(budget, 0.3)).claims
        task = next((claim.task for claim in exact if claim.task in LANGUAGE_TASKS), None)
    found = [_settle_weights(model, network, language, task, longest, budget, prefixes=not published)]
    claims = [*claims_of(found[0], dtype, language)]
    if decoder and found[0].refutation is None:
        agreed = run_decoder(model, language)
        claims += known([agreed]) if isinstance(agreed, Claim) else ()
        if found[0].certificate is None:
            reason = f"Nothing is proved of the decoder in {dtype}: {found[0].settlement.reason}."
            claims.append(unexamined(reason, dtype=dtype))
    elif found[0].refutation is None:
        claims += _read_long_words(_about(model, network, language, task), longest)
    copies = [_converted(model, other) for other in others if other != dtype] if published else []
    for copy in copies if found[0].settlement.status == "proved" else ():
        if copy is not None:
            further = _settle_weights(copy, network, language, task, 0, _rest(budget))
            if further.settlement.status == "proved":
                found.append(further)
                claims += claims_of(further, dtype_of(copy), language)
    model.claims = (*(c for c in claims if c.is_proof), *(c for c in claims if not c.is_proof))
    proofs = [settled.certificate for settled in found]
    return RealModel(lowered=lowered, certificates=tuple(proof for proof in proofs if proof is not None))


def _settle_weights(
    model: Model,
    network: Network,
    language: Language,
    task: str | None,
    longest: int,
    budget: Budget,
    *,
    prefixes: bool = False,
) -> Settled:
    """The settlement of the weights that a network was lowered to."""
    settings = replace(_of_compiled(budget, longest), prefixes=prefixes)
    return settle(_about(model, network, language, task), settings=settings, budget=budget)


def _about(model: Model, network: Network, language: Language, task: str | None) -> Subject:
    """The weights that a network was lowered to, with the question of a task."""
    return make_subject(
        network.origin.language,
        about=language.name,
        module=model,
        network=network,
        question=asked_of(language, task),
        reading=ABOVE_HALF,
        empty=answer_on_empty_word(model),
    )


def _of_compiled(budget: Budget, loops: int) -> SettleSettings:
    """The settings of a compiled model: proofs, also of a part of the lengths, and loops."""
    states = int(min(budget.elements, MOST_STATES))
    return SettleSettings(states=states, holds=0, searched=0, boxes=False, partial=True, loops=loops)


def claims_of(settled: Settled, dtype: str, language: Language) -> tuple[ModelClaim, ...]:
    """Returns a settlement as what is known of a model: proofs, a failing word, or how far it was read."""
    proofs = known(settled.claims)
    if settled.refutation is not None:
        return (*proofs, _refuted(settled.refutation, dtype, language))
    if settled.settlement.status == "proved" or settled.loops is None or not settled.loops.tested:
        return proofs
    loops = plural(settled.loops.loops, "loop")
    says = f"{loops} were read to this length, every answer correct. It is no proof."
    return (*proofs, ModelClaim(scope=TESTED, says=says, dtype=dtype, length=settled.loops.tested))


def known(claims: Iterable[Claim]) -> tuple[ModelClaim, ...]:
    """Returns claims of certificates as what is known of a model."""
    return tuple(
        ModelClaim(scope=claim.scope, says=claim.covers, dtype=claim.dtype, length=claim.length)
        for claim in claims
    )


def _refuted(found: Refutation, dtype: str | None, language: Language, says: str = "") -> ModelClaim:
    """The claim that a word refutes a model."""
    got, expected = (", ".join(answer) for answer in (found.got, found.expected))
    return ModelClaim(
        scope=REFUTED,
        says=says or f"It says {{{got}}}; the language says {{{expected}}}.",
        dtype=dtype,
        length=found.at,
        word=with_powers(found.word),
    )


def _settle_exact(network: Network, language: Language, budget: Budget) -> Settled:
    """The settlement of the network itself, in exact arithmetic."""
    name, question = network.origin.language, asked_of(language)
    asked = make_subject(name, about=language.name, network=network, question=question)
    return settle(asked, settings=SettleSettings(partial=True), budget=budget)


def _rest(budget: Budget, share: float = 1.0) -> Budget:
    """The same limits with a share of the seconds that are left, from now on."""
    return replace(budget, seconds=max(0.1, share * (budget.seconds - budget.elapsed()))).start()


@dataclass(frozen=True, kw_only=True)
class Examination:
    """A network in one dtype: its settlement, and what was only tested.

    Attributes:
        dtype: the format.
        settled: the outcome; None if the format has no module of the network.
        tests: claims that are no proofs.
        reason: why there is no module.
        differs: where `forward` differs from `step`; empty if it was not seen to.
        exact: whether every order of evaluation is known to be exact.
    """

    dtype: str
    settled: Settled | None
    tests: tuple[Claim, ...] = ()
    reason: str = ""
    differs: str = ""
    exact: bool = False

    @property
    def certificate(self) -> Certificate | None:
        """The proof in floats, as far as it goes."""
        return None if self.settled is None else self.settled.certificate

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Proofs, then tests."""
        return (*(() if self.settled is None else self.settled.claims), *self.tests)

    @property
    def failure(self) -> Failure | None:
        """A word on which the module fails, or a difference that cannot be."""
        found = None if self.settled is None else self.settled.refutation
        if found is not None:
            return Failure(
                what=(
                    f"in {self.dtype}, after {plural(found.at, 'letter')}, the module says "
                    f"{{{', '.join(found.got)}}}, the language {{{', '.join(found.expected)}}}"
                ),
                refutation=found,
            )
        if self.differs and self.exact:
            return Failure(
                what=f"{self.differs}, although every order of evaluation is exact", entry="forward"
            )
        return None

    @property
    def details(self) -> dict[str, Json]:
        """Facts about how it was found, for reading."""
        if self.settled is None:
            return {"reason": self.reason}
        found: dict[str, Json] = {
            "states": self.settled.settlement.states,
            "reason": self.settled.settlement.reason or None,
        }
        for evidence in () if self.certificate is None else self.certificate.evidence.values():
            shown = ("batches", "arithmetic", "margin", "heads")
            found |= {name: evidence[name] for name in shown if name in evidence}
        if self.settled.loops is not None and self.settled.settlement.status != "proved":
            found |= self.settled.loops.details()
        return found | ({"forward": self.differs} if self.differs else {})


@fixed_bits(1)
def examine(
    network: Network,
    language: Language,
    *,
    dtype: str,
    known: Sequence[Claim] = (),
    folder: Path | None = None,
    budget: Budget | None = None,
) -> Examination:
    """Returns what can be shown about a network in a dtype, and what was tested.

    Args:
        network: a compiled network.
        language: what it should do.
        dtype: the format.
        known: claims that are already proved, of which one may cover any order of evaluation.
        folder: of the network, which may hold the decoder of a network with attention.
        budget: limits the joint states (`elements`) and the time.
    """
    budget = started(budget)
    stored = folder is not None and (folder / MODEL_FOLDER).is_dir()
    decoder = network.attends or (stored and is_decoder(network))
    task = next((c.task for c in known if c.dtype == dtype), None)
    exact = any(c.dtype == dtype and c.scope == ANY_ORDER for c in known)
    module: Model | CompiledModel
    try:
        if decoder:
            module = read_decoder(folder, network, dtype)
        else:
            module = load_bare(network, dtype=getattr(torch, dtype))
    except InputError as error:
        # A complex state in half precision, or a weight that the format does not hold: there is no module.
        return Examination(dtype=dtype, settled=None, reason=str(error))
    if isinstance(module, Model):
        settled = _settle_weights(module, network, language, PREDICT, 0, budget)
        agreed = run_decoder(module, language) if settled.refutation is None else None
        return Examination(dtype=dtype, settled=settled, tests=(agreed,) if isinstance(agreed, Claim) else ())
    asked = make_subject(
        network.origin.language,
        about=language.name,
        module=module,
        network=network,
        question=asked_of(language, task),
        empty=network.decoder.empty,
    )
    settings = replace(_of_compiled(budget, LONGEST_LOOP), predict=True)
    settled = settle(asked, settings=settings, budget=budget)
    task = settled.claims[0].task if settled.claims else task or PREDICT
    loops = settled.loops
    unsettled = settled.settlement.status == "unsettled" and loops is not None and loops.tested
    found = [loops.claim(dtype, task)] if unsettled and loops is not None else []
    agreement, differs = compare_on_random_words(runner_of(asked), task, budget)
    return Examination(dtype=dtype, settled=settled, tests=(*found, *agreement), differs=differs, exact=exact)


def store(folder: Path, examination: Examination) -> Path | None:
    """Writes a proof in floats beside what it is about, the network or its decoder; returns where.

    Nothing is written about a decoder that the folder does not hold.
    """
    certificate, place = examination.certificate, folder / MODEL_FOLDER
    if certificate is None:
        return None
    if HEADS not in certificate.evidence:
        return write_float_certificate(folder, examination.dtype, certificate)
    if not place.is_dir() or (weights := Folder(place).subject).network.dtype != examination.dtype:
        return None
    return write_float_certificate(place, examination.dtype, replace(certificate, network=weights.hash))


def load_model(
    network: Network,
    *,
    dtype: torch.dtype = torch.float32,
    language: Language | None = None,
    budget: Budget | None = None,
) -> CompiledModel:
    """Returns the module that computes what the network computes, in floats of one type.

    Every weight is rounded to the nearest float; `inexact_weights` of the model lists those that changed.
    `claims` of the model says what is known of it; that is found out when it is first asked for.

    Args:
        network: what the compiler made.
        dtype: float64, float32, bfloat16 or float16.
        language: what it should do; None finds the language by the name that the network gives, if that is
            the language that it was made for.
        budget: limits of the search for proofs.

    Raises:
        InputError: for another type, a weight beyond its largest number, or a complex state in half
            precision.
    """
    model = load_bare(network, dtype=dtype)
    name = dtype_name(dtype)
    model.find_claims = functools.partial(_network_claims, network, language, name, budget)
    return model


def _network_claims(
    network: Network, language: Language | None, dtype: str, budget: Budget | None
) -> tuple[ModelClaim, ...]:
    language = language or _named_language(network)
    if language is None:
        reason = (
            f"The network was made for {network.origin.language!r}, which is no name of a language; "
            "load_model(network, language=…) looks for proofs."
        )
        return (unexamined(reason, dtype=dtype),)
    budget = (budget or Budget(seconds=SECONDS)).start()
    found = _settle_exact(network, language, _rest(budget, 0.5))
    if found.refutation is not None:
        return (_refuted(found.refutation, None, language),)
    claims = [c for c in found.claims if c.task in LANGUAGE_TASKS and c.dtype in (None, dtype)]
    if any(c.dtype == dtype and c.length == "all" for c in claims):
        return known(claims)
    if network.attends:
        reason = "This is the streaming form of attention; nerode.compile gives the softmax decoder."
        return (*known(claims), unexamined(reason, dtype=dtype))
    if isinstance(network.decoder, LogitDecoder):
        reason = f"The distributions were not looked at in {dtype}; their weights are rounded to it."
        return (*known(claims), unexamined(reason, dtype=dtype))
    seen = examine(network, language, dtype=dtype, known=claims, budget=_rest(budget))
    failed = _failed(seen, language)
    if not seen.claims and not failed:
        failed = (unexamined(str(seen.details.get("reason") or "Nothing was found."), dtype=dtype),)
    return (*known([*claims, *seen.claims]), *failed)


def _failed(seen: Examination, language: Language) -> tuple[ModelClaim, ...]:
    """The claim that an examination refutes the module of a network, if it does."""
    if seen.failure is None:
        return ()
    if seen.failure.refutation is None:
        return (ModelClaim(scope=REFUTED, says=seen.failure.what, dtype=seen.dtype, length=0),)
    return (_refuted(seen.failure.refutation, seen.dtype, language, seen.failure.what),)


def graph_failure(
    network: Network, language: Language, *, dtype: str, budget: Budget | None = None
) -> ModelClaim:
    """Returns what the module of a network says of a graph with the same steps, where no proof does.

    A word on which the module fails counts as one on which the graph does. That the module is correct is no
    claim about another program, which may round otherwise.
    """
    nothing = f"Nothing is proved for every program that computes in {dtype}."
    if network.attends or isinstance(network.decoder, LogitDecoder):
        return unexamined(nothing, dtype=dtype)
    seen = examine(network, language, dtype=dtype, budget=budget or Budget(seconds=SECONDS))
    if failed := _failed(seen, language):
        return failed[0]
    lengths = [c.length for c in seen.claims if c.scope != TESTED]
    reach = (
        "at every length"
        if "all" in lengths
        else f"up to {plural(max(map(int, lengths), default=0), 'letter')}"
    )
    module = f" Nerode's module of the network is correct there {reach}." if lengths else ""
    return unexamined(nothing + module, dtype=dtype)


def _named_language(network: Network) -> Language | None:
    """The language that a network was made for, if its name says which."""
    try:
        found = resolve_language(network.origin.language, files=False)
        return found if language_hash(found) == network.origin.language_hash else None
    except NerodeError:
        return None


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


def _read_long_words(asked: Subject, longest: int) -> tuple[ModelClaim, ...]:
    """The length to which words were read by `forward`, or the first wrong answer; nothing without words."""
    reader, read = WordReader(asked), 0
    language = reader.question.language  # type: ignore[attr-defined]  # a model is compiled for a language
    words = [_lawful_word(language, longest)]
    if reader.question.task == PREDICT:
        words.insert(0, np.random.default_rng(0).integers(0, len(language.alphabet), longest).tolist())
    for word in words:
        if (found := reader.first_failure(tuple(word))) is not None:
            says = "The answer after this many letters of a random word is wrong."
            return (_refuted(found, reader.runner.dtype, language, says),)
        read = max(read, len(word))
    if not read:
        return ()
    says = "A random word of this length was read by `forward`, every answer correct. It is no proof."
    return (ModelClaim(scope=TESTED, says=says, dtype=reader.runner.dtype, length=read),)


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


def write_real_model(folder: Path, found: RealModel, language: Language) -> None:
    """Writes a model and its certificates into the folder of its network, as `model/`."""
    place = folder / MODEL_FOLDER
    subject = SubjectRecord(
        network=NetworkEntry(kind="zoo"),
        letters=TokenLetters.numbered(language.alphabet.symbols),
        reading=ABOVE_HALF,
        question=AskedQuestion(name=language.name, asks="next"),
        origin={"kind": "compiled"},
    )
    written = save_model(place, found.model, subject=subject, language=describe_language(language))
    for certificate in found.certificates:
        dtype = certificate.claims[0].dtype
        assert dtype is not None
        # Of copies in other formats the same is claimed: the weights are cast to them.
        write_float_certificate(place, dtype, replace(certificate, network=written.hash))


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
        model = read_model(place).eval()
        names = dict.fromkeys(layer.name for layer in model.config.layers)
        self.dtype, self._model = dtype_of(model), model
        self.about = f"{', '.join(names)} in {self.dtype}"
        self.tokens, self.answer = 0, answer_on_empty_word(model)
        self._state: State | None = None

    @property
    def kept(self) -> int | None:
        """Positions that heads keep of what `feed` has read; None for a model whose state has one size."""
        return self.tokens + int(self._model.config.beginning) if self._model.grows else None

    def feed(self, letters: Sequence[int]) -> None:
        """Reads on in one long word, letter by letter.

        Raises:
            InputError: if the model attends, and the word is longer than its cache may get.
        """
        if self._model.grows and self.tokens + len(letters) > MOST_ATTENDED:
            raise InputError(
                f"the word has more than {MOST_ATTENDED:,} letters; attention keeps all of them, and a step "
                "takes longer with each; give a shorter word, or run the exact network without --model"
            )
        for answer in self._answers(letters):
            self.answer, self.tokens = answer, self.tokens + 1

    def run(self, word: Sequence[int]) -> list[Legal | None]:
        """Returns what may follow each prefix; None for the empty one if the model says nothing there."""
        self._state = None
        return [answer_on_empty_word(self._model), *self._answers(word)]

    @torch.no_grad()
    def _answers(self, letters: Sequence[int]) -> Iterator[Legal]:
        """Answers after each further letter."""
        if self._state is None:
            self._state = self._model.initial_state(1)
        for letter in letters:
            scores, self._state = self._model.step(torch.tensor([int(letter)]), self._state)
            charge()
            yield as_legal(np.asarray(above_half(scores[0]).numpy(), dtype=np.bool_))
