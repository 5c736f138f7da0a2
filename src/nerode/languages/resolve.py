"""From what a user types to the language that is meant."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nerode.core import Budget, FormatError, InputError, UnknownName, read_json
from nerode.languages.alphabet import Alphabet
from nerode.languages.bestiary import BESTIARY, lookup_language
from nerode.languages.description import FORMAT as DESCRIPTION, language_from_description
from nerode.languages.formats import FORMATS, read_language
from nerode.languages.groups.word_problems import GENERATORS_SUFFIX, is_monoid_name
from nerode.languages.language import Language
from nerode.languages.ngrams import read_ngram_language
from nerode.languages.ngrams.files import FORMAT as NGRAM_MODEL, MAX_BYTES
from nerode.languages.pastltl import formula_language
from nerode.languages.regex import regular_language

_AUTOMATA = tuple(suffix for row in FORMATS.values() for suffix in row.suffixes)
_NGRAMS = (".arpa", ".rules")
_LONGEST_PATH = 4096
"""Characters of a text that may still be a path."""


def resolve_language(
    text: str,
    *,
    alphabet: Sequence[str] | None = None,
    ltl: bool = False,
    regex: bool = False,
    files: bool = True,
    budget: Budget | None = None,
) -> Language:
    """Returns the language of a name, a file, a regular expression or a past-LTL formula.

    A text is taken as a file when it ends like one or when there is one under this path, then as a name of
    the bestiary or of a group, then as a regular expression. A text that has the form of a name but is none
    (`tomita-9`) is an error rather than a pattern of eight letters.

    Args:
        text: what the user typed.
        alphabet: symbols of a pattern, a formula or the automaton in a file; None takes those that occur.
        ltl: read the text as a formula.
        regex: read the text as a regular expression whatever it looks like.
        files: whether a text may name a file; a page that others may fill in must not read files.
        budget: limits for building the automaton.
    """
    if any("\ud800" <= c <= "\udfff" for c in text):
        # Python turns bytes of an argument that are not UTF-8 into such halves of characters.
        raise InputError(f"{text[:60]!r} is not UTF-8; write it, or rename the file, in UTF-8")
    letters = None if alphabet is None else Alphabet(tuple(alphabet))
    if ltl:
        return formula_language(text, letters, budget)
    if regex:
        return regular_language(text, letters, budget)
    if files and looks_like_a_file(text):
        return _read_file(Path(text), letters, budget)
    found = lookup_language(text, budget)
    if found is not None:
        if letters is not None:
            raise InputError(
                f"{text!r} is a named language with its own alphabet; leave --alphabet out, or add "
                "--regex to read the text as a pattern"
            )
        return found
    group, colon, letters_of_it = text.partition(":")
    if colon and is_monoid_name(group) and letters_of_it.isalpha() and len(letters_of_it) > 2:
        raise UnknownName(
            f"letters of {group}",
            letters_of_it,
            [GENERATORS_SUFFIX.removeprefix(":")],
            hint="Without them the letters are all elements; --regex reads the text as a pattern.",
        )
    if _looks_like_a_name(text):
        raise UnknownName(
            "language",
            text,
            BESTIARY,
            hint="`nerode languages` lists the names; --regex reads it as a pattern.",
        )
    return regular_language(text, letters, budget)


def looks_like_a_file(text: str) -> bool:
    """Returns whether a text is read as the path of a file rather than as a name or a pattern."""
    if len(text) >= _LONGEST_PATH or "\0" in text:
        return False
    if text.lower().endswith((*_AUTOMATA, *_NGRAMS)):
        return True
    path = Path(text)
    try:
        if "/" in text and text != "/":
            return path.exists()
        return path.is_file() and len(path.suffix) > 1
    except OSError:
        return False


def _read_file(path: Path, letters: Alphabet | None, budget: Budget | None) -> Language:
    name = path.name.lower()
    if not name.endswith((*_AUTOMATA, *_NGRAMS)):
        inside = path / "language.json"
        if inside.is_file():
            raise InputError(f"the folder {str(path)!r} is a network; its language is in {str(inside)!r}")
        kind = "folder" if path.is_dir() else "file"
        raise InputError(
            f"the {kind} {str(path)!r} is no language: files end in {', '.join((*_AUTOMATA, *_NGRAMS))}; "
            "give such a file, or add --regex to read the text as a pattern"
        )
    form = _json_format(path) if name.endswith(".json") else None
    if form not in (DESCRIPTION, NGRAM_MODEL) and not name.endswith(_NGRAMS):
        return read_language(path, alphabet=letters, budget=budget)
    if letters is not None:
        raise InputError(f"{path} says what its alphabet is; leave --alphabet out")
    if form != DESCRIPTION:
        return read_ngram_language(path)
    try:
        return language_from_description(read_json(path, max_bytes=MAX_BYTES))
    except FormatError:
        raise
    except InputError as error:
        raise FormatError(str(error), path=path) from None


def _json_format(path: Path) -> object:
    """The "format" of a JSON file; None where it has none, or is not JSON, which its reader tells."""
    try:
        data = read_json(path, max_bytes=MAX_BYTES)
    except FormatError:
        return None
    return data.get("format") if isinstance(data, dict) else None


def _looks_like_a_name(text: str) -> bool:
    """Whether a text is a word with a hyphen or digits, or close to a known name."""
    if not text.isascii() or not text.replace("-", "").replace("_", "").isalnum() or len(text) < 3:
        return False
    if not text[0].isalpha():
        return False
    if "-" in text or "_" in text:
        return True
    return bool(UnknownName("language", text, BESTIARY).nearest)
