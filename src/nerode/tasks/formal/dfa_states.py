"""State tracking of an automaton: which state is it in after each letter?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from nerode.core import InputError, Reference
from nerode.languages import (
    OUTSIDE,
    Language,
    Moore,
    MooreQuestion,
    RegularLanguage,
    prefix_closure,
    resolve_language,
)
from nerode.languages.sampling import sample_prefix_batch
from nerode.tasks.formal.language_task import FormalLanguageTask, LanguageSettings, presets
from nerode.tasks.formal.source import MOST_STATES, AutomatonWords
from nerode.tasks.task import Batch, Integers, Labels, TaskKind, counted

NOT_WALKED = (
    *("dyck-1", "dyck-2", "dyck-8-10", "shuffle-2", "shuffle-4", "shuffle-6"),
    *("boolean-3", "boolean-5", "anbn", "anbncn", "anbncndn", "majority"),
)
"""Languages of the bestiary without an automaton, or with one that is too large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DfaStatesSettings(LanguageSettings):
    """Settings of state tracking of an automaton.

    Attributes:
        words: what is read: prefixes of words of the language, all of a length being as likely; words of the
            language; or any words, which soon are in the dead state if there is one.
        labels: "all" for the state after each letter, "last" for the one at the end.
    """

    words: Literal["prefixes", "accepted", "any"] = "prefixes"
    labels: Labels = "all"


class DfaStates(FormalLanguageTask):
    """Words, with the states of the minimal automaton as classes.

    References: [Merrill2024]
    """

    name = "dfa-states"
    source: AutomatonWords

    def __init__(self, settings: DfaStatesSettings) -> None:
        language = resolve_language(settings.language)
        states = language.num_states()
        if not language.regular or (states is not None and states > MOST_STATES):
            raise InputError(
                f"{language.name} has no automaton of at most {MOST_STATES:,} states to track; "
                "take a regular language, or language-prediction"
            )
        self._automaton = language.dfa()
        self._reads, self._labels = settings.words, settings.labels
        super().__init__(settings, few=settings.words != "any")
        # Brackets of bounded depth have an automaton, too.
        self.source = AutomatonWords(self._automaton)
        self._prefixes = AutomatonWords(prefix_closure(self._automaton))
        self.outputs = self._automaton.num_states

    def question(self) -> MooreQuestion:
        """Returns the question for the state: after all words, or after those that lead to no dead state."""
        dfa = self._automaton
        rows, live = dfa.transitions.tolist(), dfa.live.tolist()

        def answer(state: int) -> str:
            return str(state) if self._reads == "any" or live[state] else OUTSIDE

        machine = Moore.explore(dfa.alphabet, dfa.start, lambda state, letter: rows[state][letter], answer)
        name = f"the states of {self.language.name}"
        return MooreQuestion(name, machine, tuple(map(str, range(self.outputs))))

    def drawn_from(self) -> Language:
        """Returns the language, or that of its prefixes."""
        if self._reads == "accepted":
            return self.language
        return RegularLanguage(
            name=self.language.name,
            automaton=prefix_closure(self._automaton),
            convention=f"prefixes of {self.language.name}",
        )

    def words(self, length: int, count: int, rng: np.random.Generator) -> Integers:
        """Returns what is read."""
        match self._reads:
            case "prefixes":
                return sample_prefix_batch(self._automaton, length, count, rng).astype(np.int64)
            case "accepted":
                return super().words(length, count, rng)
            case "any":
                return rng.integers(0, len(self.alphabet), (count, length))

    def has(self, length: int) -> bool:
        """Returns whether there is something of a length to read."""
        if self._reads == "accepted":
            return self.source.has(length)
        return self._reads == "any" or self._prefixes.has(length)

    def label(self, words: Integers) -> Batch:
        """Returns words with the state after each letter."""
        return Batch.of(words, self.source.states(words), counted(self._labels, *words.shape))


KIND = TaskKind(
    name="dfa-states",
    title="the state of the minimal automaton after each letter",
    settings=DfaStatesSettings,
    build=DfaStates,
    reference=Reference("Merrill2024"),
    presets=presets("states", without=NOT_WALKED),
)
