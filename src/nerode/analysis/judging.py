"""Judges of training runs: a search for a proof, whose failing words are trained on.

`nerode.training` loads a judge by the name in a spec. Its limits are counts of states, never seconds, so that
the same spec gives the same run on a busy machine.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from safetensors.torch import save
from torch import nn

from nerode.analysis.extraction.oracle import Machine
from nerode.analysis.extraction.question import letter_network, question_of
from nerode.analysis.proofs.boxes import BoxProof, prove_boxes
from nerode.analysis.proofs.goals import goal_of, require_distinct
from nerode.analysis.settle.failing_words import (
    failing_hold,
    failing_searched_word,
    failing_tests,
    first_failure,
    shorten,
)
from nerode.analysis.settle.keeping import keep_end
from nerode.analysis.settle.settling import BOXES, CLOSURE, Ended, proved_by
from nerode.analysis.settle.word_search import find_failing_word
from nerode.analysis.subject import LoadedNetwork
from nerode.core import Budget, InputError
from nerode.languages import LanguageQuestion, Question
from nerode.models import Model, dtype_of
from nerode.network import Network
from nerode.proofs import PREDICT, STATE_BOXES, VALID_PREFIXES, Certificate, run_tensor_hash
from nerode.proofs.floats import certify_module, decoder
from nerode.proofs.replay import carried_claim, require_plain
from nerode.records import SETTLED, ExactSpec, Settlement, hash_tensors
from nerode.tasks import Prediction, Task
from nerode.training import Check, Reply


class ClosureJudge:
    """Lists all float states of a model: a proof at every length, the shortest failing word, or neither.

    Args:
        task: of the run.
        spec: with the largest number of states.

    Raises:
        InputError: if the task is not about a language with a small automaton.
    """

    def __init__(self, task: Task, spec: ExactSpec) -> None:
        self._task, self._states = task, spec.states
        self._question, self._decode = task.question(), decoder(task.reading())
        self._ended: Ended | None = None
        self._begun = time.process_time()

    def examine(self, check: Check) -> Reply:
        """Returns whether the model is proved, or a word that it answers incorrectly."""
        verdict = certify_module(
            check.model,  # type: ignore[arg-type]  # every module with `step` will do
            self._asked(check),
            decode=self._decode,
            budget=Budget(elements=self._states, seconds=math.inf),
        )
        note: dict[str, Any] = {"outcome": "open", "states": verdict.states}
        if verdict.length == "all" and verdict.certificate is not None:
            self._end(check.model, CLOSURE, verdict.certificate, states=verdict.states)
            return Reply(stop=True, note=note | {"outcome": "proved"})
        if verdict.refutation is None:
            return Reply(note=note)
        word = self._question.alphabet.encode(verdict.refutation.word)
        return Reply(words=(tuple(word),) if word else (), note=note | {"outcome": "refuted"})

    def _asked(self, check: Check) -> Question:
        """The question that a proof answers: of a language that is predicted, all words or valid ones."""
        question = self._question
        if isinstance(question, LanguageQuestion) and question.weaker() is not None:
            return LanguageQuestion(question.language, "next", "all" if check.words == "all" else "valid")
        return question

    def write(self, folder: Path) -> None:
        """Writes the proof of the model in the folder of a run, if there is one."""
        if self._ended is None:
            return
        settlement = replace(self._ended.settlement, weights=run_tensor_hash(folder))
        language = None if self._ended.network is None else goal_of(self._task).language
        keep_end(folder / SETTLED, replace(self._ended, settlement=settlement), language)

    def _end(
        self,
        model: nn.Module,
        method: str,
        certificate: Certificate,
        *,
        states: int = 0,
        network: Network | None = None,
    ) -> None:
        """Notes the proof of a model."""
        language = getattr(self._task, "language", None)
        claims = certificate.claims if network is None else tuple(map(carried_claim, certificate.claims))
        settlement = Settlement(
            **{"dtype": dtype_of(model), **proved_by(claims)},
            about=self._task.name if language is None else language.name,
            method=method,
            length="all",
            states=states,
            cpu_seconds=round(time.process_time() - self._begun, 3),
        )
        self._ended = Ended(settlement=settlement, certificate=certificate, network=network)


WANTED_NOISE = 2.0**-10
"""The noise that boxes have to allow; far above the roundings of float32."""


class BoxJudge(ClosureJudge):
    """Looks for boxes of the states of one cell, which hold under noise."""

    def examine(self, check: Check) -> Reply:
        """Returns whether the model is proved, or a word that it answers incorrectly."""
        if (found := self._boxes(check)) is None:
            return Reply(note={"outcome": "open"})
        assert found.certificate is not None
        self._end(check.model, BOXES, found.certificate, network=found.network)
        evidence = found.certificate.evidence[STATE_BOXES]
        return Reply(stop=True, note={"outcome": "proved", "noise": evidence["noise"]})

    def _boxes(self, check: Check) -> BoxProof | None:
        """Boxes of a model, None if there are none."""
        model = check.model
        goal = goal_of(self._task)
        try:
            assert isinstance(model, Model)
            require_plain(model)
            require_distinct(goal)
        except InputError:
            return None
        if isinstance(self._task, Prediction):
            goal = replace(goal, task=_task_of(check))
        tensors = {name: value.detach().clone().contiguous() for name, value in model.state_dict().items()}
        found = prove_boxes(
            model, goal, weights=hash_tensors(save(tensors)), least=WANTED_NOISE, seconds=math.inf
        )
        return found if found.certificate is not None else None


class WordJudge(ClosureJudge):
    """Searches failing words: among tests and words with long holds, by all float states, by rounded ones."""

    def examine(self, check: Check) -> Reply:
        """Returns whether the model is proved, or a word that it answers incorrectly."""
        budget = Budget(seconds=math.inf)
        question = question_of(self._task)
        machine = Machine(letter_network(check.model, self._task), question)
        tests = failing_tests(check.model, self._task, _LENGTHS, sequences=_WORDS, budget=budget)
        words = (question.alphabet.encode(test.word) for test in tests)
        alone = (first_failure(machine, question, word) for word in words)
        found = next((wrong for wrong in alone if wrong is not None), None)
        found = found or failing_hold(machine, question, length=_LENGTHS[-1], words=_HOLDS, budget=budget)
        found = found or failing_searched_word(machine, question, letters=_SEARCHED, budget=budget)
        if found is not None:
            short = shorten(machine, question, found, letters=_SHORTENING, budget=budget)
            word = question.alphabet.encode(short.word)
            return Reply(words=(tuple(word),), note={"outcome": "refuted"})
        reply = super().examine(check)
        if reply.stop or reply.words:
            return reply
        subject = LoadedNetwork(name=self._task.name, model=check.model, task=self._task)
        failing = find_failing_word(subject, budget=budget).failing
        if failing is None or not failing.word:
            return reply
        word = self._question.alphabet.encode(failing.word)
        return replace(reply, words=(tuple(word),), note={**reply.note, "outcome": "refuted"})


_LENGTHS, _WORDS, _HOLDS = (64, 256, 1024), 64, 12
"""Lengths of tests and their number; words with long holds."""

_SEARCHED = 400
"""Length of the longest word of the search that the margins lead."""

_SHORTENING = 400_000
"""Letters that are read to make a failing word shorter."""


def _task_of(check: Check) -> str:
    """The task of a claim about the words of a check, where the network predicts."""
    return PREDICT if check.words == "all" else VALID_PREFIXES
