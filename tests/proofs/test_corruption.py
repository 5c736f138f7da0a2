"""Any single entry of a network, a language or a certificate is changed: what must be refused, and how.

With the hashes left as they are, every change is refused. When the one who changed the network also writes
the new hash into the certificate, only the function counts: a network that differs from its language is
refused with a shortest word on which it fails; one that does not may be accepted.
"""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st

from nerode.core import Budget, BudgetExceeded, FormatError, InputError, read_exact
from nerode.kernel import Certificate, certificate_to_json, content_hash
from nerode.languages import Language, describe_language, language_from_description
from nerode.languages.bestiary import find_language
from nerode.network import Interpreter, Network, network_from_json, network_to_json
from nerode.proofs import CheckResult, check
from nerode.proofs.certification import certify_exact
from tests.proofs import networks
from tests.proofs.brute_force import first_failure

Path = tuple[str | int, ...]

CASES = ("parity", "tomita-7", "set-reset", "z3", "dyck-1", "d-3")


@functools.cache
def case(name: str) -> tuple[Any, Any, Any]:
    """Network, language and certificate as JSON values."""
    language = find_language(name)
    make = {
        "parity": networks.parity_network,
        "tomita-7": lambda other: networks.one_hot_network(other, other.dfa()),
        "set-reset": networks.set_reset_network,
        "z3": lambda other: networks.cyclic_network(other, 3),
        "dyck-1": networks.counter_network,
        "d-3": networks.bounded_dyck_network,
    }[name]
    network: Network = make(language)  # type: ignore[operator]
    certificate = certify_exact(network, language)
    assert isinstance(certificate, Certificate)
    parts = (network_to_json(network), describe_language(language), certificate_to_json(certificate))
    return tuple(json.loads(json.dumps(part)) for part in parts)  # type: ignore[return-value]


def leaves(data: Any, path: Path = ()) -> Iterator[Path]:
    """The places of all entries that are not objects or lists."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from leaves(value, (*path, key))
    elif isinstance(data, list):
        for i, value in enumerate(data):
            yield from leaves(value, (*path, i))
    else:
        yield path


def entry(data: Any, path: Path) -> Any:
    for step in path:
        data = data[step]
    return data


def changed(data: Any, path: Path, value: object) -> Any:
    fresh = copy.deepcopy(data)
    entry(fresh, path[:-1])[path[-1]] = value
    return fresh


def other_value(draw: st.DrawFn, value: object) -> object:
    """Another value of the same kind: another number, flag or text."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + draw(st.sampled_from([-2, -1, 1, 2]))
    if value is None:
        return draw(st.sampled_from([1, "float32", "1/2"]))
    text = str(value)
    if len(text) == 64:
        return text[:-1] + ("0" if text[-1] != "0" else "1")
    try:
        number = read_exact(text)
    except InputError:
        return text + "x"
    shift = draw(st.sampled_from([Fraction(1, 2), Fraction(-1), Fraction(3)]))
    return f"{text}+{shift}" if shift > 0 else f"{text}{shift}" if number is not None else text


@st.composite
def corruptions(draw: st.DrawFn) -> tuple[str, int, Any]:
    """A case, which of its three parts is changed, and the three parts with one entry changed."""
    name = draw(st.sampled_from(CASES))
    parts = list(case(name))
    which = draw(st.integers(0, 2))
    path = draw(st.sampled_from(list(leaves(parts[which]))))
    parts[which] = changed(parts[which], path, other_value(draw, entry(parts[which], path)))
    return name, which, tuple(parts)


def outcome(parts: tuple[Any, Any, Any]) -> CheckResult | None:
    """The result, None for a part that is not even of the right form."""
    try:
        return check(*parts, budget=Budget(seconds=20))
    except FormatError:
        return None


LANGUAGE_NAMES = {"name", "convention", "family", "parameters"}
"""Entries of language.json that do not say which words are in the language."""


@given(corruptions())
@settings(max_examples=150)
def test_any_single_change_is_refused(corruption: tuple[str, int, Any]) -> None:
    name, which, parts = corruption
    result = outcome(parts)
    if result is None or not result.ok:
        return
    # Accepted: then the change was in what the language is called, or claims less than before.
    original = case(name)
    if which == 1:
        differing = [key for key in original[1] if original[1][key] != parts[1][key]]
        assert set(differing) <= LANGUAGE_NAMES
    else:
        assert which == 2
        for old, new in zip(original[2]["claims"], parts[2]["claims"], strict=True):
            same = {**old, "length": 0} == {**new, "length": 0}
            assert old == new or (same and new["length"] < old["length"])


@st.composite
def forgeries(draw: st.DrawFn) -> Any:
    """The parts of a case with one entry of network or language changed and the hash made to fit."""
    name = draw(st.sampled_from(CASES))
    network, language, certificate = case(name)
    if draw(st.integers(0, 3)):
        weights = [p for p in leaves(network) if p[0] in ("embedding", "layers", "decoder")]
        path = draw(st.sampled_from(weights))
        network = changed(network, path, other_value(draw, entry(network, path)))
    else:
        definition = ("definition",)
        path = draw(st.sampled_from([(*definition, *p) for p in leaves(language["definition"])]))
        language = changed(language, path, other_value(draw, entry(language, path)))
    certificate = {
        **certificate,
        "network": content_hash(network),
        "language": content_hash(language["definition"]),
    }
    return network, language, certificate


@given(forgeries())
@settings(max_examples=120)
def test_a_forged_hash_does_not_hide_a_wrong_function(parts: Any) -> None:
    try:
        network = network_from_json(parts[0])
        language = language_from_description(parts[1])
        found = first_failure(network, language, 5)
    except (InputError, ArithmeticError, TypeError, ValueError):
        # The compiler itself cannot run it; the checker must not accept it either.
        result = outcome(parts)
        assert result is None or not result.ok
        return
    try:
        result = outcome(parts)
    except BudgetExceeded:
        return
    if result is None:
        return
    if found is not None:
        assert not result.ok
        assert result.failure is not None
        refutation = result.failure.refutation
        if refutation is not None:
            # A shorter word would be wrong, a longer one would not be the first.
            assert refutation.at == len(found[0])
            assert disagrees(network, language, refutation.word)
        else:
            # The language's own alphabet or counters no longer fit what the evidence speaks of.
            assert result.failure.entry
    elif result.ok:
        assert_agrees_far_out(network, language)


def disagrees(network: Network, language: Language, word: tuple[str, ...]) -> bool:
    return Interpreter(network).run(word)[-1].legal != language.legal_along(word)[-1]


def assert_agrees_far_out(network: Network, language: Language) -> None:
    rng = np.random.default_rng(3)
    interpreter = Interpreter(network)
    for _ in range(5):
        word = rng.integers(len(language.alphabet), size=60).tolist()
        assert [a.legal for a in interpreter.run(word)] == language.legal_along(word)
