"""Parts of torch that are put off: nothing on a CPU changes, and who asks for them has them."""

from __future__ import annotations

import subprocess
import sys

import pytest

_BEGIN = """
from nerode.core.deferral import _PUT_OFF, _Unloaded, defer_registrations
defer_registrations()
import sys, torch
def waiting():
    return [name for name in _PUT_OFF if isinstance(sys.modules[name].__spec__.loader, _Unloaded)]
assert waiting() == list(_PUT_OFF), waiting()
"""

_SHAPES = "assert torch.ones(3, 3, device='meta').logcumsumexp(0).shape == (3, 3)"


@pytest.mark.parametrize(
    "program",
    [
        "assert torch.export.export is not None and 'torch.export' not in waiting()",
        "from torch.distributions import Normal; assert Normal(0.0, 1.0).mean == 0",
        f"import torch._dynamo; assert not waiting(); {_SHAPES}",
        "assert torch.compile(torch.exp, backend='eager')(torch.zeros(2)).sum() == 2; assert not waiting()",
        "assert torch.export.export(torch.nn.Linear(2, 2), (torch.ones(1, 2),)) is not None",
    ],
)
def test_what_is_asked_for_is_loaded(program):
    found = subprocess.run([sys.executable, "-c", _BEGIN + program], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr


def test_networks_give_the_same_bits():
    program = """
from nerode.models import all_kinds, build_model, model_config
import hashlib
digest = hashlib.sha256()
for kind in ("gru", "mamba", "s4d", "gated-deltanet", "transformer"):
    model = build_model(model_config(kind, letters=3, outputs=4, width=8), seed=0)
    scores, _ = model(torch.arange(12).reshape(2, 6) % 3)
    scores.logsumexp(-1).sum().backward()
    for tensor in (scores, *(weight.grad for weight in model.parameters())):
        digest.update(tensor.detach().numpy().tobytes())
print(digest.hexdigest())
"""
    begins = (_BEGIN, "import torch")
    outputs = [subprocess.check_output([sys.executable, "-c", f"{b}\n{program}"]) for b in begins]
    assert outputs[0] == outputs[1]
