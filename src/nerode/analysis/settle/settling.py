"""Settling a network: strategies side by side, until one of them ends it. No weight is changed.

tests       the test sequences of the task, at growing lengths, and words with long holds
fading      for one layer whose memory fades: boxes of float states, replayed by the module's own steps
closure     all float states that words lead to, bit for bit; if they are finitely many, a proof
margins     words along which the margin of the answers gets smaller
boxes       for cells whose state contracts: regions of the state, checked by the kernel
long words  nearly periodic ones of up to 32,768 letters

They take turns in slices of row-steps that grow (`proofs.find.schedule`). When none has ended it, other tests
of the task follow: completed sentences, phase alignment of signals.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from nerode.analysis.extraction.oracle import Machine
from nerode.analysis.extraction.question import NetworkQuestion, letter_network, question_of
from nerode.analysis.proofs.boxes import prove_boxes
from nerode.analysis.proofs.goals import goal_of, require_distinct
from nerode.analysis.settle.failing_words import (
    STEPPED,
    failing_examination,
    failing_hold,
    failing_tests,
    first_failure,
    long_words,
    shorten,
    shrinking_margins,
)
from nerode.analysis.subject import LoadedNetwork
from nerode.core import Budget, InputError, plural, started, stream
from nerode.languages import answer_text
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
from nerode.proofs import PREDICT, RECOGNISE, TRACK, VALID_PREFIXES, Certificate, Claim, Refutation
from nerode.proofs.floats import (
    CALL,
    FloatVerdict,
    Runner,
    Schedule,
    Work,
    certify_module,
    closing,
    decoder,
    fading_search,
    make_runner,
)
from nerode.proofs.replay import carried_claim, require_plain
from nerode.records import Settlement
from nerode.tasks import Prediction, Task

WORDS = {
    PREDICT: "all words over the alphabet",
    RECOGNISE: "all words over the alphabet, membership only",
    VALID_PREFIXES: "all prefixes of words of the language",
    TRACK: "all words that the task asks about",
}
"""The words that a task of a proof is about."""

TESTS = "tests"
CLOSURE = "closure"
FADING = "fading"
BOXES = "boxes"
EXAMINATION = "examination"

_LETTERS_FOR_SHORTENING = 400_000

_BEFORE_BOXES = 1 << 16
"""Row-steps that boxes wait for: they cannot be paused, and other strategies may be quicker."""

_LONG, _LONG_WORDS = (4_096, 32_768), 32
"""Lengths of words that are nearly periodic, and how many there are of each."""

MOST_STATES = 4_000
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


def states_runner(model: nn.Module, task: Task) -> Runner:
    """Returns a network with its scores read as answers to the question of a task.

    Raises:
        InputError: if the task has no question, or the states of the network cannot be listed.
    """
    question = task.question()
    if obstacle := _obstacle(model):
        raise InputError(obstacle)
    module = letter_network(model, task)
    return make_runner(module, question, decode=decoder(task.reading()))  # type: ignore[arg-type]


def search_states(model: nn.Module, task: Task, budget: Budget, *, valid: bool = False) -> FloatVerdict:
    """Returns what a search of all float states finds on the words of a task.

    Args:
        model: the network.
        task: what it should do.
        budget: limits the states and the seconds.
        valid: whether the words of a language that is predicted are its valid prefixes.

    Raises:
        InputError: if the task or the model has no such search.
    """
    question = task.question()
    if obstacle := _obstacle(model):
        raise InputError(obstacle)
    return certify_module(
        letter_network(model, task),  # type: ignore[arg-type]  # every module with `step` will do
        (question.weaker() or question) if valid else question,
        decode=decoder(task.reading()),
        partial=False,
        budget=budget,
    )


def name_of_goal(subject: LoadedNetwork) -> str:
    """Returns the name of what a network should do."""
    assert subject.task is not None
    return subject.task.name if subject.language is None else subject.language.name


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
        self.about, self.dtype = name_of_goal(subject), dtype_of(subject.model)
        self.machine: Machine | None = None
        self.question: NetworkQuestion | None = None
        self.reasons: list[str] = []
        self.verdict: FloatVerdict | None = None
        try:
            self.question = question_of(task)
            self.machine = Machine(letter_network(subject.model, task), self.question)
        except InputError as no_question:
            self.reasons.append(str(no_question))

    def run(self) -> Ended:
        """Runs the strategies side by side until one of them ends it."""
        schedule = Schedule[Ended](
            {
                TESTS: self._by_tests(),
                FADING: self._by_fading(),
                CLOSURE: self._by_closure(),
                "margins": self._by_margins(),
                BOXES: self._by_boxes(),
                "long words": self._by_long_words(),
            }
        )
        # A test of another kind says nothing about a network that can be proved.
        found = schedule.run(self.budget) or self._by_examination() or Ended(settlement=self._unsettled())
        return replace(found, settlement=replace(found.settlement, steps=schedule.steps))

    def _by_tests(self) -> Work[Ended | None]:
        """A failing word among the tests of the task and words with long holds, made short."""
        model, task, sequences = self.subject.model, self.task, self.settings.tests
        lengths = self._lengths()
        for length in (*lengths, None):
            some, axes = ([], True) if length is None else ([length], False)
            for found in failing_tests(model, task, some, sequences=sequences, axes=axes, budget=self.budget):
                if self.machine is None or self.question is None:
                    return Ended(settlement=self._refuted(found))
                alone = first_failure(self.machine, self.question, self.question.alphabet.encode(found.word))
                if alone is not None:
                    return Ended(settlement=self._refuted(self._shortened(alone)))
                self.reasons.append(
                    f"a test of {plural(len(found.word), 'letter')} fails in a batch but not alone: "
                    "roundings decide it"
                )
            yield CALL + sequences * (length or lengths[-1])
        if self.machine is None or self.question is None or not self.settings.holds:
            return None
        holds = self.settings.holds
        held = failing_hold(self.machine, self.question, length=lengths[-1], words=holds, budget=self.budget)
        yield holds * lengths[-1]
        return None if held is None else Ended(settlement=self._refuted(self._shortened(held)))

    def _shortened(self, found: Refutation) -> Refutation:
        assert self.machine is not None
        assert self.question is not None
        letters = _LETTERS_FOR_SHORTENING
        return shorten(self.machine, self.question, found, letters=letters, budget=self.budget)

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

    def _by_closure(self) -> Work[Ended | None]:
        """All float states, bit for bit: a proof, the shortest failing word, or neither."""
        try:
            question, runner = self.task.question(), states_runner(self.subject.model, self.task)
            limits = replace(self.budget, elements=self.settings.states)
            verdict = yield from closing(runner, question, partial=False, search=limits, budget=limits)
        except InputError as no_closure:
            self.reasons.append(str(no_closure))
            return None
        self.verdict = verdict
        if verdict.length == "all" and verdict.certificate is not None:
            settlement = self._end(method=CLOSURE, length="all", **proved_by(verdict.certificate.claims))
            return Ended(settlement=settlement, certificate=verdict.certificate)
        if verdict.refutation is not None:
            return Ended(settlement=self._refuted_by(verdict.refutation))
        self.reasons.append(verdict.reason)
        return None

    def _by_fading(self) -> Work[Ended | None]:
        """Boxes of float states of one layer whose memory fades."""
        model, task = self.subject.model, self.task
        if not isinstance(model, Model) or not isinstance(task, Prediction) or not task.language.regular:
            return None
        try:
            found = yield from fading_search(model, task.language, VALID_PREFIXES, self.budget)
        except InputError:
            return None
        if not isinstance(found, Certificate):
            self.reasons.append(found.reason)
            return None
        settlement = self._end(method=FADING, length="all", **proved_by(found.claims))
        return Ended(settlement=settlement, certificate=found)

    def _by_margins(self) -> Work[Ended | None]:
        """A failing word that a search led by the margins finds."""
        if self.machine is None or self.question is None or not self.settings.searched:
            return None
        letters = self.settings.searched
        found = yield from shrinking_margins(self.machine, self.question, letters=letters, budget=self.budget)
        return None if found is None else Ended(settlement=self._refuted(self._shortened(found)))

    def _by_boxes(self) -> Work[Ended | None]:
        """Regions of the state of a contracting cell, checked by the kernel; they cannot be paused."""
        model = self.subject.model
        if not self.settings.boxes or not isinstance(model, Model):
            return None
        try:
            goal = goal_of(self.task)
            require_plain(model)
            require_distinct(goal)
        except InputError as no_boxes:
            self.reasons.append(str(no_boxes))
            return None
        yield _BEFORE_BOXES
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
        claims = tuple(map(carried_claim, found.certificate.claims))
        settlement = self._end(method=BOXES, length="all", **proved_by(claims))
        return Ended(settlement=settlement, certificate=found.certificate, network=found.network)

    def _by_long_words(self) -> Work[Ended | None]:
        """A failing word among long ones."""
        if self.machine is None or self.question is None or not self.settings.holds:
            return None
        for length in _LONG:
            found = yield from long_words(
                self.machine, self.question, length=length, words=_LONG_WORDS, budget=self.budget
            )
            if found is not None:
                if len(found.word) <= STEPPED:
                    found = self._shortened(found)
                return Ended(settlement=self._refuted(found))
        return None

    def _by_examination(self) -> Ended | None:
        """A test of another kind that the network fails."""
        failed = failing_examination(self.subject.model, self.task)
        if failed is None:
            return None
        test, shown = failed
        return Ended(
            settlement=self._end(
                status="refuted",
                words=test,
                method=EXAMINATION,
                length=0,
                **_shown(shown),
            )
        )

    def _refuted(self, found: Refutation) -> Settlement:
        """The settlement by a failing word; a short search says whether there is a shorter one."""
        if self.question is None:
            return self._end(
                status="refuted",
                words="the tests of the task",
                method=TESTS,
                length=0,
                **_shown(found),
            )
        shortest, length = self._shorter(found)
        if isinstance(shortest, Refutation):
            return self._refuted_by(shortest)
        return self._end(
            status="refuted",
            words="the words that the task asks about",
            method=TESTS,
            length=length,
            **_shown(found),
            shortest=length == len(found.word) - 1,
        )

    def _shorter(self, found: Refutation) -> tuple[Refutation | None, int]:
        """The shortest failing word if a short search finds it, and the length up to which none fails."""
        try:
            # A long word is not made shorter letter by letter, so more states are worth their time.
            states = MOST_STATES if len(found.word) <= STEPPED else self.settings.states
            short = replace(self.budget, elements=states)
            self.verdict = search_states(self.subject.model, self.task, short, valid=True)
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
        said = first_failure(self.machine, self.question, word) or refutation
        return self._end(
            status="refuted",
            words="the words that the task asks about",
            method=CLOSURE,
            length=len(refutation.word) - 1,
            **_shown(replace(said, word=refutation.word)),
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
            "known": tuple(reason for reason in self.reasons if reason),
            "reading": "" if self.question is None else str(self.question.reading),
        }
        if isinstance(word := fields.get("word"), tuple):
            known["read"] = "step" if len(word) <= STEPPED else "forward"
        return Settlement(**{**known, **fields})  # type: ignore[arg-type]


def _shown(found: Refutation) -> dict[str, Any]:
    """The fields of a settlement that a failing word gives."""
    return {
        "word": found.word,
        "expected": answer_text(found.expected),
        "got": answer_text(found.got),
    }


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


def proved_by(claims: Sequence[Claim]) -> dict[str, Any]:
    """Returns the fields of a settlement that follow from the claims of its certificate."""
    lasting = [claim for claim in claims if claim.length == "all" and claim.task in WORDS]
    return {
        "status": "proved" if lasting else "unsettled",
        "words": WORDS[lasting[0].task] if lasting else "",
        "dtype": next((claim.dtype for claim in claims if claim.dtype), None),
        "noise": next((str(claim.eps) for claim in claims if claim.eps is not None), None),
        "claims": tuple(claim.covers for claim in claims),
    }
