"""One input, repeated until the bits come back."""

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

from nerode.analysis.aspects.forgetting import StateCycle, find_cycle
from nerode.core import Budget, BudgetExceeded, InputError
from nerode.models.architectures import Gru
from nerode.models.architectures.gru import GruSettings
from nerode.proofs.runner import make_runner
from tests.proofs.floats.languages import HIGH, register_language
from tests.proofs.floats.modules import Register, TanhRegister

LANGUAGE = register_language()


def settle_letters(module, *, before=()):
    """Where the state goes when a letter is repeated, by letter."""
    runner = make_runner(module, LANGUAGE)
    start = runner.start()
    for letter in before:
        _, start = runner.step(np.array([letter]), start)
    return {
        symbol: find_cycle(lambda state, a=letter: runner.step(np.array([a]), state)[1], start)
        for letter, symbol in enumerate(LANGUAGE.alphabet)
    }


@given(tail=st.integers(0, 60), period=st.integers(1, 60))
def test_tails_and_periods_are_found(tail, period):
    def advance(state):
        n = int(state["n"]) + 1
        return {"n": torch.tensor([n if n < tail + period else tail])}

    start = {"n": torch.tensor([0])}
    assert find_cycle(advance, start) == StateCycle(steps=tail, period=period)


def test_what_goes_on_for_ever_is_not_said_to_settle():
    assert find_cycle(lambda s: {"n": s["n"] + 1}, {"n": torch.zeros(1)}, most=1_000) is None
    with pytest.raises(BudgetExceeded):
        find_cycle(lambda s: {"n": s["n"] + 1}, {"n": torch.zeros(1)}, budget=Budget(seconds=1e-9))


def test_a_nan_is_refused():
    with pytest.raises(InputError, match="NaN"):
        find_cycle(lambda s: {"h": s["h"] - s["h"]}, {"h": torch.tensor([float("inf")])})


def test_every_letter_of_a_register():
    found = settle_letters(Register(), before=(HIGH,))
    assert found == {
        "l": StateCycle(steps=1, period=1),
        "h": StateCycle(steps=0, period=1),
        "i": StateCycle(steps=0, period=1),
    }


def test_a_leak_settles_at_a_denormal_and_not_at_zero():
    found = settle_letters(Register(hold=0.75), before=(HIGH,))["i"]
    assert found.period == 1
    # (3/4)^n falls below 2^-149 after 359 repetitions; the last few units are rounded.
    assert 345 <= found.steps <= 365
    state = {"h": torch.ones(1, 1)}
    for _ in range(found.steps):
        state = {"h": 0.75 * state["h"]}
    assert state["h"].item() > 0
    assert 0.75 * state["h"] == state["h"]


def test_a_sign_that_flips_has_period_two():
    found = find_cycle(lambda s: {"h": -s["h"]}, {"h": torch.ones(2, 3)})
    assert found == StateCycle(steps=0, period=2)
    # The zeros of a state count as well.
    assert find_cycle(lambda s: {"h": -s["h"]}, {"h": torch.zeros(1)}) == StateCycle(steps=0, period=2)


def test_saturating_cells_settle():
    found = settle_letters(TanhRegister(dtype=torch.bfloat16))
    assert all(where is not None and where.steps < 100 for where in found.values())


def test_a_layer_that_reads_features():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layer = Gru(3, GruSettings())
    x = torch.ones(1, 3)
    with torch.no_grad():
        found = find_cycle(lambda state: layer.step(x, dict(state))[1], layer.initial_state(1), most=5_000)
    assert found is not None
    assert found.steps > 5
