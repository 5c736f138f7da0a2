"""Reflections by whole numbers: networks and real models that are exact in floats at every length."""

from __future__ import annotations

import pytest
import torch

import nerode as nr
from nerode.compiler import Options, compile_language
from nerode.languages import Alphabet, Dfa, RegularLanguage
from nerode.network import ByChoice, FactorTable, Network
from nerode.proofs import ANY_ORDER, Certificate, certify
from nerode.proofs.find.closure import certify_module
from nerode.proofs.floats import make_architecture


def exact() -> Options:
    """Options with a budget that begins now."""
    return Options(exact_floats=True)


def s110() -> RegularLanguage:
    """The automaton whose real DeltaProduct model was wrong in float32 at letter 134."""
    moves = [[1, 2], [1, 3], [4, 5], [5, 6], [7, 7], [1, 4], [7, 6], [6, 0]]
    dfa = Dfa(alphabet=Alphabet(("a", "b")), transitions=moves, start=0, accepting=[q == 5 for q in range(8)])
    return RegularLanguage(name="s110", automaton=dfa, convention="an automaton of 8 states")


def formats(network: Network, language: nr.Language) -> set[str | None]:
    """The float formats in which a network is proved at every length, in any order of evaluation."""
    found = certify(network, language)
    assert isinstance(found, Certificate)
    return {claim.dtype for claim in found.claims if claim.scope == ANY_ORDER}


def vectors(network: Network) -> list[tuple[object, ...]]:
    return [
        factor.vector
        for layer in network.layers
        if isinstance(layer.recurrence, ByChoice) and isinstance(layer.recurrence.table, FactorTable)
        for choice in layer.recurrence.table.factors
        for factor in choice
    ]


@pytest.mark.parametrize(
    ("name", "target", "construction"),
    [
        ("z3", "deltanet-signed", "mirror-cascade"),
        ("s3", "gated-deltanet-signed", "mirror-cascade"),
        ("t3", "deltanet-signed", "mirror-cascade"),
        ("z5", "deltaproduct-signed", "reflection-product"),
        ("z12", "householder", "reflection-product"),
        ("t3", "deltaproduct-signed", "householder-cascade"),
        ("modular-arithmetic-simple", "deltaproduct-signed", "householder-cascade"),
    ],
)
def test_whole_numbers_are_exact_in_floats(name: str, target: str, construction: str) -> None:
    language = nr.language(name)
    network = compile_language(language, target, exact())
    assert network.origin.construction == construction
    assert vectors(network)
    assert all(isinstance(entry, int) for vector in vectors(network) for entry in vector)
    assert {"float32", "bfloat16"} <= formats(network, language)


@pytest.mark.parametrize(("name", "target"), [("z3", "deltanet-signed"), ("z5", "deltaproduct-signed")])
def test_rotations_of_the_plane_are_not(name: str, target: str) -> None:
    """The default, with fewer coordinates or factors: only exact arithmetic is proved."""
    language = nr.language(name)
    assert not formats(compile_language(language, target), language)


@pytest.mark.parametrize(
    ("name", "levels"),
    [("z9", "mod 3 | mod 3"), ("z8", "mod 2 | mod 2 | mod 2"), ("z12", "mod 4, mod 3")],
)
def test_counters_are_split_into_primes(name: str, levels: str) -> None:
    options = Options(exact_floats=True, construction="mirror-cascade")
    language = nr.language(name)
    network = compile_language(language, "deltanet-signed", options)
    assert f": {levels}; n_h = 1" in network.origin.route
    assert "float32" in formats(network, language)


def test_a_counter_modulo_five_still_has_mirrors_of_the_plane() -> None:
    network = compile_language(nr.language("z5"), "deltanet-signed", exact())
    assert network.origin.construction == "mirror-cascade"


def test_the_automaton_that_drifted_is_exact() -> None:
    language = s110()
    network = compile_language(language, "deltaproduct-signed", exact())
    assert {"float32", "float16"} <= formats(network, language)
    model = make_architecture(language, "deltaproduct-signed", longest=2_000).model
    assert next(str(claim) for claim in model.claims) == "✓ all lengths bit-exact in float32, step by step"
    generator = torch.Generator().manual_seed(0)
    words = torch.randint(2, (20, 300), generator=generator)
    dfa, wrong = language.dfa(), 0
    scores, _ = model(words)
    for word, given in zip(words.tolist(), (scores[..., -1] > 0.5).tolist(), strict=True):
        state, expected = dfa.start, []
        for letter in word:
            state = int(dfa.transitions[state, letter])
            expected.append(bool(dfa.accepting[state]))
        wrong += expected != given
    assert wrong == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["s110", "z3"])
def test_real_models_are_proved_at_every_length_in_float32(name: str) -> None:
    language = s110() if name == "s110" else nr.language(name)
    model = make_architecture(
        language, "deltaproduct-signed" if name == "s110" else "deltanet-signed", seconds=0
    ).model
    found = certify_module(
        model,
        language,
        dtype="float32",
        decode=lambda scores: scores > 0.5,
        empty=language.legal(language.initial()),
        budget=nr.Budget(seconds=120),
    )
    assert found.length == "all"
