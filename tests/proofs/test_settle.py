"""One table of strategies for exact networks, their modules and their weights."""

import pytest
import torch

import nerode as nr
from nerode.core import Budget
from nerode.languages import asked_of, resolve_language
from nerode.models.network_module import load_model
from nerode.proofs.replay.subject import make_subject
from nerode.proofs.settle import STRATEGIES, SettleSettings, settle

SECONDS = 20


def exact(network, language):
    """A network without weights, with the question of a language."""
    return make_subject("x", about=language.name, network=network, question=asked_of(language))


def as_module(network, language, dtype=torch.float32):
    return make_subject(
        "x",
        about=language.name,
        module=load_model(network, dtype=dtype),
        network=network,
        question=asked_of(language),
        empty=network.decoder.empty,
    )


@pytest.fixture(scope="module")
def parity():
    language = resolve_language("parity")
    return nr.compile_language(language, to="diagonal-signed"), language


def test_an_exact_network_is_proved_by_the_kernel(parity):
    found = settle(exact(*parity), budget=Budget(seconds=SECONDS))
    assert (found.settlement.status, found.settlement.length, found.settlement.dtype) == (
        "proved",
        "all",
        None,
    )
    assert found.settlement.steps["exact"] == 1
    assert not any(steps for name, steps in found.settlement.steps.items() if name != "exact")
    assert found.claims[0].dtype is None


def test_an_exact_network_of_another_language_is_refuted(parity):
    network, _ = parity
    found = settle(exact(network, resolve_language("tomita-1")), budget=Budget(seconds=SECONDS))
    assert found.settlement.status == "refuted"
    assert found.settlement.word == found.refutation.word
    assert found.claims == ()


def test_the_module_of_a_network_is_proved_bit_by_bit(parity):
    found = settle(as_module(*parity), settings=SettleSettings(partial=True), budget=Budget(seconds=SECONDS))
    assert (found.settlement.status, found.settlement.method) == ("proved", "closure")
    assert found.claims[0].dtype == "float32"


def test_a_counter_in_half_precision_is_refuted_by_a_loop_and_proved_below_it():
    """256 open brackets are counted, 257 are not."""
    language = resolve_language("dyck-1")
    asked = as_module(nr.compile_language(language, to="diagonal"), language, torch.bfloat16)
    settings = SettleSettings(holds=0, searched=0, boxes=False, partial=True, loops=1 << 10, states=1_000)
    found = settle(asked, settings=settings, budget=Budget(seconds=60))
    assert found.settlement.status == "refuted"
    assert len(found.settlement.word) == 513
    assert all(isinstance(claim.length, int) and claim.length < 513 for claim in found.claims)


def test_every_strategy_counts_its_steps(parity):
    found = settle(as_module(*parity), budget=Budget(seconds=SECONDS)).settlement
    assert list(found.steps) == list(STRATEGIES)
