"""Claims of real models of languages that count: a proof to a length, and the loop on which they fail."""

from __future__ import annotations

import copy
import dataclasses
import math

import pytest
import torch

from nerode.languages.bestiary import find_language
from nerode.models.lower import CarriedModel, candidate_models
from nerode.proofs.floats import make_architecture, replay_real_model, write_real_model
from nerode.proofs.floats.real_models import _examine
from nerode.records import REFUTED


@pytest.mark.parametrize("architecture", ["griffin", "deltanet"])
def test_a_fading_counter_has_a_claim_and_the_loop_that_refutes_it(architecture, tmp_path):
    """Batches of these models round otherwise than single words, and random words are too short for them."""
    language = find_language("anbn")
    found = make_architecture(language, architecture, seconds=2.5, longest=2_048)
    assert found.reach >= 4
    [refuted] = [claim for claim in found.model.claims if claim.scope == REFUTED]
    assert found.wrong == refuted.length > found.reach
    assert refuted.word.startswith("a^")
    write_real_model(tmp_path, found)
    certificates, failure = replay_real_model(tmp_path, language)
    assert failure is None
    assert [claim.length for c in certificates for claim in c.claims] == [found.reach]


def test_no_proof_about_batches_covers_a_word_that_fails_alone():
    """Batches of this model are correct for longer than single words."""
    found = make_architecture(find_language("anbncndn"), "hgrn2", seconds=1, longest=2_048)
    assert found.wrong is not None
    assert found.reach < found.wrong


def test_a_planted_leak_of_a_counter_is_found():
    """A counter that loses a ten-thousandth of its count per letter is correct on short words."""
    language = find_language("anbn")
    candidates = candidate_models(language, "mamba", surroundings="zoo")
    good = next(c for c in candidates if isinstance(c, CarriedModel))
    assert _examine(good, language, 2.5, 2_048, ()).wrong is None
    leaks = copy.deepcopy(good.model)
    with torch.no_grad():
        rate = leaks.blocks[0].layer.A_log
        assert rate[0, 0] == -64
        rate[0, 0] = math.log(1e-4 / 32)
    bad = _examine(dataclasses.replace(good, model=leaks), language, 2.5, 2_048, ())
    assert bad.reach < bad.wrong < 2_048
