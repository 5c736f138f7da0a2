"""Networks for the pages: every class once, and the lengths at which each float format is right."""

from __future__ import annotations

from nerode.languages.bestiary import find_language
from nerode.report.networks import TARGETS, all_targets, study_networks
from nerode.verdict.architectures import ARCHITECTURES
from nerode.verdict.classes import State


def test_every_architecture_but_attention_is_shown_once():
    shown = [name for target, also in all_targets().items() for name in (target, *also)]
    assert len(shown) == len(set(shown))
    assert set(shown) == {a.name for a in ARCHITECTURES.values() if a.properties.state is not State.CACHE}
    assert set(TARGETS) <= set(all_targets())
    assert "griffin" in all_targets()["mamba"]


def test_lengths_by_format():
    found = {s.target: s for s in study_networks(find_language("dyck-1"))}
    assert found["gla"].lengths["float64"] == found["diagonal"].lengths["float64"]
    assert int(found["diagonal"].lengths["float32"].replace(",", "")) > 1_000_000
    assert int(found["diagonal"].lengths["bfloat16"].replace(",", "")) < 1_000
    assert found["mamba"].network is None
    assert set(found["mamba"].lengths.values()) == {""}
    flip = {s.target: s for s in study_networks(find_language("flip-flop"))}
    assert set(flip["mamba"].lengths.values()) == {"all"}


def test_a_network_that_is_the_same_is_proved_once():
    found = {s.target: s for s in study_networks(find_language("flip-flop"))}
    assert found["gla"].result is found["diagonal"].result
