"""Attempts through exact gates: words of the automaton, checks by a judge, restarts from fresh weights.

The loss is given the network that is judged, from the first update on: its gates are exactly 0, 1 or -1.
Every so many updates, if the words of training are answered correctly, gates that need no memory lose it, the
gates are folded into the plain layers, and the judge is shown the plain network. A word that it returns joins
the words of training. An attempt that it does not end is followed by one from fresh weights, twice as long;
the first may be at all words and the later ones at prefixes of words of the language. In the later ones a
second head names the state of the automaton; it is no part of the model.

Random numbers of an update or a check depend on the seed, the attempt and the number of the update alone.

A judge is named in the spec and comes from outside. Training sees neither a proof nor a theorem: only words
that the model answers incorrectly, a flag that ends the run, and a note for its record. A judge is a function
of the models that it is shown. It counts its work and never measures time, so a run stays a pure function of
its spec. It never sees the lengths of tests.
"""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from nerode.core import InputError, UnknownName, stream
from nerode.models import Model
from nerode.records import ExactSpec, TrainSpec
from nerode.tasks import AutomatonWalks, Batch, Prediction, Task, automaton_of
from nerode.training.gates import ExactModel, GatePruner, PruningState, exact_forms
from nerode.training.model_building import Build, spec_model
from nerode.training.terms import (
    BoxTerm,
    GateMargin,
    LossTerm,
    OwnGates,
    Saturation,
    StateNaming,
    noisy_scores,
)


@dataclass(frozen=True, kw_only=True)
class Check:
    """A model whose words of training are all correct.

    Attributes:
        words: "all" or "valid": the words that it is trained on.
        model: with plain layers, in evaluation mode.
    """

    words: str
    model: nn.Module


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The reply of a judge.

    Attributes:
        stop: whether the run ends with this model.
        words: words that it answers incorrectly, by the numbers of their letters.
        note: plain values for the record of the run.
    """

    stop: bool = False
    words: tuple[tuple[int, ...], ...] = ()
    note: dict[str, Any] = field(default_factory=dict)


class Judge(Protocol):
    """Examines models while a run goes on."""

    def examine(self, check: Check) -> Reply:
        """Returns whether to stop, and words to train on."""

    def write(self, folder: Path) -> None:
        """Writes what it knows of the model that it stopped with into the folder of the run."""


class NoJudge:
    """Ends no run."""

    def examine(self, check: Check) -> Reply:
        """Returns nothing."""
        return Reply()

    def write(self, folder: Path) -> None:
        """Writes nothing."""


_JUDGES = {
    "none": ("", ""),
    "closure": ("nerode.analysis.judging", "ClosureJudge"),
    "boxes": ("nerode.analysis.judging", "BoxJudge"),
    "words": ("nerode.analysis.judging", "WordJudge"),
}
"""Where each judge is; it is imported when a run asks for it."""


def load_judge(name: str, task: Task, spec: ExactSpec) -> Judge:
    """Returns the judge of a run.

    Raises:
        UnknownName: if there is none of this name.
        InputError: if it cannot judge the task.
    """
    if name not in _JUDGES:
        raise UnknownName("judge", name, list(_JUDGES))
    module, maker = _JUDGES[name]
    if name == "none":
        return NoJudge()
    make: Callable[[Task, ExactSpec], Judge] = getattr(importlib.import_module(module), maker)
    return make(task, spec)


Words = tuple[tuple[int, ...], ...]

_BEGINNINGS, _FED = 16, 64
"""Words of a batch that begin with an incorrect one; the last of those that checks have found from which they
are drawn, where mistakes are trained on again."""

_CONTINUATION = 8
"""Letters after a failing word, where words are not cut."""

_FIRST_REACH, _LEARNED = 2, 0.9
"""Where words get longer as the shorter ones are learned: the first length, and the share that is enough."""

WARMUP_SHARE = 1 / 8
"""No replay of mistakes during this share of the updates: nearly every word is one."""

_BOXED = (256, 40)
"""Number and length of the words along which boxes are put."""

_FOLDED = (128, 60)
"""Number and length of the words on which gates are folded."""


@dataclass(slots=True, kw_only=True)
class ExactProgress:
    """Progress of the attempts of a run, but for tensors.

    Attributes:
        attempt: its number, from 0.
        step: updates of this attempt.
        reach: the longest length so far, where words get longer as the shorter ones are learned.
        found: incorrect words of checks, and those of the judge.
        mistakes: incorrect words of updates.
        checks: all checks, as plain values.
        pruning: what the pruner remembers.
    """

    attempt: int = 0
    step: int = 0
    reach: int = _FIRST_REACH
    found: Words = ()
    mistakes: Words = ()
    checks: tuple[dict[str, Any], ...] = ()
    pruning: PruningState = field(default_factory=PruningState)


class ExactRun:
    """The attempts of a run.

    Args:
        spec: of the run.
        task: about a language with a small automaton.
        start: weights that the first attempts begin with: at all words, and at prefixes.
        build: makes a model of the user's own.

    Attributes:
        model: of this attempt; its layers are in their exact form.
        terms: of its loss.
        progress: so far.
        judge: what examines it.

    Raises:
        InputError: if a layer has no exact gates, or the task is none of an automaton.
    """

    def __init__(
        self,
        spec: TrainSpec,
        task: Task,
        *,
        start: Mapping[str, Tensor] | None = None,
        build: Build | None = None,
    ) -> None:
        assert spec.run.exact is not None
        self._build = build
        self.spec, self.settings, self._task, self._start = spec, spec.run.exact, task, start
        self.automaton = automaton_of(task)
        self.judge: Judge = load_judge(self.settings.judge, task, self.settings)
        self._partial = isinstance(task, Prediction) and bool(self.automaton.dead.any())
        self._first = int(self._partial and self.settings.words == "valid")
        self.progress = ExactProgress(pruning=PruningState(share=self.settings.shed))
        self._begin()

    @property
    def _number(self) -> int:
        """The number of this attempt, where the first one is at all words."""
        return self._first + self.progress.attempt

    @property
    def words(self) -> str:
        """The words of this attempt: "all" or "valid"."""
        everything = not self._partial or self.settings.words == "all" or self._number == 0
        return "all" if everything else "valid"

    @property
    def steps(self) -> int:
        """The updates of this attempt."""
        return self._steps(self.progress.attempt)

    @property
    def most_steps(self) -> int:
        """The updates of all attempts."""
        return sum(self._steps(attempt) for attempt in range(self.settings.attempts))

    @property
    def is_due(self) -> bool:
        """Whether it is time for a check."""
        step = self.progress.step
        return step % self.spec.run.evaluate_every == 0 or step == self.steps

    @property
    def schedule_step(self) -> float:
        """The place in the schedule of the rate, which is stretched over this attempt."""
        return self.progress.step * self.spec.run.steps / self.steps

    def _steps(self, attempt: int) -> int:
        return self.spec.run.steps << max(0, self._first + attempt - int(self._partial))

    @property
    def _begins_with_given(self) -> bool:
        """Whether this attempt begins with given weights: the first of each kind of words does."""
        return self._start is not None and self._number <= int(self._partial)

    def _begin(self) -> None:
        """Builds the model of this attempt."""
        settings, seed = self.settings, self.spec.run.seed
        rng = stream(seed, "exact", self._number)
        model = spec_model(self.spec.model, self._task, seed=int(rng.integers(2**62)), build=self._build)
        zoo = model if isinstance(model, Model) else None
        if zoo is None and (settings.gates != "none" or settings.naming or settings.boxes or settings.noise):
            raise InputError(
                "exact gates, named states, boxes and noise are for layers of the zoo; a model of your own "
                "is trained on failing words"
            )
        if self._begins_with_given:
            assert self._start is not None
            model.load_state_dict(dict(self._start))
        self.model, self._exact = model, None
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(rng.integers(2**62)))
            if settings.gates != "none":
                assert zoo is not None
                self._exact = ExactModel(zoo, exact_forms(zoo.config, settings.gates))
            named = settings.gates == "none" or self._number > 0
            naming = None
            if zoo is not None:
                naming = StateNaming(zoo, self.automaton, weight=settings.naming if named else 0.0)
        gates = [] if self._exact is None else self._exact.gates
        margin = GateMargin(gates, margin=settings.margin, weight=settings.hinge)
        self.terms: list[LossTerm] = [margin] if naming is None else [naming, margin]
        if settings.saturation:
            weight = settings.saturation
            own = OwnGates(model, weight=weight) if zoo is None else Saturation(zoo, weight=weight)
            self.terms.append(own)
        self._boxes = None
        if settings.boxes and naming is not None and zoo is not None:
            self._boxes = BoxTerm(zoo, self.automaton, naming.states, weight=settings.boxes)
            self.terms.append(self._boxes)
        stray = settings.stray if self.words == "all" else 0.0
        self._source = AutomatonWalks(
            self.automaton, stray=stray, longest=settings.longest, tours=settings.tours
        )
        self._pruner = GatePruner(model, gates, self.progress.pruning)
        if self._exact is not None:
            self._exact.spread(
                torch.from_numpy(self._source.draw(rng, self.spec.run.batch, settings.longest))
            )

    def begin_next(self) -> bool:
        """Begins the next attempt from fresh weights; returns whether there is one."""
        progress = self.progress
        if progress.attempt + 1 >= self.settings.attempts:
            return False
        pruning = PruningState(share=self.settings.shed)
        self.progress = ExactProgress(attempt=progress.attempt + 1, checks=progress.checks, pruning=pruning)
        self._begin()
        return True

    def tensors(self) -> dict[str, Tensor]:
        """Returns what a checkpoint needs beside the model and the optimiser."""
        terms = nn.ModuleList(self.terms).state_dict()
        return {**{f"term.{name}": value for name, value in terms.items()}, **self._pruner.tensors()}

    def resume(self, progress: ExactProgress, tensors: Mapping[str, Tensor]) -> None:
        """Goes on from a checkpoint, whose caller fills the model."""
        self.progress = progress
        self._begin()
        nn.ModuleList(self.terms).load_state_dict(
            {name.removeprefix("term."): v for name, v in tensors.items() if name.startswith("term.")}
        )
        self._pruner.fill(tensors)

    def batch(self) -> Batch:
        """Returns the words of the next update."""
        rng = stream(self.spec.run.seed, "exact", self._number, self.progress.step)
        length = int(rng.integers(1, self._reach() + 1))
        beginnings = self._beginnings(rng)
        if self._exact is None:
            # Plain layers may fail on long words only, which are trained on as they are.
            length = max([length, *(len(word) + _CONTINUATION for word in beginnings)])
        return self.automaton.batch(self._source.draw(rng, self.spec.run.batch, length, beginnings))

    def noisy(self, batch: Batch) -> Tensor | None:
        """Returns the scores of the next update with noise on the state; None where there is none."""
        if not self.settings.noise:
            return None
        rng = stream(self.spec.run.seed, "exact", self._number, self.progress.step, "noise")
        generator = torch.Generator().manual_seed(int(rng.integers(2**63)))
        assert isinstance(self.model, Model)
        return noisy_scores(self.model, batch.inputs, self.settings.noise, generator)

    def _reach(self) -> int:
        """The longest length of the next update."""
        patient = self.settings.curriculum == "patient"
        grown = self.progress.reach if patient else 3 + (self.progress.step + 1) // 4
        return min(self.settings.longest, grown)

    def _beginnings(self, rng: np.random.Generator) -> Words:
        """Incorrect words, with which words of an update begin."""
        if not self.settings.mistakes:
            return self.progress.found[-_BEGINNINGS:]
        kept = (*self.progress.mistakes, *self.progress.found[-_FED:])
        chosen = rng.permutation(len(kept))[: self.spec.run.batch // 3]
        return tuple(kept[place] for place in chosen)

    def count(self, scores: Tensor, batch: Batch) -> None:
        """Notes an update, and what was incorrect in it."""
        progress, settings = self.progress, self.settings
        progress.step += 1
        patient = settings.curriculum == "patient" and batch.inputs.shape[1] == progress.reach
        replayed = settings.mistakes and progress.step > WARMUP_SHARE * self.steps
        if not (patient or replayed):
            return
        right = self._task.correct(scores.detach(), batch)
        if replayed:
            progress.mistakes = (*progress.mistakes, *_wrong(batch, right, 16))[-settings.mistakes :]
        if patient:
            progress.reach += int(float(right.all(1).double().mean()) >= _LEARNED)

    @torch.no_grad()
    def check(self) -> nn.Module | None:
        """Returns the plain model if the judge ends the run with it."""
        progress, settings = self.progress, self.settings
        rng = stream(self.spec.run.seed, "exact", self._number, progress.step, "check")
        accuracy, wrong = self._correct(rng, settings.tested, settings.longest)
        progress.found = (*progress.found, *wrong)
        row: dict[str, Any] = {
            "attempt": progress.attempt,
            "words": self.words,
            "given": self._begins_with_given,
            "step": progress.step,
            "accuracy": accuracy,
        }
        plain, reply = None, Reply()
        if accuracy == 1.0:
            before = self._pruner.memory()
            self._prune(rng)
            plain = self.plain(rng)
            reply = self.judge.examine(Check(words=self.words, model=plain))
            progress.found = (*progress.found, *reply.words)
            live = [] if self._exact is None else [int(gates.live.sum()) for gates in self._exact.gates]
            row |= {"live": live, "words_fed": [len(word) for word in reply.words], **reply.note}
            if reply.words and settings.shed:
                self._pruner.restore(before)
        progress.checks = (*progress.checks, row)
        if reply.stop:
            return plain
        if self._boxes is not None and (accuracy == 1.0 or 2 * progress.step >= self.steps):
            self._boxes.begin(torch.from_numpy(self._source.draw(rng, *_BOXED)))
        if settings.shed:
            tests = self.automaton.batch(self._source.draw(rng, 128, settings.longest))
            self._pruner.check(
                accuracy,
                lambda: float(self._task.loss(self.model(tests.inputs)[0], tests)),
                refuted=bool(reply.words),
            )
        return None

    def plain(self, rng: np.random.Generator | None = None) -> nn.Module:
        """Returns the plain model of this attempt as it is."""
        if self._exact is None:
            return copy.deepcopy(self.model).eval()
        if rng is None:
            rng = stream(self.spec.run.seed, "exact", self._number, self.progress.step, "fold")
        return self._exact.plain(torch.from_numpy(self._source.draw(rng, *_FOLDED)))

    def _prune(self, rng: np.random.Generator) -> None:
        """Takes the memory from every gate without which the words of training stay correct."""
        settings, progress = self.settings, self.progress
        longest = settings.longest
        if settings.shed:
            known = (*progress.mistakes, *progress.found[-_FED:])
            drawn = [
                self._source.draw(rng, settings.tested, longest, known),
                self._source.draw(rng, settings.tested // 2, longest // 2 or 1),
            ]
            tests = [self.automaton.batch(words) for words in drawn]
            self._pruner.prune(lambda: all(bool(self._right(test).all()) for test in tests))
            return
        for gates in [] if self._exact is None else self._exact.gates:
            for gate in rng.permutation(np.flatnonzero(gates.live.numpy())).tolist():
                gates.live[gate] = False
                short = self._correct(rng, 64, longest // 2 or 1)[0]
                if short < 1.0 or self._correct(rng, 128, longest)[0] < 1.0:
                    gates.live[gate] = True

    def _correct(self, rng: np.random.Generator, count: int, length: int) -> tuple[float, Words]:
        """The share of words that are correct throughout, and some others up to their first mistake."""
        batch = self.automaton.batch(self._source.draw(rng, count, length))
        right = self._right(batch)
        return float(right.all(1).double().mean()), _wrong(batch, right, 8)

    def _right(self, batch: Batch) -> Tensor:
        """Which positions are answered correctly."""
        return self._task.correct(self.model(batch.inputs)[0], batch)


def _wrong(batch: Batch, right: Tensor, most: int) -> Words:
    """Some incorrect words up to their first mistake."""
    rows = (~right.all(1)).nonzero().flatten()[:most].tolist()
    firsts = right.int().argmin(1)
    return tuple(tuple(batch.inputs[row, : int(firsts[row]) + 1].tolist()) for row in rows)
