from __future__ import annotations

import torch
from torch import nn

from nerode.models.parts.weights import add_weight


def test_a_learned_weight_is_trained_and_a_fixed_one_only_saved() -> None:
    module = nn.Module()
    add_weight(module, "learned", torch.ones(2), learned=True)
    add_weight(module, "fixed", torch.ones(3), learned=False)
    assert [name for name, _ in module.named_parameters()] == ["learned"]
    assert set(module.state_dict()) == {"learned", "fixed"}
