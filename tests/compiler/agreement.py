"""Building networks for tests, and comparing them with their languages."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from nerode.compiler.construction import Options, Request
from nerode.compiler.table import CONSTRUCTIONS
from nerode.core import Exact, exact_sum
from nerode.languages import Language, Legal, Word
from nerode.languages.bestiary import find_language
from nerode.network import Network, PointDecoder
from nerode.network.json_form import network_from_json, network_text, network_to_json
from nerode.network.step import Interpreter
from nerode.verdict import Facts, VerdictTask, collect_facts, find_architecture


@functools.cache
def _facts(name: str) -> Facts:
    return collect_facts(find_language(name), task=VerdictTask.RECOGNISE)


def named(language: Language | str) -> Language:
    """The language of a name."""
    return _facts(language).language if isinstance(language, str) else language


def request_for(language: Language | str, target: str, options: Options | None = None) -> Request:
    """What the pipeline asks a construction."""
    return Request(
        facts=_facts(language)
        if isinstance(language, str)
        else collect_facts(language, task=VerdictTask.RECOGNISE),
        target=find_architecture(target),
        options=options or Options(),
    )


def build(
    construction: str, language: Language | str, target: str, options: Options | None = None
) -> Network:
    """The network that one construction makes, after checking that its hypotheses hold."""
    row = CONSTRUCTIONS[construction]
    request = request_for(language, target, options)
    assert row.architecture(request.target.properties) is True
    assert row.language(request.facts) is True
    return row.compile(request)


def first_disagreement(
    network: Network,
    language: Language,
    *,
    short: int = 6,
    long: int = 10_000,
    seed: int = 0,
    most: int = 1500,
) -> Word | None:
    """The first word after some prefix of which the network and the language differ.

    All words up to a length are tried (as far as there are no more than `most` of one length), then one
    random word.
    """
    letters = range(len(language.alphabet))
    lengths = [n for n in range(short + 1) if len(letters) ** n <= most]
    words = itertools.chain.from_iterable(itertools.product(letters, repeat=n) for n in lengths)
    random = tuple(np.random.default_rng(seed).integers(0, len(letters), long).tolist())
    interpreter = Interpreter(network)
    legal = functools.cache(language.legal)
    for word in itertools.chain(words, [random]):
        if [answer.legal for answer in interpreter.run(word)] != _legal_along(language, legal, word):
            return word
    return None


def _legal_along(language: Language, legal: Callable[[Any], Legal], word: Word) -> list[Legal]:
    """What `language.legal_along` returns, with the answers remembered by configuration."""
    configurations = itertools.accumulate(word, language.advance, initial=language.initial())
    return list(map(legal, configurations))


def assert_does(network: Network, language: Language | str, *, short: int = 6, long: int = 10_000) -> None:
    """Asserts that a network agrees with its language, survives JSON and is what it says it is."""
    language = named(language)
    assert first_disagreement(network, language, short=short, long=long) is None
    again = network_from_json(network_to_json(network))
    assert again == network
    assert network_text(again) == network_text(network)
    assert network.origin.language == language.name
    assert network.origin.construction in CONSTRUCTIONS
    assert network.origin.route


def squared_distance(left: tuple[Exact, ...], right: tuple[Exact, ...]) -> Exact:
    """The exact squared distance of two real points."""
    return exact_sum((a - b) * (a - b) for a, b in zip(left, right, strict=True))


def assert_points_apart(decoder: PointDecoder, at_least: Exact) -> None:
    """Asserts that all points have one norm and that any two are apart by this squared distance."""
    zero = (0,) * len(decoder.reads)
    norms = {squared_distance(point, zero) for point in decoder.points}
    assert len(norms) == 1
    for left, right in itertools.combinations(decoder.points, 2):
        assert squared_distance(left, right) >= at_least
