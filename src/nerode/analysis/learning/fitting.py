"""Training on labelled words alone, through exact gates, until the network's own automaton agrees with them.

No automaton is given. When all words are answered correctly, gates that no word needs lose their memory, the
float states of the folded network are listed, and their automaton is minimised. A network that agrees with
all words is often not the language, so attempts from fresh weights go on, of one layer and of two in turn,
and the smallest automaton counts. They end when no smaller one can agree with the words, when two attempts
found the smallest one, or when the time is up.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from nerode.analysis.learning.words import Samples
from nerode.analysis.recipes import exact_model
from nerode.analysis.settle.keeping import write_settlement
from nerode.core import Budget, InputError, from_mapping, plural, started, stream
from nerode.languages import (
    Alphabet,
    Dfa,
    LanguageQuestion,
    Legal,
    RegularLanguage,
    describe_question,
    distinguishing_word,
    is_equivalent,
    minimise,
)
from nerode.models import Model, build_model, fixed_bits, save_model, spec_config
from nerode.proofs.floats import Walk, make_runner, settle
from nerode.proofs.replay import open_subject
from nerode.records import (
    AskedQuestion,
    ModelSpec,
    NetworkEntry,
    OptimiserSpec,
    Reading,
    Settlement,
    SubjectRecord,
    TokenLetters,
)
from nerode.tasks import Batch
from nerode.training import ExactModel, GateMargin, exact_forms, make_optimiser, rate_factor, set_rates

Integers = npt.NDArray[np.int64]

SECONDS = 30.0
"""CPU seconds of all attempts."""

_ATTEMPTS, _STEPS, _LOOK = 12, 600, 100
"""Attempts at most, updates of the first one, and updates between two checks."""

_OPTIMISER = OptimiserSpec(name="adam", rate=5e-3, slow_rate=5e-3, decay=0.0, schedule="cosine", floor=0.1)
_HELD = 0.4
"""The optimiser, and the share of the updates at the full rate."""

_BATCH, _FED, _KEPT = 64, 16, 64
"""Words of an update; those of them that came out wrong before, and the last of these that are kept."""

_FIRST_REACH, _LEARNED, _WARMUP = 3, 0.9, 0.1
"""The first length where words get longer, the share that is enough, and updates without a replay."""

_TESTED, _ROUNDS = 200, 6
"""Words on which gates lose their memory; rounds in which words that then come out wrong join them."""

_MOST_STATES, _LISTED = 8_000, 256
"""Float states that are listed at most, and those of one batch."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FittedNetwork:
    """A network that was trained on labelled words alone.

    Attributes:
        model: its gates are folded into the plain layers.
        language: of its own automaton, which is minimal and agrees with all words.
        float_states: the states that its automaton was made of.
        layers: of the network.
        attempts: so many networks were trained.
        sizes: states of the automaton of each of them that agrees with all words.
    """

    model: Model
    language: RegularLanguage
    float_states: int
    layers: int
    attempts: int = 0
    sizes: tuple[int, ...] = ()

    def differs(self, learned: RegularLanguage) -> tuple[str, ...] | None:
        """Returns the shortest word that only one of its language and the learned one has; None without."""
        word = distinguishing_word(self.language.dfa(), learned.dfa())
        return None if word is None else tuple(learned.alphabet.symbols[letter] for letter in word)

    def to_json(self, learned: RegularLanguage) -> dict[str, Any]:
        """Returns plain values, beside the learned language."""
        word = self.differs(learned)
        return {
            "states": self.language.num_states(),
            "float_states": self.float_states,
            "layers": self.layers,
            "attempts": self.attempts,
            "sizes": list(self.sizes),
            "is_learned": word is None,
            "differs": None if word is None else list(word),
        }

    def sentences(self, learned: RegularLanguage) -> list[str]:
        """Returns what was trained, beside the learned language."""
        size, word = plural(self.language.num_states(), "state"), self.differs(learned)
        lines = [
            f"trained on the words alone: {plural(self.layers, 'layer')}, "
            f"{plural(self.float_states, 'float state')}, an automaton of {size} that agrees with all words"
        ]
        if word is None:
            return [*lines, "it is the learned language"]
        known = plural(learned.num_states(), "state")
        return [
            *lines,
            f"it is not the learned language, which has {known} and agrees with all words, too: they differ "
            f"on {' '.join(word) or 'the empty word'!r}",
            "the smaller automaton is the better guess; --train takes the learned one as the teacher",
        ]


def fit_words(
    samples: Samples,
    architecture: str,
    *,
    empty: bool,
    least: int | None = None,
    seed: int = 0,
    seconds: float = SECONDS,
) -> FittedNetwork | None:
    """Returns the network with the smallest automaton that agrees with all words, None if there was none.

    Args:
        samples: labels of whole words or of prefixes.
        architecture: with exact gates.
        empty: whether the empty word is in the language, of which the network says nothing.
        least: states below which no automaton agrees with all words, if that is known.
        seed: of weights and batches.
        seconds: of CPU for all attempts.

    Raises:
        InputError: if the labels are of another kind, there is no word with a letter, or the architecture has
            no exact gates.
    """
    if samples.labels not in ("end", "prefix"):
        raise InputError(
            "a network is trained on labels of whole words or of prefixes; leave out --train words"
        )
    with fixed_bits(1), torch.random.fork_rng(devices=[]):
        return _Fitting(samples, architecture, empty=empty, least=least, seed=seed, seconds=seconds).run()


def write_fitted(
    folder: Path, fitted: FittedNetwork, *, origin: dict[str, Any], budget: Budget
) -> Settlement:
    """Writes a network with the question whether it recognises its own automaton, and the proof of it.

    Args:
        folder: to write; an older model there is replaced.
        fitted: the network.
        origin: what is written of where it comes from.
        budget: limits the search for the proof.
    """
    language = fitted.language
    question = LanguageQuestion(language, "end", "all")
    letters = language.alphabet.symbols
    record = SubjectRecord(
        network=NetworkEntry(kind="zoo"),
        letters=TokenLetters.numbered(letters),
        reading=_classes(language.alphabet),
        question=AskedQuestion(name=question.name, asks="end", words="all"),
        origin={"kind": "given", **origin},
    )
    save_model(folder, fitted.model, subject=record, language=describe_question(question))
    return write_settlement(folder, settle(open_subject(folder), budget=budget), language)


class _LabelledWords:
    """Words in one table, with an answer where a label says one."""

    def __init__(self, samples: Samples) -> None:
        rows = [row for row, word in enumerate(samples.words) if word]
        if not rows:
            raise InputError("no word has a letter; a network says nothing of the empty word")
        self.length = np.array([len(samples.words[row]) for row in rows])
        self.letters = np.zeros((len(rows), int(self.length.max())), dtype=np.int64)
        self.answers = np.full(self.letters.shape, -1, dtype=np.int64)
        for place, row in enumerate(rows):
            word = samples.words[row]
            self.letters[place, : len(word)] = word
            for length, answer in samples.answers[row].items():
                if length:
                    self.answers[place, length - 1] = answer
        self.by_length = np.argsort(self.length, kind="stable")

    def __len__(self) -> int:
        return len(self.length)

    def batch(self, rows: Integers) -> Batch:
        """Returns some of the words."""
        most = int(self.length[rows].max())
        answers = self.answers[rows, :most]
        return Batch.of(self.letters[rows, :most], np.maximum(answers, 0), answers >= 0)

    def up_to(self, length: int) -> Integers:
        """Returns the words of at most so many letters; a few of the shortest ones at least."""
        count = int(np.searchsorted(self.length[self.by_length], length, side="right"))
        return self.by_length[: max(count, _BATCH // 2)]

    @torch.no_grad()
    def right(self, model: Model, rows: Integers) -> npt.NDArray[np.bool_]:
        """Returns which words a network answers correctly wherever a label is known."""
        batch = self.batch(rows)
        return _right(model(batch.inputs)[0], batch).all(1).numpy()

    def agrees(self, dfa: Dfa) -> npt.NDArray[np.bool_]:
        """Returns which words an automaton answers correctly."""
        states = np.full((len(self), 1 + self.letters.shape[1]), dfa.start)
        for place, letters in enumerate(self.letters.T):
            states[:, place + 1] = dfa.transitions[states[:, place], letters]
        said = dfa.accepting[states[:, 1:]]
        found: npt.NDArray[np.bool_] = ((said == self.answers) | (self.answers < 0)).all(1)
        return found


def _right(scores: Tensor, batch: Batch) -> Tensor:
    return (scores.argmax(-1) == batch.targets) | ~batch.mask


class _Fitting:
    """The attempts, and the networks that agree with all words."""

    def __init__(
        self,
        samples: Samples,
        architecture: str,
        *,
        empty: bool,
        least: int | None,
        seed: int,
        seconds: float,
    ) -> None:
        self._words, self._alphabet, self._names = _LabelledWords(samples), samples.alphabet, architecture
        self._empty, self._least, self._seed = empty, least, seed
        self._until = time.process_time() + seconds
        self._found: list[FittedNetwork] = []
        self._attempts = 0
        self._everything = np.arange(len(self._words))

    def run(self) -> FittedNetwork | None:
        """Makes attempts until one is the smallest, or the time is up."""
        depths = self._depths()
        while self._attempts < _ATTEMPTS and not self._is_done() and self._left() > 0:
            number, self._attempts = self._attempts, self._attempts + 1
            found = self._attempt(number, depths[number % len(depths)])
            if found is not None:
                self._found.append(found)
        if not self._found:
            return None
        best = min(self._found, key=lambda each: each.language.num_states() or 0)
        sizes = tuple(each.language.dfa().num_states for each in self._found)
        return replace(best, attempts=self._attempts, sizes=sizes)

    def _left(self) -> float:
        return self._until - time.process_time()

    def _depths(self) -> tuple[int, ...]:
        """Numbers of layers, tried in turn; an architecture may have one layer only."""
        try:
            exact_model([self._names] * 2)
        except InputError:
            exact_model([self._names])
            return (1,)
        return 1, 2

    def _is_done(self) -> bool:
        """Whether the smallest automaton is the smallest of all, or was found twice."""
        automata = sorted((each.language.dfa() for each in self._found), key=lambda dfa: dfa.num_states)
        if not automata:
            return False
        first, *others = automata
        return first.num_states == self._least or any(is_equivalent(first, other) for other in others)

    def _attempt(self, number: int, layers: int) -> FittedNetwork | None:
        """Trains a network from fresh weights; None if its automaton does not agree with all words."""
        words, rng = self._words, stream(self._seed, "words", number)
        exact, margin = self._fresh(layers, rng)
        steps, reach, wrong = _STEPS << min(number, 2), _FIRST_REACH, list[int]()
        spec = replace(_OPTIMISER, hold=round(_HELD * steps))
        optimiser = make_optimiser(exact.model, spec)
        for step in range(1, steps + 1):
            set_rates(optimiser, rate_factor(spec, step, steps))
            rows = rng.choice(words.up_to(int(rng.integers(2, reach + 1)) + 1), _BATCH)
            fed = _FED if wrong else 0
            rows[:fed] = rng.choice(wrong, fed) if wrong else rows[:fed]
            batch = words.batch(rows)
            scores = exact.model(batch.inputs)[0]
            loss = nn.functional.cross_entropy(scores[batch.mask], batch.targets[batch.mask])
            loss = loss + margin.loss(batch)
            right = _right(scores.detach(), batch).all(1).numpy()
            if step > _WARMUP * steps:
                wrong = [*wrong, *rows[~right].tolist()][-_KEPT:]
            reach += int(right[fed:].mean() >= _LEARNED and reach < words.letters.shape[1])
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(exact.model.parameters(), spec.clip)
            optimiser.step()
            if step % _LOOK == 0:
                found, failed = self._look(exact, rng, layers)
                if found is not None or self._left() <= 0:
                    return found
                wrong = [*wrong, *failed][-_KEPT:]
        return None

    def _fresh(self, layers: int, rng: np.random.Generator) -> tuple[ExactModel, GateMargin]:
        """A model with exact gates and fresh weights, and the term that keeps its gates decided."""
        spec = from_mapping(ModelSpec, exact_model([self._names] * layers))
        config = spec_config(spec, outputs=2, letters=len(self._alphabet)).complete()
        model = build_model(config, seed=int(rng.integers(2**62)))
        torch.manual_seed(int(rng.integers(2**62)))
        exact = ExactModel(model, exact_forms(config, "two"))
        exact.spread(self._words.batch(rng.choice(len(self._words), _BATCH)).inputs)
        return exact, GateMargin(exact.gates, margin=0.5, weight=0.1)

    def _look(
        self, exact: ExactModel, rng: np.random.Generator, layers: int
    ) -> tuple[FittedNetwork | None, Sequence[int]]:
        """The network if its automaton agrees with all words, and else some words that come out wrong."""
        words = self._words
        right = words.right(exact.model, self._everything)
        if not right.all():
            return None, np.flatnonzero(~right)[: _KEPT // 2].tolist()
        self._prune(exact, rng)
        plain = exact.plain(words.batch(self._everything).inputs)
        budget = Budget(seconds=max(0.0, self._left()))
        dfa = list_states(plain, self._alphabet, empty=self._empty, most=_MOST_STATES, budget=budget)
        if dfa is None:
            return None, []
        agrees = words.agrees(dfa)
        if not agrees.all():
            return None, np.flatnonzero(~agrees)[: _KEPT // 2].tolist()
        language = RegularLanguage(
            name="learned", automaton=minimise(dfa), convention="of a network trained on labelled words"
        )
        return FittedNetwork(model=plain, language=language, float_states=dfa.num_states, layers=layers), []

    def _prune(self, exact: ExactModel, rng: np.random.Generator) -> None:
        """Takes the memory of gates that no word needs: tried on some words, then on all."""
        words = self._words
        tests = rng.permutation(len(words))[:_TESTED]
        before = [gates.live.clone() for gates in exact.gates]
        for _ in range(_ROUNDS):
            for gates, live in zip(exact.gates, before, strict=True):
                gates.live.copy_(live)
            for gates, gate in _live_gates(exact, rng):
                gates.live[gate] = False
                gates.live[gate] = not words.right(exact.model, tests).all()
            right = words.right(exact.model, self._everything)
            if right.all():
                return
            tests = np.union1d(tests, np.flatnonzero(~right)[:_KEPT])
        for gates, live in zip(exact.gates, before, strict=True):
            gates.live.copy_(live)


def _live_gates(exact: ExactModel, rng: np.random.Generator) -> Iterator[tuple[Any, int]]:
    """Yields the gates that keep memory, in random order."""
    for gates in exact.gates:
        for gate in rng.permutation(np.flatnonzero(gates.live.numpy())).tolist():
            yield gates, gate


def list_states(model: Model, alphabet: Alphabet, *, empty: bool, most: int, budget: Budget) -> Dfa | None:
    """Returns the automaton of all float states of a network of two classes, not yet minimised.

    None if there are more states than `most`, one holds a NaN, or the time is up.

    Args:
        model: says after each letter whether the word is in its language.
        alphabet: that it reads.
        empty: whether the empty word is in the language, of which the model says nothing.
        most: states.
        budget: limits the time.
    """
    start, nothing = np.zeros((1, len(alphabet)), dtype=np.int32), np.zeros(1, dtype=np.bool_)
    none = Dfa(alphabet=alphabet, transitions=start, start=0, accepting=nothing)
    asked = RegularLanguage(name="none", automaton=none, convention="no word")
    question = LanguageQuestion(asked, "end", "all")
    runner = make_runner(model, question, reading=_classes(alphabet), empty=Legal(frozenset(), end=empty))
    # Batches of one size: sums of other sizes may round otherwise.
    walk = Walk(runner, None, batch=_LISTED, most=most, every_letter=True)
    if walk.run(started(budget)) != "closed":
        return None
    accepts = np.array([bool(walk.answer(place)[-1] == 1) for place in walk.places.tolist()])
    return Dfa(alphabet=alphabet, transitions=walk.moves.astype(np.int32), start=0, accepting=accepts)


def _classes(alphabet: Alphabet) -> Reading:
    """The first class says that a word is not in the language, the second that it is."""
    no_letter = (False,) * len(alphabet)
    return Reading.of_classes([(*no_letter, False), (*no_letter, True)])
