"""The checks find planted errors, and outside models can be examined in one line."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.autograd.gradcheck import GradcheckError

import nerode.conformance
from nerode.conformance import CHECKS, ModelUnderTest, examine
from nerode.core import InputError
from nerode.models import DiagonalTransition


class Leaky(nn.Module):
    """h = a h + x with a in (0, 1): a model that keeps every promise, written without nerode."""

    def __init__(self, features: int = 4) -> None:
        super().__init__()
        self.logit = nn.Parameter(torch.randn(features))

    @property
    def state_size(self):
        return len(self.logit)

    def initial_state(self, batch):
        return {"h": torch.zeros(batch, len(self.logit), dtype=self.logit.dtype)}

    def step(self, x, state):
        h = self.logit.sigmoid() * state["h"] + x
        return h, {"h": h}

    def forward(self, x, state=None):
        state = self.initial_state(len(x)) if state is None else state
        outputs = []
        for position in x.unbind(1):
            y, state = self.step(position, state)
            outputs.append(y)
        return torch.stack(outputs, dim=1), state

    def transition(self, x, state=None):
        return DiagonalTransition(state="h", gate=self.logit.sigmoid().expand(*x.shape[:2], -1))


TestLeaky = nerode.conformance.suite(Leaky, features=4, gates="[0,1]")


def test_the_fixture(conformance):
    conformance(Leaky, features=4, gates="[0,1]")


class LongForward(Leaky):
    def forward(self, x, state=None):
        y, state = super().forward(x, state)
        return (y + 1e-3, state) if x.shape[1] > 100 else (y, state)


class Forgetful(Leaky):
    def forward(self, x, state=None):
        return super().forward(x, None)


class WrongGradient(Leaky):
    def forward(self, x, state=None):
        y, state = super().forward(x, state)
        return y.detach() + 0.5 * (y - y.detach()), state


class Clairvoyant(Leaky):
    def forward(self, x, state=None):
        y, state = super().forward(x, state)
        return y + 1e-3 * x.sum(1, keepdim=True), state


class Crowded(Leaky):
    def forward(self, x, state=None):
        y, state = super().forward(x, state)
        return y + 1e-3 * y.mean(0, keepdim=True), state


class Remembering(Leaky):
    calls = 0

    def forward(self, x, state=None):
        self.calls += 1
        y, state = super().forward(x, state)
        return y + self.calls, state


class Overwriting(Leaky):
    def step(self, x, state):
        state["h"].mul_(self.logit.sigmoid()).add_(x)
        return state["h"].clone(), state


class Larger(Leaky):
    @property
    def state_size(self):
        return 1


class Hidden(Leaky):
    def __init__(self, features: int = 4) -> None:
        super().__init__(features)
        self.offset = torch.randn(()).item()

    def step(self, x, state):
        y, state = super().step(x, state)
        return y + self.offset, state


class Full(Leaky):
    def forward(self, x, state=None):
        y, state = super().forward(x, state)
        return y.float().to(torch.float32) if y.dtype != torch.float64 else y, state


class Coarse(Leaky):
    """Off by a twentieth in 16 bits, which is fifty times what float16 rounds."""

    def forward(self, x, state=None):
        y, state = super().forward(x, state)
        return (y if y.dtype == torch.float64 else y + 0.05 * y.abs().max()), state


class OtherGate(Leaky):
    def transition(self, x, state=None):
        return DiagonalTransition(state="h", gate=self.logit.sigmoid().square().expand(*x.shape[:2], -1))


class Signed(Leaky):
    def step(self, x, state):
        h = self.logit.tanh() * state["h"] + x
        return h, {"h": h}

    def transition(self, x, state=None):
        return DiagonalTransition(state="h", gate=self.logit.tanh().expand(*x.shape[:2], -1))


@pytest.mark.parametrize(
    ("model", "check"),
    [
        (LongForward, "step_is_forward"),
        (Forgetful, "chunks"),
        (WrongGradient, "gradients"),
        (WrongGradient, "numerical_gradients"),
        (Clairvoyant, "causality"),
        (Crowded, "batch"),
        (Remembering, "determinism"),
        (Overwriting, "given_state_is_kept"),
        (Larger, "state_size"),
        (Hidden, "saving"),
        (Full, "low_precision"),
        (Coarse, "low_precision"),
        (OtherGate, "transition"),
        (Signed, "transition"),
    ],
)
def test_a_planted_error_is_found(model, check):
    with pytest.raises((AssertionError, GradcheckError)):
        CHECKS[check](ModelUnderTest(build=model, features=4, gates="[0,1]"))


def test_every_check_has_a_planted_error():
    planted = {case[1] for mark in test_a_planted_error_is_found.pytestmark for case in mark.args[1]}
    assert planted == set(CHECKS)


def test_examine_names_what_failed():
    found = examine(ModelUnderTest(build=Larger, features=4))
    assert found["state_size"] == "state_size is 1; the state after 1 positions has 4 numbers"
    assert [name for name, why in found.items() if why] == ["state_size"]


def test_a_subject_reads_letters_or_features():
    with pytest.raises(InputError, match="letters=… or features=…"):
        ModelUnderTest(build=Leaky)
    with pytest.raises(InputError, match="unit disk"):
        ModelUnderTest(build=Leaky, features=4, gates="[0,2]")


def test_the_plugin_does_not_load_torch():
    code = "import sys, nerode.conformance.plugin; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
