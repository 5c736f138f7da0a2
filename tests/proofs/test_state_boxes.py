"""One box for each state and last letters: found for cells with a margin, refused for everything else."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from nerode.compiler import compile_language
from nerode.core import Budget, InputError
from nerode.kernel import (
    EXACT,
    PREDICT,
    RECOGNISE,
    UNDER_NOISE,
    VALID_PREFIXES,
    Certificate,
    certificate_to_json,
    content_hash,
)
from nerode.kernel.domains.boxes import noise_claim, rounded_claim
from nerode.languages import describe_language
from nerode.languages.bestiary import find_language
from nerode.network import PointDecoder, network_hash, network_to_json
from nerode.proofs import Unproved, check
from nerode.proofs.box_steps import BoxStepper
from nerode.proofs.find.cells import certify_state_boxes, explore_nodes
from nerode.proofs.proving import STATE_BOXES
from tests.compiler.robust_cells import elman_flip_flop

CELL = elman_flip_flop()


def verdict(network, language, certificate):
    """What the independent checker says, after a round trip through JSON."""
    data = (network_to_json(network), describe_language(language), certificate_to_json(certificate))
    return check(*(json.loads(json.dumps(part)) for part in data))


def certificate_of(network, language, **options):
    """The certificate without the claim about float32."""
    found = certify_state_boxes(network, language, **options)
    assert isinstance(found, Certificate)
    return replace(found, claims=tuple(claim for claim in found.claims if claim.dtype is None))


def changed(certificate, claims=None, **stated):
    """The certificate with other evidence."""
    evidence = certificate.evidence[STATE_BOXES] | stated
    return replace(certificate, claims=claims or certificate.claims, evidence={STATE_BOXES: evidence})


def with_float32(certificate):
    """The certificate with the claim that half of its noise covers float32."""
    noise = next(claim for claim in certificate.claims if claim.scope == UNDER_NOISE)
    claim = rounded_claim(task=noise.task, method=STATE_BOXES, eps=noise.eps / 2)
    return replace(certificate, claims=(*certificate.claims[:2], claim))


def test_nodes_are_pairs_of_a_state_and_the_last_letters():

    def count(name, *, task, letters):
        language = find_language(name)
        steps = BoxStepper(compile_language(language, "elman-tanh"))
        return len(explore_nodes(steps, language, task=task, letters=letters, budget=Budget()).labels)

    assert count("parity", task=PREDICT, letters=0) == 2
    # The empty word, then each state after each letter.
    assert count("parity", task=PREDICT, letters=1) == 5
    assert count("tomita-1", task=VALID_PREFIXES, letters=0) == 1
    assert count("tomita-1", task=PREDICT, letters=0) == 2


def test_the_published_cell_has_at_least_its_published_margin():
    """The paper has noise of 0.1 for this cell; with boxes of our own it may only be more."""
    certificate = certificate_of(CELL.network, CELL.language)
    assert [claim.scope for claim in certificate.claims] == [EXACT, UNDER_NOISE]
    assert certificate.claims[1].eps >= Fraction("0.1")
    assert verdict(CELL.network, CELL.language, certificate).ok


@pytest.mark.parametrize("target", ["elman-tanh", "lstm", "gru", "slstm"])
@pytest.mark.parametrize("name", ["parity", "tomita-4"])
def test_compiled_cells_get_boxes_that_the_checker_confirms(name, target):
    language = find_language(name)
    network = compile_language(language, target)
    certificate = certificate_of(network, language)
    assert verdict(network, language, certificate).ok
    assert certificate.claims[1].eps > 0


def test_weaker_tasks_are_certified_as_such():
    language = find_language("tomita-4")
    network = compile_language(language, "elman-tanh")
    for task in (RECOGNISE, VALID_PREFIXES):
        certificate = certificate_of(network, language, task=task)
        assert {claim.task for claim in certificate.claims} == {task}
        assert verdict(network, language, certificate).ok
        assert not verdict(network, language, changed(certificate, task=PREDICT)).ok


def test_what_is_certified_is_accepted_where_a_score_that_does_not_matter_is_open():
    """A symbol whose score is on both sides of 1/2 in one box; membership is settled all the same."""
    scores = CELL.network.decoder.scores
    for threshold in (Fraction(9, 10), Fraction(3, 2)):
        open_scores = replace(
            scores, bias=(Fraction(1, 2) - threshold, *scores.bias[1:]), rows=(((0, 1),), *scores.rows[1:])
        )
        network = replace(CELL.network, decoder=replace(CELL.network.decoder, scores=open_scores))
        found = certify_state_boxes(network, CELL.language, task=RECOGNISE)
        assert isinstance(found, Unproved) or verdict(network, CELL.language, found).ok
        # Where the boxes keep clear of the threshold there is a proof.
        assert isinstance(found, Certificate) or threshold < 1


def with_eps(certificate, eps):
    claims = (
        certificate.claims[0],
        noise_claim(task=certificate.claims[0].task, method=STATE_BOXES, eps=eps),
    )
    return changed(certificate, claims=claims, noise=str(eps))


def test_more_noise_than_the_boxes_bear_is_refused():
    certificate = certificate_of(CELL.network, CELL.language)
    eps = certificate.claims[1].eps
    assert verdict(CELL.network, CELL.language, with_eps(certificate, eps)).ok
    refused = verdict(CELL.network, CELL.language, with_eps(certificate, eps * 4))
    assert not refused.ok
    claims = (noise_claim(task=PREDICT, method=STATE_BOXES, eps=2 * eps),)
    assert not verdict(CELL.network, CELL.language, replace(certificate, claims=claims)).ok


@pytest.mark.parametrize("entry", ["first", "last"])
def test_a_smaller_box_is_refused(entry):
    certificate = certificate_of(CELL.network, CELL.language)
    boxes = json.loads(json.dumps(certificate.evidence[STATE_BOXES]["boxes"]))
    box = boxes[0 if entry == "first" else -1][0]
    low, high = map(Fraction, box[0])
    box[0] = [str(high + 1), str(high + 2)] if entry == "first" else [str((low + high) / 2), str(high)]
    refused = verdict(CELL.network, CELL.language, changed(certificate, boxes=boxes))
    assert not refused.ok
    assert refused.failure is not None


def test_too_few_or_too_many_boxes_are_refused():
    certificate = certificate_of(CELL.network, CELL.language)
    boxes = certificate.evidence[STATE_BOXES]["boxes"]
    for wrong in (boxes[:-1], [*boxes, boxes[-1]]):
        refused = verdict(CELL.network, CELL.language, changed(certificate, boxes=wrong))
        assert not refused.ok


@pytest.mark.parametrize(
    "stated",
    [
        {"task": "fragile"},
        {"letters": -1},
        {"letters": True},
        {"letters": 10**9},
        {"noise": "0"},
        {"noise": "sqrt(2)"},
        {"noise": "1/" + "9" * 5_000},
        {"boxes": []},
        {"boxes": [[[["1", "0"]]]]},
        {"boxes": [[[["0"]]]]},
        {"boxes": "none"},
    ],
)
def test_evidence_that_makes_no_sense_is_refused(stated):
    certificate = certificate_of(CELL.network, CELL.language)
    assert not verdict(CELL.network, CELL.language, changed(certificate, **stated)).ok


def test_a_wrong_digest_and_unknown_keys_are_refused():
    certificate = certificate_of(CELL.network, CELL.language)
    evidence = certificate.evidence[STATE_BOXES]
    for wrong in ({**evidence, "digest": "0" * 64}, {**evidence, "more": 1}):
        assert not verdict(
            CELL.network, CELL.language, replace(certificate, evidence={STATE_BOXES: wrong})
        ).ok


def test_a_network_for_another_language_gets_no_certificate_and_no_way_around_it():
    network = compile_language(find_language("tomita-5"), "elman-tanh")
    other = find_language("tomita-4")
    assert isinstance(certify_state_boxes(network, other), Unproved)
    own = certificate_of(network, find_language("tomita-5"))
    planted = replace(changed(own), language=content_hash(describe_language(other)["definition"]))
    refused = verdict(network, other, planted)
    assert not refused.ok
    assert refused.failure is not None


def test_a_wrong_empty_word_is_not_certified():
    network = CELL.network
    empty = replace(network.decoder.empty, end=not network.decoder.empty.end)
    wrong = replace(network, decoder=replace(network.decoder, empty=empty))
    found = certify_state_boxes(wrong, CELL.language)
    assert isinstance(found, Unproved)
    assert "empty word" in found.reason
    planted = replace(certificate_of(network, CELL.language), network=network_hash(wrong))
    assert not verdict(wrong, CELL.language, planted).ok


def test_a_cell_that_only_latches_gets_no_boxes():
    """A GRU whose update gate is shut keeps what it has, noise included, so that no box is closed."""
    from nerode.network import Affine, GatedCell

    language = find_language("tomita-1")
    network = compile_language(language, "gru")
    (layer,) = network.layers
    reset, update, candidate = layer.recurrence.gates
    shut = Affine(
        num_inputs=update.num_inputs, bias=(-60,) * update.num_outputs, rows=((),) * update.num_outputs
    )
    frozen = replace(layer, recurrence=GatedCell(cell="gru", gates=(reset, shut, candidate)))
    found = certify_state_boxes(replace(network, layers=(frozen,)), language, budget=Budget(seconds=20))
    assert isinstance(found, Unproved)


def test_other_alphabets_are_refused():
    with pytest.raises(InputError, match="alphabets"):
        certify_state_boxes(CELL.network, find_language("s3"))


def test_point_decoders_of_other_networks_are_still_refused_by_intervals():
    network = CELL.network
    decoder = PointDecoder(
        reads=network.decoder.reads,
        points=((0,) * len(network.decoder.reads),),
        answers=(network.decoder.empty,),
        empty=network.decoder.empty,
    )
    with pytest.raises(InputError, match="scores"):
        BoxStepper(replace(network, decoder=decoder))
    assert BoxStepper(replace(network, decoder=decoder), points=True)


def test_float32_is_refused_for_a_decoder_that_also_reads_the_letter():
    """The bound of the rounding speaks of the outputs of the layer; what else is read has no bound."""
    network = CELL.network
    letter = network.embedding.directions[0]
    scores = network.decoder.scores
    width = len(network.decoder.reads)
    rows = tuple((*row, (width, Fraction(1, 1024))) for row in scores.rows)
    decoder = replace(
        network.decoder,
        reads=(*network.decoder.reads, letter),
        units=replace(network.decoder.units, num_inputs=width + 1),
        scores=replace(scores, num_inputs=width + 1, rows=rows),
    )
    wider = replace(network, decoder=decoder)
    certificate = certificate_of(wider, CELL.language)
    assert verdict(wider, CELL.language, certificate).ok
    refused = verdict(wider, CELL.language, with_float32(certificate))
    assert not refused.ok
    assert "roundings are bounded" in refused.failure.what


def float32_verdict(network, certificate, eps):
    """What the checker says of float32 with boxes that are closed under more noise than is claimed."""
    small = with_eps(certificate, eps)
    return verdict(network, CELL.language, with_float32(small))


def test_float32_needs_room_in_the_boxes():
    """Whatever noise is claimed; boxes without room are refused in tests/kernel/test_covers.py."""
    certificate = certificate_of(CELL.network, CELL.language)
    assert float32_verdict(CELL.network, certificate, Fraction(1, 2**10)).ok
    # The claim allows tanh to be off by 2**-20, and these boxes are closed under much more noise.
    assert float32_verdict(CELL.network, certificate, Fraction(1, 2**19)).ok


def test_float32_needs_numbers_of_float32():
    (layer,) = CELL.network.layers
    update = layer.recurrence.update
    bias = tuple(b + Fraction(1, 3 * 2**20) for b in update.bias)
    finer = replace(layer, recurrence=replace(layer.recurrence, update=replace(update, bias=bias)))
    network = replace(CELL.network, layers=(finer,))
    refused = float32_verdict(network, certificate_of(network, CELL.language), Fraction(1, 2**10))
    assert "float32 does not hold every number" in refused.failure.what


@pytest.mark.parametrize(("margin", "covered"), [(Fraction(1, 2**10), True), (Fraction(1, 2**30), False)])
def test_float32_needs_answers_with_a_margin(margin, covered):
    """An output that stays above 0 by less than a rounding is right in exact arithmetic only."""
    certificate = certificate_of(CELL.network, CELL.language)
    ends = [Fraction(box[0][0][0]) for box in certificate.evidence[STATE_BOXES]["boxes"]]
    scores = CELL.network.decoder.scores
    bias = (*scores.bias[:-1], Fraction(1, 2) - min(end for end in ends if end > 0) + margin)
    decoder = replace(CELL.network.decoder, scores=replace(scores, bias=bias))
    network = replace(CELL.network, decoder=decoder)
    moved = replace(certificate, network=network_hash(network))
    assert verdict(network, CELL.language, moved).ok
    assert float32_verdict(network, moved, Fraction(1, 2**10)).ok is covered
