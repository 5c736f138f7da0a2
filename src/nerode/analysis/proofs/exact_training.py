"""Training through exact gates, which ends with a proof in floats or with what stood in the way.

The loss is given the network that will be proved, from the first update on: its gates are exactly 0, 1 or -1.
Every so many updates, if the words of training come out correctly, channels that need no memory lose it, the
gates are folded into the plain layers, and the float states of the plain network are searched. A word that
the search names joins the words of training. An attempt that finds no proof is followed by one from fresh
weights, twice as long; the first is at all words, the later ones at prefixes of words of the language. In
the later ones a second head names the state of the automaton, so that what an answer depends on is asked for
when it happens, not when it shows; the head is then thrown away.

Nothing is chosen by words longer than those of training; the search for float states decides.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from nerode.analysis.proofs.goals import Goal, goal_of
from nerode.analysis.proofs.memory_shedding import Shedding
from nerode.core import Budget, InputError, plural, stream
from nerode.languages import LanguageQuestion, Question
from nerode.models import (
    ExactGates,
    LayerBlock,
    LayerConfig,
    Model,
    ModelConfig,
    RoundedMemory,
    SequenceLayer,
    Surroundings,
    ThreeValuedGates,
    build_model,
    find_member,
    fixed_bits,
)
from nerode.proofs.floats import FloatVerdict, certify_module, decoder
from nerode.tasks import Prediction, Task

Words = npt.NDArray[np.int64]

_BEGINNINGS, _FED = 16, 64
"""Words of a batch that begin with a word that came out incorrectly; the last of those that looks have found
from which they are drawn, where mistakes are kept."""

EXACT_WIDTH = 16
"""Features of a model with exact gates."""

BARE = Surroundings(norm="none", residual=False, feed_forward="none")
"""Nothing around a cell: its units go to the head as they are."""

UNNORMED = Surroundings(norm="none", residual=True, feed_forward="none")
"""The residual path alone."""

_FIRST_REACH, _LEARNED = 2, 0.9
"""Where words get longer as the shorter ones are learned: the first length, and the share that is enough."""

_RARE, _ON_THE_WAY = 1 / 8, 3 / 4
"""A state to which fewer random words come is rare; the share of the letters of a tour that lead on."""

_WARM = 0.4
"""Share of the updates at the full rate; then it falls to a tenth."""

_BABBLE = 1 / 8
"""Share of the updates before which mistakes are not kept: nearly every word is one."""

_ENOUGH, _EXCESS = 0.95, 0.1
"""Share of correct words from which on gates lose their memory; the weight of writes of many steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactTraining:
    """Settings of training through exact gates; one setting serves every architecture.

    Attributes:
        steps: updates of the first attempt.
        every: updates between two looks for a proof.
        rate: of Adam.
        batch: words of an update.
        longest: length of the longest word.
        stray: weight of letters that leave the language, where all words are trained on.
        attempts: from fresh weights, at most.
        states: joint float states that a proof may list.
        margin: scores are kept this far from 0.
        hinge: weight of that.
        cpu_seconds: of all attempts.
        naming: weight of the second head, which names the state of the automaton from the second attempt on.
        three: whether gates have three values, so that flips stand beside resets; not every layer has them.
        everything: whether the first attempt is at all words; otherwise all are at prefixes, where there are
            words that are none.
        tested: words that have to be correct before float states are searched.
        tours: whether half of the words are tours of the states also where none is rare.
        mistakes: words of training that came out incorrectly and are kept; a third of the words of an update
            begin with some of them. 0 for none but those of the last looks.
        shed: share of the gates with memory that lose it at a look, from 95 % of correct words on; 0 for
            none, then only gates lose it without which all words stay correct.
        rounded: whether memory is rounded to few values; only Mamba has that.
    """

    steps: int = 400
    every: int = 100
    rate: float = 5e-3
    batch: int = 64
    longest: int = 40
    stray: float = 0.05
    attempts: int = 4
    states: int = 8_000
    margin: float = 0.5
    hinge: float = 0.1
    cpu_seconds: float = 150.0
    naming: float = 1.0
    three: bool = False
    everything: bool = True
    tested: int = 128
    tours: bool = False
    mistakes: int = 0
    shed: float = 0.0
    rounded: bool = False

    def __post_init__(self) -> None:
        if min(self.steps, self.every, self.batch, self.longest, self.attempts, self.states) < 1:
            raise InputError(f"{self} cannot be used; numbers of steps, words and attempts are 1 or more")
        if not (self.rate > 0 and self.cpu_seconds > 0):
            raise InputError(f"{self} cannot be used; the rate and the seconds are above 0")
        if self.tested < 2 or self.mistakes < 0 or not 0 <= self.shed < 1:
            raise InputError(
                f"{self} cannot be used; tested is 2 or more, mistakes 0 or more, shed in [0, 1)"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactLook:
    """One look for a proof.

    Attributes:
        attempt: its number, from 0.
        words: "all" or "valid".
        given: whether the attempt began with given weights, not with fresh ones.
        step: updates so far.
        accuracy: share of random words of the longest length of training that are correct throughout.
        live: gates that keep memory, in each layer; empty before the words of training come out correctly.
        outcome: "not learned", "open", "refuted" or "proved".
        states: joint float states that were seen.
        word: the failing word that the search named, as letters; empty for none.
        search_seconds: CPU seconds of this search and its replay.
        cpu_seconds: since the beginning.
    """

    attempt: int
    words: str
    given: bool = False
    step: int
    accuracy: float
    live: tuple[int, ...] = ()
    outcome: str = "not learned"
    states: int = 0
    word: tuple[str, ...] = ()
    search_seconds: float = 0.0
    cpu_seconds: float


@dataclass(frozen=True, kw_only=True)
class ExactProof:
    """The outcome of training through exact gates.

    Attributes:
        model: the plain network of the last attempt.
        verdict: the proof; None if there is none.
        reason: why there is none; empty otherwise.
        looks: what was tried, in order.
        cpu_seconds: of all of it.
    """

    model: Model
    verdict: FloatVerdict | None
    reason: str
    looks: tuple[ExactLook, ...]
    cpu_seconds: float


def exact_config(architecture: str, task: Task, *, layers: int = 1, three: bool = False) -> ModelConfig:
    """Returns a model with the settings that exact gates ask for; one width serves every architecture.

    Args:
        architecture: its name.
        task: sets letters and outputs.
        layers: how many.
        three: whether its gates are to have three values.

    Raises:
        InputError: if the architecture has no exact gates, or none of three values.
    """
    kind = find_member(architecture).kind
    form = kind.three_valued if three else kind.exact_gates
    if form is None:
        what = "has no gates of three values" if three else "does not tell its gate scores"
        raise InputError(f"{architecture} {what}; exact gates are for layers that do")
    settings = {**form.settings, **(form.stacked if layers > 1 else {})}
    layer = LayerConfig(name=architecture, settings=settings)
    if form.one_hot and layers > 1:
        raise InputError(f"exact gates of {architecture} read letters as they are; give one layer")
    return ModelConfig(
        layers=(layer,) * layers,
        letters=task.letters,
        outputs=task.outputs,
        width=None if form.one_hot else EXACT_WIDTH,
        surroundings=BARE if form.bare else UNNORMED if form.unnormed else None,
        final_norm="none" if form.bare else "rms",
    )


def train_exact(
    config: ModelConfig,
    task: Task,
    *,
    seed: int,
    settings: ExactTraining | None = None,
    given: Model | None = None,
) -> ExactProof:
    """Returns a network that was trained through exact gates, with a proof where one was found.

    Args:
        config: of the model; each of its layers must tell its gate scores.
        task: about a language with a small automaton.
        seed: of weights and words.
        settings: how to train.
        given: a trained model of this config, with whose weights the first attempts begin, at all words and
            at prefixes; it is not changed. The later ones begin with fresh weights.

    Raises:
        InputError: if a layer has no exact gates, or the task is none of an automaton.
    """
    # Threads of small networks wait for each other, and that would count as CPU seconds.
    with fixed_bits(1):
        return _Training(config, task, seed, settings or ExactTraining(), given).run()


def train_plain(
    config: ModelConfig,
    task: Task,
    *,
    seed: int,
    updates: int,
    valid: bool = False,
    naming: bool = False,
    settings: ExactTraining | None = None,
) -> Model:
    """Returns a network that was trained without exact gates, on the same words and at the same rate.

    Args:
        config: of the model.
        task: about a language with a small automaton.
        seed: of weights and words.
        updates: how many.
        valid: whether the words are prefixes of words of the language.
        naming: whether a second head names the state of the automaton.
        settings: how to train; what is said of attempts and proofs does not count.
    """
    chosen = settings or ExactTraining()
    training = _Training(config, task, seed, chosen, None)
    training.naming = chosen.naming if naming else 0.0
    stray = 0.0 if valid else chosen.stray
    words = _WordSource(training.goal, stray=stray, longest=chosen.longest, tours=chosen.tours)
    rng = stream(seed, "exact-gates", "plain")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(rng.integers(2**62)))
        model = build_model(config)
        namer = _StateNamer(model, training.goal)
    adam = torch.optim.Adam([*model.parameters(), *namer.parameters()], lr=chosen.rate)
    for step in range(1, updates + 1):
        training._update(model, (), namer, adam, words, (), rng, step, updates)
    return model.eval()


class _Training:
    """Attempts one after the other, until one ends with a proof."""

    def __init__(
        self, config: ModelConfig, task: Task, seed: int, settings: ExactTraining, given: Model | None
    ) -> None:
        self.config, self.seed, self.settings, self.given = config, seed, settings, given
        self.goal = goal_of(task)
        self.question, self.reading = task.question(), task.reading()
        kinds = [layer.resolve()[0] for layer in config.layers]
        self.forms = [kind.three_valued if settings.three else kind.exact_gates for kind in kinds]
        if settings.rounded:
            self.forms = [RoundedMemory] * len(kinds)
        self.partial = isinstance(task, Prediction) and bool(self.goal.dead.any())
        self.patient = any(form is not None and form.patient for form in self.forms)
        self.reach, self.naming = _FIRST_REACH, 0.0
        self.mistakes: list[tuple[int, ...]] = []
        self.shedding: Shedding | None = None
        self.looks: list[ExactLook] = []
        self.verdict: FloatVerdict | None = None
        self.begun = time.process_time()

    def run(self) -> ExactProof:
        """Trains until there is a proof, or attempts or time are used up."""
        found: Model | None = None
        first = int(self.partial and not self.settings.everything)
        for number in range(first, first + self.settings.attempts):
            found = self._attempt(number)
            if self.verdict is not None or self._cpu() > self.settings.cpu_seconds:
                break
        assert found is not None
        return ExactProof(
            model=found,
            verdict=self.verdict,
            reason="" if self.verdict is not None else self._reason(),
            looks=tuple(self.looks),
            cpu_seconds=self._cpu(),
        )

    def _attempt(self, number: int) -> Model:
        """One attempt from fresh weights."""
        settings = self.settings
        everything = number == 0 or not self.partial
        stray = settings.stray if everything else 0.0
        words = _WordSource(self.goal, stray=stray, longest=settings.longest, tours=settings.tours)
        steps = settings.steps * 2 ** max(0, number - self.partial)
        rng = stream(self.seed, "exact-gates", number)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(rng.integers(2**62)))
            fresh = build_model(self.config)
            if self._begins_with_given(number):
                assert self.given is not None
                fresh.load_state_dict(self.given.state_dict())
            exact = ExactModel(fresh, self.forms)
            namer = _StateNamer(exact.model, self.goal)
        exact.spread(words.draw(rng, settings.batch, settings.longest)[0])
        adam = torch.optim.Adam([*exact.model.parameters(), *namer.parameters()], lr=settings.rate)
        food: list[tuple[int, ...]] = []
        self.mistakes = []
        if settings.shed:
            self.shedding = Shedding(exact.model, exact.gates, share=settings.shed, enough=_ENOUGH)
        self.reach, self.naming = _FIRST_REACH, settings.naming if number else 0.0
        for step in range(1, steps + 1):
            self._update(exact.model, exact.gates, namer, adam, words, food, rng, step, steps)
            if step % settings.every == 0 or step == steps:
                plain = self._look(exact, words, food, rng, number, step, everything=everything)
                if self.verdict is not None and plain is not None:
                    return plain
                if self._cpu() > settings.cpu_seconds:
                    break
        return exact.plain(words.draw(rng, 128, 60)[0])

    def _begins_with_given(self, number: int) -> bool:
        """Whether an attempt begins with the given weights: the first of each kind of words."""
        return self.given is not None and number <= int(self.partial)

    def _update(
        self,
        model: Model,
        exact: Sequence[ExactGates],
        namer: _StateNamer,
        adam: torch.optim.Optimizer,
        words: _WordSource,
        food: Sequence[tuple[int, ...]],
        rng: np.random.Generator,
        step: int,
        steps: int,
    ) -> None:
        settings, done = self.settings, step / steps
        cooled = 0.1 + 0.45 * (1 + np.cos(np.pi * (done - _WARM) / (1 - _WARM)))
        adam.param_groups[0]["lr"] = settings.rate * (1.0 if done < _WARM else cooled)
        length = int(rng.integers(1, self._reach(step) + 1))
        x, states = words.draw(rng, settings.batch, length, self._beginnings(food, rng))
        scores, named = namer(x)
        if settings.mistakes and done > _BABBLE:
            self.mistakes += self._wrong(x, self._right(scores, states), 16)
            self.mistakes = self.mistakes[-settings.mistakes :]
        if self.patient and length == self.reach:
            self.reach += int(self._right(scores, states).all(1).mean() >= _LEARNED)
        loss = self._loss(scores, states)
        if self.naming:
            said = torch.from_numpy(states).flatten()
            loss = loss + self.naming * nn.functional.cross_entropy(named.flatten(0, 1), said)
        for gates in exact:
            if gates.live.any():
                near = torch.relu(settings.margin - gates.scores.abs())[..., gates.live]
                loss = loss + settings.hinge * near.mean()
                if isinstance(gates, RoundedMemory):
                    loss = loss + _EXCESS * gates.excess()
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()

    def _beginnings(
        self, food: Sequence[tuple[int, ...]], rng: np.random.Generator
    ) -> Sequence[tuple[int, ...]]:
        """Words that came out incorrectly, with which words of an update begin."""
        if not self.settings.mistakes:
            return food[-_BEGINNINGS:]
        kept = [*self.mistakes, *food[-_FED:]]
        chosen = rng.permutation(len(kept))[: self.settings.batch // 3]
        return [kept[place] for place in chosen]

    def _reach(self, step: int) -> int:
        """The longest length of an update."""
        grown = self.reach if self.patient else 3 + step // 4
        return min(self.settings.longest, grown)

    def _loss(self, scores: Tensor, states: Words) -> Tensor:
        """The loss of the answers along words, whose states of the automaton are known."""
        if self.goal.classes is None:
            wanted = torch.from_numpy(self.goal.bits[states]).to(scores.dtype)
            return nn.functional.binary_cross_entropy_with_logits(scores, wanted)
        classes = torch.from_numpy(self.goal.classes[states])
        return nn.functional.cross_entropy(scores.flatten(0, 1), classes.flatten())

    def _look(
        self,
        exact: ExactModel,
        words: _WordSource,
        food: list[tuple[int, ...]],
        rng: np.random.Generator,
        number: int,
        step: int,
        *,
        everything: bool,
    ) -> Model | None:
        """Looks for a proof, if the words of training come out correctly."""
        said = "all" if everything else "valid"
        settings = self.settings
        accuracy, wrong = self._correct(exact.model, words, rng, settings.tested, settings.longest)
        food.extend(wrong)
        look = ExactLook(
            attempt=number,
            words=said,
            given=self._begins_with_given(number),
            step=step,
            accuracy=accuracy,
            cpu_seconds=self._cpu(),
        )
        plain = None
        if accuracy == 1.0:
            before = None if self.shedding is None else self.shedding.kept()
            self._thin(exact, words, food, rng)
            plain = exact.plain(words.draw(rng, 128, 60)[0])
            begun = self._cpu()
            verdict = certify_module(
                plain,
                self._asked(everything=everything),
                decode=decoder(self.reading),
                budget=Budget(elements=settings.states, seconds=settings.cpu_seconds),
            )
            letters = () if verdict.refutation is None else verdict.refutation.word
            if letters:
                food.append(self.question.alphabet.encode(letters))
            live = tuple(int(gates.live.sum()) for gates in exact.gates)
            if letters and self.shedding is not None and before is not None:
                self.shedding.restore(before)
            proved = verdict.length == "all" and verdict.certificate is not None
            self.verdict = verdict if proved else None
            look = replace(
                look,
                live=live,
                outcome="proved" if proved else "refuted" if letters else "open",
                states=verdict.states,
                word=tuple(letters),
                search_seconds=self._cpu() - begun,
                cpu_seconds=self._cpu(),
            )
        self.looks.append(look)
        if self.shedding is not None:
            x, states = words.draw(rng, 128, settings.longest)
            self.shedding.look(
                accuracy,
                lambda: float(self._loss(exact.model(x)[0], states)),
                refuted=look.outcome == "refuted",
            )
        return plain

    def _thin(
        self,
        exact: ExactModel,
        words: _WordSource,
        food: Sequence[tuple[int, ...]],
        rng: np.random.Generator,
    ) -> None:
        """Takes the memory from every gate without which the words of training stay correct."""
        if self.shedding is not None:
            tested, longest = self.settings.tested, self.settings.longest
            known = [*self.mistakes, *food[-_FED:]]
            tests = [words.draw(rng, tested, longest, known), words.draw(rng, tested // 2, longest // 2 or 1)]
            self.shedding.thin(
                lambda: all(self._right(exact.model(x)[0], states).all() for x, states in tests)
            )
            return
        for gates in exact.gates:
            for gate in rng.permutation(np.flatnonzero(gates.live.numpy())).tolist():
                gates.live[gate] = False
                short = self._correct(exact.model, words, rng, 64, self.settings.longest // 2 or 1)[0]
                if short < 1.0 or self._correct(exact.model, words, rng, 128, self.settings.longest)[0] < 1.0:
                    gates.live[gate] = True

    @torch.no_grad()
    def _correct(
        self, model: nn.Module, words: _WordSource, rng: np.random.Generator, count: int, length: int
    ) -> tuple[float, list[tuple[int, ...]]]:
        """The share of words that are correct throughout, and some others up to their first mistake."""
        x, states = words.draw(rng, count, length)
        right = self._right(model(x)[0], states)
        return float(right.all(1).mean()), self._wrong(x, right, 8)

    @staticmethod
    def _wrong(x: Tensor, right: npt.NDArray[np.bool_], most: int) -> list[tuple[int, ...]]:
        """Some incorrect words up to their first mistake."""
        rows = np.flatnonzero(~right.all(1))[:most]
        return [tuple(x[row, : int(np.argmin(right[row])) + 1].tolist()) for row in rows]

    def _right(self, scores: Tensor, states: Words) -> npt.NDArray[np.bool_]:
        """Which positions of words are answered correctly, whose states of the automaton are known."""
        right: npt.NDArray[np.bool_]
        if self.goal.classes is None:
            right = ((scores.detach() > 0).numpy() == self.goal.bits[states]).all(-1)
        else:
            right = scores.detach().argmax(-1).numpy() == self.goal.classes[states]
        right &= scores.isfinite().all(-1).numpy()
        return right

    def _asked(self, *, everything: bool) -> Question:
        """The question that a proof answers: of a language that is predicted, all words or valid ones."""
        if isinstance(self.question, LanguageQuestion) and self.question.weaker() is not None:
            return LanguageQuestion(self.question.language, "next", "all" if everything else "valid")
        return self.question

    def _cpu(self) -> float:
        return time.process_time() - self.begun

    def _reason(self) -> str:
        last = self.looks[-1] if self.looks else None
        if last is None or last.outcome == "not learned":
            share = 0.0 if last is None else last.accuracy
            return (
                f"{share:.1%} of the words of training are correct throughout; train longer, or make it wider"
            )
        if last.outcome == "refuted":
            return f"the search names a failing word of {plural(len(last.word), 'letter')}; train longer"
        return f"its float states are still open after {last.states:,}; allow more, or fewer channels"


class _StateNamer(nn.Module):
    """A second head, which names the state of the automaton; it is no part of the model.

    Args:
        model: what its own head reads is read.
        goal: the automaton.
    """

    def __init__(self, model: Model, goal: Goal) -> None:
        super().__init__()
        self._run = model.forward
        self._reads = model.head.register_forward_pre_hook
        last = model.blocks[-1]
        assert isinstance(last, LayerBlock)
        self.states = nn.Linear(last.outputs, len(goal.legal))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the scores of the model along words, and those of the states."""
        read: list[Tensor] = []
        hook = self._reads(lambda _, given: read.append(given[0]))
        scores = self._run(x)[0]
        hook.remove()
        return scores, self.states(read[0])


class _WordSource:
    """Random words of an automaton; letters that leave the language have a small weight, or none.

    Where few random words come to some state, half of the words are tours: most of their letters are the next
    ones on the way to a state that is drawn anew whenever it is reached. A word of eight letters, say, is in
    one of nine random words of forty, and what never comes is not learned.

    Args:
        goal: the automaton.
        stray: the weight of letters that leave the language.
        longest: length of the words that count for that.
        tours: whether half of the words are tours also where no state is rare.
    """

    def __init__(self, goal: Goal, *, stray: float, longest: int, tours: bool = False) -> None:
        moves = np.asarray(goal.dfa.transitions, dtype=np.int64)
        dead = goal.dead
        weights = np.where(dead[moves] & ~dead[:, None], stray, 1.0)
        total = weights.sum(axis=1, keepdims=True)
        weights = np.where(total > 0, weights, 1.0)
        shares = weights / weights.sum(axis=1, keepdims=True)
        self._moves, self._start = moves, goal.dfa.start
        self._odds = np.cumsum(shares, axis=1)[:, :-1]
        sights = np.flatnonzero(~dead & (np.arange(len(moves)) != self._start))
        seen = [_share_that_comes_to(int(state), self._start, moves, shares, longest) for state in sights]
        self._sights = sights if min(seen, default=1.0) < _RARE else sights[:0]
        if tours:
            self._sights = np.flatnonzero(~dead)
        self._ways = _ways(moves) if len(self._sights) else np.zeros((0, 0), dtype=np.int64)

    def draw(
        self,
        rng: np.random.Generator,
        count: int,
        length: int,
        beginnings: Sequence[tuple[int, ...]] = (),
    ) -> tuple[Tensor, Words]:
        """Returns words and the states after their letters; the first ones begin with given words."""
        words = np.empty((count, length), dtype=np.int64)
        states = np.full((count, length + 1), self._start, dtype=np.int64)
        tours = count // 2 if len(self._sights) else 0
        towards = rng.choice(self._sights, tours) if tours else self._sights
        for place in range(length):
            drawn = rng.random((count, 1))
            words[:, place] = (drawn > self._odds[states[:, place]]).sum(axis=1)
            if tours:
                at = states[-tours:, place]
                towards = np.where(at == towards, rng.choice(self._sights, tours), towards)
                way = self._ways[at, towards]
                follows = (way >= 0) & (rng.random(tours) < _ON_THE_WAY)
                words[-tours:, place] = np.where(follows, way, words[-tours:, place])
            for row, beginning in enumerate(beginnings[:count]):
                if place < len(beginning):
                    words[row, place] = beginning[place]
            states[:, place + 1] = self._moves[states[:, place], words[:, place]]
        return torch.from_numpy(words), states[:, 1:]


def _share_that_comes_to(
    state: int, start: int, moves: Words, shares: npt.NDArray[np.float64], length: int
) -> float:
    """The probability that a random word of a length visits a state."""
    chain = np.zeros((len(moves), len(moves)))
    np.add.at(chain, (np.arange(len(moves))[:, None], moves), shares)
    chain[state] = np.eye(len(moves))[state]
    return float(np.linalg.matrix_power(chain, length)[start, state])


def _ways(moves: Words) -> Words:
    """The first letter of a shortest word from one state to another; -1 if there is none, or they are one."""
    ways = np.full((len(moves), len(moves)), -1, dtype=np.int64)
    for target in range(len(moves)):
        near = {target}
        while found := {
            state: letter
            for state in range(len(moves))
            for letter in range(moves.shape[1])
            if state not in near and int(moves[state, letter]) in near
        }:
            for state, letter in found.items():
                ways[state, target] = letter
            near |= found.keys()
    return ways


class ExactModel:
    """A model of the zoo whose gated layers are in their exact form while it is trained.

    Args:
        model: fresh weights; its blocks are changed.
        kinds: the exact form of each of its layers.
    """

    def __init__(self, model: Model, kinds: Sequence[type[ExactGates] | None]) -> None:
        self.model = model
        self.gates: list[ExactGates] = []
        for block, kind in zip(model.blocks, kinds, strict=True):
            assert isinstance(block, LayerBlock)
            if kind is None:
                raise InputError(
                    f"{type(block.layer).__name__} does not tell its gate scores; exact gates are for layers "
                    "that do"
                )
            signed = bool(getattr(block.layer.settings, "signed", False))
            exact = kind(block.layer, signed=signed)
            exact.begin()
            block.layer = exact  # type: ignore[assignment]
            self.gates.append(exact)
        first = self.gates[0]
        if len(self.gates) > 1 and isinstance(first, ThreeValuedGates):
            first.live[:] = False
            first.shows_window = True

    def spread(self, words: Tensor) -> None:
        """Spreads the scores of each layer in turn over some words."""
        for gates in self.gates:
            with torch.no_grad():
                self.model(words)
            gates.spread()

    def plain(self, words: Tensor) -> Model:
        """Returns a plain model with the decided gates, as they are on some words, written into it."""
        with torch.no_grad():
            self.model(words)
        found = copy.deepcopy(self.model)
        for block, gates in zip(found.blocks, self.gates, strict=True):
            assert isinstance(block, LayerBlock)
            layer: SequenceLayer = block.layer.layer  # type: ignore[assignment]
            gates.fold(layer)
            block.layer = layer
        return found.eval()
