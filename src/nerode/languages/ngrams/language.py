"""The sentences that an n-gram model can produce, as a language."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from nerode.core import Budget, InputError
from nerode.languages.alphabet import Alphabet, Word
from nerode.languages.dfa import Dfa
from nerode.languages.language import Language, Legal
from nerode.languages.minimisation import minimise
from nerode.languages.ngrams.lengths import LengthSampler
from nerode.languages.ngrams.model import NgramModel
from nerode.languages.ngrams.next_word import BOS, Context, NextWordModel
from nerode.languages.ngrams.starts import with_starts
from nerode.languages.ngrams.support import SupportGraph, support_graph

_DEAD = -1


@dataclass(frozen=True, kw_only=True)
class NgramLanguage(Language):
    """The support of an n-gram model: the sentences whose words and end all have positive probability.

    The model must predict sentences from their first word (n-1 start marks), so that short prefixes are
    settled too: what may follow them is what follows them in a sentence. `ngram_language` completes a
    model that starts later. Such a language is strictly local: membership is a matter of windows of n
    entries, start and end included [McNaughtonPapert1971].

    A configuration is the number of a context, or -1 for a prefix that no sentence has.
    """

    name: str
    model: NextWordModel
    convention: str
    family: str = "n-gram"

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

    @property
    def kind(self) -> str:
        """Always "n-gram"."""
        return "n-gram"

    @property
    def regular(self) -> bool:
        """Always true."""
        return True

    @functools.cached_property
    def graph(self) -> SupportGraph:
        """The contexts that sentences pass through."""
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
        return LengthSampler(self.model, self.graph)

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
        budget = budget or Budget()
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
