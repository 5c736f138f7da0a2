"""Answers to what a model computes: its automaton over a reading, proved, refuted or tested by `settle`.

A hypothesis is learned by queries, then settled like any other claim about the model. A short failing word
refines it; a long one is a result. Two automata with n and m states that differ do so on a word of fewer than
n + m letters: so a model whose shortest difference has k letters has more than k - n states of its own.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nerode.algebra import profile
from nerode.analysis.asking.models import asks_end, model, with_language
from nerode.analysis.extraction.learning import HypothesisTest, QueryLearner, random_words, word_search
from nerode.analysis.extraction.oracle import Machine, read_texts
from nerode.analysis.settle.keeping import confirmed_settlement
from nerode.core import Budget, BudgetExceeded, InputError, NerodeError, Shown, in_form, plural, started
from nerode.languages import (
    IN,
    NOTHING,
    Alphabet,
    Dfa,
    Language,
    LanguageQuestion,
    Legal,
    Moore,
    Question,
    RegularLanguage,
    Word,
    minimise,
    resolve_language,
)
from nerode.languages.bestiary import BESTIARY
from nerode.models import fixed_bits, no_exit
from nerode.models.network_module import load_model
from nerode.proofs import Refutation
from nerode.proofs.floats import SettleSettings, distances, settle
from nerode.proofs.replay import Subject
from nerode.records import Reading, Settlement

_GAP = ("least_allowed", "most_forbidden")

ASK_PARTS = ("model", "settlement", "automaton", "name")
"""The parts of an answer, in the order in which they are done."""

SECONDS = 8.0
"""CPU seconds for an answer, unless another number is given."""

_LEARNING, _ROUND = 0.7, 0.75
"""Shares of the seconds that are left: for learning, and for one settlement."""

_LEAST_SECONDS = 1.0
"""For learning beside a language, however long its settlement took."""

_MOST_STATES = 120
"""States of a hypothesis at most."""

_MOST_WRITTEN, _LONGEST_FORMULA = 40, 400
"""States of an automaton that is written as an expression, and characters of a formula that is shown."""

_NAMED = 60
"""States of an automaton that is looked for among the known languages."""

_UNKNOWN_LENGTH = 4
"""Letters that a failing word may have beyond twice the states of a hypothesis and still refine it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedAutomaton(Shown):
    """The automaton that a model was found to compute.

    Attributes:
        language: with its minimal automaton.
        known: the name of the language, with its letters in place; empty if it is none that is known.
        expression: a regular expression; None for a large automaton.
        formula: in past temporal logic; None for a large one, or one that is not star-free.
        star_free: None if it was not decided.
        monoid: elements of its monoid; None if they were not counted.
        proved: whether it is equal to what the model computes at every length, as the claims say.
        tested: the longest word that was tried against it.
        words: how many were.
        remarks: what has to be known to read it, a sentence each.
    """

    language: RegularLanguage
    known: str
    expression: str | None
    formula: str | None
    star_free: bool | None
    monoid: int | None
    proved: bool
    tested: int
    words: int
    remarks: tuple[str, ...] = ()

    def shown(self) -> tuple[Sequence[str] | Mapping[str, Any], Shown | None]:
        """Returns the forms of the language, and the language."""
        return [
            text for text in (self.known, self.expression, self.formula, *self.remarks) if text
        ], self.language

    @property
    def states(self) -> int:
        """The number of states of the minimal automaton."""
        return int(self.language.dfa().num_states)

    def to_json(self) -> dict[str, Any]:
        """Returns plain values."""
        return {
            "states": self.states,
            "known": self.known,
            "expression": self.expression,
            "ltl": self.formula,
            "star_free": self.star_free,
            "monoid": self.monoid,
            "proved": self.proved,
            "tested": {"words": self.words, "longest": self.tested},
            "remarks": list(self.remarks),
            "file": None,
            "table": self.table(),
        }

    def table(self) -> dict[str, Any]:
        """Returns the automaton as plain values."""
        dfa = self.language.dfa()
        return {
            "alphabet": list(dfa.alphabet),
            "transitions": dfa.transitions.tolist(),
            "start": int(dfa.start),
            "accepting": dfa.accepting.tolist(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class WordPlace:
    """A position of a word that a model reads.

    Attributes:
        letter: that was read.
        says: what the model says after it.
        expected: what is correct.
        least: the name of the answer that is least sure, and its probability or score.
    """

    letter: str
    says: tuple[str, ...]
    expected: tuple[str, ...]
    least: tuple[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer(Shown):
    """The answer to the question what a model computes.

    Attributes:
        model: its name.
        seen: what it is and how it is run, in words.
        reading: how its scores become answers.
        letters: that it reads.
        asked: the name of the language that it was compared with; empty for what it was found to compute.
        learned: the automaton that it computes; None if none was found.
        settlement: of the model, about that language or about the learned one.
        gap: the least probability of what may follow and the largest of what may not, on sampled words; None
            for another reading.
        places: the failing word, letter by letter; of a long one the beginning and the end.
        cpu_seconds: of the whole answer.
    """

    model: str
    seen: str
    reading: str
    letters: tuple[str, ...]
    asked: str
    learned: LearnedAutomaton | None
    settlement: Settlement
    gap: tuple[float, float] | None
    places: tuple[WordPlace, ...]
    cpu_seconds: float

    def __str__(self) -> str:
        """Returns what `nerode ask` prints."""
        return str(in_form("text", self))

    def shown(self) -> tuple[Sequence[str] | Mapping[str, Any], Shown | None]:
        """Returns the plain answer, and the language that the model computes."""
        return self.to_json(), None if self.learned is None else self.learned.language

    def to_json(self) -> dict[str, Any]:
        """Returns plain values."""
        return {
            "model": self.model,
            "seen": self.seen,
            "reading": self.reading,
            "letters": list(self.letters),
            "language": self.asked or None,
            "gap": None if self.gap is None else dict(zip(_GAP, self.gap, strict=True)),
            "learned": None if self.learned is None else self.learned.to_json(),
            "settlement": self.settlement.to_json(),
            "places": [
                {"letter": p.letter, "says": p.says, "expected": p.expected, "least": p.least}
                for p in self.places
            ],
            "cpu_seconds": self.cpu_seconds,
        }


@no_exit()
def ask(
    source: Any,
    language: Language | str | None = None,
    *,
    budget: Budget | None = None,
    settings: SettleSettings | None = None,
    on_part: Callable[[str], None] = lambda part: None,
    **how: Any,
) -> ModelAnswer:
    """Returns what a model computes, and against a language a proof or a word on which it fails.

    Args:
        source: a model; whatever `nerode.model` takes.
        language: what the model should do; None for what it is known to be made for, or else nothing.
        budget: limits the CPU seconds, 8 by default.
        settings: how far a proof or a failing word is searched.
        on_part: is called with the name of each part (`ASK_PARTS`) when it is done.
        how: letters, begin, end, longest, reading, weights and trust_code, as `nerode.model` takes them.

    Raises:
        InputError: if the model cannot be run or read.
    """
    begun = time.process_time()
    budget = started(budget or Budget(seconds=SECONDS))
    if isinstance(language, str):
        language = resolve_language(language, budget=budget)
    if language is not None and how.get("letters") is None and not isinstance(source, str | Path):
        how["letters"] = None if _knows_letters(source) else tuple(language.alphabet.symbols)
    with fixed_bits(1):
        subject = model(source, **how)
        on_part("model")
        work = _Asking(subject, settings or SettleSettings(), budget, on_part)
        if language is None:
            answer = work.about(subject, _kept(source, budget, trust_code=how.get("trust_code", False)))
        else:
            answer = work.about(with_language(subject, language))
    return replace(answer, cpu_seconds=round(time.process_time() - begun, 3))


def _kept(source: Any, budget: Budget, *, trust_code: bool) -> Settlement | None:
    """The settlement that is kept in a folder, if a replay confirms it."""
    if not isinstance(source, str | Path) or not Path(source).is_dir():
        return None
    with contextlib.suppress(BudgetExceeded):
        found = confirmed_settlement(Path(source), budget=budget.part(_ROUND), trust_code=trust_code)
        return None if found is None or found.status == "unsettled" else found
    return None


def _knows_letters(source: Any) -> bool:
    """Whether a model brings its letters, so that those of a language are not needed."""
    plain = isinstance(source, torch.nn.Module) or callable(source)
    return not plain or hasattr(source, "training_spec")


def settle_about(
    subject: Subject, settings: SettleSettings, budget: Budget, *, failing: Word | None = None
) -> Settlement:
    """Returns the settlement of a subject about its question: the end of `ask` and of `prove --language`.

    Args:
        subject: with its question.
        settings: how far to search.
        budget: limits the seconds.
        failing: a word that is known to fail; it is read again.
    """
    tests: list[tuple[int, Refutation | None]] = []
    if failing is not None:
        names = tuple(subject.asked.alphabet.symbols[letter] for letter in failing)
        tests = [(len(failing), Refutation(word=names, at=len(names), expected=(), got=()))]
    return settle(subject, tests=tests, settings=settings, budget=budget).settlement


class _Asking:
    """One answer: a machine that is asked for words, and what is known so far."""

    def __init__(
        self, subject: Subject, settings: SettleSettings, budget: Budget, on_part: Callable[[str], None]
    ) -> None:
        self.subject, self.settings, self.budget, self.on_part = subject, settings, budget, on_part
        self.module = subject.module if subject.network is None else load_model(subject.network).eval()
        self.remarks: list[str] = []

    def about(self, asked: Subject, known: Settlement | None = None) -> ModelAnswer:
        """The answer about a question, or about what the model is found to compute."""
        learned: LearnedAutomaton | None = None
        given = asked.question
        if given is not None:
            settlement = known or settle_about(asked, self.settings, self.budget.part(_ROUND))
            self.on_part("settlement")
            if settlement.status == "proved" and isinstance(given, LanguageQuestion):
                learned = self._named(given.language, proved=True)
            else:
                with contextlib.suppress(InputError):
                    learned = self._learned_beside(given)
            self.on_part("automaton")
        else:
            asked, settlement, learned = self._found()
            self.on_part("automaton")
        self.on_part("name")
        compared = "" if given is None else asked.about
        return ModelAnswer(
            model=self.subject.name,
            seen=str(self.subject.record.origin.get("seen", "")),
            reading=settlement.reading or str(self.subject.reading or "its decoder"),
            letters=() if asked.question is None else asked.question.alphabet.symbols,
            asked=compared,
            learned=learned,
            settlement=settlement,
            gap=self._gap(learned),
            places=self._places(asked, settlement.word),
            cpu_seconds=0.0,
        )

    def _found(self) -> tuple[Subject, Settlement, LearnedAutomaton]:
        """The learned automaton with its settlement; short failing words refine it."""
        machine = Machine(self._free())
        probe, budget = self._probe(), self.budget.part(_LEARNING)
        learner = QueryLearner(machine, word_search(machine, probe), states=_MOST_STATES, budget=budget)
        tried: list[tuple[Subject, Settlement]] = []
        hypothesis, failing = learner.learn()
        while True:
            if failing is not None:
                # It is no automaton of this size: the one that holds furthest beyond its own size says most.
                hypothesis, failing = max(learner.failed, key=lambda pair: len(pair[1]) - pair[0].num_states)
            asked = self._asking(hypothesis, machine)
            budget = self.budget.part(_ROUND)
            settlement = settle_about(asked, self.settings, budget, failing=failing)
            self.on_part("settlement") if not tried else None
            tried.append((asked, settlement))
            word = settlement.word
            if word is None or failing is not None or learner.full or not self.budget.left():
                break
            letters = tuple(machine.alphabet.encode(word))
            if len(letters) > 2 * hypothesis.num_states + _UNKNOWN_LENGTH:
                break
            if not learner.refine(hypothesis, letters):
                break
            hypothesis, failing = learner.learn()
        # Of several hypotheses that were all refuted, the one that holds longest says most.
        asked, settlement = max(tried, key=lambda pair: (pair[1].word is None, len(pair[1].word or ())))
        assert isinstance(asked.question, LanguageQuestion)
        states = minimise(asked.question.language.dfa()).num_states
        if settlement.word is not None:
            least = len(settlement.word) - states + 1
            if settlement.shortest and least > states:
                self.remarks.append(f"an automaton that agrees on all words has at least {least:,} states")
        proved = settlement.status == "proved"
        queries = machine.queries.words
        learned = self._named(asked.question.language, proved=proved, words=queries, tested=probe.longest)
        assert learned is not None
        return replace(asked, title=_title(learned)), replace(settlement, about=_title(learned)), learned

    def _learned_beside(self, question: Question) -> LearnedAutomaton | None:
        """The automaton of a model that fails on its language, or is not proved for it."""
        if not isinstance(question, LanguageQuestion):
            return None
        machine = Machine(self._free())
        probe, left = self._probe(), Budget(seconds=max(_LEAST_SECONDS, self.budget.left())).start()
        learner = QueryLearner(machine, word_search(machine, probe), states=_MOST_STATES, budget=left)
        hypothesis, failing = learner.learn()
        language = self._language_of(hypothesis, machine)
        if failing is not None:
            self.remarks.append(
                f"the model answers other than this automaton after {plural(len(failing), 'letter')}: it has "
                f"more than {_MOST_STATES} states, or the time was up"
            )
        return self._named(language, proved=False, words=machine.queries.words, tested=probe.longest)

    @property
    def _module(self) -> torch.nn.Module:
        if self.module is None:
            raise InputError(f"{self.subject.name} has neither a module nor a network")
        return self.module

    def _probe(self) -> HypothesisTest:
        longest = min(60, self.subject.letters.longest or 60)
        return HypothesisTest(words=150, longest=longest, extra_states=1)

    def _free(self) -> Subject:
        """The model with the question what it allows, with all words in the place of a language."""
        subject = self.subject
        reading = subject.reading
        known = subject.question
        if known is not None:
            alphabet = known.alphabet
        else:
            names = subject.letters.alphabet if subject.network is None else subject.network.alphabet.symbols
            alphabet = Alphabet(tuple(names))
        ends = isinstance(known, LanguageQuestion) and known.asks == "end"
        everything = RegularLanguage(name="all words", automaton=_all_words(alphabet), convention="all words")
        asks = (
            LanguageQuestion(everything, "end", "all")
            if ends or asks_end(reading)
            else LanguageQuestion(everything)
        )
        empty = subject.empty
        if empty is None and isinstance(known, LanguageQuestion):
            empty = known.language.legal(known.initial())
        elif empty is None and known is None and not self.remarks:
            self.remarks.append(
                "no token marks the beginning of a word (--begin), so no score says which letter is first; "
                "the beginning with the smallest automaton is assumed"
            )
        return replace(subject, module=self._module, question=asks, empty=empty)

    def _language_of(self, hypothesis: Moore, machine: Machine) -> RegularLanguage:
        """The language of a hypothesis; where the empty word is not asked, it goes on like another word."""
        ends = machine.kind == "acceptance"
        mark = IN if ends else "$"
        dfa = minimise(hypothesis.accepting(lambda output: mark in output.split(" ")))
        if self.subject.empty is None and self.subject.question is None:
            # Every first letter is asked where words are in or out.
            dfa = min(dfa, _toggled(dfa), key=lambda each: each.num_states) if ends else _begun(dfa)
        return RegularLanguage(name="what was learned", automaton=dfa, convention="learned")

    def _asking(self, hypothesis: Moore, machine: Machine) -> Subject:
        """The subject with the question whether it computes a hypothesis.

        Where it allows letters after which no word can end, the end is left out of the question.
        """
        bare = replace(self.subject, question=None)
        asked = with_language(bare, self._language_of(hypothesis, machine))
        reading = self.subject.reading
        assert isinstance(asked.question, LanguageQuestion)
        known = self.subject.empty is not None
        plain = reading is not None and reading.kind != "largest" and not reading.table
        if machine.kind == "acceptance" or not plain or _says(hypothesis, asked.question, known):
            return asked
        assert reading is not None
        alphabet = machine.alphabet
        columns = (*(reading.columns[:-1] or range(len(alphabet))), -1)
        record = replace(bare.record, reading=replace(reading, columns=columns))
        dfa = minimise(hypothesis.accepting(lambda output: output != NOTHING))
        language = RegularLanguage(name="what was learned", automaton=dfa, convention="learned")
        remark = "it goes on after words that can never end, so the end of words was left out of the question"
        if remark not in self.remarks:
            self.remarks.append(remark)
        empty = self.subject.empty
        empty = None if empty is None else Legal(empty.symbols, True)
        return with_language(replace(bare, record=record, empty=empty), language)

    def _named(
        self, language: Language, *, proved: bool, words: int = 0, tested: int = 0
    ) -> LearnedAutomaton | None:
        """The automaton with its name, expression and algebra, as far as they are small."""
        if not language.regular:
            return None
        dfa = minimise(language.dfa(self.budget))
        minimal = RegularLanguage(name=language.name, automaton=dfa, convention=language.convention)
        budget = Budget(seconds=max(0.5, min(2.0, self.budget.left()))).start()
        expression = formula = None
        star_free = monoid = None
        with contextlib.suppress(NerodeError):
            if dfa.num_states <= _MOST_WRITTEN:
                found = profile(minimal, budget)
                star_free, monoid = found.star_free, found.monoid_size
                expression = minimal.to_regex(budget)
                if star_free:
                    text = minimal.to_ltl(budget)
                    formula = text if len(text) <= _LONGEST_FORMULA else None
        return LearnedAutomaton(
            language=minimal,
            known=known_name(dfa),
            expression=expression,
            formula=formula,
            star_free=star_free,
            monoid=monoid,
            proved=proved,
            tested=tested,
            words=words,
            remarks=tuple(self.remarks),
        )

    def _gap(self, learned: LearnedAutomaton | None) -> tuple[float, float] | None:
        """The least probability of what may follow and the largest of what may not, on sampled words."""
        reading = self.subject.reading
        if learned is None or reading is None or reading.kind != "softmax":
            return None
        machine = _moore_of(learned.language.dfa())
        rng = np.random.default_rng(0)
        longest = min(32, self.subject.letters.longest or 32)
        words = random_words(machine, HypothesisTest(words=48, longest=longest), rng)
        least, most = 1.0, 0.0
        for shares, allowed in self._shares(words):
            least = min([least, *shares[allowed].tolist()])
            most = max([most, *shares[~allowed].tolist()])
        return least, most

    def _shares(self, words: list[Word]) -> list[tuple[Any, Any]]:
        """The probabilities along each word, as long as the model allows it, and whether they are enough."""
        reading = self.subject.reading
        assert reading is not None
        read = reading.columns or range(len(self.subject.letters.alphabet) + 1)
        columns = [c for c in read if c >= 0]
        places = [i for i, c in enumerate(read) if c >= 0]
        longest = max(map(len, words))
        padded = torch.tensor([[*word, *[0] * (longest - len(word))] for word in words])
        with torch.no_grad():
            scores = self._module(padded, None)[0]
        shares = scores.double().softmax(-1)[..., columns].numpy()
        allowed = shares >= float(reading.limit)
        found = []
        for row, word in enumerate(words):
            for at, letter in enumerate(word):
                if at and not allowed[row, at - 1][[i for i, p in enumerate(places) if p == letter]].all():
                    break
                found.append((shares[row, at], allowed[row, at]))
        return found

    def _places(self, asked: Subject, word: tuple[str, ...] | None) -> tuple[WordPlace, ...]:
        """The failing word letter by letter: what is said, what is correct, and the least sure answer."""
        question = asked.question
        if not word or question is None or self.module is None or len(word) > _LONGEST_SHOWN:
            return ()
        letters = tuple(question.alphabet.encode(word))
        reading = self.subject.reading
        with torch.no_grad():
            scores = self._module(torch.tensor([letters]), None)[0][0]
        if reading is None:
            return ()
        said, numbers = read_texts(asked, scores), _margins(reading, scores)
        found, at = [], question.initial()
        for place, letter in enumerate(letters):
            at = question.advance(at, letter)
            name, number = min(
                zip(question.answers, numbers[place], strict=False), key=lambda pair: abs(pair[1][1])
            )
            found.append(
                WordPlace(
                    letter=question.alphabet.symbols[letter],
                    says=tuple(said[place].split(" ")),
                    expected=tuple(question.answer(at).split(" ")),
                    least=(name, number[0]),
                )
            )
        if len(found) > 2 * _SHOWN:
            return (*found[:_SHOWN], *found[-_SHOWN:])
        return tuple(found)


_SHOWN, _LONGEST_SHOWN = 12, 4_000
"""Letters of a failing word that are shown at its beginning and its end, and of one that is read for it."""


def _margins(reading: Reading, scores: torch.Tensor) -> list[list[tuple[float, float]]]:
    """For each position and answer its probability or score, and how far it is from the threshold."""
    gaps = distances(reading, scores).double()
    shown = gaps.exp() * float(reading.limit) if reading.kind == "softmax" else gaps + float(reading.limit)
    if reading.kind == "largest":
        gaps = gaps - gaps.amax(-1, keepdim=True)
    return [list(zip(a, b, strict=True)) for a, b in zip(shown.tolist(), gaps.tolist(), strict=True)]


def _all_words(alphabet: Alphabet) -> Dfa:
    transitions = np.zeros((1, len(alphabet)), dtype=np.int32)
    return Dfa(alphabet=alphabet, transitions=transitions, start=0, accepting=np.array([True]))


def _says(machine: Moore, question: LanguageQuestion, asks_empty: bool) -> bool:
    """Whether a machine answers every word as a question about a language expects it."""
    start = (machine.start, question.initial())
    order, seen = [start], {start}
    for number, (state, at) in enumerate(order):
        said, wanted = machine.outputs[state], question.answer(at)
        if said != wanted and (number or asks_empty):
            return False
        for letter, after in enumerate(machine.rows[state]):
            pair = (after, question.advance(at, letter))
            begins = number or asks_empty or letter in question.letters(at)
            if begins and pair not in seen:
                seen.add(pair)
                order.append(pair)
    return True


def _begun(dfa: Dfa) -> Dfa:
    """The automaton with another start, if all letters that may follow there lead where the start leads them.

    What is asked of the model after the first letter is the same. Of several, that with most letters.
    """
    start, live = int(dfa.start), dfa.live
    choices = []
    for state in np.flatnonzero(live).tolist():
        allowed = live[dfa.transitions[state]]
        same = (dfa.transitions[state] == dfa.transitions[start]) | ~allowed
        if state != start and same.all() and allowed.any():
            choices.append((-int(allowed.sum()), state))
    tried = [dfa, _toggled(dfa)]
    if choices:
        tried.insert(0, minimise(replace(dfa, start=min(choices)[1])))
    return min(tried, key=lambda each: each.num_states)


def _toggled(dfa: Dfa) -> Dfa:
    """The same automaton, but for the empty word."""
    count = dfa.num_states
    transitions = np.concatenate([dfa.transitions, dfa.transitions[dfa.start][None]])
    accepting = np.concatenate([dfa.accepting, ~dfa.accepting[dfa.start][None]])
    return minimise(Dfa(alphabet=dfa.alphabet, transitions=transitions, start=count, accepting=accepting))


def _moore_of(dfa: Dfa) -> Moore:
    """The automaton as a machine whose dead states are sinks, from which words are drawn."""
    outputs = tuple("live" if live else "∅" for live in dfa.live.tolist())
    return Moore(alphabet=dfa.alphabet, transitions=dfa.transitions, start=int(dfa.start), outputs=outputs)


def known_name(dfa: Dfa) -> str:
    """Returns the name of a language of the bestiary that an automaton accepts, its letters in their places.

    Empty if there is none. Where the letters have other names, these are named.
    """
    if dfa.num_states > _NAMED:
        return ""
    table = dfa.transitions.tolist(), dfa.accepting.tolist(), int(dfa.start)
    for name, row in BESTIARY.items():
        try:
            language = row.language(Budget(states=_NAMED * 4, seconds=1.0))
            if not language.regular or len(language.alphabet) != len(dfa.alphabet):
                continue
            other = minimise(language.dfa())
        except NerodeError:
            continue
        if (other.transitions.tolist(), other.accepting.tolist(), int(other.start)) != table:
            continue
        pairs = zip(dfa.alphabet.symbols, other.alphabet.symbols, strict=True)
        renamed = ", ".join(f"{ours} for {theirs}" for ours, theirs in pairs if ours != theirs)
        return f"{name} with {renamed}" if renamed else name
    return ""


def _title(learned: LearnedAutomaton) -> str:
    """The name of a learned language in a settlement."""
    if learned.known and " with " not in learned.known:
        return learned.known
    return learned.expression or f"an automaton with {plural(learned.states, 'state')}"
