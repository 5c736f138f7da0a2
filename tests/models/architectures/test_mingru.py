"""minGRU: its published parallel form in logarithms, and its gates."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from nerode.core import InputError
from nerode.models.architectures.mingru import MinGru, MinGruSettings
from tests.models.architectures.peers import features


def layer(width: int, **settings: Any) -> MinGru:
    torch.manual_seed(0)
    return MinGru(width, MinGruSettings(**settings)).double()


def test_it_is_the_published_sum_in_logarithms() -> None:
    made = layer(5, hidden=7, positive=True)
    x, start = 3 * features(2, 40, 5), features(2, 7).exp()
    score, candidate = made.gate(x), made.candidate(x)
    log_hold = -torch.nn.functional.softplus(score)
    log_write = -torch.nn.functional.softplus(-score)
    log_g = torch.where(candidate >= 0, (candidate.relu() + 0.5).log(), -torch.log1p(torch.exp(-candidate)))
    held = log_hold.cumsum(1)
    terms = torch.cat([start.log()[:, None], log_write + log_g - held], dim=1)
    expected = (held + terms.logcumsumexp(1)[:, 1:]).exp()
    torch.testing.assert_close(made(x, {"h": start})[0], expected, rtol=1e-10, atol=1e-10)


def test_the_recurrence_by_hand() -> None:
    made = layer(3)
    x = features(1, 6, 3)
    h = torch.zeros(3, dtype=torch.float64)
    for t in range(6):
        z = 1 / (1 + torch.exp(-(made.gate.weight @ x[0, t] + made.gate.bias)))
        h = (1 - z) * h + z * (made.candidate.weight @ x[0, t] + made.candidate.bias)
    torch.testing.assert_close(made(x)[1]["h"][0], h)


def test_signed_gates() -> None:
    x = features(2, 5, 4)
    plain, signed = layer(4).transition(x).gate, layer(4, signed=True).transition(x).gate
    torch.testing.assert_close(signed, 2 * plain - 1)


def test_a_signed_gate_counts_modulo_two() -> None:
    made = layer(1, signed=True, learned_start=True).float()
    with torch.no_grad():
        made.gate.weight.fill_(140.0)
        made.gate.bias.fill_(-40.0)
        made.candidate.weight.zero_()
        made.candidate.bias.zero_()
        made.start.fill_(1.0)  # type: ignore[union-attr]
        bits = torch.randint(2, (3, 2000, 1), generator=torch.Generator().manual_seed(0)).float()
        h, _ = made(bits)
    assert torch.equal(h, 1 - 2 * (bits.cumsum(1) % 2))


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(InputError, match="hidden is 0"):
        MinGruSettings(hidden=0)
