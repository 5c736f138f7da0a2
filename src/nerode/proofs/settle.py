"""Settling a module: one table of strategies, one scheduler, one outcome. No weight is changed.

tests       what the caller draws, and words with long holds
fading      for one layer whose memory fades: boxes of float states, replayed by the module's own steps
exact       for an exact network without weights: a cover or an invariant, checked by the kernel
heads       for softmax decoders that were compiled: lemmas about their heads
sums        for weights that were compiled: every sum is exact, and is that of the exact network
closure     all float states that words lead to, bit for bit; if they are finitely many, a proof
margins     words along which the margin of the answers gets smaller
boxes       for cells whose state contracts: regions of the state, checked by the kernel
loops       words that repeat one letter or two
long words  nearly periodic ones of up to 32,768 letters
coarse      walks that take states for the same when they are near

They take turns in slices of row-steps that grow (`proofs.find.schedule`); seconds only end the search. The
first that ends it decides: a proof has been replayed by then, a failing word read alone and made short.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from torch import nn

from nerode.core import Budget, BudgetExceeded, InputError, plural, started
from nerode.kernel import PREDICT, RECOGNISE, TRACK, VALID_PREFIXES, Certificate, Claim, Failure, Refutation
from nerode.languages import LanguageQuestion, answer_text
from nerode.models import Model, dtype_of, fixed_bits, no_exit
from nerode.models.network_module import CompiledModel
from nerode.network import Network, ScoreDecoder, network_hash
from nerode.proofs.certification import certify
from nerode.proofs.find.cells import prove_boxes, require_told_apart
from nerode.proofs.find.closure import SEARCH_SHARE, FloatVerdict, closing
from nerode.proofs.find.fading import fading_search
from nerode.proofs.find.heads import certify_decoder, run_decoder
from nerode.proofs.find.loops import LoopReport, search_loops
from nerode.proofs.find.schedule import FIRST_SLICE, Schedule, Work, finished
from nerode.proofs.find.sums import certify_sums
from nerode.proofs.find.walk import Walk
from nerode.proofs.find.words import (
    STEPPED,
    WordReader,
    coarse_walks,
    failing_hold,
    long_words,
    runner_of,
    shorten,
    shrinking_margins,
)
from nerode.proofs.proving import Unproved
from nerode.proofs.replay.attention.checker import find_unsound
from nerode.proofs.replay.lift import carried_claim, require_plain
from nerode.proofs.replay.subject import Subject
from nerode.proofs.replay.sums import METHOD as SUMS_METHOD
from nerode.proofs.runner import Runner
from nerode.records import Reading, Settlement

WORDS = {
    PREDICT: "all words over the alphabet",
    RECOGNISE: "all words over the alphabet, membership only",
    VALID_PREFIXES: "all prefixes of words of the language",
    TRACK: "all words that the task asks about",
}
"""The words that a task of a proof is about."""

ASKED_WORDS = "the words that the task asks about"

TESTS = "tests"
CLOSURE = "closure"
FADING = "fading"
BOXES = "boxes"
SUMS = "sums"
EXACT_NETWORK = "exact"

IN_BATCHES = "a proof was replayed in batches alone, and words that are read alone may round otherwise"

LETTERS_FOR_SHORTENING = 400_000
"""Letters that are read to make a failing word shorter."""

_SEARCH = 0.3
"""Share of the seconds for all strategies where a part of the lengths is proved after them."""

_ON_PREFIXES = 0.4
"""Share of the seconds left for a proof about prefixes of words, and of these for its replay."""

_BEFORE_BOXES = 1 << 16
"""Row-steps that boxes wait for: they cannot be paused, and other strategies may be quicker."""

_BEFORE_SUMS = 1 << 14
"""Row-steps that sums wait for on a regular language, where a small closure covers the empty word, too."""

_LONG, _LONG_WORDS = (4_096, 32_768), 32
"""Lengths of words that are nearly periodic, and how many there are of each."""

MOST_STATES = 4_000
"""Joint states of a search for a failing word that is shorter than a known one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleSettings:
    """Settings of the search for an end.

    Attributes:
        states: joint float states that the closure may list.
        tests: test sequences of each length.
        longest: the longest test; None for four times the longest length that was tested, 1,024 at least.
        holds: words with long holds.
        searched: length of the longest word of a search led by the margins; 0 for no search.
        loops: length of the longest word that repeats letters; 0 for none.
        boxes: whether boxes are looked for.
        partial: whether proofs up to a length are wanted where there is none of all lengths.
        predict: whether the length at which a loop fails is predicted before it is read.
        prefixes: whether a proof about prefixes of words is wanted where none about all words is found:
            what counts errors has no end of float states after words that nothing continues.
    """

    states: int = 100_000
    tests: int = 64
    longest: int | None = None
    holds: int = 12
    searched: int = 400
    loops: int = 1 << 16
    boxes: bool = True
    partial: bool = False
    predict: bool = False
    prefixes: bool = False

    def __post_init__(self) -> None:
        if (
            min(self.states, self.tests) < 1
            or min(self.holds, self.searched, self.loops) < 0
            or (self.longest is not None and self.longest < 1)
        ):
            raise InputError(f"{self} cannot be used; numbers of states and tests are 1 or more")


@dataclass(frozen=True, kw_only=True)
class Settled:
    """A settlement with what it stands on.

    Attributes:
        settlement: the outcome.
        certificate: of the proof, replayed; of a part of the lengths only where that was asked for.
        network: the exact network that the proof is about, if it is not about the module.
        refutation: by the failing word.
        loops: the loops that were read, if any were.
    """

    settlement: Settlement
    certificate: Certificate | None = None
    network: Network | None = None
    refutation: Refutation | None = None
    loops: LoopReport | None = None

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims of that certificate."""
        return () if self.certificate is None else self.certificate.claims


Tests = Iterable[tuple[int, Refutation | None]]
"""Row-steps of the caller's own tests, one after the other, and a word that fails in each, if one does."""


@no_exit()
def settle(
    subject: Subject,
    *,
    tests: Tests = (),
    settings: SettleSettings | None = None,
    budget: Budget | None = None,
) -> Settled:
    """Returns the outcome of all strategies for a module.

    Args:
        subject: the module with its question; it is not changed.
        tests: what else is read, drawn by the caller.
        settings: how far to search.
        budget: limits the seconds of all strategies together.

    Raises:
        InputError: if a weight is not a number.
    """
    weights = () if subject.module is None else subject.module.parameters()
    if not all(bool(p.isfinite().all()) for p in weights):
        raise InputError(f"{subject.name} has a weight that is not a finite number; train it again")
    # The networks are small: threads would wait for each other, and that counts as CPU time, too.
    with fixed_bits(1):
        return _Search(subject, tests, settings or SettleSettings(), started(budget)).run()


class _Search:
    """The strategies side by side, and what is known so far."""

    def __init__(self, subject: Subject, tests: Tests, settings: SettleSettings, budget: Budget) -> None:
        self.subject, self.tests, self.settings, self.budget = subject, tests, settings, budget
        self.begun = time.process_time()
        self.reasons: list[str] = []
        self.verdict: FloatVerdict | None = None
        self.reader: WordReader | None = None
        self.runner: Runner | None = None
        self.searching = budget.part(_SEARCH) if settings.partial else budget
        self.loops: LoopReport | None = None
        self.tested = 0
        self.partial: Certificate | None = None
        try:
            self.reader = None if subject.module is None else WordReader(subject)
            if obstacle := _obstacle(subject.module):
                self.reasons.append(obstacle)
            elif self.reader is not None:
                self.runner = self.reader.runner
        except InputError as no_question:
            self.reasons.append(str(no_question))

    def run(self) -> Settled:
        """Runs the strategies side by side until one of them ends it."""
        # What a few words refute is proved up to their length only: they come first where that is wanted.
        first = ("loops",) if self.settings.partial else ()
        order = dict.fromkeys((*first, *STRATEGIES))
        schedule = Schedule[Settled]({name: STRATEGIES[name](self) for name in order})
        found = schedule.run(self.searching) or self._unsettled()
        settlement = replace(found.settlement, steps=schedule.steps)
        partial = self.partial if self.settings.partial else None
        return replace(
            found, settlement=settlement, certificate=found.certificate or partial, loops=self.loops
        )

    def by_tests(self) -> Work[Settled | None]:
        """A failing word among the tests of the caller and words with long holds, made short.

        The empty word comes first where no closure of states begins with it.
        """
        if self.reader is not None and self.runner is None:
            wrong = self.reader.table.wrong_at_start(self.reader.runner.empty)
            if wrong is not None:
                return self._refuted_first(wrong, TESTS)
        for made, found in self.tests:
            if found is not None and self.reader is None:
                return self._tested(found)
            if found is not None and self.reader is not None:
                alone = self.reader.first_failure(self.reader.encode(found))
                if alone is not None:
                    return self._refuted(alone)
                self.reasons.append(
                    f"a test of {plural(len(found.word), 'letter')} fails in a batch but not alone: "
                    "roundings decide it"
                )
            yield made
        holds, length = self.settings.holds, self._up_to(self.settings.longest or 1024)
        if self.reader is None or not holds:
            return None
        held = failing_hold(self.reader, length=length, words=holds, budget=self.budget)
        yield holds * length
        if held is not None:
            return self._refuted(held)
        self.tested = max(self.tested, length) if self.budget.left() else self.tested
        return None

    def by_fading(self) -> Work[Settled | None]:
        """Boxes of float states of one layer whose memory fades."""
        model, question = self.subject.module, self.subject.question
        above_zero = self.subject.reading == Reading(kind="above")
        if not isinstance(model, Model) or not isinstance(question, LanguageQuestion) or not above_zero:
            return None
        if question.asks != "next" or not question.language.regular:
            return None
        try:
            found = yield from fading_search(model, question.language, VALID_PREFIXES, self.budget)
        except InputError:
            return None
        if isinstance(found, Certificate):
            return self._proved(FADING, found)
        self.reasons.append(found.reason)
        return None

    def by_exact(self) -> Work[Settled | None]:
        """A proof of the exact network by the kernel, or its shortest failing word; they cannot be paused."""
        network, question = self.subject.network, self.subject.question
        if self.subject.module is not None or network is None or not isinstance(question, LanguageQuestion):
            return None
        yield 1
        try:
            outcome = certify(network, question.language, budget=self.budget.start())
        except BudgetExceeded as stop:
            self.reasons.append(str(stop))
            return None
        if isinstance(outcome, Refutation):
            return self._refuted_first(outcome)
        if not isinstance(outcome, Certificate):
            self.reasons.append(outcome.reason)
            return None
        return self._by_kernel(outcome)

    def _by_kernel(self, certificate: Certificate) -> Settled | None:
        """The settlement by claims about the exact network."""
        lasting = next((c for c in certificate.claims if c.length == "all" and c.task in WORDS), None)
        self.partial = certificate
        if lasting is None:
            self.reasons.append("no claim speaks of all lengths")
            return None
        found = self._proved(lasting.method, certificate)
        noise = None if lasting.eps is None else str(lasting.eps)
        return replace(found, settlement=replace(found.settlement, dtype=lasting.dtype, noise=noise))

    def by_heads(self) -> Work[Settled | None]:
        """Lemmas about the heads of a softmax decoder that was compiled."""
        model, network, question = self.subject.module, self.subject.network, self.subject.question
        compiled = network is not None and isinstance(model, Model) and model.grows
        if not compiled or not isinstance(question, LanguageQuestion):
            return None
        assert isinstance(model, Model)
        assert network is not None
        yield 1
        tested = run_decoder(model, question.language)
        if isinstance(tested, Refutation):
            return self._refuted(tested)
        found = certify_decoder(model, network, question.language, budget=self.budget)
        failure = found if isinstance(found, Failure) else find_unsound(model)
        if isinstance(found, Failure) or failure is not None:
            self.reasons.append("" if failure is None else failure.what)
            return None
        self.partial = found
        if any(claim.length == "all" for claim in found.claims):
            return self._proved("heads", found)
        return None

    def by_sums(self) -> Work[Settled | None]:
        """Sums of written weights, which are those of their exact network; they cannot be paused."""
        model, network, question = self.subject.module, self.subject.network, self.subject.question
        above_half = self.subject.reading == Reading(kind="above", threshold="1/2")
        if not isinstance(model, Model) or network is None or model.grows or not above_half:
            return None
        if not isinstance(question, LanguageQuestion) or not isinstance(network.decoder, ScoreDecoder):
            return None
        yield _BEFORE_SUMS if question.language.regular else 1
        try:
            exact = certify(network, question.language, budget=self.budget.part(_SEARCH))
        except BudgetExceeded as stop:
            self.reasons.append(str(stop))
            return None
        if not isinstance(exact, Certificate):
            return None
        found = certify_sums(model, network, exact, question.language, budget=self.budget.start())
        if not isinstance(found, Certificate):
            self.reasons.append(found.reason)
            return None
        self.partial = found
        if found.claims[0].length == "all":
            return self._proved(SUMS, found)
        return self._unsettled() if self.settings.partial else None

    def by_closure(self) -> Work[Settled | None]:
        """All float states, bit for bit: a proof, the shortest failing word, or neither."""
        if self.runner is None:
            return None
        assert self.subject.question is not None
        limits = replace(self.budget, elements=self.settings.states)
        partial = self.settings.partial
        try:
            self.verdict = yield from closing(
                self.runner,
                self.subject.question,
                network=_network_of(self.subject),
                partial=partial,
                search=replace(self.searching, elements=self.settings.states),
                budget=limits,
            )
        except InputError as no_closure:
            self.reasons.append(str(no_closure))
            return None
        certificate = self.verdict.certificate
        self.partial = certificate
        if self.verdict.is_proof and certificate is not None:
            return self._proved(CLOSURE, certificate)
        if self.verdict.refutation is not None:
            return self._refuted_first(self.verdict.refutation)
        self.reasons.append(self.verdict.reason or IN_BATCHES)
        return None

    def by_margins(self) -> Work[Settled | None]:
        """A failing word that a search led by the margins finds."""
        if self.reader is None or not self.settings.searched:
            return None
        found = yield from shrinking_margins(
            self.reader, letters=self._up_to(self.settings.searched), budget=self.budget
        )
        return None if found is None else self._refuted(found)

    def by_boxes(self) -> Work[Settled | None]:
        """Regions of the state of a contracting cell, checked by the kernel; they cannot be paused."""
        model, subject = self.subject.module, self.subject
        language, tasks = subject.language, _box_tasks(subject)
        if not self.settings.boxes or not isinstance(model, Model) or language is None or not tasks:
            return None
        if subject.reading is not None and subject.reading.kind == "softmax":
            return None  # boxes speak of signs and of the largest score
        try:
            require_plain(model)
            require_told_apart(language, subject.answers)
        except InputError as no_boxes:
            self.reasons.append(str(no_boxes))
            return None
        yield _BEFORE_BOXES
        reason = ""
        for task in tasks:
            seconds = max(0.1, self.budget.left())
            found = prove_boxes(
                model, language, task, answers=subject.answers, weights=subject.weights, seconds=seconds
            )
            if not isinstance(found, Unproved):
                certificate, network = found
                ended = self._proved(BOXES, certificate, tuple(map(carried_claim, certificate.claims)))
                return replace(ended, network=network)
            reason = found.reason
        self.reasons.append(f"no boxes: {reason}")
        return None

    def by_loops(self) -> Work[Settled | None]:
        """A failing word among loops."""
        if self.reader is None or self.runner is None or not self.settings.loops:
            return None
        self.loops = yield from search_loops(
            self.runner,
            self.reader.question,
            longest=self._up_to(self.settings.loops),
            predict=self.settings.predict,
            budget=self.budget,
        )
        failed = self.loops.horizon
        if failed is None or failed.error is None:
            return None
        alone = self.reader.first_failure(self.reader.encode(failed.error))
        return None if alone is None else self._refuted(alone)

    def by_long_words(self) -> Work[Settled | None]:
        """A failing word among long ones."""
        if self.reader is None or not self.settings.holds:
            return None
        for length in dict.fromkeys(map(self._up_to, _LONG)):
            found = yield from long_words(self.reader, length=length, words=_LONG_WORDS, budget=self.budget)
            if found is not None:
                return self._refuted(found)
            self.tested = max(self.tested, length) if self.budget.left() else self.tested
        return None

    def by_coarse_walks(self) -> Work[Settled | None]:
        """A failing word that walks through coarse states find."""
        if self.reader is None or self.runner is None or not self.settings.searched:
            return None
        walk = Walk(self.runner, self.reader.question, most=MOST_STATES)
        try:
            while walk.end is None and self.budget.left():
                before = walk.steps
                walk.advance(FIRST_SLICE, self.budget)
                yield walk.steps - before
        except InputError:
            return None
        found = yield from coarse_walks(self.reader, walk, budget=self.budget)
        return None if found is None else self._refuted(found)

    def _up_to(self, length: int) -> int:
        """The length, or that of the longest word that may be read."""
        return min(length, self.subject.letters.longest or length)

    def _proved(self, method: str, proof: Certificate, claims: Sequence[Claim] | None = None) -> Settled:
        shown = proved_by(proof.claims if claims is None else claims)
        return Settled(settlement=self._end(method=method, length="all", **shown), certificate=proof)

    def _tested(self, found: Refutation) -> Settled:
        """The settlement by a word of which no single letter is asked about."""
        words = "the tests of the task"
        return Settled(
            settlement=self._end(status="refuted", words=words, method=TESTS, length=0, **shown(found))
        )

    def _refuted(self, found: Refutation) -> Settled:
        """The settlement by a failing word, made short; a short search looks for a shorter one."""
        assert self.reader is not None
        if len(found.word) <= STEPPED and not self.settings.partial:
            found = shorten(self.reader, found, letters=LETTERS_FOR_SHORTENING, budget=self.budget)
        shortest, length = self._shorter(found)
        if shortest is not None:
            return self._refuted_first(shortest)
        return Settled(
            settlement=self._end(
                status="refuted",
                words=ASKED_WORDS,
                method=TESTS,
                length=length,
                **shown(found),
                shortest=length == len(found.word) - 1,
            ),
            refutation=found,
        )

    def _shorter(self, found: Refutation) -> tuple[Refutation | None, int]:
        """The shortest failing word if a short search finds it, and the length up to which none fails."""
        # A long word is not made shorter letter by letter, so more states are worth their time.
        few = len(found.word) <= STEPPED and not self.settings.partial
        budget = replace(self.budget, elements=MOST_STATES if few else self.settings.states)
        partial = self.settings.partial
        try:
            self.verdict = search_states(self.subject, budget, valid=True, partial=partial)
            reached = self.verdict.length
            if partial and isinstance(reached, int) and reached >= len(found.word):
                # Of batches, which round otherwise, such a proof speaks: it would mislead who reads words.
                self.verdict = search_states(self.subject, budget, valid=True, partial=True, alone=True)
        except InputError:
            return None, 0
        self.partial, length = self.verdict.certificate, self.verdict.length
        if self.verdict.refutation is not None and len(self.verdict.refutation.word) <= len(found.word):
            return self.verdict.refutation, len(self.verdict.refutation.word) - 1
        return None, length if isinstance(length, int) else 0

    def _refuted_first(self, refutation: Refutation, method: str = CLOSURE) -> Settled:
        """The settlement by a shortest failing word."""
        alone = None if self.reader is None else self.reader.first_failure(self.reader.encode(refutation))
        said = alone or refutation
        return Settled(
            settlement=self._end(
                status="refuted",
                words=ASKED_WORDS,
                method=method,
                length=len(refutation.word) - 1,
                **shown(replace(said, word=refutation.word)),
                shortest=True,
            ),
            refutation=refutation,
        )

    def _unsettled(self) -> Settled:
        """The settlement without an end; a part of the lengths is proved in the seconds that are left."""
        question, budget = self.subject.question, replace(self.budget, elements=self.settings.states)
        summed = self.partial is not None and SUMS_METHOD in self.partial.evidence
        wanted = self.settings.prefixes and self.runner is not None and not summed
        if wanted and isinstance(question, LanguageQuestion) and question.task == PREDICT:
            narrow = LanguageQuestion.of_task(question.language, VALID_PREFIXES)
            share, network = budget.part(_ON_PREFIXES), _network_of(self.subject)
            search = share.part(1 - _ON_PREFIXES)
            assert self.runner is not None
            found = finished(
                closing(self.runner, narrow, network=network, partial=False, search=search, budget=share)
            )
            if found.is_proof and found.certificate is not None:
                return self._proved(CLOSURE, found.certificate)
        if self.settings.partial and self.runner is not None and self.partial is None:
            self.verdict = search_states(self.subject, budget, partial=True)
            self.reasons.append(self.verdict.reason)
            self.partial = self.verdict.certificate
        length = 0 if self.verdict is None else self.verdict.length
        words, method = ASKED_WORDS if self.verdict is None else WORDS[self.verdict.task], CLOSURE
        if self.partial is not None and SUMS_METHOD in self.partial.evidence:
            (claim,) = self.partial.claims
            words, method, length = WORDS[claim.task], SUMS, claim.length
        return Settled(
            settlement=self._end(
                status="unsettled",
                words=words,
                method=TESTS if self.verdict is None and method != SUMS else method,
                length=length if isinstance(length, int) else 0,
                reason="; ".join(r for r in self.reasons if r) or self._no_end,
            )
        )

    @property
    def _no_end(self) -> str:
        """The reason where no strategy gives one."""
        return "no strategy ended it" if self.budget.left() else "the time was up before a strategy ended it"

    def _end(self, **fields: object) -> Settlement:
        known = {
            "about": self.subject.about,
            "dtype": None if self.subject.module is None else dtype_of(self.subject.module),
            "states": 0 if self.verdict is None else self.verdict.states,
            "cpu_seconds": round(time.process_time() - self.begun, 3),
            "weights": self.subject.weights,
            "known": tuple(reason for reason in self.reasons if reason),
            "tested": self.tested,
            "reading": "" if self.subject.reading is None else str(self.subject.reading),
        }
        if isinstance(word := fields.get("word"), tuple):
            known["read"] = "step" if len(word) <= STEPPED else "forward"
        return Settlement(**{**known, **fields})  # type: ignore[arg-type]


STRATEGIES: dict[str, Callable[[_Search], Work[Settled | None]]] = {
    TESTS: _Search.by_tests,
    EXACT_NETWORK: _Search.by_exact,
    "heads": _Search.by_heads,
    FADING: _Search.by_fading,
    CLOSURE: _Search.by_closure,
    SUMS: _Search.by_sums,
    "margins": _Search.by_margins,
    BOXES: _Search.by_boxes,
    "loops": _Search.by_loops,
    "long words": _Search.by_long_words,
    "coarse": _Search.by_coarse_walks,
}
"""The strategies in their order."""


def search_states(
    subject: Subject, budget: Budget, *, valid: bool = False, partial: bool = False, alone: bool = False
) -> FloatVerdict:
    """Returns what a search of all float states finds.

    Args:
        subject: the module with its question.
        budget: limits the states and the seconds.
        valid: whether the words of a language that is predicted are its valid prefixes.
        partial: whether shorter words are proved where a word refutes the module.
        alone: whether nothing is to be said of batches, only of single words.

    Raises:
        InputError: if nothing is asked of single words, or the states of the module cannot be listed.
    """
    if obstacle := _obstacle(subject.module):
        raise InputError(obstacle)
    budget, question = started(budget), (subject.asked.weaker() or subject.asked) if valid else subject.asked
    network, search = _network_of(subject), budget.part(SEARCH_SHARE)
    return finished(
        closing(
            runner_of(subject),
            question,
            network=network,
            alone=alone,
            partial=partial,
            search=search,
            budget=budget,
        )
    )


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


def shown(found: Refutation) -> dict[str, Any]:
    """Returns the fields of a settlement that a failing word gives."""
    return {
        "word": found.word,
        "expected": answer_text(found.expected),
        "got": answer_text(found.got),
    }


def _network_of(subject: Subject) -> str | None:
    """The hash of the network that a module computes itself; None for weights, which have their own."""
    return (
        network_hash(subject.network)
        if isinstance(subject.module, CompiledModel) and subject.network
        else None
    )


def _box_tasks(subject: Subject) -> tuple[str, ...]:
    """The tasks that boxes are tried for: a network that predicts may say anything after invalid words."""
    question = subject.question
    if isinstance(question, LanguageQuestion) and question.asks == "end":
        return (RECOGNISE,)
    weaker = isinstance(question, LanguageQuestion) and question.weaker() is not None
    return (PREDICT, VALID_PREFIXES) if weaker else (PREDICT,) if question is not None else ()


def _obstacle(module: nn.Module | None) -> str:
    """The reason why the float states of a module cannot be listed; empty if they can."""
    if module is None:
        return ""
    if getattr(module, "grows", False):
        return "it carries no state of fixed size from letter to letter, so that its states cannot be listed"
    if not callable(getattr(module, "step", None)) or not callable(getattr(module, "initial_state", None)):
        return "it has no `step` and `initial_state`, so that its states cannot be listed"
    return ""
