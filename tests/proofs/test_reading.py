"""Readings: from scores to answers; a row with a score that is not finite is no answer."""

from fractions import Fraction

import pytest
import torch

from nerode.core import InputError
from nerode.proofs.reading import SignalModule, decode
from nerode.records import Reading

SCORES = torch.tensor([[0.0, 1.0], [2.0, -1.0], [torch.nan, 1.0], [1.0, torch.inf], [-torch.inf, 0.0]])
READABLE = [True, True, False, False, False]


def test_signs():
    bits, readable = decode(Reading(kind="above"), SCORES)
    assert bits[:2].tolist() == [[False, True], [True, False]]
    assert readable.tolist() == READABLE
    half = Reading(kind="above", threshold="1/2")
    assert decode(half, torch.tensor([[0.5, 0.75]]))[0].tolist() == [[False, True]]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("threshold", ["1/3", "2/3", "1/10", "-1/3"])
def test_a_score_is_compared_with_the_threshold_itself(dtype, threshold):
    """A threshold is not rounded to the format of the scores."""
    reading = Reading(kind="above", threshold=threshold)
    near = torch.tensor(float(reading.limit), dtype=dtype)
    scores = torch.stack([torch.nextafter(near, near - 1), near, torch.nextafter(near, near + 1)])
    wanted = [Fraction(score.item()) > reading.limit for score in scores]
    assert decode(reading, scores[None])[0][0].tolist() == wanted


def test_columns_below_the_one_that_is_always_true_are_refused():
    with pytest.raises(InputError, match="no numbers of scores"):
        Reading(kind="softmax", threshold="1/2", columns=(0, -2))


def test_scores_that_the_reading_does_not_look_at_may_be_anything():
    bits, readable = decode(Reading(kind="above", columns=(1,)), SCORES)
    assert bits[:, 0].tolist() == [True, False, True, True, False]
    assert readable.tolist() == [True, True, True, False, True]


def test_classes():
    bits, readable = decode(Reading.by_name(2), SCORES)
    assert bits[:2].tolist() == [[False, True], [True, False]]
    assert readable.tolist() == READABLE
    one_score = Reading(kind="above", columns=(0,), table=((True, False), (False, True)))
    assert decode(one_score, torch.tensor([[0.0], [0.5]]))[0].tolist() == [[True, False], [False, True]]


def test_adding_a_number_to_all_scores_changes_no_class():
    scores = torch.randn(50, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert torch.equal(decode(Reading.by_name(4), scores)[0], decode(Reading.by_name(4), scores + 3)[0])


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "largest"},
        {"kind": "largest", "table": ((True,), (True, False))},
        {"kind": "above", "table": ((True,), (False,))},
    ],
)
def test_a_reading_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(InputError):
        Reading(**wrong)


def test_letters_are_read_as_a_feature():
    class Echo(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(1))

        def forward(self, x, state=None):
            return x * self.weight, state

    assert SignalModule(Echo())(torch.tensor([[0, 1, 1]]))[0].tolist() == [[[0.0], [1.0], [1.0]]]
