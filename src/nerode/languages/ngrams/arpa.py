r"""Files of back-off models: ARPA, with every line checked, and the JSON form that `language.json` has.

    \data\
    ngram 1=4
    ngram 2=3

    \1-grams:
    -1.0  <unk>
    -99   <s>   -0.3
    …
    \end\

Text before `\data\` is a comment. An entry is a base-10 log-probability, the words, and, below the highest
order, an optional base-10 back-off weight; tabs or spaces stand between them. Numbers are exact decimals.
Whatever is at or below -99 stands for probability zero and is read as -99.

The JSON form has the same numbers as text:

    {"format": "nerode-backoff", "version": 1, "order": 2, "vocabulary": ["<unk>", "a"], "unknown": "<unk>",
     "normalised": false, "levels": [{"</s>": ["-0.5", "0"], …}, {"<s> a": ["-0.3", "0"], …}]}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from nerode.core import FormatError, InputError, charge, read_text, write_atomically
from nerode.languages.alphabet import Alphabet
from nerode.languages.ngrams.backoff import END_NAME, LOG_ZERO, BackoffModel, Entry, entry_problem
from nerode.languages.ngrams.next_word import BOS, BOS_NAME, Context

UNKNOWN_NAMES = ("<unk>", "<UNK>")
"""The two spellings of the unknown word that toolkits write."""

MAX_BYTES = 2**30
"""Largest ARPA file that is read."""

FORMAT = "nerode-backoff"
VERSION = 1

# The bounds on digits keep a hostile "1e999999999" from filling the memory.
_NUMBER = re.compile(r"[+-]?([0-9]{1,60}(\.[0-9]{0,60})?|\.[0-9]{1,60})([eE][+-]?[0-9]{1,2})?")
_LOG_ZERO = re.compile(r"-inf(inity)?", re.IGNORECASE)
_COUNT = re.compile(r"ngram\s+([0-9]{1,4})\s*=\s*([0-9]{1,15})")
_GAP = re.compile(r"[ \t]+")
_SECTION = re.compile(r"\\([0-9]{1,4})-grams:")


def read_arpa(path: Path | str, *, require_unknown: bool = False) -> BackoffModel:
    """Returns the model of an ARPA file; see `parse_arpa`."""
    return parse_arpa(read_text(Path(path), max_bytes=MAX_BYTES), path=path, require_unknown=require_unknown)


def parse_arpa(text: str, *, path: Path | str = "<arpa>", require_unknown: bool = False) -> BackoffModel:
    r"""Returns the back-off model that an ARPA text holds.

    Args:
        text: the whole file.
        path: what to call it in errors.
        require_unknown: whether a model without the word <unk> is refused. Without it a sentence with a
            word outside the vocabulary is an error.

    Raises:
        FormatError: with the line, for anything that is not as the format has it: no \data\ or \end\, an
            order missing or out of place, counts that disagree with the sections, numbers that are
            not numbers, log-probabilities above 0, back-off weights at the highest order, n-grams
            given twice, with unknown words or without their shorter n-gram.
    """
    return _Reader(text.removeprefix("\ufeff").split("\n"), path).read(require_unknown)


def format_arpa(model: BackoffModel) -> str:
    """Returns a model as ARPA text; reading it gives the same model, digit for digit."""
    names = _names(model)
    lines = ["\\data\\", *(f"ngram {k}={count}" for k, count in enumerate(model.num_ngrams, start=1)), ""]
    for k, level in enumerate(model.levels, start=1):
        lines.append(f"\\{k}-grams:")
        for ngram, (log10, backoff) in level.items():
            words = " ".join(names[word] for word in ngram)
            lines.append(f"{log10:f}\t{words}" + (f"\t{backoff:f}" if backoff else ""))
        lines.append("")
    return "\n".join([*lines, "\\end\\", ""])


def write_arpa(model: BackoffModel, path: Path | str) -> None:
    """Writes a model as an ARPA file."""
    write_atomically(Path(path), format_arpa(model))


def _names(model: BackoffModel) -> tuple[str, ...]:
    return (*model.vocabulary.symbols, END_NAME, BOS_NAME)


def backoff_to_json(model: BackoffModel) -> dict[str, Any]:
    """Returns a model as JSON values."""
    names = _names(model)
    return {
        "format": FORMAT,
        "version": VERSION,
        "order": model.order,
        "vocabulary": list(model.vocabulary),
        "unknown": model.unknown_name,
        "normalised": model.normalised,
        "levels": [
            {" ".join(names[w] for w in ngram): [f"{a:f}", f"{b:f}"] for ngram, (a, b) in level.items()}
            for level in model.levels
        ],
    }


def backoff_from_json(data: Mapping[str, Any]) -> BackoffModel:
    """Returns the model that `backoff_to_json` wrote.

    Raises:
        InputError: if the values are not such a model.
    """
    if data["format"] != FORMAT or data["version"] != VERSION:
        raise InputError(f"this is {data['format']!r} version {data['version']}, not {FORMAT!r} {VERSION}")
    vocabulary = Alphabet(tuple(data["vocabulary"]))
    numbers = {word: i for i, word in enumerate(vocabulary)} | {END_NAME: len(vocabulary), BOS_NAME: BOS}
    return BackoffModel(
        order=data["order"],
        vocabulary=vocabulary,
        levels=tuple(
            {
                tuple(numbers[word] for word in words.split(" ")): (parse_log(log10), parse_log(backoff))
                for words, (log10, backoff) in level.items()
            }
            for level in data["levels"]
        ),
        unknown_name=data["unknown"],
        normalised=bool(data["normalised"]),
    )


def parse_log(text: str) -> Decimal:
    """Returns a base-10 logarithm; -inf and what is below -99 become -99, the logarithm of zero.

    Raises:
        InputError: if the text is not a number.
    """
    if _LOG_ZERO.fullmatch(text):
        return LOG_ZERO
    if not _NUMBER.fullmatch(text):
        raise InputError(f"{text[:40]!r} is not a number; write a decimal such as -1.5 or -3.2e-05, or -inf")
    return max(Decimal(text), LOG_ZERO)


class _Reader:
    """Walks through the lines once; `at` is the index of the next line."""

    def __init__(self, lines: list[str], path: Path | str) -> None:
        self.lines = lines
        self.path = path
        self.at = 0
        self.numbers: dict[str, int] = {}
        self.levels: list[dict[Context, Entry]] = []

    def read(self, require_unknown: bool) -> BackoffModel:
        counts = self.header()
        self.levels = [{} for _ in counts]
        vocabulary = self.unigrams(counts)
        for k in range(2, len(counts) + 1):
            self.section(k, counts[k])
        self.finish()
        unknown = next((name for name in UNKNOWN_NAMES if name in self.numbers), None)
        if unknown is None and require_unknown:
            raise self.error(
                "there is no 1-gram <unk> for words outside the vocabulary",
                line=self.unigram_line,
                hint="Add one, or read the file with require_unknown=False",
            )
        return BackoffModel(
            order=len(counts), vocabulary=vocabulary, levels=tuple(self.levels), unknown_name=unknown
        )

    def error(self, what: str, *, line: int | None = None, hint: str = "") -> FormatError:
        return FormatError(what, path=self.path, line=self.at if line is None else line, hint=hint)

    def next_line(self, wanted: str) -> str:
        """Returns the next line that is not blank; `at` is then its number, counted from 1."""
        charge()
        while self.at < len(self.lines):
            line = self.lines[self.at].strip(" \t\r")
            self.at += 1
            if line:
                return line
        raise self.error(f"the file ends before {wanted}", line=len(self.lines))

    def header(self) -> dict[int, int]:
        """Reads up to the header of the first section and returns the declared counts by order."""
        while self.next_line("\\data\\") != "\\data\\":
            pass
        counts: dict[int, int] = {}
        while not (line := self.next_line("\\1-grams:")).startswith("\\"):
            match = _COUNT.fullmatch(line)
            if match is None:
                raise self.error("this is not a count", hint="Write: ngram 2=1000")
            order, count = int(match[1]), int(match[2])
            if order != len(counts) + 1:
                raise self.error(
                    f"the count of the {order}-grams stands in place of that of the {len(counts) + 1}-grams",
                    hint="Give the orders 1, 2, 3 … one after the other, each once",
                )
            counts[order] = count
        if not counts:
            raise self.error("no counts were given after \\data\\", hint="Write: ngram 1=1000")
        self.at -= 1
        self.check_sections(len(counts))
        return counts

    def check_sections(self, order: int) -> None:
        """Raises for a section without a count, before its absence makes other lines look wrong."""
        for number, line in enumerate(self.lines[self.at :], start=self.at + 1):
            section = _SECTION.match(line)
            if section and int(section[1]) > order:
                raise self.error(f"\\{section[1]}-grams: has no count after \\data\\", line=number)

    def open_section(self, order: int) -> int:
        """Reads the header of a section and returns its line."""
        wanted = f"\\{order}-grams:"
        line = self.next_line(wanted)
        if line != wanted:
            raise self.error(f"{wanted} is missing: {line[:40]!r} stands in its place")
        return self.at

    def entries(self, order: int, count: int) -> list[tuple[int, list[str], Entry]]:
        """Reads the entries of a section: line, words, numbers."""
        opened = self.open_section(order)
        found = []
        while not (line := self.next_line("\\end\\")).startswith("\\"):
            parts = _GAP.split(line)
            if not order + 1 <= len(parts) <= order + 2:
                raise self.error(
                    f"a {order}-gram has a log-probability, {order} word{'s' if order > 1 else ''} and "
                    f"perhaps a back-off weight, but this line has {len(parts)} parts"
                )
            backoff = self.number(parts[-1]) if len(parts) == order + 2 else Decimal(0)
            found.append((self.at, parts[1 : order + 1], (self.number(parts[0]), backoff)))
        if len(found) != count:
            raise self.error(
                f"there are {len(found)} {order}-grams, but {count} were declared after \\data\\", line=opened
            )
        self.at -= 1
        return found

    def number(self, text: str) -> Decimal:
        try:
            return parse_log(text)
        except InputError as problem:
            raise self.error(str(problem)) from None

    def unigrams(self, counts: Mapping[int, int]) -> Alphabet:
        """Reads the first section, which is where words get their numbers."""
        found = self.entries(1, counts[1])
        self.unigram_line = found[0][0] if found else self.at
        words = [(line, parts[0]) for line, parts, _ in found if parts[0] not in (BOS_NAME, END_NAME)]
        for line, word in words:
            if word in self.numbers:
                raise self.error(f"the word {word!r} has two 1-grams", line=line)
            try:
                Alphabet((word,))
            except InputError as problem:
                raise self.error(str(problem), line=line) from None
            self.numbers[word] = len(self.numbers)
        vocabulary = Alphabet(tuple(self.numbers))
        if all(parts[0] != END_NAME for _, parts, _ in found):
            raise self.error(f"there is no 1-gram {END_NAME}, so no sentence can end", line=self.unigram_line)
        self.numbers[END_NAME] = len(vocabulary)
        self.numbers[BOS_NAME] = BOS
        for line, parts, entry in found:
            self.store(line, parts, entry)
        return vocabulary

    def section(self, order: int, count: int) -> None:
        for line, words, entry in self.entries(order, count):
            self.store(line, words, entry)

    def store(self, line: int, words: list[str], entry: Entry) -> None:
        try:
            ngram = tuple([self.numbers[word] for word in words])
        except KeyError as missing:
            raise self.error(f"the word {missing.args[0]!r} has no 1-gram", line=line) from None
        level = self.levels[len(ngram) - 1]
        if ngram in level:
            raise self.error(f"the {len(ngram)}-gram {' '.join(words)!r} is given twice", line=line)
        problem = entry_problem(ngram, entry, self.levels)
        if problem:
            raise self.error(problem, line=line)
        level[ngram] = entry

    def finish(self) -> None:
        line = self.next_line("\\end\\")
        if line != "\\end\\":
            raise self.error(f"\\end\\ is missing: {line[:40]!r} stands in its place")
        for rest in self.lines[self.at :]:
            self.at += 1
            if rest.strip():
                raise self.error(
                    "something follows \\end\\", hint="Remove it, or check that no file was appended"
                )
