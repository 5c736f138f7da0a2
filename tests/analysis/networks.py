"""Small networks whose mechanism is known, as subjects."""

from __future__ import annotations

import torch

from nerode.analysis.probes import ProbeWords
from nerode.analysis.subject import LoadedNetwork
from nerode.models import LayerConfig, Model, ModelConfig, build_model
from nerode.tasks import FlipFlop
from nerode.tasks.synthetic.flip_flop import FlipFlopSettings


def model_of(layer: str, *, letters: int = 3, width: int = 4, seed: int = 0, **settings) -> Model:
    config = ModelConfig(
        layers=(LayerConfig(name=layer, settings=settings),), letters=letters, outputs=2, width=width
    )
    return build_model(config, seed=seed).eval()


def subject_of(model: Model, **rest) -> LoadedNetwork:
    return LoadedNetwork(name="a model", model=model, **rest)


def random_probe(letters: int = 3, count: int = 6, length: int = 10, seed: int = 0) -> ProbeWords:
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randint(0, letters, (count, length), generator=generator)
    return ProbeWords(inputs=inputs, symbols=tuple("abcdefgh"[:letters]))


def ssm_with(matrix: torch.Tensor, *, letters: int = 3) -> Model:
    """An SSM with a given A that reads one-hot letters and shows its state."""
    config = ModelConfig(
        layers=(LayerConfig(name="ssm", settings={"states": len(matrix), "readout": "none"}),),
        letters=letters,
        outputs=2,
        head="linear",
    )
    model = build_model(config, seed=0).eval()
    with torch.no_grad():
        model.layers[0].A.copy_(matrix)
    return model


def flip_flop_task() -> FlipFlop:
    return FlipFlop(FlipFlopSettings())


def leaky_flip_flop(gate: float, drift: float) -> Model:
    """A minGRU of one unit: a bit moves the state to ±drift by the share 1 - gate; the answer is its sign."""
    config = ModelConfig(layers=(LayerConfig(name="mingru", settings={"hidden": 1}),), letters=5, outputs=2)
    model = build_model(config, seed=0).eval()
    layer = model.layers[0]
    score = float(torch.logit(torch.tensor(1 - gate, dtype=torch.float64))) if gate < 1 else -1000.0
    with torch.no_grad():
        # z = σ(score) for bits and 0 for instructions, up to what a float can hold.
        layer.gate.weight.copy_(torch.tensor([[-1000.0, -1000.0, -1000.0, score, score]]))
        layer.gate.bias.zero_()
        layer.candidate.weight.copy_(torch.tensor([[0.0, 0.0, 0.0, -drift, drift]]))
        layer.candidate.bias.zero_()
        model.head.weight.copy_(torch.tensor([[-1.0], [1.0]]))
        model.head.bias.zero_()
    return model
