"""Networks for the pages: every class once, and the lengths at which each float format is right."""

from __future__ import annotations

import functools

from nerode.languages.bestiary import find_language
from nerode.study.networks import TARGETS, NetworkStudy, all_targets, study_networks
from nerode.verdict import ARCHITECTURES, State


def test_every_architecture_with_constructions_is_shown_once():
    shown = [name for target, also in all_targets().items() for name in (target, *also)]
    assert len(shown) == len(set(shown))
    fixed = {a.name for a in ARCHITECTURES.values() if a.properties.state is not State.CACHE}
    assert fixed <= set(shown)
    attention = {"transformer-nope", "transformer-alibi", "transformer-periodic", "transformer-hard"}
    assert attention <= set(shown)
    assert not {"transformer", "transformer-hard-left", "mamba-attention"} & set(shown)
    assert set(TARGETS) <= set(all_targets())
    assert "mamba-2" in all_targets()["mamba"]
    assert "hgrn2" in all_targets()["griffin"]


@functools.cache
def studied(language: str) -> tuple[NetworkStudy, ...]:
    return tuple(study_networks(find_language(language)))


def by_name(language: str) -> dict[str, NetworkStudy]:
    return {name: study for study in studied(language) for name in (study.target, *study.also)}


def test_lengths_by_format() -> None:
    found = by_name("dyck-1")
    assert found["gla"].lengths["float64"] == found["diagonal"].lengths["float64"]
    assert int(found["diagonal"].lengths["float32"].replace(",", "")) > 1_000_000
    assert int(found["diagonal"].lengths["bfloat16"].replace(",", "")) < 1_000
    assert found["mamba"].network is not None
    assert found["transformer-hard"].network is None
    assert set(found["transformer-hard"].lengths.values()) == {""}
    assert found["gru"].network is None
    assert set(by_name("flip-flop")["mamba"].lengths.values()) == {"all"}


def test_targets_with_the_same_network_stand_together() -> None:
    studies = studied("flip-flop")
    shown = [name for study in studies for name in (study.target, *study.also)]
    assert len(shown) == len(set(shown))
    assert set(shown) == {name for target, also in all_targets().items() for name in (target, *also)}
    assert by_name("flip-flop")["gla"].target == "diagonal"
