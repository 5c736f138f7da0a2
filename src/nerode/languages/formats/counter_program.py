"""Counter programs, `.counters`: what each letter adds, and what may follow while counters are zero or not.

    counters n                    # they begin at 0; n=3 begins at 3
    letter a n+1
    letter b n-1
    after start: a
    after a: a b
    after b if n>0: b
    after b if n=0: end

A rule says which letters may come next, and `end` that the word may end. `after` names the last letter, or
several with commas between them; `start` is the beginning of the word. `always` holds after every letter.
Conditions are joined by `and`. What may follow is all that any rule allows; a counter may fall below zero.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from nerode.core import FormatError, InputError, excerpt
from nerode.languages.alphabet import Alphabet
from nerode.languages.counters import START, CounterLanguage, CounterMachine, CounterRule
from nerode.languages.sampling.counters import ConfigurationSampler

SUFFIX = ".counters"
_COUNTER = re.compile(r"(?P<name>[A-Za-z_]\w*)(=(?P<value>-?\d{1,9}))?")
_CHANGE = re.compile(r"(?P<name>[A-Za-z_]\w*)(?P<amount>[+-]\d{1,9})")
_CONDITION = re.compile(r"(?P<name>[A-Za-z_]\w*)(?P<sign>=|>)0")
_WORDS = ("start", "end")


def counters_from_text(text: str, *, path: Path) -> CounterMachine:
    """Returns the machine of a text.

    Raises:
        FormatError: with the line.
    """
    reader = _Reader(path)
    for number, line in enumerate(text.splitlines(), start=1):
        reader.read(line.split("#")[0].strip(), number)
    return reader.machine()


def counter_program(text: str, *, path: Path) -> CounterLanguage:
    """Returns the language of a counter program, named after its file."""
    machine = counters_from_text(text, path=path)
    return CounterLanguage(
        name=path.name.removesuffix(SUFFIX) or path.name,
        machine=machine,
        convention=f"words accepted by the counter program in {path.name}",
        family="counter",
        parameters={},
        sampler=ConfigurationSampler(machine),
        distribution="uniform over the words of this length",
    )


class _Reader:
    """Reads one line after the other; an error has its number."""

    def __init__(self, path: Path) -> None:
        self._path, self._line = path, 0
        self._start: dict[str, int] = {}
        self._letters: dict[str, dict[str, int]] = {}
        self._rules: list[tuple[int, list[str] | None, list[tuple[str, str]], list[str]]] = []

    def read(self, line: str, number: int) -> None:
        """Takes a line without its comment."""
        self._line = number
        if not line:
            return
        word, _, rest = line.partition(" ")
        if word == "counters":
            for part in rest.split():
                found = self._match(_COUNTER, part, "a counter is written n or n=3")
                self._new(found["name"], self._start, "counter")
                self._start[found["name"]] = int(found["value"] or 0)
        elif word == "letter":
            symbol, *changes = rest.split() or [""]
            if not symbol or symbol in _WORDS or "," in symbol or symbol.endswith(":"):
                self._fail(f"{excerpt(symbol)} cannot be a letter here")
            self._new(symbol, self._letters, "letter")
            self._letters[symbol] = row = {}
            for part in changes:
                found = self._match(_CHANGE, part, "a change is written n+1 or n-2")
                row[self._counter(found["name"])] = int(found["amount"])
        elif word == "after" or word.removesuffix(":") == "always":
            self._rule(line)
        else:
            self._fail(f"a line begins with counters, letter, after or always, not with {excerpt(word)}")

    def machine(self) -> CounterMachine:
        """Returns the machine of all lines."""
        if not self._letters:
            raise FormatError("the program has no letter", path=self._path, hint="Write: letter a n+1")
        numbers = {symbol: i for i, symbol in enumerate(self._letters)}
        counters = {name: i for i, name in enumerate(self._start)}
        rules = []
        for line, after, conditions, allowed in self._rules:
            self._line = line
            for symbol in [*(after or ()), *allowed]:
                if symbol not in numbers and symbol not in _WORDS:
                    self._fail(f"there is no letter {excerpt(symbol)}")
            if "start" in allowed or "end" in (after or ()):
                self._fail("start stands before the colon only, and end behind it")
            rules.append(
                CounterRule(
                    after=None
                    if after is None
                    else frozenset(numbers.get(symbol, START) for symbol in after),
                    zero=frozenset(counters[name] for name, sign in conditions if sign == "="),
                    positive=frozenset(counters[name] for name, sign in conditions if sign == ">"),
                    symbols=frozenset(numbers[symbol] for symbol in allowed if symbol != "end"),
                    end="end" in allowed,
                )
            )
        try:
            return CounterMachine(
                alphabet=Alphabet(tuple(self._letters)),
                start=tuple(self._start.values()),
                increments=tuple(
                    tuple(row.get(name, 0) for name in self._start) for row in self._letters.values()
                ),
                rules=tuple(rules),
            )
        except InputError as error:
            raise FormatError(str(error), path=self._path) from None

    def _rule(self, line: str) -> None:
        head, colon, tail = line.rpartition(":")
        if not colon:
            self._fail("a rule is written `after a if n>0: b end`")
        who, _, condition = head.strip().partition(" if ")
        first, _, names = who.partition(" ")
        conditions = []
        for part in condition.split(" and ") if condition else ():
            found = self._match(_CONDITION, part.replace(" ", ""), "a condition is n=0 or n>0")
            conditions.append((self._counter(found["name"]), found["sign"]))
        after = [name.strip() for name in names.split(",")] if first == "after" else None
        if first not in ("after", "always") or (after is None and names):
            self._fail("a rule begins with `after` and letters, or with `always`")
        self._rules.append((self._line, after, conditions, tail.split()))

    def _match(self, pattern: re.Pattern[str], text: str, what: str) -> re.Match[str]:
        found = pattern.fullmatch(text)
        if found is None:
            self._fail(f"{what}, not {excerpt(text)}")
        return found

    def _counter(self, name: str) -> str:
        if name not in self._start:
            self._fail(f"there is no counter {excerpt(name)}; name it in the line `counters`")
        return name

    def _new(self, name: str, known: Mapping[str, object], what: str) -> None:
        if name in known:
            self._fail(f"the {what} {excerpt(name)} is there already")

    def _fail(self, what: str) -> NoReturn:
        raise FormatError(what, path=self._path, line=self._line)
