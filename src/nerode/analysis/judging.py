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

from nerode.analysis.settle.keeping import write_settlement
from nerode.analysis.settle.settling import failing_tests
from nerode.analysis.subject import subject_of_task
from nerode.core import Budget, InputError
from nerode.languages import LanguageQuestion, Question
from nerode.models import Model, dtype_of
from nerode.network import Network
from nerode.proofs import PREDICT, STATE_BOXES, VALID_PREFIXES, Certificate, Unproved
from nerode.proofs.floats import (
    BOXES,
    CLOSURE,
    LETTERS_FOR_SHORTENING,
    Settled,
    Walk,
    WordReader,
    certify_module,
    coarse_walks,
    decoder,
    failing_hold,
    finished,
    prove_boxes,
    proved_by,
    shorten,
    shrinking_margins,
)
from nerode.proofs.replay import carried_claim, require_plain
from nerode.records import ExactSpec, Settlement, hash_tensors
from nerode.tasks import Prediction, Task, automaton_of
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
        self._ended: Settled | None = None
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
        if verdict.certificate is not None and verdict.is_proof:
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
        if self._ended is not None:
            language = None if self._ended.network is None else automaton_of(self._task).language
            write_settlement(folder, self._ended, language)

    def _end(
        self,
        model: nn.Module,
        method: str,
        proof: Certificate,
        network: Network | None = None,
        states: int = 0,
    ) -> None:
        """Notes the proof of a model, which may be about the exact network that it means."""
        language = getattr(self._task, "language", None)
        claims = proof.claims if network is None else tuple(map(carried_claim, proof.claims))
        settlement = Settlement(
            **{"dtype": dtype_of(model), **proved_by(claims)},
            about=self._task.name if language is None else language.name,
            method=method,
            length="all",
            states=states,
            cpu_seconds=round(time.process_time() - self._begun, 3),
        )
        self._ended = Settled(settlement=settlement, certificate=proof, network=network)


WANTED_NOISE = 2.0**-10
"""The noise that boxes have to allow; far above the roundings of float32."""


class BoxJudge(ClosureJudge):
    """Looks for boxes of the states of one cell, which hold under noise."""

    def examine(self, check: Check) -> Reply:
        """Returns whether the model is proved, or a word that it answers incorrectly."""
        if (found := self._boxes(check)) is None:
            return Reply(note={"outcome": "open"})
        self._end(check.model, BOXES, *found)
        return Reply(stop=True, note={"outcome": "proved", "noise": found[0].evidence[STATE_BOXES]["noise"]})

    def _boxes(self, check: Check) -> tuple[Certificate, Network] | None:
        """Boxes of a model, None if there are none."""
        model, automaton = check.model, automaton_of(self._task)
        task = automaton.task
        if isinstance(self._task, Prediction):
            task = PREDICT if check.words == "all" else VALID_PREFIXES
        tensors = {name: value.detach().clone().contiguous() for name, value in model.state_dict().items()}
        try:
            assert isinstance(model, Model)
            require_plain(model)
            found = prove_boxes(
                model,
                automaton.language,
                task,
                answers=automaton.answers,
                weights=hash_tensors(save(tensors)),
                least=WANTED_NOISE,
                seconds=math.inf,
            )
        except InputError:
            return None
        return None if isinstance(found, Unproved) else found


class WordJudge(ClosureJudge):
    """Searches failing words: among tests and words with long holds, by all float states, by rounded ones."""

    def examine(self, check: Check) -> Reply:
        """Returns whether the model is proved, or a word that it answers incorrectly."""
        budget = Budget(seconds=math.inf)
        reader = WordReader(subject_of_task(check.model, self._task))
        tests = failing_tests(check.model, self._task, _LENGTHS, sequences=_WORDS, budget=budget)
        alone = (reader.first_failure(reader.encode(test)) for _, test in tests if test is not None)
        found = next((wrong for wrong in alone if wrong is not None), None)
        found = found or failing_hold(reader, length=_LENGTHS[-1], words=_HOLDS, budget=budget)
        found = found or finished(shrinking_margins(reader, letters=_SEARCHED, budget=budget))
        if found is not None:
            short = shorten(reader, found, letters=LETTERS_FOR_SHORTENING, budget=budget)
            return Reply(words=(reader.encode(short),), note={"outcome": "refuted"})
        reply = super().examine(check)
        if reply.stop or reply.words:
            return reply
        walk = Walk(reader.runner, reader.question, most=self._states)
        walk.run(budget)
        found = finished(coarse_walks(reader, walk, budget=budget))
        if found is None:
            return reply
        return replace(reply, words=(reader.encode(found),), note={**reply.note, "outcome": "refuted"})


_LENGTHS, _WORDS, _HOLDS = (64, 256, 1024), 64, 12
"""Lengths of tests and their number; words with long holds."""

_SEARCHED = 400
"""Length of the longest word of the search that the margins lead."""
