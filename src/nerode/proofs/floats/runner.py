"""A module with its scores decoded, its states as rows of bytes, and the language's configurations by number.

States are compared by their bits, so 0.0 and -0.0 are two states: a module may tell them apart (by a
quotient, `copysign` or `atan2`), and taking them for one would prove too much. A NaN is refused wherever it
occurs; infinities are numbers like others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from nerode.core import InputError
from nerode.kernel import DTYPES, RECOGNISE
from nerode.languages import Alphabet, Language, Legal

State = dict[str, Tensor]
Answers = npt.NDArray[np.bool_]
"""For each word: which letters may follow, in the order of the alphabet, and last whether it may end."""

Decode = Callable[[Tensor], Tensor]

_REAL = {torch.complex128: torch.float64, torch.complex64: torch.float32}


class StepModule(Protocol):
    """The interface of a module: its start, and one letter after the other."""

    def initial_state(self, batch: int) -> State:
        """Returns the state before the first letter; the first axis of every tensor is the batch."""
        ...

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Returns the scores (batch, …) after the letters (batch,), and the state after them."""
        ...


@dataclass(frozen=True, kw_only=True)
class Runner:
    """A module with a fixed dtype and a way to read its scores.

    Attributes:
        module: the module.
        alphabet: the letters that it reads, by number.
        dtype: the float format of its parameters.
        decode: from scores (…, scores) to truth values (…, letters + 1).
        empty: what it says about the empty prefix; None if it says nothing there.
    """

    module: StepModule
    alphabet: Alphabet
    dtype: str
    decode: Decode
    empty: Legal | None

    def start(self) -> State:
        """Returns the state of one word before its first letter."""
        with torch.no_grad():
            return dict(self.module.initial_state(1))

    def step(self, letters: npt.NDArray[np.int64], state: State) -> tuple[Answers, State]:
        """Returns the answers after one letter each, and the states."""
        with torch.no_grad():
            scores, after = self.module.step(torch.from_numpy(letters), state)
            return self.read(scores), dict(after)

    @property
    def has_forward(self) -> bool:
        """Whether the module reads whole sequences; torch gives every module a `forward` that only raises."""
        own = getattr(type(self.module), "forward", None)
        return own is not None and own is not nn.Module.forward

    def forward(self, letters: npt.NDArray[np.int64], state: State) -> tuple[Answers, State]:
        """Returns the answers after each letter of sequences (batch, time), and the last states.

        Raises:
            InputError: if the module has no `forward`.
        """
        if not self.has_forward:
            raise InputError("the module has no `forward`; measure it step by step")
        with torch.no_grad():
            scores, after = self.module.forward(torch.from_numpy(letters), state)  # type: ignore[attr-defined]
            return self.read(scores), dict(after)

    def run(self, letters: npt.NDArray[np.int64], state: State, *, steps: bool) -> tuple[Answers, State]:
        """Returns the answers after each letter of sequences (batch, time), by `step` or by `forward`."""
        if not steps:
            return self.forward(letters, state)
        rows = []
        for column in letters.T:
            answers, state = self.step(np.ascontiguousarray(column), state)
            rows.append(answers)
        return np.stack(rows, axis=1), state

    def read(self, scores: Tensor) -> Answers:
        """Returns the answers that scores stand for, for each letter and last for the end."""
        answers = self.decode(scores)
        if answers.dtype != torch.bool or answers.shape[-1] != len(self.alphabet) + 1:
            raise InputError(
                f"the scores decode to {answers.dtype} of shape {tuple(answers.shape)}; wanted are truth "
                f"values for {len(self.alphabet)} letters and the end"
            )
        return np.asarray(answers.cpu().numpy(), dtype=np.bool_)


def are_wrong(task: str, expected: Answers, got: Answers) -> Answers:
    """Returns which answers (…, letters + 1) are wrong for a task: RECOGNISE looks at the end alone."""
    first = -1 if task == RECOGNISE else 0
    wrong: Answers = (expected[..., first:] != got[..., first:]).any(axis=-1)
    return wrong


def make_runner(
    module: StepModule,
    language: Language,
    *,
    dtype: str | None = None,
    decode: Decode | None = None,
    empty: Legal | None = None,
) -> Runner:
    """Returns a runner for a module; the module is put into evaluation mode.

    Args:
        module: reads letters of the language by number.
        language: what it should do.
        dtype: the format that it must have; None takes the one that it has.
        decode: how scores are read; None takes the module's own `legal`, or "above 1/2" if it has none.
        empty: what the module says about the empty prefix; None takes the decoder of the network that it was
            made from, if any.

    Raises:
        InputError: if the module has no dtype or another one than asked for.
    """
    if isinstance(module, nn.Module):
        module.eval()
    found = _dtype_of(module)
    if dtype is not None and dtype != found:
        raise InputError(f"the module computes in {found}, not in {dtype}; convert it with `module.to`")
    network = getattr(module, "network", None)
    if empty is None and network is not None:
        empty = network.decoder.empty
    own: Decode | None = getattr(module, "legal", None)
    return Runner(
        module=module,
        alphabet=language.alphabet,
        dtype=found,
        decode=decode or own or above_half,
        empty=empty,
    )


def above_half(scores: Tensor) -> Tensor:
    """Returns where scores are above 1/2."""
    return scores > 0.5


def as_answers(legal: Iterable[Legal], letters: int) -> Answers:
    """Returns sets of legal symbols as rows of truth values."""
    rows = [[a in found.symbols for a in range(letters)] + [found.end] for found in legal]
    return np.array(rows, dtype=np.bool_).reshape(len(rows), letters + 1)


def as_legal(answers: Answers) -> Legal:
    """Returns the set of legal symbols of one row."""
    return Legal(frozenset(np.flatnonzero(answers[:-1]).tolist()), bool(answers[-1]))


def _dtype_of(module: StepModule) -> str:
    tensors: list[Tensor] = list(module.parameters()) if isinstance(module, nn.Module) else []
    tensors = tensors or list(module.initial_state(1).values())
    types = {_REAL.get(t.dtype, t.dtype) for t in tensors if t.is_floating_point() or t.is_complex()}
    names = sorted(str(t).removeprefix("torch.") for t in types)
    if len(names) != 1 or names[0] not in DTYPES:
        raise InputError(
            f"the parameters of the module have the types {', '.join(names) or 'none'}; a certificate in "
            f"floats is for one of {', '.join(DTYPES)}"
        )
    return names[0]


Rows = npt.NDArray[np.uint8]
"""One row of bytes for each state."""

TYPES: Mapping[str, torch.dtype] = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.float64,
        torch.float32,
        torch.bfloat16,
        torch.float16,
        torch.complex128,
        torch.complex64,
        torch.int64,
        torch.int32,
        torch.bool,
    )
}
"""The types that a state may have."""


@dataclass(frozen=True, slots=True)
class Part:
    """One tensor of a state, without its batch axis."""

    name: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def bytes(self) -> int:
        """Bytes that it takes for one word."""
        return math.prod(self.shape) * TYPES[self.dtype].itemsize


Layout = tuple[Part, ...]
"""The tensors of a state, sorted by name."""


def layout_of(state: Mapping[str, Tensor]) -> Layout:
    """Returns the layout of a state.

    Raises:
        InputError: if a tensor has a type whose bits are not compared.
    """
    parts = []
    for name in sorted(state):
        tensor = state[name]
        dtype = str(tensor.dtype).removeprefix("torch.")
        if dtype not in TYPES:
            raise InputError(f"the state {name!r} has the type {dtype}; allowed are {', '.join(TYPES)}")
        parts.append(Part(name, tuple(tensor.shape[1:]), dtype))
    return tuple(parts)


def to_rows(state: Mapping[str, Tensor], batch: int) -> Rows:
    """Returns the bits of a state (batch first), one row for each word of the batch."""
    rows = []
    for name in sorted(state):
        flat = state[name].detach().cpu().resolve_conj().resolve_neg().contiguous()
        flat = flat.reshape(batch, math.prod(flat.shape[1:]))
        if flat.shape[1]:
            rows.append(flat.view(torch.uint8).numpy())
    return np.concatenate(rows, axis=1) if rows else np.zeros((batch, 0), dtype=np.uint8)


def from_rows(rows: Rows, layout: Layout) -> dict[str, Tensor]:
    """Returns the state whose bits the rows are."""
    state = {}
    first = 0
    for part in layout:
        block = np.ascontiguousarray(rows[:, first : first + part.bytes])
        first += part.bytes
        if part.bytes:
            state[part.name] = torch.from_numpy(block).view(TYPES[part.dtype]).reshape(len(rows), *part.shape)
        else:
            state[part.name] = torch.zeros(len(rows), *part.shape, dtype=TYPES[part.dtype])
    return state


def nan_rows(state: Mapping[str, Tensor], batch: int) -> npt.NDArray[np.bool_]:
    """Returns for each word of the batch whether its state holds a NaN."""
    found = np.zeros(batch, dtype=np.bool_)
    for tensor in state.values():
        if tensor.is_floating_point() or tensor.is_complex():
            found |= tensor.isnan().reshape(batch, -1).any(dim=1).cpu().numpy()
    return found


Numbers = npt.NDArray[np.int64]

_UNKNOWN = -1


class Configurations:
    """Numbers the configurations of a language in the order in which they are met; the first is the start."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self._letters = len(language.alphabet)
        self._order: list[Hashable] = []
        self._number: dict[Hashable, int] = {}
        self._moves = np.full((16, self._letters), _UNKNOWN, dtype=np.int64)
        self._answers = np.zeros((16, self._letters + 1), dtype=np.bool_)
        self._add(language.initial())

    def __len__(self) -> int:
        return len(self._order)

    def advance(self, numbers: Numbers, letters: Numbers) -> Numbers:
        """Returns the configurations after one letter each."""
        targets = self._moves[numbers, letters]
        for i in np.flatnonzero(targets == _UNKNOWN).tolist():
            targets[i] = self.after(int(numbers[i]), int(letters[i]))
        return targets

    def after(self, number: int, letter: int) -> int:
        """Returns the configuration after one letter."""
        target = int(self._moves[number, letter])
        if target == _UNKNOWN:
            # Adding may put a larger table in the place of the old one.
            target = self._add(self.language.advance(self._order[number], letter))
            self._moves[number, letter] = target
        return target

    def along(self, number: int, letters: Sequence[int]) -> Numbers:
        """Returns the configurations after each letter of a word, from one configuration on."""
        numbers = np.empty(len(letters), dtype=np.int64)
        for i, letter in enumerate(letters):
            numbers[i] = number = self.after(number, letter)
        return numbers

    def answers(self, numbers: Numbers) -> Answers:
        """Returns what may follow in each configuration."""
        found: Answers = self._answers[numbers]
        return found

    def _add(self, configuration: Hashable) -> int:
        known = self._number.get(configuration)
        if known is not None:
            return known
        number = self._number[configuration] = len(self._order)
        self._order.append(configuration)
        if number == len(self._moves):
            self._moves = np.concatenate([self._moves, np.full_like(self._moves, _UNKNOWN)])
            self._answers = np.concatenate([self._answers, np.zeros_like(self._answers)])
        legal = self.language.legal(configuration)
        self._answers[number, list(legal.symbols)] = True
        self._answers[number, -1] = legal.end
        return number
