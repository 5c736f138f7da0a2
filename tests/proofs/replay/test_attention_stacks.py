"""Bounded Dyck languages covered depth by depth: as many stacks as there are, and planted errors."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import torch

from nerode.compiler.constructions.attention import BRACKET_HEADS
from nerode.kernel import Certificate, Claim, Failure
from nerode.languages.bestiary import find_language
from nerode.models.lower.heads import network_to_decoder
from nerode.proofs.find.heads import certify_decoder, run_decoder
from nerode.proofs.replay.attention.checker import check_decoder, replay_heads
from nerode.proofs.replay.attention.records import NotProved
from nerode.proofs.replay.listing import fingerprint
from tests.compiler.requests import request_named
from tests.proofs.replay.test_attention import with_slopes

TARGET = "transformer-alibi"
SMALL = ["dyck-1-3", "dyck-2-2", "dyck-2-3", "dyck-3-3"]


@functools.cache
def network(name):
    return BRACKET_HEADS.compile(request_named(name, TARGET))


def decoder(name, dtype=torch.float32):
    return network_to_decoder(network(name), TARGET, dtype=dtype)


@pytest.mark.parametrize("name", SMALL)
def test_small_languages_are_proved_by_depth_and_by_listing_alike(name):
    language, model = find_language(name), decoder(name)
    listed, covered = check_decoder(model, language), check_decoder(model, language, by_depth=True)
    assert covered.length == listed.length == (1 << 24) - 1
    assert covered.heads == listed.heads
    assert covered.margin == pytest.approx(listed.margin, abs=1e-5)
    assert (listed.levels, covered.levels) == (None, language.depth)
    assert covered.joint_states <= listed.joint_states
    assert "Stacks are not listed" in covered.claim().covers
    assert "Stacks" not in listed.claim().covers


def heads_of_depths(model):
    """The block of heads that find the latest match, and how many there are."""
    for block in model.blocks:
        slopes = block.layer.settings.slopes or ()
        if 128.0 in slopes:
            return block, sum(slope == 128.0 for slope in slopes)
    raise AssertionError


def rows_of(layer, part, head):
    """Query (0), key (1) or value (2) rows of a head."""
    size = layer.size
    return slice((part * layer.heads + head) * size, (part * layer.heads + head) * size + size)


def swap_keys(model):
    """Two depths exchange what they match, but not what they write."""
    layer = heads_of_depths(model)[0].layer
    read = layer.read.weight
    first, second = (rows_of(layer, 1, head) for head in (0, 1))
    read[first], read[second] = read[second].clone(), read[first].clone()


def swap_outputs(model):
    """What two heads return is exchanged: depth 1 is read where depth 2 should be."""
    layer = heads_of_depths(model)[0].layer
    write, size = layer.write.weight, layer.size
    write[:, :size], write[:, size : 2 * size] = write[:, size : 2 * size].clone(), write[:, :size].clone()


def misread_a_kind(model):
    """A bracket of the last kind is written as another one at the greatest depth alone."""
    block, count = heads_of_depths(model)
    rows = block.layer.read.weight[rows_of(block.layer, 2, count - 1)]
    row = int(rows.any(dim=1).nonzero()[-1])
    rows[row] = 0


def narrow_gap(model):
    layer = heads_of_depths(model)[0].layer
    read = layer.read.weight
    assert (read.abs() >= 2**32).any()
    read[read.abs() >= 2**32] = -100.0


def forget_the_mark(model):
    model.embedding.weight[-1] = 0


PLANTED = {
    "a slope below the underflow": lambda m: with_slopes(m, lambda s: 64.0 if s == 128 else s),
    "a slope that is no power of two": lambda m: with_slopes(m, lambda s: 100.0 if s == 128 else s),
    "a gap that is too small": narrow_gap,
    "two depths that match each other's brackets": swap_keys,
    "two heads that are read for each other": swap_outputs,
    "one kind read wrongly at one depth": misread_a_kind,
    "no mark": forget_the_mark,
}


@torch.no_grad()
@pytest.mark.parametrize("name", ["dyck-2-3", pytest.param("dyck-8-10", marks=pytest.mark.slow)])
@pytest.mark.parametrize("what", PLANTED)
def test_planted_errors_are_refused(what, name):
    model = decoder(name)
    model = PLANTED[what](model) or model
    with pytest.raises(NotProved):
        check_decoder(model, find_language(name), by_depth=True)


@torch.no_grad()
@pytest.mark.parametrize("count", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_what_is_proved_by_depth_is_proved_by_listing(count):
    """Weights are changed in turn: a proof by depth never says more than one over all stacks."""
    language, model = find_language("dyck-2-2"), decoder("dyck-2-2")
    rng, proved, refused = np.random.default_rng(3), 0, 0
    for tensor in model.state_dict().values():
        flat = tensor.view(-1)
        for place in rng.permutation(flat.nonzero()[:, 0].tolist())[:count]:
            old = float(flat[place])
            for new in (0.0, -old, 2 * old):
                flat[place] = new
                try:
                    covered = check_decoder(model, language, by_depth=True)
                except NotProved:
                    refused += 1
                else:
                    proved += 1
                    assert covered.length == check_decoder(model, language).length
                flat[place] = old
    assert refused > proved > 0


def test_the_largest_language_of_the_bestiary_is_proved_in_float32():
    """1,227,133,513 stacks, by two brackets at a time."""
    language, model = find_language("dyck-8-10"), decoder("dyck-8-10")
    found = certify_decoder(model, network("dyck-8-10"), language)
    assert isinstance(found, Certificate)
    assert found.claims[0].length == (1 << 24) - 1
    assert "for each of 10 depths" in found.claims[0].covers
    assert isinstance(run_decoder(model, language, words=2, length=60), Claim)


def test_a_certificate_by_depth_is_checked_again():
    language, model = find_language("dyck-2-3"), decoder("dyck-2-3")
    listed = certify_decoder(model, network("dyck-2-3"), language)
    sha = fingerprint(model)
    assert replay_heads(model, language, listed, network=sha) is None
    forged = dict(listed.evidence["attention-rounding"], levels=3)
    other = type(listed)(
        network=listed.network,
        language=listed.language,
        claims=listed.claims,
        evidence={"attention-rounding": forged},
    )
    assert isinstance(replay_heads(model, language, other, network=sha), Failure)
