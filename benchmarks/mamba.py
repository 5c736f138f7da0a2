"""A Mamba layer in training against mambapy's and transformers' with the same weights."""

from __future__ import annotations

from collections.abc import Callable

import mambapy.mamba
import torch
import transformers
from torch import Tensor, nn
from transformers.models.mamba.modeling_mamba import MambaMixer

from benchmarks._rows import Work, show
from nerode.models.architectures.mamba import Mamba, MambaSettings

WIDTH, STATES = 64, 16


def training_step(layer: nn.Module, x: Tensor) -> Work:
    """The work of one forward pass and of the gradients of all weights and of the inputs."""
    leaves = [x.clone().requires_grad_(), *layer.parameters()]

    def work() -> None:
        result = layer(leaves[0])
        output = result[0] if isinstance(result, tuple) else result
        torch.autograd.grad(output.square().mean(), leaves)

    return work


def with_weights(peer: nn.Module, ours: Mamba) -> nn.Module:
    weights = ours.state_dict()
    weights["conv1d.weight"] = weights.pop("convolution.weight")[:, None]
    weights["conv1d.bias"] = weights.pop("convolution.bias")
    peer.load_state_dict(weights)
    return peer


def mambapy_block(*, parallel: bool) -> nn.Module:
    return mambapy.mamba.MambaBlock(
        mambapy.mamba.MambaConfig(d_model=WIDTH, n_layers=1, d_state=STATES, pscan=parallel)
    )


def transformers_mixer(*, parallel: bool) -> nn.Module:
    config = transformers.MambaConfig(
        hidden_size=WIDTH, state_size=STATES, num_hidden_layers=1, vocab_size=2, use_mambapy=parallel
    )
    return MambaMixer(config, layer_idx=0)


PEERS: dict[str, Callable[[], nn.Module]] = {
    "mambapy": lambda: mambapy_block(parallel=True),
    "transformers with mambapy": lambda: transformers_mixer(parallel=True),
    "transformers, slow path": lambda: transformers_mixer(parallel=False),
}


def compare(batch: int, length: int, repeats: int) -> None:
    """Prints the time of our step, and that of the peers and of our signed layer as its multiples."""
    ours = Mamba(WIDTH, MambaSettings(states=STATES))
    signed = Mamba(WIDTH, MambaSettings(states=STATES, signed=True))
    x = torch.randn(batch, length, WIDTH)
    works = {"nerode": training_step(ours, x), "nerode, signed gates": training_step(signed, x)}
    for name, make in PEERS.items():
        works[name] = training_step(with_weights(make(), ours), x)
    show(f"mamba step d {WIDTH} N {STATES} B {batch} T {length}", works, repeats)


def main() -> None:
    transformers.logging.set_verbosity_error()
    threads = torch.get_num_threads()
    torch.manual_seed(0)
    try:
        torch.set_num_threads(1)
        print("one thread; medians of processor time; a step is forward and backward")
        compare(64, 128, repeats=3)
        # The slow path of transformers takes time in the square of the length: fewer sequences, once.
        compare(16, 512, repeats=1)
    finally:
        torch.set_num_threads(threads)
