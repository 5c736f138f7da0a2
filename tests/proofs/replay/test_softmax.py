"""Readings by probability: outward bounds enclose the truth; the replay refuses what lies between."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal, localcontext

import numpy as np
import pytest
import torch

from nerode.core import Budget, InputError
from nerode.kernel import Failure
from nerode.languages import LanguageQuestion, resolve_language
from nerode.proofs.find.closure import certify_module
from nerode.proofs.reading import UNREADABLE, decode, decoder
from nerode.proofs.replay.bits import recheck
from nerode.proofs.replay.softmax import exponentials, outward_decoder
from nerode.records import Reading
from tests.analysis.asking.tables import TableModel

SHARES = Reading(kind="softmax", threshold="0.02")


def random_scores(count: int = 400, width: int = 5, spread: float = 6.0) -> torch.Tensor:
    return spread * torch.randn(count, width, generator=torch.Generator().manual_seed(0))


def test_the_bounds_enclose_the_exponential():
    exponents = -np.concatenate([np.linspace(0, 5, 60), np.geomspace(1e-12, 720, 120)])
    low, high = exponentials(exponents)
    with localcontext() as context:
        context.prec = 60
        for exponent, least, most in zip(exponents.tolist(), low.tolist(), high.tolist(), strict=True):
            true = Decimal(exponent).exp()
            assert Decimal(least) <= true <= Decimal(most)
            assert exponent < -700 or most - least <= 4e-9 * most


def test_both_readings_agree_where_they_decide():
    scores = random_scores()
    found, outward = decoder(SHARES)(scores), outward_decoder(SHARES)(scores)
    assert (outward != UNREADABLE).all()
    assert torch.equal(found, outward)
    shares = scores.double().softmax(-1)
    assert torch.equal(found == 1, shares >= 0.02)


def test_a_number_added_to_all_scores_changes_nothing():
    scores = random_scores().double()
    for reading in (SHARES, Reading.by_name(5)):
        for number in (-300.0, 6.0, 4096.0):
            assert torch.equal(decode(reading, scores + number)[0], decode(reading, scores)[0])
            assert torch.equal(outward_decoder(reading)(scores + number), outward_decoder(reading)(scores))


def test_what_lies_at_the_threshold_cannot_be_read():
    even = torch.zeros(1, 4)
    reading = Reading(kind="softmax", threshold="1/4")
    assert not decode(reading, even)[1].any()
    assert (outward_decoder(reading)(even) == UNREADABLE).all()
    assert (outward_decoder(replace(reading, threshold="0.2499"))(even) == 1).all()
    assert (outward_decoder(replace(reading, threshold="0.2501"))(even) == 0).all()


def test_nan_is_no_answer_and_minus_infinity_is_the_probability_0():
    rows = torch.tensor([[0.0, torch.nan], [torch.inf, 0.0], [0.0, -torch.inf], [-torch.inf, -torch.inf]])
    for read in (decoder(SHARES), outward_decoder(SHARES)):
        assert read(rows).tolist() == [[2, 2], [2, 2], [1, 0], [2, 2]]


def test_shares_are_of_all_scores_and_a_column_may_be_always_true():
    reading = replace(SHARES, columns=(1, -1))
    scores = torch.tensor([[8.0, 0.0], [0.0, 0.0]])
    for read in (decoder(reading), outward_decoder(reading)):
        assert read(scores).tolist() == [[0, 1], [1, 1]]
    assert str(reading) == "probability at least 0.02 in the columns 1, -1"


@pytest.mark.parametrize("threshold", ["0", "1", "-0.1", "3/2"])
def test_a_threshold_that_decides_nothing_is_refused(threshold):
    with pytest.raises(InputError, match="between 0 and 1"):
        Reading(kind="softmax", threshold=threshold)


def proof(shift: float = 0.0):
    language = resolve_language("(ab|c)*d")
    question = LanguageQuestion(language, "next", "valid")
    module = TableModel(language.dfa(), shift=shift)
    return module, question, certify_module(module, question, reading=SHARES, budget=Budget(seconds=30))


def test_a_module_is_proved_by_probability_and_replayed_with_outward_bounds():
    module, question, found = proof()
    assert found.is_proof
    assert recheck(module, question, found.certificate, decode=outward_decoder(SHARES)) is None


def test_a_replay_refuses_weights_whose_probability_is_too_small():
    module, question, found = proof()
    with torch.no_grad():
        module.table[module.table > 0] = -3.0
    refused = recheck(module, question, found.certificate, decode=outward_decoder(SHARES))
    assert isinstance(refused, Failure)
    # The same weights under the right name: the claim itself does not hold.
    listed = found.certificate.evidence["bit-closure"]
    from nerode.proofs.replay.listing import fingerprint

    sha = fingerprint(module)
    forged = replace(found.certificate, network=sha, evidence={"bit-closure": {**listed, "module": sha}})
    refused = recheck(module, question, forged, decode=outward_decoder(SHARES))
    assert refused is not None
    assert refused.refutation is not None


def test_a_number_added_to_all_scores_changes_no_proof():
    certificates = [proof(shift)[2] for shift in (0.0, 6.0)]
    assert all(found.is_proof for found in certificates)
    assert certificates[0].states == certificates[1].states
