"""The language that words show: the smallest automaton that agrees, and what the words do not decide."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from nerode.analysis.learning.consistent import (
    UNKNOWN,
    MachineTable,
    SearchTimeout,
    find_smallest,
    merge_states,
)
from nerode.analysis.learning.likelihood import Fit, fit_machine
from nerode.analysis.learning.words import Samples, make_samples
from nerode.compiler import compile_language
from nerode.core import Budget, InputError, Shown, plural, stream
from nerode.languages import (
    END,
    Alphabet,
    Dfa,
    Language,
    RegularLanguage,
    Word,
    distinguishing_word,
)
from nerode.network import Network
from nerode.proofs import Certificate, Refutation, Unproved, certify

Way = Literal["search", "merging", "likelihood"]

SHORT = 8
"""Words of at most so many letters tell most: what happens near the start shows in them alone."""

_SEEN_SHARE = 0.02
"""Share from which a letter may follow, where some words may be wrong."""

_MOST_DOUBTED = 0.15
"""Share of the labels that may be taken for wrong."""

_RIVAL_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnSettings:
    """Settings of learning.

    Attributes:
        noisy: whether some labels, or some raw words, may be wrong.
        held_out: share of the words that score what is learned from the others.
        states: most states.
        seconds: of CPU for the search of the smallest automaton.
        seed: of the words that are held out, and of the search by likelihood.
        questions: most words whose labels are asked for.
    """

    noisy: bool = False
    held_out: float = 0.1
    states: int = 60
    seconds: float = 10.0
    seed: int = 0
    questions: int = 30

    def __post_init__(self) -> None:
        if not 0 <= self.held_out < 1:
            raise InputError(f"held_out is {self.held_out}; give a share of at least 0 and below 1")
        for name in ("states", "questions"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; give 1 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningEvidence:
    """Knowledge about a learned language, and its limits.

    Attributes:
        words: how many there were.
        short: how many of at most eight letters.
        way: how the automaton was found.
        held_out: right ones among the words that were held out, and their number.
        states: of the minimal automaton.
        smallest: whether no smaller automaton agrees with all words; None where it was not looked for.
        unique: whether no other automaton of its size agrees; None likewise.
        unseen_moves: states and letters that no word tells: guesses.
        rival_word: the shortest word on which the next best automaton differs: its label would tell.
        doubted: lines, or numbers of words, whose labels are taken for wrong.
        asked: words whose labels were asked for.
    """

    words: int
    short: int
    way: Way
    held_out: tuple[int, int]
    states: int
    smallest: bool | None
    unique: bool | None
    unseen_moves: tuple[tuple[int, str], ...] = ()
    rival_word: tuple[str, ...] | None = None
    doubted: tuple[int, ...] = ()
    asked: tuple[tuple[str, ...], ...] = ()

    def sentences(self) -> list[str]:
        """Returns what is known and what is not, a sentence each."""
        size = {
            "search": "no smaller automaton agrees with all words",
            "merging": "found by merging states; a smaller one is not excluded",
            "likelihood": "the most likely one that was found; a better one is not excluded",
        }[self.way]
        unique = {True: ", and no other one of its size", False: "; others of its size do", None: ""}[
            self.unique
        ]
        right, of = self.held_out
        lines = [f"{plural(self.states, 'state')}: {size}{unique}"]
        if of:
            lines.append(
                f"{of:,} words were held out: learned without them, the language is right on {right:,}"
            )
        if self.unseen_moves:
            moves = ", ".join(f"{state} by {letter}" for state, letter in self.unseen_moves[:8])
            more = " …" if len(self.unseen_moves) > 8 else ""
            lines.append(
                f"no word makes {plural(len(self.unseen_moves), 'move')}, which are guesses: {moves}{more}"
            )
        if self.rival_word is not None:
            word = repr(" ".join(self.rival_word)) if self.rival_word else "the empty word"
            lines.append(f"another automaton agrees with all words; the label of {word} would tell")
        if self.doubted:
            shown = ", ".join(map(str, self.doubted[:12])) + (" …" if len(self.doubted) > 12 else "")
            lines.append(f"{plural(len(self.doubted), 'label')} taken for wrong, of lines {shown}")
        if self.short < min(20, self.words):
            lines.append(
                f"only {plural(self.short, 'word')} of at most {SHORT} letters: what happens near the start "
                "hardly shows; add short words"
            )
        return lines

    def to_json(self) -> dict[str, Any]:
        """Returns plain values."""
        return {
            "words": self.words,
            "short": self.short,
            "way": self.way,
            "held_out": list(self.held_out),
            "states": self.states,
            "smallest": self.smallest,
            "unique": self.unique,
            "unseen_moves": [list(move) for move in self.unseen_moves],
            "rival_word": None if self.rival_word is None else list(self.rival_word),
            "doubted": list(self.doubted),
            "asked": [list(word) for word in self.asked],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedLanguage(Shown):
    """A language that was learned from words.

    Attributes:
        language: with its minimal automaton.
        evidence: what is known of it.
        samples: the words, with the answers that were asked for.
    """

    language: RegularLanguage
    evidence: LearningEvidence
    samples: Samples = field(repr=False)

    def shown(self) -> tuple[Sequence[str] | Mapping[str, Any], Shown | None]:
        """Returns what is known of the language, and the language."""
        return self.evidence.sentences(), self.language


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned(Shown):
    """A learned language with a network for it.

    Attributes:
        language: that was learned.
        evidence: what is known of it.
        network: compiled for the architecture that was asked for; None if none was.
        proof: a certificate that network and language are equal at every length, or what is known.
    """

    language: RegularLanguage
    evidence: LearningEvidence
    network: Network | None = None
    proof: Certificate | Refutation | Unproved | None = None

    def shown(self) -> tuple[Sequence[str] | Mapping[str, Any], Shown | None]:
        """Returns what is known of the language, and the language."""
        return self.evidence.sentences(), self.language


Ask = Callable[[tuple[str, ...]], bool]
"""Says whether a word, given by its letters, is in the language."""


def learn(
    words: Sequence[str | Sequence[str]],
    labels: Sequence[object] | None = None,
    *,
    arch: str | None = None,
    alphabet: Sequence[str] | None = None,
    noisy: bool = False,
    ask: Ask | None = None,
    settings: LearnSettings | None = None,
    budget: Budget | None = None,
) -> Learned:
    """Returns a language learned from words, with a proved network for an architecture.

    Args:
        words: texts, or lists of letters.
        labels: whether each word is in the language, or for each word a list with one label per prefix, the
            empty one first; None for words that are all valid.
        arch: architecture to compile for.
        alphabet: the letters; by default those that occur.
        noisy: whether some labels may be wrong.
        ask: is asked for the label of the word that tells two automata apart.
        settings: of learning, over `noisy`.
        budget: for compiling and proving.

    Raises:
        InputError: if the words or labels are none.
        NotCompilable: if the architecture cannot do the language, or no construction is there.
    """
    letters = None if alphabet is None else Alphabet(tuple(alphabet))
    samples = make_samples(words, labels, alphabet=letters)
    found = learn_language(samples, settings or LearnSettings(noisy=noisy), ask=ask)
    if arch is None:
        return Learned(language=found.language, evidence=found.evidence)
    network = compile_language(found.language, arch)
    proof = certify(network, found.language, budget=budget)
    return Learned(language=found.language, evidence=found.evidence, network=network, proof=proof)


def learn_language(
    samples: Samples, settings: LearnSettings | None = None, *, ask: Ask | None = None, name: str = "learned"
) -> LearnedLanguage:
    """Returns the language that words show, and what they do not decide.

    Args:
        samples: the words.
        settings: of learning.
        ask: is asked for the label of the word that tells two automata apart, again and again.
        name: of the language.

    Raises:
        InputError: if a word has two labels and `settings.noisy` is not set.
    """
    settings = settings or LearnSettings()
    if ask is not None and samples.labels not in ("end", "prefix"):
        raise InputError("only labels of whole words or of prefixes can be asked for; leave out --ask")
    held = _held_out(samples, settings)
    asked: list[Word] = []
    while True:
        found = _Learner(samples, settings).learn(name, rivals=True, larger=ask is not None)
        word = found.rival
        if ask is None or word is None or len(asked) >= settings.questions:
            break
        answer = ask(tuple(samples.alphabet.symbols[letter] for letter in word))
        samples = samples.with_answer(word, int(answer))
        asked.append(word)
    evidence = replace(
        found.evidence, held_out=held, asked=tuple(_spelt(samples.alphabet, word) for word in asked)
    )
    return LearnedLanguage(language=found.language, evidence=evidence, samples=samples)


def _held_out(samples: Samples, settings: LearnSettings) -> tuple[int, int]:
    """Right answers among words that were held out, by what is learned from the others, and their number."""
    count = int(len(samples) * settings.held_out)
    if not count or len(samples) - count < 2:
        return 0, 0
    order = stream(settings.seed, "held-out").permutation(len(samples)).tolist()
    quick = replace(settings, seconds=settings.seconds / 4)
    try:
        learner = _Learner(samples.part(sorted(order[count:])), quick)
        language = learner.learn("held-out", rivals=False).language
    except InputError:
        return 0, 0  # the full words have the same contradiction, and name it
    right = sum(_is_right(samples, row, language) for row in order[:count])
    return right, count


def _is_right(samples: Samples, row: int, language: Language) -> bool:
    """Whether a language answers as a word says."""
    word = samples.words[row]
    if samples.labels == "none":
        return language.accepts(word)
    if samples.labels == "next":
        sets = [set() if legal is None else legal for legal in _legal_along(language, word)]
        return all(
            sets[length] == set(_letters_of(samples.names[answer]))
            for length, answer in samples.answers[row].items()
        )
    return all(language.accepts(word[:length]) == bool(a) for length, a in samples.answers[row].items())


def _legal_along(language: Language, word: Word) -> list[set[str]]:
    symbols = language.alphabet.symbols
    return [
        {*(symbols[letter] for letter in legal.symbols), *([END] if legal.end else [])}
        for legal in language.legal_along(word)
    ]


def _letters_of(name: str) -> list[str]:
    """The letters of the name of a set."""
    return [] if name == "-" else name.split(",")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A language, its evidence, and the word that tells it from the next best automaton."""

    language: RegularLanguage
    evidence: LearningEvidence
    rival: Word | None


class _Learner:
    """Learns from one set of words."""

    def __init__(self, samples: Samples, settings: LearnSettings) -> None:
        self._samples, self._settings = samples, settings
        self._letters = len(samples.alphabet)

    def learn(self, name: str, *, rivals: bool = True, larger: bool = False) -> _Found:
        """Returns the language and its evidence.

        Args:
            name: of the language.
            rivals: whether to look for another automaton that agrees, where this is not the only one.
            larger: whether to look for one that is a state larger, too, where this is the only one.
        """
        samples = self._samples
        if samples.labels == "none":
            fit = self._fit_raw()
            return self._found(name, self._raw_language(name, fit), way="likelihood", unseen=())
        if self._settings.noisy:
            return self._by_likelihood(name)
        known = samples.known()
        table, way, unique = self._agreeing(known)
        if way == "merging" and table.num_states > math.sqrt(len(samples)):
            guess = self._by_likelihood(name)
            few = len(guess.evidence.doubted) <= _MOST_DOUBTED * len(samples)
            if few and guess.evidence.states <= table.num_states / 2:
                return guess
        language = self._language(name, table)
        rival = self._rival(known, table, language) if rivals and (larger or not unique) else None
        return self._found(
            name, language, way=way, unseen=table.unseen_moves, table=table, unique=unique, rival=rival
        )

    def _found(
        self,
        name: str,
        language: RegularLanguage,
        *,
        way: Way,
        unseen: Sequence[tuple[int, int]],
        table: MachineTable | None = None,
        unique: bool | None = None,
        rival: Word | None = None,
        doubted: tuple[int, ...] = (),
    ) -> _Found:
        samples, symbols = self._samples, self._samples.alphabet.symbols
        evidence = LearningEvidence(
            words=len(samples),
            short=sum(len(word) <= SHORT for word in samples.words),
            way=way,
            held_out=(0, 0),
            states=language.num_states(),
            smallest=True if way == "search" else None,
            unique=unique if way == "search" else None,
            unseen_moves=tuple((state, symbols[letter]) for state, letter in unseen),
            rival_word=None if rival is None else _spelt(samples.alphabet, rival),
            doubted=doubted,
        )
        return _Found(language=language, evidence=evidence, rival=rival)

    def _agreeing(self, known: dict[Word, int]) -> tuple[MachineTable, Way, bool | None]:
        """The smallest machine that agrees with all answers; that of merging where the search has no time."""
        merged = merge_states(known, self._letters)
        most = min(merged.num_states, self._settings.states)
        try:
            found = find_smallest(known, self._letters, most=most, seconds=self._settings.seconds)
        except SearchTimeout:
            return merged, "merging", None
        if found is None:
            return merged, "merging", None
        return found.table, "search", found.unique

    def _rival(self, known: dict[Word, int], table: MachineTable, language: RegularLanguage) -> Word | None:
        """The shortest word on which another machine differs that agrees with all answers, too."""
        own = language.dfa()

        def difference(other: MachineTable) -> Word | None:
            return distinguishing_word(self._language("rival", other).dfa(), own)

        words = [difference(guess) for guess in _guesses(table)]
        least = table.num_states
        with contextlib.suppress(SearchTimeout):
            other = find_smallest(
                known,
                self._letters,
                least=least,
                most=least + 1,
                seconds=_RIVAL_SECONDS,
                accept=lambda other: difference(other) is not None,
            )
            words.append(None if other is None else difference(other.table))
        return min((word for word in words if word is not None), key=len, default=None)

    def _by_likelihood(self, name: str) -> _Found:
        """The most likely machine; labels that it does not give are taken for wrong."""
        samples, settings = self._samples, self._settings
        fit = fit_machine(
            samples.words,
            [sorted(answers.items()) for answers in samples.answers],
            letters=self._letters,
            outputs=len(samples.names),
            most=settings.states,
            seed=settings.seed,
            seconds=3 * settings.seconds,
        )
        answers = np.where(fit.counts.sum(1) > 0, fit.counts.argmax(1), UNKNOWN)
        table = MachineTable(moves=np.where(fit.made, fit.moves, UNKNOWN), answers=answers)
        doubted = tuple(
            samples.lines[row] if samples.lines else row + 1
            for row, (word, own) in enumerate(zip(samples.words, samples.answers, strict=True))
            if any(table.answer(word[:length]) != answer for length, answer in own.items())
        )
        language = self._language(name, table)
        return self._found(name, language, way="likelihood", unseen=table.unseen_moves, doubted=doubted)

    def _fit_raw(self) -> Fit:
        """The most likely machine of what followed each prefix."""
        samples, settings = self._samples, self._settings
        seen = [[*enumerate(word), (len(word), self._letters)] for word in samples.words]
        return fit_machine(
            samples.words,
            seen,
            letters=self._letters,
            outputs=self._letters + 1,
            most=settings.states,
            seed=settings.seed,
            seconds=3 * settings.seconds,
        )

    def _raw_language(self, name: str, fit: Fit) -> RegularLanguage:
        """The language of what followed in each state: once, or in a share where words may be wrong."""
        least = _SEEN_SHARE * fit.counts.sum(1, keepdims=True) if self._settings.noisy else 0.0
        seen = fit.counts > least
        return self._of_legal(name, fit.moves, seen[:, : self._letters], seen[:, self._letters])

    def _language(self, name: str, table: MachineTable) -> RegularLanguage:
        """The language of a machine; a move that no word makes stays where it is."""
        own = np.arange(table.num_states)[:, None]
        moves = np.where(table.moves == UNKNOWN, own, table.moves)
        if self._samples.labels != "next":
            return self._regular(name, moves, table.answers == 1)
        symbols = self._samples.alphabet.symbols
        sets = [
            set() if answer == UNKNOWN else set(_letters_of(self._samples.names[answer]))
            for answer in table.answers.tolist()
        ]
        legal = np.array([[symbol in letters for symbol in symbols] for letters in sets])
        return self._of_legal(name, moves, legal, np.array([END in letters for letters in sets]))

    def _of_legal(self, name: str, moves: np.ndarray, legal: np.ndarray, ends: np.ndarray) -> RegularLanguage:
        """The language whose words go along legal letters and end where they may."""
        dead = len(moves)
        table = np.vstack([np.where(legal, moves, dead), np.full((1, moves.shape[1]), dead)])
        return self._regular(name, table, np.append(ends, False))

    def _regular(self, name: str, moves: np.ndarray, accepting: np.ndarray) -> RegularLanguage:
        samples = self._samples
        dfa = Dfa(alphabet=samples.alphabet, transitions=moves.astype(np.int32), start=0, accepting=accepting)
        convention = f"learned from {plural(len(samples), 'word')}"
        return RegularLanguage(name=name, automaton=dfa, convention=convention)


def _guesses(table: MachineTable) -> Iterator[MachineTable]:
    """The machines with another target of one move, or another answer of one state, that no word tells."""
    for state, letter in table.unseen_moves:
        for target in range(table.num_states):
            moves = table.moves.copy()
            moves[state, letter] = target
            yield MachineTable(moves=moves, answers=table.answers)
    for state in np.flatnonzero(table.answers == UNKNOWN).tolist():
        for answer in np.unique(table.answers[table.answers != UNKNOWN]):
            answers = table.answers.copy()
            answers[state] = answer
            yield MachineTable(moves=table.moves, answers=answers)


def _spelt(alphabet: Alphabet, word: Word) -> tuple[str, ...]:
    return tuple(alphabet.symbols[letter] for letter in word)
