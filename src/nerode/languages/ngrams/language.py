"""The sentences that an n-gram model can produce, as a language.

`SupportGraph` has the contexts as states: which words can follow, and what can still end. `LengthSampler`
draws sentences of an exact length as the model draws sentences that happen to have it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from nerode.core import Budget, InputError, started
from nerode.languages.alphabet import Alphabet, Word
from nerode.languages.determinise import minimise
from nerode.languages.dfa import Dfa
from nerode.languages.language import Language, Legal, RegularLanguage
from nerode.languages.ngrams.backoff import BackoffModel
from nerode.languages.ngrams.model import NgramModel, with_starts
from nerode.languages.ngrams.next_word import BOS, Context, NextWordModel

Logs = npt.NDArray[np.float64]


class LengthSampler:
    """Draws sentences of a given length with their probability given that length.

    Works backwards: the weight of a state with k words to go is the probability that exactly k words and
    the end follow. Weights are kept as logarithms, so neither long sentences nor rare ones underflow;
    a length is refused exactly when no sentence has it.
    """

    def __init__(self, model: NextWordModel, graph: SupportGraph) -> None:
        self._first = np.zeros(len(graph.contexts) + 1, dtype=np.int64)
        self._first[1:] = np.cumsum([len(moves) for moves in graph.moves])
        words: list[int] = []
        targets: list[int] = []
        logs: list[float] = []
        ends: list[float] = []
        for context, moves in zip(graph.contexts, graph.moves, strict=True):
            for word, target in moves.items():
                words.append(word)
                targets.append(target)
                logs.append(model.log_next(context, word))
            ends.append(model.log_next(context, model.end))
        self._words = np.array(words, dtype=np.int64)
        self._targets = np.array(targets, dtype=np.int64)
        self._logs: Logs = np.array(logs, dtype=np.float64)
        self._layers: list[Logs] = [np.array(ends, dtype=np.float64)]

    def log_probability_of(self, length: int) -> float:
        """Returns the natural logarithm of the probability that a sentence has this many words."""
        if length < 0 or len(self._layers[0]) == 0:
            return -math.inf
        Budget().check("bytes", 8 * (length + 1) * len(self._layers[0]), length=length)
        while len(self._layers) <= length:
            self._layers.append(self._extend(self._layers[-1]))
        return float(self._layers[length][0])

    def _extend(self, layer: Logs) -> Logs:
        extended = np.full(len(layer), -np.inf)
        if len(self._logs):
            # Only states with edges have a segment; reduceat misreads empty ones.
            busy = np.flatnonzero(np.diff(self._first))
            extended[busy] = np.logaddexp.reduceat(self._logs + layer[self._targets], self._first[busy])
        return extended

    def draw(self, length: int, rng: np.random.Generator) -> Word:
        """Returns a random sentence of exactly this length.

        Raises:
            InputError: if no sentence has this length.
        """
        if self.log_probability_of(length) == -math.inf:
            shorter = [
                k for k in range(min(length, len(self._layers))) if self.log_probability_of(k) > -math.inf
            ]
            known = f"; the nearest below it is {shorter[-1]}" if shorter else ""
            raise InputError(f"there is no sentence of {length} words{known}; ask for another length")
        state = 0
        drawn = []
        for left in range(length, 0, -1):
            edges = slice(self._first[state], self._first[state + 1])
            weights = self._logs[edges] + self._layers[left - 1][self._targets[edges]]
            # Relative to the largest, so that the likeliest edges never underflow.
            cumulative = np.cumsum(np.exp(weights - weights.max()))
            place = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
            edge = int(self._first[state]) + min(place, len(cumulative) - 1)
            drawn.append(int(self._words[edge]))
            state = int(self._targets[edge])
        return tuple(drawn)


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportGraph:
    """The contexts that a sentence can pass through, and the words between them.

    Only contexts from which the end can be reached are kept. The graph is empty if the model has no
    sentence; otherwise state 0 is the start.

    Attributes:
        contexts: the context of each state.
        moves: for each state the words of positive probability and the states they lead to.
        ends: whether the sentence may end there.
    """

    contexts: tuple[Context, ...]
    moves: tuple[Mapping[int, int], ...] = field(hash=False)
    ends: tuple[bool, ...]


def support_graph(model: NextWordModel, budget: Budget | None = None) -> SupportGraph:
    """Returns the graph of the contexts of a model, from its start.

    Args:
        model: a model that predicts sentences from their first word.
        budget: bounds the contexts (`states`) and the edges (`elements`).
    """
    budget = started(budget)
    number: dict[Context, int] = {model.initial(): 0}
    order = [model.initial()]
    moves: list[dict[int, int]] = []
    ends: list[bool] = []
    num_moves = 0
    for context in order:
        following = model.distribution(context)
        row = {}
        for word in following:
            if word != model.end:
                target = model.follow(context, word)
                if target not in number:
                    number[target] = len(order)
                    order.append(target)
                row[word] = number[target]
        moves.append(row)
        ends.append(model.end in following)
        num_moves += len(row)
        budget.check("states", len(order), contexts=len(order))
        budget.check("elements", num_moves, contexts=len(order), moves=num_moves)
    return _live_part(order, moves, ends)


def _live_part(order: list[Context], moves: list[dict[int, int]], ends: list[bool]) -> SupportGraph:
    """Keeps what can reach an end; a start that cannot leaves nothing."""
    sources: list[list[int]] = [[] for _ in order]
    for state, row in enumerate(moves):
        for target in row.values():
            sources[target].append(state)
    live = list(ends)
    work = [state for state, end in enumerate(ends) if end]
    while work:
        for source in sources[work.pop()]:
            if not live[source]:
                live[source] = True
                work.append(source)
    if not live[0]:
        return SupportGraph(contexts=(), moves=(), ends=())
    kept = [state for state in range(len(order)) if live[state]]
    number = {state: i for i, state in enumerate(kept)}
    return SupportGraph(
        contexts=tuple(order[state] for state in kept),
        moves=tuple(
            {word: number[target] for word, target in moves[state].items() if live[target]} for state in kept
        ),
        ends=tuple(ends[state] for state in kept),
    )


_DEAD = -1


@dataclass(frozen=True, kw_only=True)
class NgramLanguage(Language):
    """The support of an n-gram model: the sentences whose words and end all have positive probability.

    The model must predict sentences from their first word (n-1 start marks), so that short prefixes are
    settled too: what may follow them is what follows them in a sentence. `ngram_language` completes a
    model that starts later. Such a language is strictly local: membership is a matter of windows of n
    entries, start and end included [McNaughtonPapert1971].

    A configuration is the number of a context, or -1 for a prefix that no sentence has. Where everything may
    follow everything, as in most back-off models, there is one configuration.
    """

    name: str
    model: NextWordModel
    convention: str
    family: str = "n-gram"
    kind = "n-gram"
    regular = True

    def __post_init__(self) -> None:
        if self.model.num_given:
            raise InputError(
                f"the model does not say how sentences begin: it needs {self.model.num_given} given words; "
                "build it with n-1 start marks, or use ngram_language(model, starts=…)"
            )

    @property
    def alphabet(self) -> Alphabet:  # type: ignore[override]
        """The words."""
        return self.model.vocabulary

    @property
    def parameters(self) -> Mapping[str, int]:  # type: ignore[override]
        """The order, and the number of contexts without start marks."""
        return {"n": self.model.order, "contexts": self.model.num_windows}

    @functools.cached_property
    def graph(self) -> SupportGraph:
        """The contexts that sentences pass through; a single one where every word may follow every other."""
        if isinstance(self.model, BackoffModel) and self.model.is_total:
            return SupportGraph(
                contexts=((),), moves=(dict.fromkeys(range(self.model.end), 0),), ends=(True,)
            )
        return self._all_contexts

    @functools.cached_property
    def _all_contexts(self) -> SupportGraph:
        # Contexts are cheap beside automaton states, which have a row over the whole vocabulary.
        return support_graph(self.model, Budget(states=2_000_000, elements=20_000_000))

    @functools.cached_property
    def windows(self) -> tuple[Context, ...]:
        """The contexts of n-1 words that an exact model has rows for or that a sentence passes through.

        A sentence may pass through a window without a row, after which the model has its distribution for
        unseen contexts; such windows are in the P of the definition all the same.
        """
        if not isinstance(self.model, NgramModel):
            raise InputError("the contexts of a back-off model are of many lengths; use an exact model")
        rows = self.model.contexts
        return tuple(sorted({c for c in (*rows, *self.graph.contexts) if BOS not in c}))

    @functools.cached_property
    def _sampler(self) -> LengthSampler:
        return LengthSampler(self.model, self._all_contexts)

    def support(self) -> RegularLanguage:
        """Returns the sentences of positive probability as a regular language, without probabilities."""
        return RegularLanguage(name=self.name, automaton=self.dfa(), convention=self.convention)

    def normalised(self) -> NgramLanguage:
        """Returns the language with every probability divided by the sum after its context."""
        if not isinstance(self.model, BackoffModel):
            return self
        return replace(self, model=replace(self.model, normalised=True))

    @functools.cached_property
    def _automaton(self) -> Dfa:
        dead = len(self.graph.contexts)
        table = np.full((dead + 1, len(self.alphabet)), dead, dtype=np.int32)
        for state, moves in enumerate(self.graph.moves):
            table[state, list(moves)] = list(moves.values())
        accepting = np.array([*self.graph.ends, False])
        return minimise(Dfa(alphabet=self.alphabet, transitions=table, start=0, accepting=accepting))

    def dfa(self, budget: Budget | None = None) -> Dfa:
        """Returns the canonical minimal automaton, made from one state for each context.

        Raises:
            BudgetExceeded: if the contexts are more than `states`, or their table takes more than `bytes`.
        """
        budget = started(budget)
        states = len(self.graph.contexts) + 1
        known = {"contexts": states - 1, "words": len(self.alphabet)}
        budget.check("states", states, **known)
        budget.check("bytes", 4 * states * len(self.alphabet), **known)
        return self._automaton

    def initial(self) -> int:
        """The context of the empty prefix."""
        return 0 if self.graph.contexts else _DEAD

    def advance(self, configuration: int, symbol: int) -> int:
        """The next context."""
        return _DEAD if configuration == _DEAD else self.graph.moves[configuration].get(symbol, _DEAD)

    def legal(self, configuration: int) -> Legal:
        """The words that some sentence has here, and whether one ends here."""
        if configuration == _DEAD:
            return Legal(frozenset(), False)
        return Legal(frozenset(self.graph.moves[configuration]), self.graph.ends[configuration])

    def sample(self, length: int, rng: np.random.Generator) -> Word:
        """A sentence of exactly this length, drawn from the model conditioned on the length.

        That is not uniform over the sentences unless the model is. Probabilities are floats here (relative
        errors near 1e-15); which sentences are possible is exact.
        """
        return self._sampler.draw(length, rng)


def ngram_language(
    model: NgramModel,
    *,
    name: str,
    convention: str = "",
    starts: Mapping[Context, Fraction] | None = None,
) -> NgramLanguage:
    """Returns the language of an exact model, completed with sentence starts where it has none.

    Args:
        model: any exact model.
        name: what to call the language.
        convention: which sentences it has; made from the model if empty.
        starts: first contexts with probabilities, for a model with fewer than n-1 start marks; None
            lets every context of the model start a sentence.
    """
    if not convention:
        anywhere = ", beginning with any context of it" if model.num_given and starts is None else ""
        convention = f"the sentences of positive probability under a {model.order}-gram model{anywhere}"
    return NgramLanguage(name=name, model=with_starts(model, starts), convention=convention)
