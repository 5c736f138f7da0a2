"""Linear recurrences over sequences: dense ones that the input sets, and fixed systems of each channel.

A sequence is cut into chunks. Inside a chunk an output is a sum over the inputs so far, one product with a
Toeplitz matrix of the kernel C A^k B; from chunk to chunk only the state is carried. On a CPU this beats the
convolution by Fourier transforms that the papers train with (`benchmarks/s4d.py`), it costs time linear in
the length, and it takes and gives states as it goes.
"""

from __future__ import annotations

from abc import abstractmethod

import torch
from jaxtyping import Complex, Float
from torch import Tensor
from torch.nn.functional import pad

from nerode.models.base import DenseTransition, RecurrentLayer, State
from nerode.models.kernels.cells import elman
from nerode.models.kernels.scan import dense_scan, diagonal_scan
from nerode.models.native.calls import runs_natively
from nerode.models.shared_terms import shared

CHUNK = 32
"""Positions in a chunk of a long sequence: of 16, 32, 64 and 128 the fastest or near it, at all lengths."""

WHOLE = 128
"""Up to this length a diagonal system takes the sequence as one chunk, which saves carrying its states."""


def diagonal_system(
    x: Float[Tensor, "batch time channels"],
    gate: Complex[Tensor, "channels states"],
    write: Complex[Tensor, "channels states"],
    read: Complex[Tensor, "channels states"],
    state: Complex[Tensor, "batch channels states"] | None = None,
) -> tuple[Float[Tensor, "batch time channels"], Complex[Tensor, "batch channels states"]]:
    """Returns y_t = Re(Σ read h_t) and the last state, where h_t = gate ∘ h_{t-1} + write x_t.

    Args:
        x: the inputs, float32 or float64.
        gate: what each number of the state is multiplied by.
        write: how the input of a channel enters its state.
        read: how its state is read.
        state: h_0; zero when not given, which saves work in short sequences.
    """
    batch, time, _ = x.shape
    size = time if time <= WHOLE else CHUNK
    powers, inside, entering = shared(_diagonal_terms, gate, write, read, size)
    chunks = _cut(x, size)
    rest = (time - 1) % size + 1
    tail = _as_complex_states(_last_chunks(chunks, batch)[..., :rest] @ entering[:, size - rest :], batch)[
        :, 0
    ]
    if state is None and time == size:
        return _join(chunks @ inside, batch, time), tail
    before = (tail.new_zeros(tail.shape) if state is None else state)[:, None]
    if time > size:
        gained = _as_complex_states(chunks @ entering, batch)[:, :-1]
        later, _ = diagonal_scan(powers[..., size], gained, before[:, 0])
        before = torch.cat([before, later], dim=1)
    carried = torch.view_as_real(before).permute(2, 0, 1, 3, 4).flatten(3).flatten(1, 2)
    y = torch.cat([chunks, carried], dim=2) @ shared(_with_state, inside, read, powers)
    return _join(y, batch, time), powers[..., rest] * before[:, -1] + tail


def _diagonal_terms(gate: Tensor, write: Tensor, read: Tensor, size: int) -> tuple[Tensor, Tensor, Tensor]:
    """The powers of the gate, and the outputs and the state of a chunk by its inputs."""
    powers = gate_powers(gate, size)
    kernel = ((read * write)[..., None] * powers[..., :size]).sum(1).real
    entering = _as_real_columns(write[..., None] * powers[..., :size].flip(-1)).transpose(1, 2)
    return powers, _toeplitz(kernel), entering


def _with_state(inside: Tensor, read: Tensor, powers: Tensor) -> Tensor:
    """The outputs of a chunk by its inputs, and below by the state before it."""
    leaving = _as_real_columns((read[..., None] * powers[..., 1:]).conj())
    return torch.cat([inside, leaving], dim=1)


def dense_system(
    x: Float[Tensor, "batch time channels"],
    matrix: Float[Tensor, "channels states states"],
    write: Float[Tensor, "channels states"],
    read: Float[Tensor, "channels outputs states"],
    state: Float[Tensor, "batch channels states"],
) -> tuple[Float[Tensor, "batch time channels outputs"], Float[Tensor, "batch channels states"]]:
    """Returns y_t = read h_t and the last state, where h_t = matrix h_{t-1} + write x_t.

    Args:
        x: the inputs, float32 or float64.
        matrix: A, one for each channel.
        write: B, how the input of a channel enters its state.
        read: C, how its state is read, once for each output.
        state: h_0.
    """
    batch, time, _ = x.shape
    outputs = read.shape[1]
    size = min(CHUNK, time)
    inside, entering, *squares = shared(_dense_terms, matrix, write, read, size)
    chunks = _cut(x, size)
    before = [state.transpose(0, 1)]
    gained = torch.unflatten(chunks @ entering, 1, (batch, -1)).unbind(2)
    for gain in gained[:-1]:
        before.append(_advance(squares, before[-1], size) + gain)
    carried = torch.stack(before, dim=2).flatten(1, 2)
    y = torch.cat([chunks, carried], dim=2) @ inside
    rest = (time - 1) % size + 1
    final = _advance(squares, before[-1], rest)
    final = final + _last_chunks(chunks, batch)[..., :rest] @ entering[:, size - rest :]
    y = torch.unflatten(torch.unflatten(y, 2, (outputs, size)), 1, (batch, -1))
    y = y.permute(1, 2, 4, 0, 3).flatten(1, 2)
    return y[:, :time], final.transpose(0, 1)


def _dense_terms(matrix: Tensor, write: Tensor, read: Tensor, size: int) -> tuple[Tensor, ...]:
    """The outputs by inputs and state, the state by inputs, and powers of the matrix: of a chunk."""
    channels, outputs, _ = read.shape
    squares = _repeated_squares(matrix, size)
    reached = _krylov(squares, write[..., None], size)
    seen = _krylov([s.transpose(1, 2) for s in squares], (read @ matrix).transpose(1, 2), size)
    kernel = (read @ reached).flatten(0, 1)
    leaving = torch.unflatten(seen, 2, (size, outputs)).transpose(2, 3).flatten(2)
    inside = torch.unflatten(_toeplitz(kernel), 0, (channels, outputs)).transpose(1, 2).flatten(2)
    return torch.cat([inside, leaving], dim=1), reached.flip(2).transpose(1, 2), *squares


def finite_convolution(
    seen: Float[Tensor, "batch extended channels"], kernel: Float[Tensor, "channels size"]
) -> Float[Tensor, "batch time channels"]:
    """Returns y_t = Σ_j kernel_j x_{t-j}.

    Args:
        seen: the inputs x, after the size - 1 inputs before them.
        kernel: the weight of each age, the newest first.
    """
    batch, size = len(seen), kernel.shape[1]
    time = seen.shape[1] - size + 1
    chunk = min(CHUNK, time)
    width = chunk + size - 1
    windows = pad(seen, (0, 0, 0, -time % chunk)).unfold(1, width, chunk).permute(2, 0, 1, 3).flatten(1, 2)
    return _join(windows @ shared(_band, kernel, chunk), batch, time)


def _band(kernel: Tensor, chunk: int) -> Tensor:
    """The outputs of a chunk by the inputs of its window."""
    width = chunk + kernel.shape[1] - 1
    return pad(kernel.flip(1), (chunk - 1, chunk - 1)).unfold(1, width, 1).flip(1).transpose(1, 2)


def gate_powers(
    gate: Complex[Tensor, "channels states"], highest: int
) -> Complex[Tensor, "channels states powers"]:
    """Returns the powers 0 … highest by repeated doubling: those of ±1 and ±i come out exact."""
    powers = torch.stack([torch.ones_like(gate), gate], dim=-1)
    while powers.shape[-1] <= highest:
        powers = torch.cat([powers, powers[..., 1:] * powers[..., -1:]], dim=-1)
    return powers[..., : highest + 1]


def _repeated_squares(matrix: Tensor, highest: int) -> list[Tensor]:
    """A, A², A⁴, …, enough to make every power up to `highest`."""
    squares = [matrix]
    while 2 ** len(squares) <= highest:
        squares.append(squares[-1] @ squares[-1])
    return squares


def _krylov(squares: list[Tensor], vectors: Tensor, count: int) -> Tensor:
    """A^k V for k = 0 … count - 1 side by side, (channels, states, count × vectors)."""
    found, wanted = vectors, count * vectors.shape[2]
    for square in squares:
        if found.shape[2] < wanted:
            found = torch.cat([found, square @ found], dim=2)
    return found[:, :, :wanted]


def _advance(squares: list[Tensor], states: Tensor, steps: int) -> Tensor:
    """The states (channels, batch, states) multiplied `steps` times by the matrix."""
    for bit, square in enumerate(squares):
        if steps >> bit & 1:
            states = states @ square.transpose(1, 2)
    return states


def _as_real_columns(values: Tensor) -> Tensor:
    """Complex (channels, states, count) as real (channels, 2 states, count)."""
    return torch.view_as_real(values.resolve_conj()).transpose(2, 3).flatten(1, 2)


def _toeplitz(kernel: Tensor) -> Tensor:
    """The matrices with kernel[t - s] in row s and column t, zero below the diagonal."""
    size = kernel.shape[1]
    return pad(kernel, (size - 1, 0)).unfold(1, size, 1).flip(1)


def _as_complex_states(pairs: Tensor, batch: int) -> Tensor:
    """Real (channels, batch × chunks, 2 states) as complex (batch, chunks, channels, states)."""
    pairs = torch.unflatten(torch.unflatten(pairs, 2, (-1, 2)), 1, (batch, -1))
    return torch.view_as_complex(pairs.permute(1, 2, 0, 3, 4).contiguous())


def _cut(x: Tensor, size: int) -> Tensor:
    """The chunks of a sequence, (channels, batch × chunks, size), the last filled up with zeros."""
    missing = -x.shape[1] % size
    whole = pad(x, (0, 0, 0, missing)) if missing else x
    # Laid out row by row: products of matrices that are not are many times slower.
    return torch.unflatten(whole, 1, (-1, size)).permute(3, 0, 1, 2).flatten(1, 2).contiguous()


def _last_chunks(chunks: Tensor, batch: int) -> Tensor:
    """The last chunk of each sequence, (channels, batch, size)."""
    return torch.unflatten(chunks, 1, (batch, -1))[:, :, -1]


def _join(y: Tensor, batch: int, time: int) -> Tensor:
    """Chunks (channels, batch × chunks, size) as a sequence (batch, time, channels)."""
    return torch.unflatten(y, 1, (batch, -1)).permute(1, 2, 3, 0).flatten(1, 2)[:, :time]


DENSE_CHUNK = 16
LONG = 128
FEW = 2048
"""Chunks are worth their extra products from `LONG` positions on, if a step has at most `FEW` numbers: then
the loop spends its time on calls and not on arithmetic. Measured by `benchmarks/s4d.py`."""


def dense_states(
    matrix: Float[Tensor, "states states"],
    inputs: Float[Tensor, "batch time states"],
    initial: Float[Tensor, "batch states"],
) -> Float[Tensor, "batch time states"]:
    """Returns h_1 … h_T: by a loop over the positions, or, without a kernel, over those of all chunks."""
    if runs_natively(matrix, inputs, initial):
        return elman(inputs, matrix, initial, "none")
    if inputs.shape[1] < LONG or initial.numel() > FEW:
        return _loop(matrix, inputs, initial)
    return _in_chunks(matrix, inputs, initial)


def _loop(matrix: Tensor, inputs: Tensor, state: Tensor) -> Tensor:
    turned = matrix.T
    states = []
    for position in inputs.unbind(1):
        state = torch.addmm(position, state, turned)
        states.append(state)
    return torch.stack(states, dim=1)


def _in_chunks(matrix: Tensor, inputs: Tensor, initial: Tensor) -> Tensor:
    """The states of each chunk from zero, then from chunk to chunk what the state before it adds."""
    batch, time, size = inputs.shape
    powers = matrix.T
    while powers.shape[1] < DENSE_CHUNK * size:
        powers = torch.cat([powers, powers[:, -size:] @ powers], dim=1)
    if not powers.isfinite().all():
        # A power may overflow where no state does: in float16 that of 2 is enough.
        return _loop(matrix, inputs, initial)
    chunks = pad(inputs, (0, 0, 0, -time % DENSE_CHUNK)).reshape(-1, DENSE_CHUNK, size)
    inside = _loop(matrix, chunks, torch.zeros_like(chunks[:, 0]))
    before = [initial]
    for gained in inside[:, -1].reshape(batch, -1, size).unbind(1)[:-1]:
        before.append(torch.addmm(gained, before[-1], powers[:, -size:]))
    carried = torch.stack(before, dim=1).reshape(-1, size) @ powers
    return (inside + carried.view_as(inside)).reshape(batch, -1, size)[:, :time]


POSITIONS_AT_ONCE = 512
"""Bounds the memory for matrices where no gradient keeps them."""


class DenseLayer(RecurrentLayer):
    """A layer with a dense transition, block by block; an architecture says what A, B and the output are.

    The state is `h` (batch, blocks, n, columns), real or complex.
    """

    @abstractmethod
    def matrices(self, x: Float[Tensor, "... inputs"]) -> Tensor:
        """Returns A (…, blocks, n, n), in the type of the state."""

    @abstractmethod
    def writes(self, x: Float[Tensor, "... inputs"]) -> Tensor | None:
        """Returns B (…, blocks, n, columns) in the type of the state; None for zero."""

    @abstractmethod
    def output(self, h: Tensor, x: Float[Tensor, "... inputs"]) -> Float[Tensor, "... outputs"]:
        """Returns the output that a state (…, blocks, n, columns) gives at an input."""

    @abstractmethod
    def first_state(self) -> Tensor:
        """Returns H₀ (blocks, n, columns)."""

    def initial_state(self, batch: int) -> State:
        """Returns H₀ for each sequence."""
        return {"h": self.first_state().expand(batch, -1, -1, -1)}

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the output of one position and H after it."""
        h = self.matrices(x) @ state["h"]
        written = self.writes(x)
        h = h if written is None else h + written
        return self.output(h, x), {"h": h}

    def run(self, x: Float[Tensor, "batch time inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence and H after it."""
        h = state["h"]
        outputs = []
        for part in torch.split(x, POSITIONS_AT_ONCE, dim=1):
            states = dense_scan(self.matrices(part), self.writes(part), h)
            h = states[:, -1]
            outputs.append(self.output(states, part))
        return torch.cat(outputs, dim=1), {"h": h}

    def transition_from(self, x: Float[Tensor, "batch time inputs"], state: State) -> DenseTransition:
        """Returns the matrices of all positions."""
        return DenseTransition(state="h", matrix=self.matrices(x), columns=True)
