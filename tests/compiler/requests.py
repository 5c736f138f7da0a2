"""Requests for named languages, whose facts are computed once for all tests."""

from __future__ import annotations

import functools

from nerode.algebra import Profile, find_counter, profile as algebra_profile
from nerode.compiler.construction import Options, Request
from nerode.compiler.table import CONSTRUCTIONS
from nerode.languages import Language
from nerode.languages.bestiary import BESTIARY, find_language
from nerode.network import Network
from nerode.verdict import Facts, VerdictTask, collect_facts, find_architecture

SEPARATE = frozenset({"ngram-seed"})
"""Languages that have their own construction and are slow to step through with 79 letters."""


@functools.cache
def facts_of(name: str) -> Facts:
    """What the algebra says about a named language."""
    language = find_language(name)
    return collect_facts(
        language, task=VerdictTask.RECOGNISE, profile=algebra_profile(language, on_demand=True)
    )


def request_named(name: str, target: str, *, exclusive_scan: bool = True) -> Request:
    """What the pipeline asks a construction."""
    options = Options(exclusive_scan=exclusive_scan)
    return Request(facts=facts_of(name), target=find_architecture(target), options=options)


def build_named(construction: str, name: str, target: str, *, exclusive_scan: bool = True) -> Network:
    """The network that one construction makes, after checking that its hypotheses hold."""
    row = CONSTRUCTIONS[construction]
    request = request_named(name, target, exclusive_scan=exclusive_scan)
    assert row.architecture(request.target.properties) is True
    assert row.language(request.facts) is True
    return row.compile(request)


def star_free_request(language: Language, target: str, *, exclusive_scan: bool = True) -> Request:
    """A request for a language that is known to be star-free; nothing else about it is computed."""
    profile = Profile(regular=True, star_free=True)
    return Request(
        facts=collect_facts(language, task=VerdictTask.RECOGNISE, profile=profile),
        target=find_architecture(target),
        options=Options(exclusive_scan=exclusive_scan),
    )


@functools.cache
def star_free_names() -> tuple[str, ...]:
    """The star-free rows of the bestiary whose automata are small enough to be built."""
    found = []
    for name in BESTIARY:
        language = find_language(name)
        small = language.regular and (language.num_states() or 0) <= 600
        if small and name not in SEPARATE and find_counter(language.dfa()) is None:
            found.append(name)
    return tuple(found)


@functools.cache
def counter_names() -> tuple[str, ...]:
    """The rows of the bestiary with a counter machine."""
    return tuple(name for name in BESTIARY if find_language(name).kind == "counter")
