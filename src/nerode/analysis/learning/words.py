"""Labelled words: what is known of them, read from a table with tabs.

A label is of the whole word, of every prefix, or the letters that may follow every prefix; raw words have
none. Whatever the form, what is known are answers of prefixes, each one of a few.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from nerode.core import InputError, Shown, plural
from nerode.languages import END, Alphabet, Word

Labels = Literal["end", "prefix", "next", "none"]

_YES, _NO = ("1", "+", "accept", "yes", "true"), ("0", "-", "reject", "no", "false")

MOST_BYTES = 256 << 20
"""Bytes of a file of words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples(Shown):
    """Words with what is known of them.

    Attributes:
        alphabet: their letters.
        labels: which prefixes have an answer, and of what kind.
        words: as letter numbers, in the order of the data.
        answers: for each word, the number of an answer for each prefix that has one, by its length.
        names: the answers: "reject" and "accept", or sets of letters.
        lines: the line of each word, for messages.
    """

    alphabet: Alphabet
    labels: Labels
    words: tuple[Word, ...]
    answers: tuple[Mapping[int, int], ...] = field(repr=False)
    names: tuple[str, ...] = ("reject", "accept")
    lines: tuple[int, ...] = field(default=(), repr=False)

    def __len__(self) -> int:
        return len(self.words)

    def part(self, rows: Sequence[int]) -> Samples:
        """Returns some of the words."""
        return Samples(
            alphabet=self.alphabet,
            labels=self.labels,
            words=tuple(self.words[row] for row in rows),
            answers=tuple(self.answers[row] for row in rows),
            names=self.names,
            lines=tuple(self.lines[row] for row in rows) if self.lines else (),
        )

    def known(self) -> dict[Word, int]:
        """Returns the answer of every prefix that has one.

        Raises:
            InputError: if a prefix has two answers.
        """
        found: dict[Word, tuple[int, int]] = {}
        for row, (word, answers) in enumerate(zip(self.words, self.answers, strict=True)):
            for length, answer in answers.items():
                prefix = word[:length]
                first, before = found.setdefault(prefix, (answer, row))
                if first != answer:
                    raise InputError(
                        f"{self.text(prefix)} is both {self.names[first]} and {self.names[answer]}: "
                        f"{self._place(before)} and {self._place(row)}; correct one of them, or take wrong "
                        "labels into account with --noisy"
                    )
        return {word: answer for word, (answer, _) in found.items()}

    def with_answer(self, word: Word, answer: int) -> Samples:
        """Returns the words with one more, and the answer of the whole of it."""
        return Samples(
            alphabet=self.alphabet,
            labels=self.labels,
            words=(*self.words, word),
            answers=(*self.answers, {len(word): answer}),
            names=self.names,
            lines=(*self.lines, 0) if self.lines else (),
        )

    def text(self, word: Word) -> str:
        """Returns a word as it is printed."""
        symbols = [self.alphabet.symbols[letter] for letter in word]
        single = all(len(symbol) == 1 for symbol in self.alphabet.symbols)
        return ("" if single else " ").join(symbols) or "the empty word"

    def _place(self, row: int) -> str:
        line = self.lines[row] if self.lines else 0
        return f"line {line}" if line else f"word {row + 1}"


def read_words(
    path: Path,
    *,
    labels: Labels | None = None,
    alphabet: Alphabet | None = None,
    separator: str | None = None,
) -> Samples:
    """Returns the words of a file: a word, a tab and a label per line; raw words have no tab.

    Args:
        path: of the file, in UTF-8.
        labels: of what the labels are; by default of whole words, or none where no line has a tab.
        alphabet: the letters; by default those that occur, sorted.
        separator: between letters; by default a space where a word has one, and otherwise nothing.

    Raises:
        InputError: if the file cannot be read, a letter or a label is none, or there are no words.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"{path} has more than {MOST_BYTES >> 20} MiB; give a part of it")
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}; give a file of words") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 at byte {error.start}; give a text file") from None
    rows: list[tuple[int, list[str]]] = []
    for number, line in enumerate(text.split("\n"), 1):
        line = line.removesuffix("\r")
        if line or number <= text.count("\n"):
            rows.append((number, line.split("\t")))
    if not rows:
        raise InputError(f"{path} has no words; give a word per line, a tab and its label")
    chosen = labels or ("end" if any(len(cells) > 1 for _, cells in rows) else "none")
    columns = 1 if chosen == "none" else 2
    for number, cells in rows:
        if len(cells) != columns:
            form = "a word" if columns == 1 else "a word, a tab and a label"
            raise InputError(
                f"{path}, line {number}: {plural(len(cells), 'column')}, not {columns}; give {form}, or "
                "choose --labels end, prefix, next or none"
            )
    if separator is None and any(" " in cells[0] for _, cells in rows):
        separator = " "
    split = [(number, _letters(cells[0], separator), cells[1:]) for number, cells in rows]
    symbols = alphabet or Alphabet(tuple(sorted({letter for _, word, _ in split for letter in word})))
    if not symbols.symbols:
        raise InputError(f"{path} has no letters; give words, or the letters with --alphabet")
    return _samples(path, split, symbols, chosen)


def make_samples(
    words: Sequence[str | Sequence[str]], labels: Sequence[object] | None, *, alphabet: Alphabet | None = None
) -> Samples:
    """Returns words in memory with labels of whole words: true or false, or one list per word for prefixes.

    Raises:
        InputError: if numbers differ, or a letter or a label is none.
    """
    split = [(row, tuple(word)) for row, word in enumerate(words, 1)]
    if not split:
        raise InputError("there are no words; give one or more")
    symbols = alphabet or Alphabet(tuple(sorted({letter for _, word in split for letter in word})))
    if labels is None:
        return _samples(None, [(row, word, []) for row, word in split], symbols, "none")
    if len(labels) != len(split):
        raise InputError(
            f"there are {plural(len(split), 'word')} and {plural(len(labels), 'label')}; give as many"
        )
    prefix = any(isinstance(label, (list, tuple)) for label in labels)
    texts = [
        ["".join(str(int(bool(each))) for each in label) if prefix else str(int(bool(label)))]  # type: ignore[attr-defined]
        for label in labels
    ]
    rows = [(row, word, cells) for (row, word), cells in zip(split, texts, strict=True)]
    return _samples(None, rows, symbols, "prefix" if prefix else "end")


def _letters(text: str, separator: str | None) -> tuple[str, ...]:
    if separator is None:
        return tuple(text)
    return tuple(text.split(separator)) if text else ()


def _samples(
    path: Path | None,
    rows: Sequence[tuple[int, tuple[str, ...], Sequence[str]]],
    alphabet: Alphabet,
    labels: Labels,
) -> Samples:
    place = {symbol: number for number, symbol in enumerate(alphabet.symbols)}
    words, answers, names = [], [], {}
    if labels in ("end", "prefix"):
        names = {"reject": 0, "accept": 1}
    for number, letters, cells in rows:
        where = f"{path}, line {number}" if path is not None else f"word {number}"
        unknown = [letter for letter in letters if letter not in place]
        if unknown:
            raise InputError(
                f"{where}: {unknown[0]!r} is no letter; the letters are {' '.join(alphabet.symbols)}"
            )
        words.append(tuple(place[letter] for letter in letters))
        answers.append(_answers(where, cells[0] if cells else "", len(letters), labels, alphabet, names))
    if labels in ("end", "prefix"):
        seen = Counter(answer for each in answers for answer in each.values())
        if len(seen) == 1:
            only = "accept" if 1 in seen else "reject"
            raise InputError(
                f"every label is {only}: any number of languages agree; give words of both kinds, or "
                "accepted words alone without labels (--labels none)"
            )
    return Samples(
        alphabet=alphabet,
        labels=labels,
        words=tuple(words),
        answers=tuple(answers),
        names=tuple(names) or ("reject", "accept"),
        lines=tuple(number for number, _, _ in rows) if path is not None else (),
    )


def _answers(
    where: str, cell: str, length: int, labels: Labels, alphabet: Alphabet, names: dict[str, int]
) -> dict[int, int]:
    """The numbers of the answers of one word by the lengths of its prefixes; new sets get new numbers."""
    match labels:
        case "none":
            return {}
        case "end":
            return {length: _label(where, cell)}
        case "prefix":
            marks = cell.split() if " " in cell else list(cell)
            if len(marks) != length + 1:
                raise InputError(
                    f"{where}: {plural(len(marks), 'label')} for {plural(length, 'letter')}; give one for "
                    "the empty prefix and one for each letter"
                )
            return {place: _label(where, mark) for place, mark in enumerate(marks)}
        case "next":
            sets = cell.split(" ")
            if len(sets) != length + 1:
                raise InputError(
                    f"{where}: {plural(len(sets), 'set')} for {plural(length, 'letter')}; give one for the "
                    "empty prefix and one for each letter: the letters that may follow with commas, "
                    f"{END} for the end, - for nothing"
                )
            found = {}
            for place, text in enumerate(sets):
                letters = [] if text == "-" else text.split(",")
                unknown = [each for each in letters if each not in (*alphabet.symbols, END)]
                if unknown:
                    allowed = " ".join((*alphabet.symbols, END))
                    raise InputError(f"{where}: {unknown[0]!r} is no letter; the letters are {allowed}")
                name = ",".join(each for each in (*alphabet.symbols, END) if each in letters) or "-"
                found[place] = names.setdefault(name, len(names))
            return found


def _label(where: str, text: str) -> int:
    mark = text.strip().lower()
    if mark not in _YES + _NO:
        raise InputError(f"{where}: {text!r} is no label; give 1 or 0, + or -, accept or reject")
    return int(mark in _YES)
