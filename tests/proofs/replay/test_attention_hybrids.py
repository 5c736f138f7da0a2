"""Clocks and hybrids of Mamba and attention: proved in floats, also where neither part alone would do."""

from __future__ import annotations

import pytest

from nerode.compiler import compile_language
from nerode.kernel import EXACT, Certificate, Claim
from nerode.languages import RegularLanguage, resolve_language
from nerode.languages.bestiary import find_language
from nerode.models.lower.heads import network_to_decoder
from nerode.proofs import certify
from nerode.proofs.find.heads import certify_decoder, run_decoder
from nerode.proofs.replay.attention.checker import check_decoder, replay_heads
from nerode.proofs.replay.attention.records import METHOD, NotProved
from nerode.proofs.replay.listing import fingerprint
from nerode.verdict import decide

TOGETHER = (
    "[012b]([012b][012b])*b[012b]*0[2b]*"
    "|(([012b][012b])*0([2b][2b])*|[012b]([012b][012b])*0[2b]([2b][2b])*)b[2b]*"
)
"""The latest digit is 0, and some letter at an even position is b."""


@pytest.fixture(scope="module")
def language() -> RegularLanguage:
    return resolve_language(TOGETHER)


def test_a_hybrid_does_at_every_length_in_float32_what_no_decoder_is_written_for(language):
    target = "mamba-attention-periodic"
    names = ("mamba", "transformer-periodic", target)
    verdicts = decide(language, architectures=names, task="recognise")
    assert [verdicts[name, "ieee"].status.value for name in names] == ["no", "yes", "yes"]
    # Attention alone needs sums in order; decoders are proved for any order.
    assert [bool(verdicts[name, "ieee"].no_network) for name in names[1:]] == [True, False]
    network = compile_language(language, target)
    exact = certify(network, language)
    assert [c.scope for c in exact.claims] == [EXACT]
    model = network_to_decoder(network, target)
    kinds = {layer.name for layer in model.config.layers}
    assert kinds == {"mamba", "transformer-periodic"}
    found = certify_decoder(model, network, language)
    assert isinstance(found, Certificate)
    assert found.claims[0].length == "all"
    assert "recurrent layers" in found.claims[0].covers
    assert replay_heads(model, language, network=fingerprint(model), certificate=found) is None
    assert isinstance(run_decoder(model, language, words=2, length=60), Claim)
    # Attention brings the position vectors; every recurrent layer that writes is needed.
    recurrent = [block.layer.out_proj.weight for block in model.blocks[: found.evidence[METHOD]["recurrent"]]]
    parts = [part for part in recurrent if part.any()]
    assert len(parts) > 2
    for part in parts:
        kept = part.clone()
        part.zero_()
        with pytest.raises(NotProved):
            check_decoder(model, language)
        part.copy_(kept)


def test_attention_alone_does_it_up_to_the_horizon(language):
    network = compile_language(language, "transformer-periodic")
    assert check_decoder(network_to_decoder(network, "transformer-periodic"), language).length == 1 << 24


@pytest.mark.parametrize("name", ["flip-flop", "tomita-7"])
def test_registers_of_hybrids_are_proved_at_every_length(name):
    network = compile_language(find_language(name), "mamba-attention")
    model = network_to_decoder(network, "mamba-attention")
    found = check_decoder(model, find_language(name))
    assert (found.length, found.recurrent) == ("all", 5)


@pytest.mark.parametrize(("name", "period"), [("aa-star", 2), ("abab-star", 4)])
def test_clocks_are_position_vectors(name, period):
    language = find_language(name)
    network = compile_language(language, "transformer-periodic")
    assert network.origin.construction == "component-heads"
    assert isinstance(certify(network, language), Certificate)
    model = network_to_decoder(network, "transformer-periodic")
    assert model.config.period == period
    assert check_decoder(model, language).length == "all"
    assert isinstance(run_decoder(model, language, words=2, length=30), Claim)
    model.places.weight.copy_(model.places.weight.roll(1, 0))
    with pytest.raises(NotProved):
        check_decoder(model, language)


def test_a_clock_of_three_with_a_register():
    """Odd periods get vectors of twice their length, so that the parity of a position is known too."""
    language = resolve_language("([01][01][01])*1[01]*|([01][01][01])*")
    network = compile_language(language, "transformer-periodic")
    model = network_to_decoder(network, "transformer-periodic")
    assert model.config.period == 6
    assert check_decoder(model, language).length in ("all", 1 << 24)
    assert isinstance(run_decoder(model, language, words=2, length=30), Claim)
