"""Counters of real architectures in floats, count by count."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from nerode.compiler import Options, compile_language
from nerode.compiler.constructions.counters import COUNTERS_PREDICTOR
from nerode.core import Budget, InputError
from nerode.kernel import VALID_PREFIXES
from nerode.languages.bestiary import find_language
from nerode.models import Model
from nerode.models.lower.assembly import network_to_architecture
from nerode.proofs.floats.memories import certify_counts
from nerode.proofs.floats.memory_replay import COUNTS as METHOD, replay_counts
from tests.compiler.requests import request_named

DYCK = find_language("dyck-1")


def counter(name: str = "dyck-1", to: str = "mamba", dtype: torch.dtype = torch.float32) -> Model:
    network = COUNTERS_PREDICTOR.compile(request_named(name, to))
    return network_to_architecture(network, to, dtype=dtype)


@pytest.mark.parametrize("to", ["mamba", "mamba-2", "mamba-signed", "gla", "mlstm"])
@pytest.mark.parametrize("name", ["dyck-1", "anbn", "majority"])
def test_one_layer_counts(name: str, to: str) -> None:
    model = counter(name, to)
    assert len(model.blocks) == 1
    found = certify_counts(model, find_language(name), length=300)
    assert found.certificate is not None, found.reason
    (claim,) = found.certificate.claims
    assert (claim.task, claim.dtype, claim.length) == (VALID_PREFIXES, "float32", 300)


def test_one_reflection_per_letter_counts() -> None:
    """The counter of DeltaNet changes its sign at every letter; float32 does not round it."""
    network = compile_language(DYCK, "deltanet-signed", Options(exclusive_scan=True))
    assert network.origin.construction == "alternating-counters"
    model = network_to_architecture(network, "deltanet-signed")
    word = DYCK.sample(2_000, np.random.default_rng(0))
    configuration, state = DYCK.initial(), model.initial_state(1)
    for letter in word:
        scores, state = model.step(torch.tensor([letter]), state)
        configuration = DYCK.advance(configuration, letter)
        wanted = DYCK.legal(configuration)
        assert (scores[0] > 0.5).tolist() == [0 in wanted.symbols, 1 in wanted.symbols, wanted.end]


@pytest.mark.slow
def test_one_layer_of_mamba_counts_to_a_million_letters() -> None:
    found = certify_counts(counter(), DYCK, length=1_000_000, budget=Budget(seconds=300))
    assert found.length == 1_000_000, found.reason


def test_mamba_holds_by_its_rate_and_writes_by_its_step() -> None:
    layer = counter().layers[0]
    gate = torch.exp(-32 * layer.A_log.exp())
    assert float(layer.A_log[0]) < -30
    assert (gate[0] == 1).all()


@pytest.mark.parametrize(("dtype", "most"), [(torch.bfloat16, 2**8)])
def test_the_proof_ends_where_the_format_cannot_count(dtype: torch.dtype, most: int) -> None:
    model = counter(to="gla", dtype=dtype)
    assert certify_counts(model, DYCK, length=most).length == most
    assert certify_counts(model, DYCK, length=4 * most).certificate is None


def test_a_counter_that_leaks_is_refused() -> None:
    model = counter()
    with torch.no_grad():
        model.layers[0].A_log[0] = -10.0
    found = certify_counts(model, DYCK, length=100)
    assert found.certificate is None
    assert "off line" in found.reason or "lines" in found.reason


def test_wrong_answers_are_refused() -> None:
    model = counter()
    with torch.no_grad():
        model.head.bias.add_(1.0) if model.head.bias is not None else model.head.weight.mul_(-1.0)
    assert certify_counts(model, DYCK, length=100).certificate is None


def test_changed_evidence_is_refused() -> None:
    model = counter()
    certificate = certify_counts(model, DYCK, length=50).certificate
    assert certificate is not None
    assert replay_counts(model, DYCK, certificate) is None
    evidence = certificate.evidence[METHOD]
    longer = replace(certificate, evidence={METHOD: {**evidence, "length": 60}})
    fewer = {**evidence, "lines": [{**evidence["lines"][0], "pieces": []}, *evidence["lines"][1:]]}
    for wrong in (longer, replace(certificate, evidence={METHOD: fewer})):
        assert replay_counts(model, DYCK, wrong) is not None
    assert replay_counts(counter(to="gla"), DYCK, certificate) is not None
    assert replay_counts(model, find_language("majority"), certificate) is not None
    more = replace(certificate.claims[0], length=51)
    assert replay_counts(model, DYCK, replace(certificate, claims=(more,))) is not None


def test_other_languages_are_no_matter_of_counts() -> None:
    with pytest.raises(InputError, match="one counter"):
        certify_counts(counter(), find_language("parity"))
    with pytest.raises(InputError, match="1 or more"):
        certify_counts(counter(), DYCK, length=0)
