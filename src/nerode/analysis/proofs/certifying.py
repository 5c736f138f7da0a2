"""From a trained model to a proof, or to a plain "no proof found" with all that was tried.

1. the network as it was trained      2. after fine-tuning with noise      3. during certificate training

The last two are repeated if need be. After each, boxes are looked for, first with enough noise to cover
roundings, at the very end with hardly any. What is found is given to the kernel, which has the last word.
"""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import nn

from nerode.analysis.proofs.certificate_training import CertificateTraining, train_certificate
from nerode.analysis.proofs.exact_training import ExactTraining
from nerode.analysis.proofs.fine_tuning import FineTuning, accuracy, fine_tune
from nerode.analysis.proofs.goals import Goal, goal_of, require_distinct
from nerode.analysis.proofs.trained_network import (
    is_carried,
    is_finite,
    require_plain,
    trained_network,
)
from nerode.core import Budget, BudgetExceeded, InputError, stream, to_mapping
from nerode.languages import describe_language
from nerode.models import Model
from nerode.network import Network, network_to_json
from nerode.proofs import (
    SMALLEST_NOISE,
    STATE_BOXES,
    Certificate,
    certificate_to_json,
    certify_state_boxes,
    check,
)
from nerode.tasks import Task

WANTED_NOISE = 2.0**-10
"""The noise that is looked for while there is something to train; far above the roundings of float32."""

_LETTERS = (1, 2, 3)
_NEARLY_RIGHT = 0.99
_TEST_WORDS, _TEST_LENGTH = 128, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class CertifySettings:
    """Settings of the search for a proof.

    Attributes:
        fine_tuning: noise and saturation.
        certificate_training: boxes and weights together.
        rounds: how often fine-tuning and certificate training are repeated, each from where the last ended.
        seconds: for one search of boxes, and for the check.
        exact: training through exact gates, for layers that have them.
    """

    fine_tuning: FineTuning = field(default_factory=FineTuning)
    certificate_training: CertificateTraining = field(default_factory=CertificateTraining)
    rounds: int = 2
    seconds: float = 300.0
    exact: ExactTraining = field(default_factory=ExactTraining)

    def __post_init__(self) -> None:
        if not self.seconds > 0:
            raise InputError(f"{self.seconds} seconds for a search; give a number above 0")
        if self.rounds < 0:
            raise InputError(f"{self.rounds} rounds of training; give 0 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One stage of a search.

    Attributes:
        name: "trained", "fine-tuning", "certificate training" or "exact gates" with the words they read.
        steps: updates.
        accuracy: share of correct positions on random words of length 100 afterwards, some with dead states;
            for exact gates, of words of the longest length of training that are correct throughout.
        proved: whether a proof was found then.
        cpu_seconds: of training and searching.
    """

    name: str
    steps: int
    accuracy: float
    proved: bool
    cpu_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """The outcome of the search for a proof.

    Attributes:
        proved: whether the kernel accepts a certificate.
        language: what the proof is about.
        task: "predict" or "recognise"; both speak of all words over the alphabet.
        letters: how many last letters a box knows, if proved.
        eps: the noise under which it holds, as a fraction, if proved.
        boxes: how many, if proved.
        float32: whether the proof covers the roundings of float32, with noise of half of eps on top.
        states: joint float states that a proof by closure lists; None for a proof by boxes.
        reason: why there is no proof, if there is none.
        stages: what was tried, in order.
        check_cpu_seconds: of the kernel.
        cpu_seconds: of all of it.
        seed: of the draws.
    """

    proved: bool
    language: str
    task: str
    letters: int | None
    eps: str | None
    boxes: int | None
    float32: bool = False
    reason: str | None
    stages: tuple[Stage, ...]
    check_cpu_seconds: float
    cpu_seconds: float
    seed: int
    states: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Returns plain values for JSON."""
        return to_mapping(self)


@dataclass(frozen=True, kw_only=True)
class Proof:
    """An attempt with what it made.

    Attributes:
        attempt: what came of it.
        goal: what was to be proved.
        model: the model as it was last trained.
        network: its exact network, which the proof is about; None if there is none.
        certificate: the proof; None if there is none.
    """

    attempt: Attempt
    goal: Goal
    model: Model
    network: Network | None
    certificate: Certificate | None


def prove_model(
    model: Model,
    task: Task,
    *,
    seed: int = 0,
    settings: CertifySettings | None = None,
    weights: str = "",
) -> Proof:
    """Returns a proof that a model does its task at every length, after training it on if need be.

    Args:
        model: trained on the task; it is not changed.
        task: what it was trained on.
        seed: of all draws.
        settings: how to look for the proof.
        weights: the SHA-256 of the tensors of the run that the proof is for.

    Raises:
        InputError: if the task or the model is none that boxes are made for.
    """
    goal = goal_of(task)
    require_plain(model)
    chosen = settings or CertifySettings()
    search = _Search(copy.deepcopy(model).float().train(), goal, seed, chosen, weights)
    search.run()
    return search.result()


class _Search:
    """The stages one after the other, until one of them has a proof."""

    def __init__(self, model: Model, goal: Goal, seed: int, settings: CertifySettings, weights: str) -> None:
        self.model, self.goal, self.seed, self.settings = model, goal, seed, settings
        self.weights = weights
        self.certificate: Certificate | None = None
        self.network: Network | None = None
        self.reason: str | None = None
        self.stages: list[Stage] = []
        self.check_seconds = 0.0
        self._begun = self._stage_begun = time.process_time()

    def run(self) -> None:
        """Tries stage after stage."""
        if self._stage("trained", 0):
            return
        chosen = self.settings.certificate_training
        for turn in range(self.settings.rounds):
            rng = stream(self.seed, "certify", turn)
            head = _states_head(self.model, self.goal, rng)
            if self._fine_tune(head, rng):
                return
            if not is_finite(self.model):
                return
            steps = train_certificate(
                self.model, self.goal, head, chosen, rng=rng, proved=lambda step: self._look(letters=(1,))
            )
            last = turn == self.settings.rounds - 1
            proved = self._stage(
                "certificate training", steps, least=SMALLEST_NOISE if last else WANTED_NOISE
            )
            if proved or not is_finite(self.model):
                return

    def _fine_tune(self, head: nn.Linear, rng: np.random.Generator) -> bool:
        """Fine-tunes, twice if the answers are not nearly all correct after the first time."""
        chosen = self.settings.fine_tuning
        for _ in range(2):
            fine_tune(self.model, self.goal, head, chosen, rng=rng)
            if self._stage("fine-tuning", chosen.steps):
                return True
            if self.stages[-1].accuracy >= _NEARLY_RIGHT or not is_finite(self.model):
                return False
        return False

    def _stage(self, name: str, steps: int, *, least: float = WANTED_NOISE) -> bool:
        """Looks for a proof, unless there is one already, and notes how it went."""
        proved = self.certificate is not None or self._look(least=least)
        now = time.process_time()
        self.stages.append(
            Stage(
                name=name,
                steps=steps,
                accuracy=self._accuracy(name),
                proved=proved,
                cpu_seconds=now - self._stage_begun,
            )
        )
        self._stage_begun = now
        return proved

    def _accuracy(self, name: str) -> float:
        rng = stream(self.seed, "certify", "accuracy", name)
        return accuracy(self.model, self.goal, words=_TEST_WORDS, length=_TEST_LENGTH, rng=rng)

    def _look(self, *, least: float = WANTED_NOISE, letters: tuple[int, ...] = _LETTERS) -> bool:
        if not is_finite(self.model):
            self.reason = "training diverged: a weight is not finite"
            return False
        found = prove_boxes(
            self.model,
            self.goal,
            weights=self.weights,
            letters=letters,
            least=least,
            seconds=self.settings.seconds,
        )
        self.check_seconds += found.check_cpu_seconds
        self.certificate, self.network, self.reason = found.certificate, found.network, found.reason
        return found.certificate is not None

    def result(self) -> Proof:
        """Returns what was found."""
        evidence = {} if self.certificate is None else self.certificate.evidence[STATE_BOXES]
        attempt = Attempt(
            proved=self.certificate is not None,
            language=self.goal.language.name,
            task=self.goal.task,
            letters=evidence.get("letters"),
            eps=evidence.get("noise"),
            boxes=len(evidence["boxes"]) if evidence else None,
            float32=self.certificate is not None and any(c.dtype for c in self.certificate.claims),
            reason=self.reason,
            stages=tuple(self.stages),
            check_cpu_seconds=self.check_seconds,
            cpu_seconds=time.process_time() - self._begun,
            seed=self.seed,
        )
        return Proof(
            attempt=attempt,
            goal=self.goal,
            model=self.model.eval(),
            network=self.network,
            certificate=self.certificate,
        )


@dataclass(frozen=True, kw_only=True)
class BoxProof:
    """The outcome of one search for boxes.

    Attributes:
        certificate: the proof, accepted by the kernel; None if there is none.
        network: the exact network that it is about; None if there is no proof.
        reason: why there is none.
        check_cpu_seconds: of the kernel.
    """

    certificate: Certificate | None = None
    network: Network | None = None
    reason: str | None = None
    check_cpu_seconds: float = 0.0


def prove_boxes(
    model: Model,
    goal: Goal,
    *,
    weights: str = "",
    letters: tuple[int, ...] = _LETTERS,
    least: float = SMALLEST_NOISE,
    seconds: float,
) -> BoxProof:
    """Returns boxes for a model as it is, with the consent of the kernel, or why there are none.

    Args:
        model: one cell between letters and a linear head.
        goal: what it should do.
        weights: the SHA-256 of the tensors of the run that the proof is for.
        letters: how many last letters a box may know.
        least: the noise that has to be allowed.
        seconds: for the search, and again for the kernel.

    Raises:
        InputError: if boxes would not tell two classes apart.
    """
    require_distinct(goal)
    network = trained_network(model, goal, weights=weights)
    found = certify_state_boxes(
        network, goal.language, task=goal.task, letters=letters, least=least, budget=Budget(seconds=seconds)
    )
    if not isinstance(found, Certificate):
        return BoxProof(reason=found.reason)
    found = replace(found, claims=tuple(claim for claim in found.claims if is_carried(model, claim)))
    begun = time.process_time()
    try:
        result = check(
            network_to_json(network),
            describe_language(goal.language),
            certificate_to_json(found),
            budget=Budget(seconds=seconds),
        )
        refused = None if result.failure is None else result.failure.what
    except BudgetExceeded as stop:
        refused = str(stop)
    took = time.process_time() - begun
    if refused is not None:
        return BoxProof(reason=f"the kernel refuses the certificate: {refused}", check_cpu_seconds=took)
    return BoxProof(certificate=found, network=network, check_cpu_seconds=took)


def _states_head(model: Model, goal: Goal, rng: np.random.Generator) -> nn.Linear:
    """A head that names the states of the automaton, with weights drawn by rng."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(rng.integers(2**62)))
        return nn.Linear(model.layers[0].outputs, goal.dfa.num_states)
