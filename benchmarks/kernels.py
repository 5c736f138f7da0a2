"""Native kernels, forward and backward: the time of peers and of plain torch as multiples of theirs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import mambapy.pscan
import torch
from torch import Tensor, nn

from benchmarks._rows import Work, show
from nerode.models.kernels.matrix_scan import (
    decay_in_chunks,
    decay_scan,
    decay_scan_reference,
    delta_in_chunks,
    delta_scan,
    delta_scan_reference,
    erase_scan,
    erase_scan_reference,
)
from nerode.models.kernels.scan import (
    diagonal_scan,
    diagonal_scan_reference,
    selective_scan,
    selective_scan_reference,
)
from nerode.models.native import library as native
from nerode.training.environment import keep_freed_memory


def training(function: Callable[..., object], *tensors: Tensor) -> Work:
    """The work of one forward and backward pass, all inputs differentiated."""
    leaves = [tensor.detach().clone().requires_grad_() for tensor in tensors]
    first = function(*leaves)
    weight = torch.randn_like(first[0] if isinstance(first, tuple) else first)

    def work() -> None:
        result = function(*leaves)
        output = result[0] if isinstance(result, tuple) else result
        torch.autograd.grad(output, leaves, weight)

    return work


def associative_scan(gate: Tensor, inputs: Tensor) -> Tensor:
    """torch's own associative scan, not compiled; it starts from zero."""
    from torch._higher_order_ops.associative_scan import associative_scan as scan

    def join(left: tuple[Tensor, Tensor], right: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        return left[0] * right[0], right[0] * left[1] + right[1]

    result: Tensor = scan(join, (gate, inputs), dim=1, combine_mode="generic")[1]
    return result


def diagonal(shape: tuple[int, int, int], dtype: torch.dtype, *, slow: bool = True) -> None:
    gate = torch.rand(shape, dtype=dtype) * 0.9
    inputs = torch.randn(shape, dtype=dtype)
    start = torch.zeros(shape[0], shape[2], dtype=dtype)
    works: dict[str, Work] = {"nerode": training(lambda a, b: diagonal_scan(a, b)[0], gate, inputs)}
    # Forward reads a, b and writes h; backward reads a, h, dh and writes da, db: four copies of one array.
    places = [torch.empty_like(inputs) for _ in range(4)]
    works["copy of the bytes"] = lambda: [place.copy_(inputs) for place in places]
    works["copy with allocation"] = lambda: [inputs.clone() for _ in range(4)]
    pscan = mambapy.pscan.pscan
    works["mambapy pscan"] = training(lambda a, b: pscan(a[..., None], b[..., None]), gate, inputs)
    if slow:
        works["torch loop"] = training(lambda a, b: diagonal_scan_reference(a, b, start), gate, inputs)
        works["associative scan"] = training(associative_scan, gate, inputs)
    show(f"diagonal scan {shape} {str(dtype)[6:]}", works, repeats=3)


def selective(batch: int, length: int, channels: int, states: int) -> None:
    x, delta = torch.randn(batch, length, channels), torch.rand(batch, length, channels) * 0.1
    A, D = -torch.arange(1.0, states + 1).repeat(channels, 1), torch.ones(channels)
    B, C = torch.randn(2, batch, length, states)

    def parallel(x: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor) -> Tensor:
        gate = torch.exp(delta[..., None] * A)
        inputs = (delta * x)[..., None] * B[:, :, None]
        return (mambapy.pscan.pscan(gate, inputs) @ C[..., None]).squeeze(-1) + D * x

    start = torch.zeros(batch, channels, states)
    tensors = (x, delta, A, B, C, D)
    works = {
        "nerode": training(selective_scan, *tensors),
        "mambapy's form (pscan)": training(parallel, *tensors),
        "torch loop": training(lambda *t: selective_scan_reference(*t, start), *tensors),
    }
    show(f"selective scan B {batch} T {length} d {channels} N {states}", works, repeats=3)


def matrices(batch: int, length: int, size: int) -> None:
    q, k, v = torch.randn(3, batch, length, 1, size)
    k = nn.functional.normalize(k, dim=-1)
    start = torch.zeros(batch, 1, size, size)
    scalar, vector = torch.rand(batch, length, 1), torch.rand(batch, length, 1, size)
    for name, decay in (("scalar decay", scalar), ("vector decay", vector)):
        tensors = (q, k, v, 0.9 + 0.1 * decay)
        works = {"nerode": training(decay_scan, *tensors)}
        for chunk in (32, 64):
            works[f"chunks of {chunk}"] = training(
                lambda *t, chunk=chunk: decay_in_chunks(*t, start, chunk)[0], *tensors
            )
        works["torch loop"] = training(lambda *t: decay_scan_reference(*t, start), *tensors)
        show(f"{name} B {batch} T {length} {size}×{size}", works, repeats=3)


def deltas(batch: int, length: int, size: int) -> None:
    q, k, v = torch.randn(3, batch, length, 1, size)
    k = nn.functional.normalize(k, dim=-1)
    start = torch.zeros(batch, 1, size, size)
    tensors = (q, k, v, torch.rand(batch, length, 1))

    def single(q: Tensor, k: Tensor, v: Tensor, beta: Tensor) -> Tensor:
        return delta_scan(q, k[:, :, None], v[:, :, None], beta[:, :, None])[0]

    def loop(q: Tensor, k: Tensor, v: Tensor, beta: Tensor) -> Tensor:
        tall = k[:, :, None], v[:, :, None], beta[:, :, None]
        return delta_scan_reference(q, *tall, None, start)[0]

    def chunked(q: Tensor, k: Tensor, v: Tensor, beta: Tensor, size: int) -> Tensor:
        tall = k[:, :, None], v[:, :, None], beta[:, :, None]
        return delta_in_chunks(q, *tall, None, start, size)[0]

    works = {"nerode": training(single, *tensors)}
    for chunk in (16, 32):
        works[f"chunks of {chunk}"] = training(partial(chunked, size=chunk), *tensors)
    works["torch loop"] = training(loop, *tensors)
    show(f"delta rule B {batch} T {length} {size}×{size}", works, repeats=3)
    # RWKV-7: q, k, v, a decay for each row, what is looked up and how much of it is taken away.
    tensors = (q, torch.randn_like(k), v, torch.rand_like(k), k, torch.rand_like(k) * k)
    works = {
        "nerode": training(erase_scan, *tensors),
        "torch loop": training(lambda *t: erase_scan_reference(*t, start), *tensors),
    }
    show(f"erase rule B {batch} T {length} {size}×{size}", works, repeats=3)


def main() -> None:
    library = native.library()
    if library is None:
        print("the native kernels are not built: nothing to measure")
        return
    threads = torch.get_num_threads()
    torch.manual_seed(0)
    try:
        torch.set_num_threads(1)
        # As training does; the peers have it, too.
        keep_freed_memory()
        print(f"one thread, {library._name.rsplit('/', 1)[-1].split('.')[0]}; medians of processor time")
        diagonal((64, 512, 16), torch.complex64)
        diagonal((64, 512, 64), torch.float32)
        diagonal((8, 512, 512), torch.complex64, slow=False)
        diagonal((16, 512, 512), torch.complex64, slow=False)
        selective(64, 128, 128, 16)
        matrices(16, 512, 64)
        deltas(16, 512, 64)
    finally:
        torch.set_num_threads(threads)
