"""Signs and powers in a readout: interpreter, torch and ONNX agree; architectures refuse them."""

from __future__ import annotations

import random

import numpy as np
import onnxruntime
import pytest
import torch

from nerode.compiler import compile_language
from nerode.core import NotCompilable
from nerode.languages.bestiary import find_language
from nerode.models.lower.stream import plan_stream
from nerode.models.network_module.model import load_model
from nerode.models.onnx import to_onnx
from nerode.network import Interpreter


@pytest.mark.parametrize(("name", "to"), [("set-reset", "aussm"), ("tomita-3", "aussm"), ("d4", "rwkv-7")])
def test_exact_torch_and_onnx_agree(name: str, to: str) -> None:
    network = compile_language(find_language(name), to)
    chosen = random.Random(name)
    words = [[chosen.randrange(len(network.alphabet)) for _ in range(10)] for _ in range(8)]
    symbols = network.alphabet.symbols
    exact = [
        [answer.legal.end for answer in Interpreter(network).run([symbols[i] for i in w])[1:]] for w in words
    ]
    model = load_model(network, dtype=torch.float64)
    assert model.legal(model(torch.tensor(words))[0])[..., -1].tolist() == exact
    session = onnxruntime.InferenceSession(to_onnx(network).SerializeToString())
    (scores,) = session.run(["scores"], {"letters": np.array(words)})
    assert (scores[..., -1] > 0.5).tolist() == exact


def test_architectures_have_no_signs() -> None:
    network = compile_language(find_language("d4"), "rwkv-7")
    with pytest.raises(NotCompilable, match="shows signs or powers of its state"):
        plan_stream(network, "rwkv-7", delays=True)
