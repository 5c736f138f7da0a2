"""Settling a network: strategies in the order of their cost, until one of them ends it. No weight is changed.

1. tests       the test sequences of the task, at growing lengths, and words with long holds
2. fading      for one layer whose memory fades: boxes of float states, replayed by the module's own steps
3. closure     all float states that words lead to, bit for bit; if they are finitely many, a proof
4. search      words along which the margin of the answers gets smaller
5. boxes       for cells whose state contracts: regions of the state, checked by the kernel
6. long words  nearly periodic ones of up to 32,768 letters
7. examination other tests of the task: completed sentences, phase alignment of signals

A compiled network is settled by its certificate, which the kernel checks again, or by a new one.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from nerode.analysis.extraction.oracle import Machine
from nerode.analysis.extraction.question import NetworkQuestion
from nerode.analysis.proofs.certifying import prove_boxes
from nerode.analysis.proofs.goals import goal_of
from nerode.analysis.proofs.run_proofs import check_proof
from nerode.analysis.proofs.trained_network import require_plain
from nerode.analysis.settle.failing_words import (
    STEPPED,
    WrongAnswer,
    failing_examination,
    failing_hold,
    failing_long_word,
    failing_searched_word,
    failing_tests,
    first_failure,
    shorten,
)
from nerode.analysis.settle.framed import asked_network, closing_of
from nerode.analysis.subject import LoadedNetwork, load_subject
from nerode.core import (
    Budget,
    BudgetExceeded,
    FormatError,
    InputError,
    plural,
    read_json,
    started,
    stream,
    write_atomically,
)
from nerode.languages import Language, Word, title_of
from nerode.models import (
    DiagonalTransition,
    Model,
    OwnLayer,
    SequenceLayer,
    as_layered,
    dtype_of,
    fixed_bits,
    is_stateful,
)
from nerode.network import Network
from nerode.proofs import (
    PREDICT,
    RECOGNISE,
    VALID_PREFIXES,
    Certificate,
    CheckResult,
    Claim,
    Failure,
    Refutation,
    Unproved,
    certificate_from_json,
    certificate_to_json,
    certify,
    check_folder,
    run_tensor_hash,
    write_folder,
)
from nerode.proofs.floats import (
    FloatVerdict,
    certify_fading,
    certify_module,
    recheck_module,
    replay_fading,
)
from nerode.records import (
    RESULT,
    SETTLED,
    SETTLED_CERTIFICATE,
    SETTLEMENT_FILE,
    Settlement,
    read_settlement,
)
from nerode.tasks import Prediction, Task

WORDS = {
    PREDICT: "all words over the alphabet",
    RECOGNISE: "all words over the alphabet, membership only",
    VALID_PREFIXES: "all prefixes of words of the language",
}
"""The words that a task of a proof is about."""

TESTS = "tests"
CLOSURE = "closure"
FADING = "fading"
BOXES = "boxes"
EXAMINATION = "examination"

_MOST_CERTIFICATE = 1 << 26
_LETTERS_FOR_SHORTENING = 400_000

_LONG, _LONG_WORDS = (4_096, 32_768), 32
"""Lengths of words that are nearly periodic, and how many there are of each."""

_MOST_STATES = 4_000
"""Joint states of a search for a failing word that is shorter than a known one."""

_DECIDED = 2.0**-30
"""Distance from 0, 1 or -1 at which a gate counts as decided: below the steps of float32."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleSettings:
    """Settings of the search for an end.

    Attributes:
        states: joint float states that the closure may list.
        tests: test sequences of each length.
        longest: the longest test; None for four times the longest length that was tested, 1,024 at least.
        holds: words with long holds.
        searched: length of the longest word of a search led by the margins; 0 for no search.
        boxes: whether boxes are looked for.
    """

    states: int = 100_000
    tests: int = 64
    longest: int | None = None
    holds: int = 12
    searched: int = 400
    boxes: bool = True

    def __post_init__(self) -> None:
        if (
            min(self.states, self.tests) < 1
            or min(self.holds, self.searched) < 0
            or (self.longest is not None and self.longest < 1)
        ):
            raise InputError(f"{self} cannot be used; numbers of states and tests are 1 or more")


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A settlement with the certificate of its proof, if there is one."""

    settlement: Settlement
    certificate: Certificate | None = None
    network: Network | None = None


def settle_folder(
    folder: Path,
    *,
    settings: SettleSettings | None = None,
    budget: Budget | None = None,
    keep: bool = True,
    trust_code: bool = False,
    task: Task | None = None,
) -> Settlement:
    """Returns the end of a run, of a compiled network or of a model, and leaves it in the folder of a run.

    Args:
        folder: of the run, the network or the model.
        settings: how far to search.
        budget: limits the CPU seconds.
        keep: whether the settlement and its certificate are written into the folder of a run.
        trust_code: whether a module that the run names for its model may run.
        task: what a model should do that was not trained here.

    Raises:
        InputError: if there is no language or task to settle it by, or a weight is not a number.
    """
    subject = load_for_task(folder, task, trust_code=trust_code)
    if subject.network is not None and subject.language is not None:
        return _settle_compiled(folder, subject.network, subject.language, started(budget))
    is_run = (folder / RESULT).exists()
    weights = run_tensor_hash(folder) if is_run else ""
    ended = settle(subject, settings=settings, budget=budget, weights=weights)
    if keep and is_run:
        goal = goal_of(subject.task).language if ended.network is not None and subject.task else None
        keep_end(folder / SETTLED, ended, goal)
    return ended.settlement


def load_for_task(folder: Path, task: Task | None, *, trust_code: bool = False) -> LoadedNetwork:
    """Returns the network of a folder, with the task that it is given if it has none of its own.

    Raises:
        InputError: if it has a task already, or reads or answers otherwise than the given one.
    """
    subject = load_subject(folder, trust_code=trust_code)
    if task is None:
        return subject
    if subject.task is not None or subject.network is not None:
        raise InputError(f"{subject.name} says by itself what it should do; leave --task out")
    config = subject.zoo_model.config
    if (config.letters, config.outputs) != (task.letters, task.outputs):
        raise InputError(
            f"{subject.name} reads {config.letters} letters and gives {config.outputs} scores; {task.name} "
            f"has {task.letters} letters and asks for {task.outputs}"
        )
    return replace(subject, task=task, language=getattr(task, "language", None))


def settled_or_new(
    folder: Path,
    *,
    settings: SettleSettings | None = None,
    budget: Budget | None = None,
    trust_code: bool = False,
) -> Settlement:
    """Returns the end of a run that is kept and speaks of its weights, or else a new one.

    A run that is kept as unsettled is settled again: the budget may be larger now. So is one whose end is not
    confirmed by a replay: a file may say what it likes.
    """
    known = None
    if (folder / RESULT).exists():
        known = confirmed_settlement(folder, budget=budget, trust_code=trust_code)
    if known is not None and known.status != "unsettled":
        return known
    return settle_folder(folder, settings=settings, budget=budget, trust_code=trust_code)


def confirmed_settlement(
    folder: Path, *, budget: Budget | None = None, trust_code: bool = False
) -> Settlement | None:
    """Returns the kept end of a run if it is about its weights and a replay confirms it, None otherwise.

    A proof is replayed and must show what the settlement says. A failing word is read again. That all shorter
    words are answered correctly is searched again: the length that is returned is the one that was seen.
    """
    budget = started(budget)
    try:
        known = read_settlement(folder)
        if known is None or known.weights != run_tensor_hash(folder):
            return None
        subject = load_subject(folder, trust_code=trust_code)
        if known.about != _about(subject):
            return None
        if known.status == "proved":
            return known if replay_settlement(folder, budget=budget, trust_code=trust_code).ok else None
        if known.dtype != dtype_of(subject.model):
            return None
        if known.status == "refuted" and not _fails_again(subject, known):
            return None
        return _with_length(subject, known, budget)
    except InputError:
        return None


def _with_length(subject: LoadedNetwork, known: Settlement, budget: Budget) -> Settlement:
    """The same settlement with the length up to which a search sees no failing word, if that is less."""
    if known.length == 0 and not known.shortest:
        return known
    assert subject.task is not None
    try:
        verdict = _search_states(
            subject.model, subject.task, replace(budget.part(), elements=_MOST_STATES), valid=True
        )
        refuted, reached = verdict.refutation, verdict.length
    except (InputError, BudgetExceeded):
        refuted, reached = None, 0
    seen = len(refuted.word) - 1 if refuted is not None else reached
    length = min(int(known.length), seen) if isinstance(seen, int) else int(known.length)
    shortest = known.shortest and known.word is not None and length == len(known.word) - 1
    return replace(known, length=length, shortest=shortest)


def _search_states(model: nn.Module, task: Task, budget: Budget, *, valid: bool = False) -> FloatVerdict:
    """The search of all float states on the words of a task.

    Raises:
        InputError: if the task or the model has no such search.
    """
    closing = closing_of(model, task)
    if obstacle := _obstacle(model):
        raise InputError(obstacle)
    return certify_module(
        closing.module,  # type: ignore[arg-type]  # every module with `step` will do
        closing.language,
        task=closing.task or (VALID_PREFIXES if valid else None),
        decode=closing.decode,
        partial=False,
        budget=budget,
    )


def _about(subject: LoadedNetwork) -> str:
    """The name of what a network should do."""
    assert subject.task is not None
    return subject.task.name if subject.language is None else subject.language.name


def _fails_again(subject: LoadedNetwork, known: Settlement) -> bool:
    """Whether a network answers a kept word as incorrectly as it says.

    Raises:
        InputError: if its task asks nothing about single words, or the word has another letter.
    """
    assert subject.task is not None
    network, question = asked_network(subject.model, subject.task)
    word = question.alphabet.encode(known.word or ())
    found = first_failure(Machine(network, question), question, word)
    return found == WrongAnswer(word=word, expected=known.expected, got=known.got)


def keep_end(target: Path, ended: Ended, language: Language | None = None) -> None:
    """Writes a settlement and its proof, the settlement last; a network is written with its language."""
    shutil.rmtree(target, ignore_errors=True)
    if ended.network is not None and language is not None:
        write_folder(target, ended.network, language, ended.certificate)
    elif ended.certificate is not None:
        write_atomically(target / SETTLED_CERTIFICATE, _text(certificate_to_json(ended.certificate)))
    write_atomically(target / SETTLEMENT_FILE, _text(ended.settlement.to_json()))


def settle(
    subject: LoadedNetwork,
    *,
    settings: SettleSettings | None = None,
    budget: Budget | None = None,
    weights: str = "",
) -> Ended:
    """Returns the end of a network that was trained on a task.

    Args:
        subject: the network with its task; it is not changed.
        settings: how far to search.
        budget: limits the seconds of all strategies together.
        weights: the SHA-256 of the tensors of the run that it comes from.

    Raises:
        InputError: if it has no task, or a weight is not a number.
    """
    if subject.task is None:
        raise InputError(
            f"{subject.name} has neither a language nor a task, so nothing says what is correct; "
            "settle a run or a compiled network, or name the task (--task)"
        )
    if not all(bool(p.isfinite().all()) for p in subject.model.parameters()):
        raise InputError(f"{subject.name} has a weight that is not a finite number; train it again")
    chosen = settings or SettleSettings()
    # The networks are small: threads would wait for each other, and that counts as CPU time, too.
    with fixed_bits(1):
        return _Settling(subject, subject.task, chosen, started(budget), weights).run()


class _Settling:
    """The strategies one after the other."""

    def __init__(
        self, subject: LoadedNetwork, task: Task, settings: SettleSettings, budget: Budget, weights: str
    ) -> None:
        self.subject, self.task, self.settings, self.budget = subject, task, settings, budget
        self.weights = weights
        self.begun = time.process_time()
        self.about, self.dtype = _about(subject), dtype_of(subject.model)
        self.machine: Machine | None = None
        self.question: NetworkQuestion | None = None
        self.reasons: list[str] = []
        self.verdict: FloatVerdict | None = None
        try:
            network, self.question = asked_network(subject.model, task)
            self.machine = Machine(network, self.question)
        except InputError as no_question:
            self.reasons.append(str(no_question))

    def run(self) -> Ended:
        """Tries strategy after strategy."""
        found = self._by_tests()
        if found is not None:
            return Ended(settlement=self._refuted(found))
        return (
            self._by_fading()
            or self._by_closure()
            or self._by_search()
            or self._by_boxes()
            or self._by_long_words()
            or self._by_examination()
            or Ended(settlement=self._unsettled())
        )

    def _by_tests(self) -> WrongAnswer | None:
        """A failing word among the tests of the task and words with long holds, made short."""
        share = self.budget.part(0.4)
        tests = failing_tests(
            self.subject.model, self.task, self._lengths(), sequences=self.settings.tests, budget=share
        )
        if self.machine is None or self.question is None:
            return next(tests, None)
        for found in tests:
            alone = first_failure(self.machine, self.question, found.word)
            if alone is not None:
                return self._shortened(alone, share)
            self.reasons.append(
                f"a test of {plural(len(found.word), 'letter')} fails in a batch but not alone: "
                "roundings decide it"
            )
        if not self.settings.holds:
            return None
        length = self._lengths()[-1]
        held = failing_hold(
            self.machine, self.question, length=length, words=self.settings.holds, budget=share
        )
        return held and self._shortened(held, share)

    def _shortened(self, found: WrongAnswer, budget: Budget) -> WrongAnswer:
        assert self.machine is not None
        assert self.question is not None
        return shorten(self.machine, self.question, found, letters=_LETTERS_FOR_SHORTENING, budget=budget)

    def _lengths(self) -> list[int]:
        """The lengths of tests: those that failed in the run's own, then all, then longer ones."""
        record = self.subject.record
        scores = () if record is None else record.evaluations
        known = sorted(score.length for score in scores) or [self.task.training_lengths[1]]
        failed = sorted(score.length for score in scores if score.sequence < 1)
        longest = self.settings.longest or max(1024, 4 * known[-1])
        further: list[int] = []
        while known[-1] * 2 ** (len(further) + 1) < longest:
            further.append(known[-1] * 2 ** (len(further) + 1))
        return list(dict.fromkeys([*failed, *known, *further, longest]))

    def _by_closure(self) -> Ended | None:
        """All float states, bit for bit: a proof, the shortest failing word, or neither."""
        budget = replace(self.budget.part(0.7), elements=self.settings.states)
        try:
            self.verdict = verdict = _search_states(self.subject.model, self.task, budget)
        except InputError as no_closure:
            self.reasons.append(str(no_closure))
            return None
        if verdict.length == "all" and verdict.certificate is not None:
            settlement = self._end(method=CLOSURE, length="all", **_proved_by(verdict.certificate.claims))
            return Ended(settlement=settlement, certificate=verdict.certificate)
        if verdict.refutation is not None:
            return Ended(settlement=self._refuted_by(verdict.refutation))
        self.reasons.append(verdict.reason)
        return None

    def _by_fading(self) -> Ended | None:
        """Boxes of float states of one layer whose memory fades."""
        model, task = self.subject.model, self.task
        if not isinstance(model, Model) or not isinstance(task, Prediction) or not task.language.regular:
            return None
        try:
            found = certify_fading(model, task.language, budget=self.budget.part(0.4))
        except InputError:
            return None
        if not isinstance(found, Certificate):
            self.reasons.append(found.reason)
            return None
        settlement = self._end(method=FADING, length="all", **_proved_by(found.claims))
        return Ended(settlement=settlement, certificate=found)

    def _by_search(self) -> Ended | None:
        """A failing word that a search led by the margins finds."""
        if self.machine is None or self.question is None or not self.settings.searched:
            return None
        share = self.budget.part(0.5)
        found = failing_searched_word(
            self.machine, self.question, letters=self.settings.searched, budget=share
        )
        if found is None:
            return None
        return Ended(settlement=self._refuted(self._shortened(found, share)))

    def _by_boxes(self) -> Ended | None:
        """Regions of the state of a contracting cell, checked by the kernel."""
        model = self.subject.model
        if not self.settings.boxes or not isinstance(model, Model):
            return None
        try:
            goal = goal_of(self.task)
            require_plain(model)
        except InputError:
            return None
        # A network that predicts has seen valid prefixes only, and may say anything after others.
        tasks = (goal.task, VALID_PREFIXES) if isinstance(self.task, Prediction) else (goal.task,)
        for wanted in tasks:
            seconds = max(0.1, self.budget.left())
            found = prove_boxes(model, replace(goal, task=wanted), weights=self.weights, seconds=seconds)
            if found.certificate is not None:
                break
        if found.certificate is None:
            self.reasons.append(f"no boxes: {found.reason}")
            return None
        settlement = self._end(method=BOXES, length="all", **_proved_by(found.certificate.claims))
        return Ended(settlement=settlement, certificate=found.certificate, network=found.network)

    def _by_long_words(self) -> Ended | None:
        """A failing word among long ones."""
        if self.machine is None or self.question is None or not self.settings.holds:
            return None
        for length in _LONG:
            found = failing_long_word(
                self.machine, self.question, length=length, words=_LONG_WORDS, budget=self.budget
            )
            if found is not None:
                if len(found.word) <= STEPPED:
                    found = self._shortened(found, self.budget)
                return Ended(settlement=self._refuted(found))
        return None

    def _by_examination(self) -> Ended | None:
        """A test of another kind that the network fails."""
        shown = failing_examination(self.subject.model, self.task)
        if shown is None:
            return None
        return Ended(
            settlement=self._end(
                status="refuted",
                words=shown.test,
                method=EXAMINATION,
                length=0,
                word=shown.word,
                expected=shown.expected,
                got=shown.got,
            )
        )

    def _named(self, word: Word) -> tuple[str, ...]:
        """The letters of a word by their names, by their numbers if the task has no alphabet."""
        symbols = getattr(self.task, "alphabet", None)
        return tuple(map(str, word)) if symbols is None else tuple(str(symbols[letter]) for letter in word)

    def _refuted(self, found: WrongAnswer) -> Settlement:
        """The settlement by a failing word; a short search says whether there is a shorter one."""
        if self.question is None:
            return self._end(
                status="refuted",
                words="the tests of the task",
                method=TESTS,
                length=0,
                word=self._named(found.word),
                expected=found.expected,
                got=found.got,
            )
        shortest, length = self._shorter(found)
        if isinstance(shortest, Refutation):
            return self._refuted_by(shortest)
        symbols = self.question.alphabet.symbols
        return self._end(
            status="refuted",
            words="the words that the task asks about",
            method=TESTS,
            length=length,
            word=tuple(symbols[letter] for letter in found.word),
            expected=found.expected,
            got=found.got,
            shortest=length == len(found.word) - 1,
        )

    def _shorter(self, found: WrongAnswer) -> tuple[Refutation | None, int]:
        """The shortest failing word if a short search finds it, and the length up to which none fails."""
        try:
            short = replace(self.budget.part(0.2), elements=_MOST_STATES)
            self.verdict = _search_states(self.subject.model, self.task, short, valid=True)
        except InputError:
            return None, 0
        length = self.verdict.length
        if self.verdict.refutation is not None and len(self.verdict.refutation.word) <= len(found.word):
            return self.verdict.refutation, len(self.verdict.refutation.word) - 1
        return None, length if isinstance(length, int) else 0

    def _refuted_by(self, refutation: Refutation) -> Settlement:
        assert self.machine is not None
        assert self.question is not None
        word = self.question.alphabet.encode(refutation.word)
        said = first_failure(self.machine, self.question, word) or WrongAnswer(
            word=word, expected=" ".join(refutation.expected), got=" ".join(refutation.got)
        )
        return self._end(
            status="refuted",
            words="the words that the task asks about",
            method=CLOSURE,
            length=len(refutation.word) - 1,
            word=refutation.word,
            expected=said.expected,
            got=said.got,
            shortest=True,
        )

    def _unsettled(self) -> Settlement:
        length = 0 if self.verdict is None else self.verdict.length
        return self._end(
            status="unsettled",
            words="the words that the task asks about" if self.verdict is None else WORDS[self.verdict.task],
            method=TESTS if self.verdict is None else CLOSURE,
            length=length if isinstance(length, int) else 0,
            reason="; ".join(r for r in self.reasons if r) or "no strategy ended it",
            undecided=undecided_gates(self.subject.model, self.task),
        )

    def _end(self, **fields: object) -> Settlement:
        known = {
            "about": self.about,
            "dtype": self.dtype,
            "states": 0 if self.verdict is None else self.verdict.states,
            "cpu_seconds": round(time.process_time() - self.begun, 3),
            "weights": self.weights,
        }
        return Settlement(**{**known, **fields})  # type: ignore[arg-type]


def _obstacle(model: nn.Module) -> str:
    """The reason why the float states of a model cannot be listed; empty if they can."""
    if getattr(model, "grows", False):
        return "its state grows with the word, so that its float states are never closed"
    if not callable(getattr(model, "step", None)) or not callable(getattr(model, "initial_state", None)):
        return "it has no `step` and `initial_state`, so that its states cannot be listed"
    return ""


def undecided_gates(model: nn.Module, task: Task) -> dict[str, float] | None:
    """Returns for each layer with diagonal gates the share of them that are none of 0, 1 and -1 in floats.

    They are looked at along test sequences of the longest length of training. None for another kind of model.
    """
    if not is_stateful(model):
        return None
    view = as_layered(model)
    batch = task.sample(task.usual_length(task.training_lengths[1]), 16, stream(0, "settle", "gates"))
    found = {}
    with torch.no_grad():
        layers: Sequence[SequenceLayer | OwnLayer] = view.layers
        for number, layer in enumerate(layers):
            moved = layer.transition(view.inputs_of(number, batch.inputs))
            if isinstance(moved, DiagonalTransition):
                size = moved.gate.abs()
                undecided = (size > _DECIDED) & ((size - 1).abs() > _DECIDED)
                found[f"layer {number + 1}"] = round(float(undecided.double().mean()), 6)
    return found or None


def _settle_compiled(folder: Path, network: Network, language: Language, budget: Budget) -> Settlement:
    """The end of a compiled network: its own certificate if the kernel accepts it, or else a new search."""
    begun = time.process_time()
    try:
        checked = check_folder(folder, budget=budget)
    except FormatError:
        checked = None
    claims = checked.claims if checked is not None and checked.ok else ()
    outcome: Certificate | Refutation | Unproved | None = None
    if not any(claim.length == "all" and claim.task in WORDS for claim in claims):
        outcome = certify(network, language, budget=budget.start())
        claims = outcome.claims if isinstance(outcome, Certificate) else ()
    spent = {"about": title_of(language), "states": 0, "cpu_seconds": round(time.process_time() - begun, 3)}
    proved = next((claim for claim in claims if claim.length == "all" and claim.task in WORDS), None)
    if proved is not None:
        return Settlement(
            status="proved",
            words=WORDS[proved.task],
            dtype=proved.dtype,
            method=proved.method,
            length="all",
            noise=None if proved.eps is None else str(proved.eps),
            claims=tuple(claim.covers for claim in claims),
            **spent,  # type: ignore[arg-type]
        )
    if isinstance(outcome, Refutation):
        return Settlement(
            status="refuted",
            words=WORDS[PREDICT],
            dtype=None,
            method=CLOSURE,
            length=len(outcome.word) - 1,
            word=outcome.word,
            expected=" ".join(outcome.expected) or "nothing",
            got=" ".join(outcome.got) or "nothing",
            shortest=True,
            **spent,  # type: ignore[arg-type]
        )
    reason = outcome.reason if isinstance(outcome, Unproved) else "no claim speaks of all lengths"
    return Settlement(
        status="unsettled",
        words=WORDS[PREDICT],
        dtype=None,
        method=CLOSURE,
        length=0,
        reason=reason,
        **spent,  # type: ignore[arg-type]
    )


def replay_settlement(folder: Path, *, budget: Budget | None = None, trust_code: bool = False) -> CheckResult:
    """Returns what a replay of the kept proof of a run says; it knows nothing of the search.

    Args:
        folder: of the run.
        budget: limits the CPU seconds.
        trust_code: whether a module that the run names for its model may run.

    Raises:
        InputError: if the run is not settled, or ended without a proof.
        BudgetExceeded: if the time is up.
    """
    known = read_settlement(folder)
    if known is None or known.status != "proved":
        state = "not settled" if known is None else known.status
        raise InputError(f"{folder} is {state}; there is no proof to replay (`nerode prove` looks for one)")
    if known.weights != run_tensor_hash(folder):
        return _refused("the proof is about other weights than those of the run")
    target = folder / SETTLED
    if known.method == BOXES:
        checked = check_proof(target, budget=budget)
        if checked.result.ok and not checked.of_run:
            return _refused("the proof is not about the weights of the run")
        return _as_stated(known, checked.result)
    subject = load_subject(folder, trust_code=trust_code)
    assert subject.task is not None
    closing = closing_of(subject.model, subject.task)
    path = target / SETTLED_CERTIFICATE
    certificate = certificate_from_json(
        read_json(path, max_bytes=_MOST_CERTIFICATE, hint="`nerode prove` writes it")
    )
    if known.method == FADING:
        if not isinstance(subject.task, Prediction):
            return _refused("the proof is about scores above 0, which this task does not have")
        failure = replay_fading(subject.zoo_model, closing.language, certificate, budget=budget)
    else:
        failure = recheck_module(
            closing.module,  # type: ignore[arg-type]
            closing.language,
            certificate,
            decode=closing.decode,
            budget=budget,
        )
    if failure is not None:
        return CheckResult(ok=False, claims=(), failure=failure)
    return _as_stated(known, CheckResult(ok=True, claims=certificate.claims, failure=None))


def _as_stated(known: Settlement, result: CheckResult) -> CheckResult:
    """The result of a check, refused if the settlement says something else than the claims."""
    if result.ok and any(getattr(known, key) != value for key, value in _proved_by(result.claims).items()):
        return _refused("the settlement says something else than its proof shows")
    return result


def _proved_by(claims: Sequence[Claim]) -> dict[str, Any]:
    """The fields of a settlement that follow from the claims of its certificate."""
    lasting = [claim for claim in claims if claim.length == "all" and claim.task in WORDS]
    return {
        "status": "proved" if lasting else "unsettled",
        "words": WORDS[lasting[0].task] if lasting else "",
        "dtype": next((claim.dtype for claim in claims if claim.dtype), None),
        "noise": next((str(claim.eps) for claim in claims if claim.eps is not None), None),
        "claims": tuple(claim.covers for claim in claims),
    }


def _refused(what: str) -> CheckResult:
    return CheckResult(ok=False, claims=(), failure=Failure(what=what, entry=str(SETTLED)))


def _text(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":")) + "\n"
