from __future__ import annotations

import math

import pytest
import torch

from nerode.analysis.aspects.context import context, interventions, layer_window
from nerode.analysis.aspects.spectra import layer_spectrum, spectra
from nerode.analysis.probes import ProbeWords
from nerode.core import InputError
from tests.analysis.networks import random_probe, ssm_with, subject_of


def delay_line(size: int):
    """The state holds the last letters, and the answer is whether the oldest of them was the letter b."""
    model = ssm_with(torch.diag(torch.ones(size - 1), diagonal=-1))
    with torch.no_grad():
        layer = model.layers[0]
        layer.B.zero_()
        layer.B[0, 1] = 1.0
        model.head.weight.zero_()
        model.head.weight[1, size - 1] = 50.0
        model.head.bias.copy_(torch.tensor([25.0, 0.0]))
    return model


def test_a_delay_line_looks_back_exactly_as_far_as_it_is_long():
    model, probe = delay_line(4), random_probe(count=40, length=12)
    found = context(subject_of(model), probe, spectra(model, probe))
    assert [c.back for c in found.changes if c.largest > 0] == [3]
    assert (found.by_intervention, found.by_largest, found.flips) == (4, 4, 4)
    (window,) = found.layers
    assert window.by_nilpotency == 4
    assert window.by_norm == 4
    assert window.by_spectrum == 1
    assert found.longest == 12


def test_windows_of_a_matrix_by_the_three_rules():
    probe = random_probe()
    spectrum = layer_spectrum(ssm_with(torch.diag(torch.tensor([0.8, 0.1]))), 0, probe)
    assert spectrum is not None
    window = layer_window(spectrum, eps=0.01)
    assert window.by_spectrum == math.ceil(math.log(0.01) / math.log(0.8)) == window.by_norm
    assert window.by_nilpotency is None
    stays = layer_spectrum(ssm_with(torch.eye(2)), 0, probe)
    assert stays is not None
    assert layer_window(stays).by_spectrum is None
    assert layer_window(stays).by_norm is None


def test_answers_that_are_not_asked_for_do_not_count():
    from nerode.analysis.probes import ProbeWords
    from nerode.tasks import Batch

    plain = random_probe(count=10, length=6)
    mask = torch.zeros(10, 6, dtype=torch.bool)
    mask[:, 2] = True
    batch = Batch(inputs=plain.inputs, targets=torch.zeros(10, 6, dtype=torch.int64), mask=mask)
    probe = ProbeWords(inputs=plain.inputs, symbols=plain.symbols, batch=batch)
    found = interventions(subject_of(delay_line(2)), probe)
    assert [(c.back, c.answers) for c in found] == [(0, 10), (1, 10), (2, 10)]
    assert found[1].largest > 0.9
    assert found[0].largest == found[2].largest == 0


def test_one_letter_cannot_be_changed():
    one = ProbeWords(inputs=torch.zeros(3, 5, dtype=torch.int64), symbols=("a",))
    assert interventions(subject_of(delay_line(2)), one) == ()
    found = context(subject_of(delay_line(2)), one, ())
    assert (found.changes, found.by_intervention, found.longest) == ((), 0, 0)


@pytest.mark.parametrize("eps", [0.0, 1.0, -1.0])
def test_eps_is_a_share(eps):
    with pytest.raises(InputError, match="between 0 and 1"):
        context(subject_of(delay_line(2)), random_probe(), (), eps=eps)


def test_scores_that_are_no_numbers_are_refused():
    model = delay_line(2)
    with torch.no_grad():
        model.head.bias.fill_(torch.nan)
    with pytest.raises(InputError, match="not finite"):
        interventions(subject_of(model), random_probe())
