"""A language as JSON that says everything: what `language.json` beside a network holds.

Four forms: "dfa" (the canonical minimal automaton), "counters" (a counter machine), "brackets" (a Dyck
language, bounded or not, whose automaton may be too large to write down) and "n-gram" (a model).
"""

from __future__ import annotations

import functools
import hashlib
import json
from typing import Any

from nerode.core import Budget, InputError, NerodeError
from nerode.languages.alphabet import Alphabet
from nerode.languages.bestiary import lookup_language
from nerode.languages.brackets import Dyck
from nerode.languages.counters import CounterLanguage, CounterMachine, CounterRule
from nerode.languages.dfa import Dfa
from nerode.languages.language import Language, RegularLanguage
from nerode.languages.ngrams import (
    BackoffModel,
    NgramLanguage,
    NgramModel,
    backoff_from_json,
    backoff_to_json,
    model_from_json,
    model_to_json,
)

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


def title_of(language: Language) -> str:
    """Returns what a language of a file may be called in a claim: a name only if it stands for it."""
    if is_named_rightly(language):
        return language.name
    return f"the language that its file calls {language.name!r}"


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
            return CounterLanguage(
                name=name,
                machine=_read_machine(definition),
                convention=convention,
                family="counter",
                parameters={},
                sampler=functools.partial(_no_sampler, name),
                distribution="none: read from a file",
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


def _no_sampler(name: str, length: int, rng: object, max_depth: int | None) -> tuple[int, ...]:
    raise InputError(f"{name} was read from a file, which does not say how to sample; use the named language")
