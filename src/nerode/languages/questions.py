"""Questions: the answer that is expected after each prefix, for languages and for Moore machines.

An answer is a tuple of truth values, one per name in `answers`:

    next symbols   each letter, then "$" for the end: may it follow?          a language
    membership     the same names, of which "$" alone is asked                a language
    class          each class: is it the one after this prefix?               a Moore machine

Which positions are asked, and which letters are read on, belongs to the question. It is a function of the
word alone. Texts of answers are for people and for machines with outputs:

    next symbols   the symbols that may follow, in the order of the alphabet: "0 1 $", or "∅"
    membership     "in" or "out"
    class          the name of the class, "unasked", or "outside" for words that are not read on
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any, Literal

from nerode.core import InputError
from nerode.kernel import PREDICT, RECOGNISE, TRACK, VALID_PREFIXES, Refutation
from nerode.languages.alphabet import END, Alphabet
from nerode.languages.language import Language, Legal
from nerode.languages.moore import Moore
from nerode.languages.resolve import (
    FORMAT,
    VERSION,
    definition_hash,
    describe_language,
    language_from_description,
    language_hash,
)
from nerode.records import Bits

Json = Any

IN, OUT = "in", "out"
NOTHING = "∅"
"""Neither a letter nor the end may follow."""

OUTSIDE = "outside"
UNASKED = "unasked"

NO_ANSWER = "no answer"
"""The text of scores that cannot be read, because one of them is not a finite number."""


class Question(ABC):
    """The expected answers along words; there may be infinitely many configurations.

    Attributes:
        name: for reports.
        alphabet: the letters.
        answers: the names of the truth values of an answer.
        task: the kernel's name for what is claimed.
    """

    name: str
    alphabet: Alphabet
    answers: tuple[str, ...]
    task: str

    @abstractmethod
    def initial(self) -> Hashable:
        """Returns the configuration of the empty word."""

    @abstractmethod
    def advance(self, configuration: Any, letter: int) -> Hashable:
        """Returns the configuration after one more letter."""

    @abstractmethod
    def expected(self, configuration: Any) -> Bits:
        """Returns the correct answer."""

    @abstractmethod
    def asked(self, configuration: Any) -> Bits:
        """Returns which truth values count; none where nothing is asked."""

    @abstractmethod
    def letters(self, configuration: Any) -> Sequence[int]:
        """Returns the letters that are read on."""

    @abstractmethod
    def text(self, bits: Bits) -> str:
        """Returns an answer as text."""

    @property
    @abstractmethod
    def hash(self) -> str:
        """The SHA-256 of the definition, which a certificate names."""

    def answer(self, configuration: Any) -> str:
        """Returns the correct answer as text; "unasked" or "outside" where there is none."""
        return self.text(self.expected(configuration))

    def weaker(self) -> Question | None:
        """Returns the question about fewer words that is put where this one is answered wrongly, if any."""
        return None

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks of claims that answer it, its own first."""
        weaker = self.weaker()
        return (self.task,) if weaker is None else (self.task, weaker.task)

    def for_task(self, task: str) -> Question:
        """Returns this question, or a weaker one, whose claims have a task.

        Raises:
            InputError: if no claim of this task answers the question.
        """
        for found in (self, self.weaker()):
            if found is not None and found.task == task:
                return found
        raise InputError(f"a claim of the task {task!r} does not answer what is asked about {self.name}")

    def refutation(self, word: Sequence[int], at: Any, got: Sequence[bool] | None) -> Refutation:
        """Returns the refutation by a word that leads to a configuration, with the answer that was given.

        Args:
            word: its letters.
            at: the configuration after it.
            got: the answer; None for scores that cannot be read.
        """
        asked = self.asked(at)
        return Refutation(
            word=tuple(self.alphabet.symbols[letter] for letter in word),
            at=len(word),
            expected=self._names(self.expected(at), asked),
            got=(NO_ANSWER,) if got is None else self._names(got, asked),
        )

    def _names(self, bits: Sequence[bool], asked: Bits) -> tuple[str, ...]:
        named = zip(self.answers, bits, asked, strict=True)
        return tuple(name for name, bit, counts in named if bit and counts)


class LanguageQuestion(Question):
    """The question which symbols may follow the prefixes of a language, or which words are its members.

    Args:
        language: the language.
        asks: "next" for the symbols that may follow, "end" for membership.
        words: "all" words over the alphabet, "valid" for prefixes of words of the language, or "strongest"
            for all words and, if some are answered wrongly, the valid prefixes.
    """

    def __init__(
        self,
        language: Language,
        asks: Literal["next", "end"] = "next",
        words: Literal["all", "valid", "strongest"] = "strongest",
    ) -> None:
        if asks == "end" and words == "valid":
            raise InputError("membership is asked of all words")
        self.language, self.asks, self.words = language, asks, words
        self.name, self.alphabet = language.name, language.alphabet
        self.answers = (*language.alphabet.symbols, END)
        self.task = RECOGNISE if asks == "end" else VALID_PREFIXES if words == "valid" else PREDICT
        count = len(self.alphabet)
        self._asked = (asks == "next",) * count + (True,)
        self._bits = functools.lru_cache(maxsize=1 << 16)(self._find_bits)

    @classmethod
    def of_task(cls, language: Language, task: str | None) -> LanguageQuestion:
        """Returns the question of a kernel task; None stands for the strongest prediction.

        Raises:
            InputError: for a task that asks for classes, which a language does not have.
        """
        if task not in (None, PREDICT, VALID_PREFIXES, RECOGNISE):
            raise InputError(
                f"a claim of the task {task!r} does not answer what is asked about {language.name}"
            )
        return cls(
            language,
            "end" if task == RECOGNISE else "next",
            "strongest" if task is None else "valid" if task == VALID_PREFIXES else "all",
        )

    def initial(self) -> Hashable:
        """Returns the configuration of the empty word."""
        return self.language.initial()

    def advance(self, configuration: Any, letter: int) -> Hashable:
        """Returns the configuration after one more letter."""
        return self.language.advance(configuration, letter)

    def expected(self, configuration: Any) -> Bits:
        """Returns which letters may follow, and last whether the word may end."""
        return self._bits(configuration)

    def _find_bits(self, configuration: Any) -> Bits:
        return legal_bits(self.language.legal(configuration), len(self.alphabet))

    def asked(self, configuration: Any) -> Bits:
        """Returns all, or for membership the end alone."""
        return self._asked

    def letters(self, configuration: Any) -> Sequence[int]:
        """Returns all letters, or on valid prefixes those that may follow."""
        if self.words != "valid":
            return range(len(self.alphabet))
        return [letter for letter, may in enumerate(self._bits(configuration)[:-1]) if may]

    def text(self, bits: Bits) -> str:
        """Returns the symbols that may follow, or "in" or "out"."""
        if self.asks == "end":
            return IN if bits[-1] else OUT
        return answer_text([name for name, bit in zip(self.answers, bits, strict=True) if bit])

    def weaker(self) -> LanguageQuestion | None:
        """Returns the question about valid prefixes, if that is what is left."""
        return LanguageQuestion(self.language, "next", "valid") if self._has_weaker else None

    @property
    def _has_weaker(self) -> bool:
        return self.asks == "next" and self.words == "strongest"

    @property
    def hash(self) -> str:
        """The SHA-256 of the language's definition."""
        return language_hash(self.language)


class MooreQuestion(Question):
    """The question for the class after each prefix.

    The machine is kept in canonical form: minimal, and with one state "outside" instead of all from which
    nothing is ever asked.

    Args:
        name: for reports.
        machine: its outputs are classes, "unasked" or "outside".
        classes: the names of the classes, in the order of a network's scores; None for those of the machine.
    """

    task = TRACK

    def __init__(self, name: str, machine: Moore, classes: Sequence[str] | None = None) -> None:
        self.name, self.alphabet = name, machine.alphabet
        self.machine = _canonical(machine)
        named = {text for text in machine.outputs if text not in (OUTSIDE, UNASKED)}
        in_order = sorted(named, key=lambda text: (len(text), text))
        self.answers = tuple(in_order if classes is None else classes)
        if not named <= set(self.answers) or len(set(self.answers)) != len(self.answers):
            raise InputError(f"the machine of {name} has other classes than {', '.join(self.answers)}")
        outputs = self.machine.outputs
        self._expected = [tuple(text == name for name in self.answers) for text in outputs]
        self._asked = [(text not in (OUTSIDE, UNASKED),) * len(self.answers) for text in outputs]
        self._letters = [
            [a for a, to in enumerate(row) if outputs[to] != OUTSIDE] if outputs[state] != OUTSIDE else []
            for state, row in enumerate(self.machine.rows)
        ]

    def initial(self) -> int:
        """Returns the start."""
        return self.machine.start

    def advance(self, configuration: int, letter: int) -> int:
        """Returns the next state."""
        return self.machine.rows[configuration][letter]

    def expected(self, configuration: int) -> Bits:
        """Returns which class it is."""
        return self._expected[configuration]

    def asked(self, configuration: int) -> Bits:
        """Returns all classes, or none where no class is asked for."""
        return self._asked[configuration]

    def letters(self, configuration: int) -> Sequence[int]:
        """Returns the letters after which something is still asked."""
        return self._letters[configuration]

    def text(self, bits: Bits) -> str:
        """Returns the name of the class."""
        return answer_text([name for name, bit in zip(self.answers, bits, strict=True) if bit])

    def answer(self, configuration: int) -> str:
        """Returns the output of a state."""
        return self.machine.outputs[configuration]

    def definition(self) -> Json:
        """Returns the machine as plain values, the same for every machine that asks the same."""
        return {
            "form": "moore",
            "alphabet": list(self.alphabet.symbols),
            "classes": list(self.answers),
            "start": self.machine.start,
            "outputs": list(self.machine.outputs),
            "transitions": self.machine.transitions.tolist(),
        }

    @property
    def hash(self) -> str:
        """The SHA-256 of the canonical machine."""
        return definition_hash(self.definition())


def _canonical(machine: Moore) -> Moore:
    """The minimal machine with one state "outside" for all words after which nothing is ever asked."""
    live = {state for state, text in enumerate(machine.outputs) if text not in (OUTSIDE, UNASKED)}
    before: dict[int, set[int]] = {}
    for state, row in enumerate(machine.rows):
        for target in row:
            # A word that has left the question is not read on.
            if machine.outputs[state] != OUTSIDE:
                before.setdefault(target, set()).add(state)
    queue = list(live)
    for state in queue:
        for source in before.get(state, set()) - live:
            live.add(source)
            queue.append(source)

    def advance(state: int, letter: int) -> int:
        target = -1 if state < 0 else machine.rows[state][letter]
        return target if target in live else -1

    start = machine.start if machine.start in live else -1
    return Moore.explore(
        machine.alphabet, start, advance, lambda state: OUTSIDE if state < 0 else machine.outputs[state]
    ).minimise()


def describe_question(question: Question) -> Json:
    """Returns what a question is about as plain values: a language or a machine."""
    if isinstance(question, LanguageQuestion):
        return describe_language(question.language)
    assert isinstance(question, MooreQuestion)
    definition = question.definition()
    return {"format": FORMAT, "version": VERSION, "name": question.name, "definition": definition}


def question_from_description(
    data: Json,
    *,
    name: str,
    asks: Literal["next", "end", "class"],
    words: Literal["all", "valid", "strongest"] = "strongest",
) -> Question:
    """Returns the question about what plain values describe.

    Raises:
        InputError: if they do not have the form that `describe_question` writes.
    """
    if asks != "class":
        return LanguageQuestion(language_from_description(data), asks, words)
    try:
        if (data["format"], data["version"]) != (FORMAT, VERSION) or data["definition"]["form"] != "moore":
            raise InputError("this is no machine whose classes could be asked for")
        found = data["definition"]
        machine = Moore(
            alphabet=Alphabet(tuple(found["alphabet"])),
            transitions=found["transitions"],
            start=found["start"],
            outputs=tuple(map(str, found["outputs"])),
        )
        return MooreQuestion(name, machine, tuple(map(str, found["classes"])))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"this is not a machine: {type(error).__name__} at {error}") from None


def asked_of(language: Language | Question, task: str | None = None) -> Question:
    """Returns the question about a language for a kernel task, or the given question for that task."""
    if isinstance(language, Question):
        return language if task is None else language.for_task(task)
    return LanguageQuestion.of_task(language, task)


def legal_bits(legal: Legal, letters: int) -> Bits:
    """Returns what may follow as truth values: for each letter, and last for the end."""
    return (*(letter in legal.symbols for letter in range(letters)), legal.end)


def answer_text(names: Sequence[str]) -> str:
    """Returns the names of an answer as text."""
    return " ".join(names) or NOTHING


def answer_names(text: str) -> tuple[str, ...]:
    """Returns the names of an answer that is written as text."""
    return () if text == NOTHING else tuple(text.split(" "))


def legal_text(legal: Legal, alphabet: Alphabet) -> str:
    """Returns the names of what may follow."""
    return answer_text(legal.names(alphabet))
