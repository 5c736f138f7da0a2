"""From what a user types to the language that is meant."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nerode.core.budget import Budget
from nerode.core.errors import InputError, UnknownName
from nerode.languages.alphabet import Alphabet
from nerode.languages.bestiary import BESTIARY, lookup_language
from nerode.languages.formats import FORMATS, read_language
from nerode.languages.formats.source import read_text
from nerode.languages.language import Language
from nerode.languages.ngrams import read_ngram_language
from nerode.languages.pastltl import formula_language
from nerode.languages.regex import regular_language

_NGRAM_JSON = '"nerode-ngram"'


def resolve_language(
    text: str,
    *,
    alphabet: Sequence[str] | None = None,
    ltl: bool = False,
    regex: bool = False,
    budget: Budget | None = None,
) -> Language:
    """Returns the language of a name, a file, a regular expression or a past-LTL formula.

    A text is taken as a file when one exists under it, then as a name of the bestiary or of a group, then
    as a regular expression. A text that has the form of a name but is none (`tomita-9`) is an error
    rather than a pattern of eight letters.

    Args:
        text: what the user typed.
        alphabet: symbols of a pattern or formula; None takes those that occur in it.
        ltl: read the text as a formula.
        regex: read the text as a regular expression whatever it looks like.
        budget: limits for building the automaton.
    """
    letters = None if alphabet is None else Alphabet(tuple(alphabet))
    if ltl:
        return formula_language(text, letters, budget)
    if regex:
        return regular_language(text, letters, budget)
    path = Path(text) if len(text) < 4096 and "\0" not in text else None
    if path is not None and _looks_like_a_file(path):
        return _read_file(path, budget)
    found = lookup_language(text, budget)
    if found is not None:
        if letters is not None:
            raise InputError(
                f"{text!r} is a named language with its own alphabet; leave --alphabet out, or add "
                "--regex to read the text as a pattern"
            )
        return found
    if _looks_like_a_name(text):
        raise UnknownName(
            "language",
            text,
            BESTIARY,
            hint="`nerode languages` lists the names; --regex reads it as a pattern.",
        )
    return regular_language(text, letters, budget)


def _looks_like_a_file(path: Path) -> bool:
    suffixes = [*(s for row in FORMATS.values() for s in row.suffixes), ".arpa", ".rules"]
    if any(path.name.endswith(suffix) for suffix in suffixes):
        return True
    try:
        return path.is_file() and len(path.suffix) > 1
    except OSError:
        return False


def _read_file(path: Path, budget: Budget | None) -> Language:
    if path.suffix in (".arpa", ".rules"):
        return read_ngram_language(path)
    if path.suffix == ".json" and path.is_file() and _NGRAM_JSON in read_text(path)[:200]:
        return read_ngram_language(path)
    return read_language(path, budget=budget)


def _looks_like_a_name(text: str) -> bool:
    """Whether a text is a word with a hyphen or digits, or close to a known name."""
    if not text.isascii() or not text.replace("-", "").replace("_", "").isalnum() or len(text) < 3:
        return False
    if not text[0].isalpha():
        return False
    if "-" in text or "_" in text:
        return True
    return bool(UnknownName("language", text, BESTIARY).nearest)
