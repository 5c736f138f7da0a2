"""Requests of the page as records, and the languages that they name, without a look at files."""

from __future__ import annotations

import functools
import re
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from nerode.core import Budget, FormatError, InputError
from nerode.languages import Language, RegularLanguage, resolve_language

Arithmetic = Literal["exact", "float64", "float32", "bfloat16", "float16"]

LONGEST_WORD = 2_000
LONGEST_TEXT = 20_000
LARGEST_NOISE = 10.0
LARGEST_SEED = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageText:
    """A language as a user gives it.

    Attributes:
        text: a name, a pattern or a formula; the name of the file if there is one.
        mode: "auto" takes a name for what it names and all else for a pattern.
        alphabet: symbols, with commas between them or without; empty for those that occur.
        file: content of a file that was dropped on the page; None if the text is typed.
    """

    text: str
    mode: Literal["auto", "regex", "ltl"] = "auto"
    alphabet: str = ""
    file: str | None = None

    def __post_init__(self) -> None:
        if len(self.text) > LONGEST_TEXT:
            raise InputError(f"a text of {len(self.text):,} characters is too long; give {LONGEST_TEXT:,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageOrder:
    """Tell all about a language.

    Attributes:
        language: which.
        task: what the verdicts are about.
        sense: the arithmetic whose verdicts are shown first.
        dtype: the float format of the IEEE sense.
    """

    language: LanguageText
    task: Literal["predict", "recognise"] = "predict"
    sense: Literal["exact", "finite-precision", "ieee", "robust"] = "finite-precision"
    dtype: Literal["float64", "float32", "bfloat16", "float16"] = "float32"


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkOrder:
    """Make the network of a language for a target, or prove it correct, or pack it."""

    language: LanguageText
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WordOrder:
    """Find a random word.

    Attributes:
        language: which.
        length: of the word; the nearest shorter one is taken if the language has none of this length.
        kind: of the language, or of any letters.
        seed: the same seed gives the same word.
    """

    language: LanguageText
    length: int
    kind: Literal["member", "any"] = "member"
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.length <= LONGEST_WORD:
            raise InputError(f"a word of {self.length:,} letters is outside 0…{LONGEST_WORD:,}")
        _check_seed(self.seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceOrder:
    """Step through a word.

    Attributes:
        language: which.
        target: whose network steps; empty for the automaton alone.
        word: as it is typed.
        arithmetic: in which the network computes.
        noise: the largest disturbance of every coordinate after every letter; needs floats.
        seed: of the noise.
    """

    language: LanguageText
    word: str
    target: str = ""
    arithmetic: Arithmetic = "exact"
    noise: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0.0 <= self.noise <= LARGEST_NOISE:
            raise InputError(f"noise of {self.noise} is outside 0…{LARGEST_NOISE:g}")
        if self.noise and self.arithmetic == "exact":
            raise InputError("exact arithmetic has no noise; choose a float format")
        _check_seed(self.seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOrder:
    """Freeze the page into one file: what was asked and answered, and what is shown.

    Attributes:
        answers: by request, as the page keeps them.
        state: of the page, as its address says it.
    """

    answers: dict[str, Any]
    state: str = ""


def _check_seed(seed: int) -> None:
    if not 0 <= seed <= LARGEST_SEED:
        raise InputError(f"the seed {seed} is outside 0…{LARGEST_SEED}")


def request_budget() -> Budget:
    """Returns what one request may use: enough for what a page can show."""
    return Budget(states=3_000, elements=50_000, images=20_000, seconds=5.0, bytes=1 << 28)


@functools.lru_cache(maxsize=8)
def read_language(given: LanguageText) -> Language:
    """Returns the language.

    Raises:
        InputError: if there is no such language; a PatternError says at which column.
    """
    symbols = None
    if given.alphabet.strip():
        listed = given.alphabet.split(",") if "," in given.alphabet else given.alphabet.replace(" ", "")
        symbols = tuple(symbol.strip() for symbol in listed if symbol.strip())
    if given.file is not None:
        return _read_file(Path(given.text).name, given.file, symbols)
    return resolve_language(
        given.text,
        alphabet=symbols,
        ltl=given.mode == "ltl",
        regex=given.mode == "regex",
        files=False,
        budget=request_budget(),
    )


def _read_file(name: str, content: str, symbols: tuple[str, ...] | None) -> Language:
    """The language of a dropped file, which is written into a folder of its own for its reader."""
    with tempfile.TemporaryDirectory(prefix="nerode-explore-") as folder:
        # The name is the user's; only how it ends matters to the readers.
        endings = "".join(Path(name).suffixes[-2:]).lower()
        path = Path(folder) / ("dropped" + re.sub("[^a-z0-9.]", "", endings)[-12:])
        path.write_text(content, encoding="utf-8", errors="replace")
        try:
            found = resolve_language(str(path), alphabet=symbols, budget=request_budget())
        except FormatError as error:
            raise FormatError(error.what, path=name, line=error.line, hint=error.hint) from None
        except InputError as error:
            raise InputError(str(error).replace(str(path), name)) from None
    # It is called like the file that was opened, not like the copy that was read.
    called = name.removesuffix("".join(Path(name).suffixes)) or name
    if not isinstance(found, RegularLanguage) or found.name != "dropped":
        return found
    return replace(found, name=called[:80], convention=found.convention.replace(path.name, name[:80]))
