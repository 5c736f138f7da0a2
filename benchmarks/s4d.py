"""Fixed linear recurrences in chunks against the Fourier forms of the papers and against loops."""

from __future__ import annotations

import torch
from torch import Tensor

from benchmarks._rows import Work, show
from benchmarks.kernels import training
from nerode.models.architectures.s4 import S4, S4Settings
from nerode.models.architectures.s4d import S4d, S4dSettings
from nerode.models.kernels.scan import diagonal_scan
from nerode.models.parts.time_invariant import dense_states, diagonal_system


def convolve(x: Tensor, kernel: Tensor) -> Tensor:
    """The causal convolution of sequences (batch, time, channels) with kernels (channels, time)."""
    size = 2 * x.shape[1]
    product = torch.fft.rfft(kernel, n=size) * torch.fft.rfft(x.transpose(1, 2), n=size)
    return torch.fft.irfft(product, n=size)[..., : x.shape[1]].transpose(1, 2)


def by_fourier(x: Tensor, gate: Tensor, write: Tensor, read: Tensor) -> Tensor:
    """S4D as it is trained in its paper: from a zero state, and without the state at the end."""
    powers = torch.exp(gate.log()[..., None] * torch.arange(x.shape[1]))
    return convolve(x, torch.einsum("hn,hnt->ht", read * write, powers).real)


def by_fourier_with_states(
    x: Tensor, gate: Tensor, write: Tensor, read: Tensor, state: Tensor
) -> tuple[Tensor, Tensor]:
    """The same from a given state, and with the state at the end."""
    time = x.shape[1]
    powers = torch.exp(gate.log()[..., None] * torch.arange(time + 1))
    y = convolve(x, torch.einsum("hn,hnt->ht", read * write, powers[..., :-1]).real)
    y = y + torch.einsum("bhn,hnt->bth", read * state, powers[..., 1:]).real
    entering = torch.view_as_real(write[..., None] * powers[..., :-1].flip(-1)).permute(0, 2, 1, 3)
    gained = (x.permute(2, 0, 1) @ entering.flatten(2)).unflatten(-1, (-1, 2)).transpose(0, 1)
    return y, powers[..., -1] * state + torch.view_as_complex(gained.contiguous())


def by_scan(x: Tensor, gate: Tensor, write: Tensor, read: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    """Every state at every position by the native scan."""
    states, last = diagonal_scan(gate, write * x[..., None], state)
    return (read * states).sum(-1).real, last


def s4d(batch: int, time: int, width: int, states: int, *, scan: bool = False) -> None:
    """One line; the scan of all states only where asked for, because its arrays slow down what runs next."""
    with torch.no_grad():
        system = S4d(width, S4dSettings(states=states)).ssm.discrete()
    weights = (system.gate, system.write, system.read)
    x, state = torch.randn(batch, time, width), torch.randn(batch, *system.gate.shape, dtype=torch.cfloat)
    works: dict[str, Work] = {
        "nerode": training(diagonal_system, x, *weights),
        "FFT": training(by_fourier, x, *weights),
        "nerode from a state": training(diagonal_system, x, *weights, state),
        "FFT with states": training(by_fourier_with_states, x, *weights, state),
    }
    if scan:
        works["native scan of all states"] = training(by_scan, x, *weights, state)
    show(f"S4D B {batch} T {time} d {width} N {states}", works)


def s4(batch: int, time: int, width: int, states: int) -> None:
    """S4 in chunks against its own Fourier form, both from the matrices of one step."""
    layer = S4(width, S4Settings(states=states, mixing="none"))
    x = torch.randn(batch, time, width)

    def chunks() -> None:
        torch.autograd.grad(layer(x)[0].sum(), list(layer.parameters()))

    def cauchy() -> None:
        y = convolve(x, cauchy_kernel(layer, time)) + layer.D * x
        torch.autograd.grad(torch.nn.functional.gelu(y).sum(), list(layer.parameters()))

    show(
        f"S4 B {batch} T {time} d {width} N {states}", {"nerode": chunks, "Cauchy and FFT": cauchy}, repeats=3
    )


def cauchy_kernel(layer: S4, time: int) -> Tensor:
    """The kernel of S4 by Cauchy products at the roots of unity and a correction of rank one, as published.

    C (I - Aᵀ) is computed from C, where the published layer trains it.
    """
    rate = torch.complex(-layer.log_decay.exp(), layer.frequency)
    P, B, C = (torch.view_as_complex(w) for w in (layer.P, layer.B, layer.C))
    step = layer.log_step.exp()[:, None]
    power = torch.linalg.matrix_power(layer.transition(torch.empty(1, 1, layer.inputs)).matrix[0, 0], time)
    pairs = torch.view_as_real(C.conj().resolve_conj()).flatten(1)
    cut = (pairs[:, None] - pairs[:, None] @ power)[:, 0].unflatten(-1, (-1, 2))
    C = torch.view_as_complex(cut.contiguous()).conj()
    roots = torch.exp(-2j * torch.pi * torch.arange(time // 2 + 1) / time)
    nodes = 2 * (1 - roots) / (1 + roots)

    def product(left: Tensor, right: Tensor) -> Tensor:
        terms, other = left * right * step, (left * right).conj() * step
        below = nodes[:, None, None] - rate * step
        conjugate = nodes[:, None, None] - rate.conj() * step
        return (terms / below + other / conjugate).sum(-1)

    inner = product(C, B) - product(C, P) * product(P.conj(), B) / (1 + product(P.conj(), P))
    return torch.fft.irfft((inner * (2 / (1 + roots))[:, None]).T, n=time)


def dense(batch: int, time: int, states: int) -> None:
    matrix = torch.randn(states, states) * 0.5 * states**-0.5
    inputs, start = torch.randn(batch, time, states), torch.zeros(batch, states)

    def loop(matrix: Tensor, inputs: Tensor, state: Tensor) -> Tensor:
        found = []
        for position in inputs.unbind(1):
            state = torch.addmm(position, state, matrix.T)
            found.append(state)
        return torch.stack(found, dim=1)

    works: dict[str, Work] = {
        "nerode": training(dense_states, matrix, inputs, start),
        "torch loop": training(loop, matrix, inputs, start),
    }
    show(f"dense recurrence B {batch} T {time} n {states}", works)


def main() -> None:
    threads = torch.get_num_threads()
    torch.manual_seed(0)
    try:
        torch.set_num_threads(1)
        print("one thread; medians of processor time")
        for batch, time in ((64, 20), (64, 64), (64, 128), (16, 128), (16, 512), (16, 1024), (2, 4096)):
            s4d(batch, time, 64, 64)
        s4d(16, 256, 64, 64, scan=True)
        for batch, time in ((16, 127), (16, 511), (16, 1023)):
            s4(batch, time, 64, 64)
        for batch, time, states in ((64, 16, 145), (64, 100, 64), (16, 512, 64)):
            dense(batch, time, states)
    finally:
        torch.set_num_threads(threads)
