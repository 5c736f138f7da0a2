"""A module with its scores decoded, its states as rows of bytes, and a question's configurations by number.

States are compared by their bits, so 0.0 and -0.0 are two states: a module may tell them apart (by a
quotient, `copysign` or `atan2`), and taking them for one would prove too much. A NaN is refused wherever it
occurs; infinities are numbers like others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from nerode.core import InputError
from nerode.kernel import DTYPES, Refutation
from nerode.languages import Language, Legal, Question, asked_of, legal_bits
from nerode.proofs.reading import UNREADABLE, decoder
from nerode.records import Reading

State = dict[str, Tensor]
Answers = npt.NDArray[np.int8]
"""For each word the truth values of its answer, in the order of the question's names: 0 or 1, and 2 in all
places if a score is not a finite number, which is the value of no correct answer.
"""

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
        letters: how many letters it reads, by number.
        names: how many truth values an answer has.
        dtype: the float format of its parameters.
        decode: from scores (…, scores) to truth values (…, names): bits, where every score has to be a
            finite number, or numbers in which rows that cannot be read are marked.
        empty: what it says about the empty prefix; None if it says nothing there.
        reading: what `decode` follows; None for another function.
        longest: the largest number of letters that may be read; None for any.
    """

    module: StepModule
    letters: int
    names: int
    dtype: str
    decode: Decode
    empty: Legal | None
    reading: Reading | None = None
    longest: int | None = None

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
        """Returns the answers that scores stand for."""
        answers = self.decode(scores)
        if answers.dtype not in (torch.bool, torch.int8) or answers.shape[-1] != self.names:
            raise InputError(
                f"the scores decode to {answers.dtype} of shape {tuple(answers.shape)}; wanted are "
                f"{self.names} truth values, one for each name of an answer"
            )
        found = answers.to(torch.int8)
        if answers.dtype == torch.bool:
            found[~scores.isfinite().all(-1)] = UNREADABLE
        return np.asarray(found.cpu().numpy(), dtype=np.int8)


def make_runner(
    module: StepModule,
    asked: Language | Question,
    *,
    dtype: str | None = None,
    decode: Decode | None = None,
    reading: Reading | None = None,
    empty: Legal | None = None,
) -> Runner:
    """Returns a runner for a module; the module is put into evaluation mode.

    Args:
        module: reads letters by number.
        asked: the question, or a language whose next symbols or members are asked for.
        dtype: the format that it must have; None takes the one that it has.
        decode: how scores are read; None takes the reading, then the module's own `legal`, then "above 1/2".
        reading: how scores are read.
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
    question = asked_of(asked)
    return Runner(
        module=module,
        letters=len(question.alphabet),
        names=len(question.answers),
        dtype=found,
        decode=decode or (decoder(reading) if reading is not None else own or above_half),
        empty=empty,
        reading=None if decode is not None else reading,
    )


def above_half(scores: Tensor) -> Tensor:
    """Returns where scores are above 1/2."""
    return scores > 0.5


def as_legal(answers: npt.NDArray[np.bool_]) -> Legal:
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
        block = rows[:, first : first + part.bytes].copy()
        first += part.bytes
        if part.bytes:
            state[part.name] = torch.from_numpy(block).view(TYPES[part.dtype]).reshape(len(rows), *part.shape)
        else:
            state[part.name] = torch.zeros(len(rows), *part.shape, dtype=TYPES[part.dtype])
    return state


def to_values(state: Mapping[str, Tensor], batch: int) -> npt.NDArray[np.float64]:
    """Returns the numbers of a state (batch first) as float64, one row per word; complex numbers are two."""
    parts = [np.zeros((batch, 0))]
    # By name: a layer may give its state in another order than that of its first state.
    for _, tensor in sorted(state.items()):
        real = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
        parts.append(real.detach().cpu().reshape(batch, -1).double().numpy())
    return np.concatenate(parts, axis=1)


def from_values(values: npt.NDArray[np.float64], layout: Layout) -> dict[str, Tensor]:
    """Returns the state with these numbers, in the types of a layout."""
    state, first = {}, 0
    for part in layout:
        dtype = TYPES[part.dtype]
        width = math.prod(part.shape) * (2 if dtype.is_complex else 1)
        block = torch.from_numpy(values[:, first : first + width].copy())
        first += width
        if dtype.is_complex:
            state[part.name] = torch.view_as_complex(block.reshape(len(values), *part.shape, 2)).to(dtype)
        else:
            state[part.name] = block.reshape(len(values), *part.shape).to(dtype)
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


class QuestionTable:
    """Numbers the configurations of a question in the order in which they are met; the first is the start."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self._letters = len(question.alphabet)
        self._order: list[Hashable] = []
        self._number: dict[Hashable, int] = {}
        names = len(question.answers)
        self._moves = np.full((16, self._letters), _UNKNOWN, dtype=np.int64)
        self._expected = np.zeros((16, names), dtype=np.bool_)
        self._asked = np.zeros((16, names), dtype=np.bool_)
        self._read = np.zeros((16, self._letters), dtype=np.bool_)
        self._add(question.initial())

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, number: int) -> Hashable:
        return self._order[number]

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
            target = self._add(self.question.advance(self._order[number], letter))
            self._moves[number, letter] = target
        return target

    def along(self, number: int, letters: Sequence[int]) -> Numbers:
        """Returns the configurations after each letter of a word, from one configuration on."""
        numbers = np.empty(len(letters), dtype=np.int64)
        for i, letter in enumerate(letters):
            numbers[i] = number = self.after(number, letter)
        return numbers

    def expected(self, numbers: Numbers) -> npt.NDArray[np.bool_]:
        """Returns the correct answer in each configuration."""
        found: npt.NDArray[np.bool_] = self._expected[numbers]
        return found

    def asked(self, numbers: Numbers) -> npt.NDArray[np.bool_]:
        """Returns which truth values count in each configuration."""
        found: npt.NDArray[np.bool_] = self._asked[numbers]
        return found

    def letters(self, numbers: Numbers) -> npt.NDArray[np.bool_]:
        """Returns which letters are read on in each configuration."""
        found: npt.NDArray[np.bool_] = self._read[numbers]
        return found

    def are_wrong(self, numbers: Numbers, got: Answers) -> npt.NDArray[np.bool_]:
        """Returns which answers are wrong in these configurations, as far as something is asked there."""
        wrong: npt.NDArray[np.bool_] = ((self._expected[numbers] != got) & self._asked[numbers]).any(axis=-1)
        return wrong

    def refutation(self, word: Sequence[int], number: int, got: Answers) -> Refutation:
        """Returns the refutation by a word that leads to a configuration, where this answer was given."""
        bits = None if (got == UNREADABLE).any() else got.astype(bool).tolist()
        return self.question.refutation(word, self._order[number], bits)

    def wrong_at_start(self, empty: Legal | None) -> Refutation | None:
        """Returns the refutation by the empty word, if something is said about it and that is wrong."""
        if empty is None:
            return None
        got = np.array(legal_bits(empty, self._letters), dtype=np.int8)
        return self.refutation((), 0, got) if self.are_wrong(np.array([0]), got[None])[0] else None

    def _add(self, configuration: Hashable) -> int:
        known = self._number.get(configuration)
        if known is not None:
            return known
        number = self._number[configuration] = len(self._order)
        self._order.append(configuration)
        if number == len(self._moves):
            self._moves = np.concatenate([self._moves, np.full_like(self._moves, _UNKNOWN)])
            self._expected = np.concatenate([self._expected, np.zeros_like(self._expected)])
            self._asked = np.concatenate([self._asked, np.zeros_like(self._asked)])
            self._read = np.concatenate([self._read, np.zeros_like(self._read)])
        self._expected[number] = self.question.expected(configuration)
        self._asked[number] = self.question.asked(configuration)
        self._read[number, list(self.question.letters(configuration))] = True
        return number
