"""`forward` against `step`, bit for bit."""

import re

import pytest
import torch

import nerode as nr
from nerode.core import InputError
from nerode.kernel import TESTED
from nerode.languages import resolve_language
from nerode.models.network_module import load_model
from nerode.proofs.find.agreement import agreement_claim, compare_forward, random_words
from nerode.proofs.runner import make_runner
from tests.proofs.floats.languages import register_language
from tests.proofs.floats.modules import Register

LANGUAGE = register_language()
CUTS = ((), (1,), (1, 2, 30), (64,))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    ("name", "target"), [("tomita-4", "diagonal"), ("parity", "mamba-signed"), ("flip-flop", "gla")]
)
def test_where_integers_are_exact_forward_is_step(name, target, dtype):
    language = resolve_language(name)
    network = nr.compile_language(language, to=target)
    claims = nr.certify(network, language).claims
    assert any("any evaluation order" in c.scope and f"torch.{c.dtype}" == str(dtype) for c in claims)
    runner = make_runner(load_model(network, dtype=dtype), language)
    letters = random_words(runner, words=4, length=65)
    assert compare_forward(runner, letters, cuts=CUTS) == ""


class OffByOneBit(Register):
    def forward(self, x, state=None):
        scores, after = super().forward(x, state)
        scores[2, 5, 0] = torch.nextafter(scores[2, 5, 0], torch.tensor(9.0))
        return scores, after


class OtherState(Register):
    def forward(self, x, state=None):
        scores, after = super().forward(x, state)
        return scores, {"h": after["h"] + 1}


class NegativeZero(Register):
    def forward(self, x, state=None):
        scores, after = super().forward(x, state)
        return torch.where(scores == 0, -scores, scores), after


def test_one_bit_is_found_with_its_place():
    runner = make_runner(OffByOneBit(), LANGUAGE)
    found = compare_forward(runner, random_words(runner, words=4, length=20), cuts=((), (10,)))
    pattern = r"forward gives (\S+) where step gives (\S+) \(scores, after 6 letters\)"
    given, stepped = re.match(pattern, found).groups()
    assert complex(given) != complex(stepped)


def test_a_state_that_differs_is_found():
    runner = make_runner(OtherState(), LANGUAGE)
    found = compare_forward(runner, random_words(runner, words=4, length=20))
    assert found.endswith("(h, after 20 letters)")
    assert compare_forward(runner, random_words(runner, words=4, length=20), cuts=((7,),))


def test_the_sign_of_a_zero_is_left_open():
    runner = make_runner(NegativeZero(), LANGUAGE)
    assert compare_forward(runner, random_words(runner, words=4, length=20)) == ""


def test_cuts_outside_the_word_are_refused():
    runner = make_runner(Register(), LANGUAGE)
    with pytest.raises(InputError, match="cuts"):
        compare_forward(runner, random_words(runner, words=1, length=5), cuts=((9,),))


def test_the_claim_is_never_called_a_proof():
    claim = agreement_claim(dtype="float32", task="predict", words=4, length=65)
    assert claim.scope == TESTED
    assert "not a proof" in claim.covers
