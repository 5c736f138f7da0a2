"""Nonlinear cells, forward and backward: the time of peers as multiples of theirs."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from benchmarks._rows import Work, show
from benchmarks.kernels import training
from nerode.models import coarse_products
from nerode.models.architectures import Slstm
from nerode.models.architectures.nru import Heads, nru, nru_reference
from nerode.models.architectures.slstm import SlstmSettings, slstm, slstm_reference
from nerode.models.kernels import cells
from nerode.models.kernels.linear import linear
from nerode.models.native import library as native

TORCH = {"elman-tanh": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


def module_step(module: nn.Module, x: Tensor) -> Work:
    """One forward and backward pass of a module, inputs and weights differentiated."""
    leaf = x.clone().requires_grad_()

    def output() -> Tensor:
        given = module(leaf)
        return given[0] if isinstance(given, tuple) else given

    seed = torch.randn_like(output())
    return lambda: torch.autograd.grad(output(), [leaf, *module.parameters()], seed)


def cell_step(name: str, hidden: int, batch: int, length: int, module: nn.Module | None = None) -> Work:
    """One forward and backward pass of our cell, with the weights of torch's module if one is given."""
    module = module or TORCH[name](hidden, hidden, batch_first=True)

    def ours(x: Tensor, *weights: Tensor) -> Tensor:
        w_in, w_rec, b_in, b_rec = weights
        if name == "gru":
            return cells.gru(x, w_rec, b_rec, read=(w_in, b_in))
        if name == "lstm":
            return cells.lstm(x, w_rec, read=(w_in, b_in + b_rec))[0]
        return cells.elman(linear(x, w_in, b_in + b_rec), w_rec)

    return training(ours, torch.randn(batch, length, hidden), *(p.detach() for p in module.parameters()))


def against_torch(hidden: int, batch: int, length: int) -> None:
    for name, kind in TORCH.items():
        module = kind(hidden, hidden, batch_first=True)
        works = {
            "nerode": cell_step(name, hidden, batch, length, module),
            f"torch nn.{kind.__name__}": module_step(module, torch.randn(batch, length, hidden)),
        }
        gates = {"gru": 3, "lstm": 4}.get(name, 1)
        # Two products per step, of inputs and of states; two for their gradients, and two for the weights'.
        products = 6 * batch * length * gates * hidden**2
        show(f"{name} H {hidden} B {batch} T {length}", works, products=products)


def with_coarse_products(hidden: int, batch: int, length: int) -> None:
    """The option of training, beside the same cell in float32 and torch's under autocast."""
    module = nn.LSTM(hidden, hidden, batch_first=True)
    step = cell_step("lstm", hidden, batch, length, module)
    theirs = module_step(module, torch.randn(batch, length, hidden))

    def ours() -> None:
        with coarse_products():
            step()

    def under_autocast() -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            theirs()

    works = {"nerode": ours, "nerode in float32": step, "torch nn.LSTM under autocast": under_autocast}
    show(f"lstm with bfloat16 products H {hidden} B {batch} T {length}", works)


def nru_against_loop(hidden: int, memory: int, count: int, batch: int, length: int) -> None:
    heads = Heads(count=count, memory=memory, factored=True, rectified=False)
    state = hidden + memory
    start = torch.zeros(batch, hidden), torch.zeros(batch, memory)
    tensors = (
        torch.randn(batch, length, hidden),
        *(torch.randn(rows, state) * 0.5 / state**0.5 for rows in (hidden, heads.width)),
        torch.randn(heads.width) * 0.1,
    )
    works = {
        "nerode": training(lambda *t: nru(*t, start, heads), *tensors),
        "eager loop": training(lambda *t: nru_reference(*t, start, heads), *tensors),
    }
    show(f"nru H {hidden} memory {memory} heads {count} B {batch} T {length}", works, repeats=3)


def slstm_against_loop(hidden: int, heads: int, batch: int, length: int) -> None:
    size = hidden // heads
    zero = torch.zeros(batch, hidden)
    start = (zero, zero, zero, zero)
    tensors = torch.randn(batch, length, 4 * hidden), torch.randn(heads, 4 * size, size) * 0.5 / size**0.5
    works = {
        "nerode": training(lambda *t: slstm(*t, start)[0], *tensors),
        "eager loop": training(lambda *t: slstm_reference(*t, start, exponential_forget=False)[0], *tensors),
    }
    show(f"slstm H {hidden} heads {heads} B {batch} T {length}", works, repeats=3)


def slstm_against_package(width: int, heads: int, batch: int, length: int) -> None:
    from xlstm.blocks.slstm.layer import sLSTMLayer, sLSTMLayerConfig

    config = sLSTMLayerConfig(embedding_dim=width, num_heads=heads, backend="vanilla", dtype="float32")
    package = sLSTMLayer(config)
    package.reset_parameters()
    ours = Slstm(width, SlstmSettings(heads=heads, headwise=True, convolution=4, group_norm=True))
    x = torch.randn(batch, length, width)
    works = {"nerode": module_step(ours, x), "xlstm package": module_step(package, x)}
    show(f"slstm layer d {width} heads {heads} B {batch} T {length}", works, repeats=3)


def main() -> None:
    library = native.library()
    if library is None:
        print("the native kernels are not built: nothing to measure")
        return
    threads = torch.get_num_threads()
    torch.manual_seed(0)
    try:
        torch.set_num_threads(1)
        print(f"one thread, {library._name.rsplit('/', 1)[-1].split('.')[0]}; medians of processor time")
        for hidden, batch, length in (
            (8, 64, 100),
            (64, 64, 100),
            (128, 64, 50),
            (256, 64, 30),
            (768, 64, 10),
        ):
            against_torch(hidden, batch, length)
        for hidden, batch, length in ((64, 64, 100), (128, 64, 50), (256, 64, 30)):
            with_coarse_products(hidden, batch, length)
        nru_against_loop(8, 64, 4, 64, 100)
        nru_against_loop(64, 64, 4, 64, 100)
        nru_against_loop(128, 256, 1, 64, 50)
        slstm_against_loop(64, 4, 64, 200)
        slstm_against_loop(64, 1, 64, 100)
        slstm_against_package(64, 4, 64, 128)
    finally:
        torch.set_num_threads(threads)
