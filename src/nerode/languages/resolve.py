"""Resolution of what a user types to the language that is meant; and the complete JSON of a language.

The JSON is what `language.json` beside a network holds. It has four forms: "dfa" (the canonical minimal
automaton), "counters" (a counter machine), "brackets" (a Dyck language, bounded or not, whose automaton may
be too large to write down) and "n-gram" (a model).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nerode.core import Budget, FormatError, InputError, NerodeError, UnknownName, read_json, read_text
from nerode.languages.alphabet import Alphabet
from nerode.languages.bestiary import BESTIARY, lookup_language
from nerode.languages.brackets import Dyck
from nerode.languages.counters import CounterLanguage, CounterMachine, CounterRule
from nerode.languages.dfa import Dfa
from nerode.languages.formats import FORMATS, read_language
from nerode.languages.formats.counter_program import SUFFIX, counter_program
from nerode.languages.groups.word_problems import GENERATORS_SUFFIX, is_monoid_name
from nerode.languages.language import Language, RegularLanguage
from nerode.languages.ngrams import (
    BackoffModel,
    NgramLanguage,
    NgramModel,
    backoff_from_json,
    backoff_to_json,
    model_from_json,
    model_to_json,
    read_ngram_language,
)
from nerode.languages.ngrams.files import FORMAT as NGRAM_MODEL, MAX_BYTES
from nerode.languages.pastltl import formula_language
from nerode.languages.regex import regular_language
from nerode.languages.sampling.counters import ConfigurationSampler

FORMAT = "nerode-language"
VERSION = 1

Json = Any


def describe_language(language: Language, budget: Budget | None = None) -> dict[str, Json]:
    """Returns the description of a language."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": language.name,
        "convention": language.convention,
        "family": language.family,
        "parameters": dict(language.parameters),
        "definition": _definition(language, budget),
    }


def language_hash(language: Language, budget: Budget | None = None) -> str:
    """Returns the SHA-256 of what the language is, whatever it is called."""
    return definition_hash(_definition(language, budget))


def definition_hash(definition: Json) -> str:
    """Returns the SHA-256 of a definition's canonical text."""
    text = json.dumps(definition, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def language_from_description(data: Json) -> Language:
    """Returns the language of a description.

    Theorems about a family of languages look at what a language says of itself, so a file is not believed:
    if the name is one of the bestiary's and the definition is that language's, the result is that language,
    with its family and its sampler; if not, it is a language of the general kind with this definition.

    Raises:
        InputError: if the values do not have the form that `describe_language` writes.
    """
    try:
        if data["format"] != FORMAT or data["version"] != VERSION:
            raise InputError(
                f"this is {data['format']!r} version {data['version']}, not {FORMAT!r} version {VERSION}"
            )
        name, convention = data["name"], data["convention"]
        if not isinstance(name, str) or not isinstance(convention, str):
            raise InputError("the name and the convention of a language are texts")
        if not (name + convention).isprintable():
            raise InputError("the name or the convention has a character that cannot be printed")
        return _named_language(name, data["definition"]) or _defined_language(
            data["definition"], name, convention
        )
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise InputError(f"this is not a language: {type(error).__name__} at {error}") from None


def is_named_rightly(language: Language) -> bool:
    """Whether the bestiary has a language of this name, and it is this one."""
    try:
        known = lookup_language(language.name)
    except NerodeError:
        return False
    return known is not None and language_hash(known) == language_hash(language)


def _is_its_pattern(language: Language) -> bool:
    """Whether the name of a language is a regular expression for it."""
    try:
        meant = regular_language(language.name, None, Budget(states=_MOST_STATES))
    except NerodeError:
        return False
    return language_hash(meant) == language_hash(language)


_MOST_STATES = 2_000
"""States of the automaton of a name that a file may have made up."""


def title_of(language: Language) -> str:
    """Returns what a language of a file may be called in a claim: a name or a pattern only if it is that."""
    if is_named_rightly(language) or _is_its_pattern(language):
        return language.name
    return f"the language named {language.name!r} in its file"


def _named_language(name: str, definition: Json) -> Language | None:
    """The language of the bestiary that has this name, if it also has this definition."""
    try:
        language = lookup_language(name)
        if language is not None and _definition(language, None) == definition:
            return language
    except NerodeError:
        return None
    return None


def _defined_language(definition: Json, name: str, convention: str) -> Language:
    match definition["form"]:
        case "dfa":
            return RegularLanguage(name=name, automaton=_read_dfa(definition), convention=convention)
        case "counters":
            machine = _read_machine(definition)
            return CounterLanguage(
                name=name,
                machine=machine,
                convention=convention,
                family="counter",
                parameters={},
                sampler=ConfigurationSampler(machine),
                distribution="uniform over the words of this length",
            )
        case "brackets":
            pairs, depth = tuple((o, c) for o, c in definition["pairs"]), definition["depth"]
            return Dyck(
                name=name,
                pairs=pairs,
                depth=depth,
                convention=convention,
                family="dyck" if depth is None else "bounded-dyck",
                parameters={"k": len(pairs)} | ({} if depth is None else {"depth": depth}),
            )
        case "n-gram":
            model = definition["model"]
            read = model_from_json if "contexts" in model else backoff_from_json
            return NgramLanguage(name=name, model=read(model), convention=convention)
        case other:
            raise InputError(
                f"unknown form {other!r} of a language; allowed are dfa, counters, brackets, n-gram"
            )


def _definition(language: Language, budget: Budget | None) -> dict[str, Json]:
    match language:
        case CounterLanguage():
            return {"form": "counters", **_write_machine(language.machine)}
        case Dyck():
            return {"form": "brackets", "pairs": [list(p) for p in language.pairs], "depth": language.depth}
        case NgramLanguage(model=NgramModel() as model):
            return {"form": "n-gram", "model": model_to_json(model)}
        case NgramLanguage(model=BackoffModel() as model):
            return {"form": "n-gram", "model": backoff_to_json(model)}
        case _:
            return {"form": "dfa", **_write_dfa(language.dfa(budget))}


def _write_dfa(dfa: Dfa) -> dict[str, Json]:
    return {
        "alphabet": list(dfa.alphabet),
        "start": dfa.start,
        "accepting": [q for q, accepts in enumerate(dfa.accepting.tolist()) if accepts],
        "transitions": dfa.transitions.tolist(),
    }


def _read_dfa(data: Json) -> Dfa:
    n = len(data["transitions"])
    accepting = frozenset(data["accepting"])
    if not all(isinstance(q, int) and 0 <= q < n for q in accepting):
        raise InputError(f"an accepting state is outside 0…{n - 1}")
    return Dfa(
        alphabet=Alphabet(tuple(data["alphabet"])),
        transitions=data["transitions"],
        start=data["start"],
        accepting=[q in accepting for q in range(n)],  # type: ignore[arg-type]
    )


def _write_machine(machine: CounterMachine) -> dict[str, Json]:
    return {
        "alphabet": list(machine.alphabet),
        "start": list(machine.start),
        "increments": [list(row) for row in machine.increments],
        "rules": [
            {
                "after": None if rule.after is None else sorted(rule.after),
                "zero": sorted(rule.zero),
                "positive": sorted(rule.positive),
                "symbols": sorted(rule.symbols),
                "end": rule.end,
            }
            for rule in machine.rules
        ],
    }


def _read_machine(data: Json) -> CounterMachine:
    return CounterMachine(
        alphabet=Alphabet(tuple(data["alphabet"])),
        start=tuple(data["start"]),
        increments=tuple(tuple(row) for row in data["increments"]),
        rules=tuple(
            CounterRule(
                after=None if rule["after"] is None else frozenset(rule["after"]),
                zero=frozenset(rule["zero"]),
                positive=frozenset(rule["positive"]),
                symbols=frozenset(rule["symbols"]),
                end=bool(rule["end"]),
            )
            for rule in data["rules"]
        ),
    )


_AUTOMATA = tuple(suffix for row in FORMATS.values() for suffix in row.suffixes)
_NGRAMS = (".arpa", ".rules")
_FILES = (*_AUTOMATA, SUFFIX, *_NGRAMS)
_LONGEST_PATH = 4096
"""Characters of a text that may still be a path."""
_AS_PATTERN = "--regex (in Python regex=True) reads"
"""How a text is taken for a pattern, in the words of both doors."""


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
    the bestiary or of a group, then as a folder, whose language it means, then as a regular expression. A
    word without operators that is none of these (`tomita-9`, `lst`) is an error rather than a pattern.

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
                f"{text!r} is a named language with its own alphabet; leave the alphabet out, or "
                f"{_AS_PATTERN} the text as a pattern"
            )
        return found
    group, colon, letters_of_it = text.partition(":")
    if colon and is_monoid_name(group) and letters_of_it.isalpha() and len(letters_of_it) > 2:
        raise UnknownName(
            f"letters of {group}",
            letters_of_it,
            [GENERATORS_SUFFIX.removeprefix(":")],
            hint=f"Without them the letters are all elements; {_AS_PATTERN} the text as a pattern.",
        )
    if files and _is_folder(text):
        return _read_file(Path(text), letters, budget)
    if letters is None and _looks_like_a_name(text):
        raise UnknownName(
            "language",
            text,
            BESTIARY,
            hint=f"`nerode list languages` lists the names; {_AS_PATTERN} it as a pattern.",
        )
    return regular_language(text, letters, budget)


def looks_like_a_file(text: str) -> bool:
    """Returns whether a text is read as the path of a file rather than as a name or a pattern."""
    if len(text) >= _LONGEST_PATH or "\0" in text:
        return False
    if text.lower().endswith(_FILES):
        return True
    path = Path(text)
    try:
        if "/" in text and text != "/":
            return path.exists()
        return path.is_file() and len(path.suffix) > 1
    except OSError:
        return False


def _is_folder(text: str) -> bool:
    """Whether a text that is no pattern of dots, as "." and "..", names a folder."""
    try:
        return text[:1].isalnum() and len(text) < _LONGEST_PATH and "\0" not in text and Path(text).is_dir()
    except OSError:
        return False


def _read_file(path: Path, letters: Alphabet | None, budget: Budget | None) -> Language:
    name = path.name.lower()
    if not name.endswith(_FILES):
        inside = path / "language.json"
        if inside.is_file():
            return _read_file(inside, letters, budget)
        kind = "folder" if path.is_dir() else "file"
        raise InputError(
            f"the {kind} {str(path)!r} is no language: files end in {', '.join(_FILES)}; "
            f"give such a file, or {_AS_PATTERN} the text as a pattern"
        )
    if name.endswith(SUFFIX):
        if letters is not None:
            raise InputError(f"{path} says what its alphabet is; leave the alphabet out")
        return counter_program(read_text(path), path=path)
    form = _json_format(path) if name.endswith(".json") else None
    if form not in (FORMAT, NGRAM_MODEL) and not name.endswith(_NGRAMS):
        return read_language(path, alphabet=letters, budget=budget)
    if letters is not None:
        raise InputError(f"{path} says what its alphabet is; leave the alphabet out")
    if form != FORMAT:
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
    """Whether a text is a word of letters, digits and hyphens without any operator of patterns."""
    return (
        len(text) > 1 and text.isascii() and text[0].isalpha() and re.fullmatch(r"[\w-]+", text) is not None
    )
