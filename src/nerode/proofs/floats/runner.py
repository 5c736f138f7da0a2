"""A module and how its scores are read: what every proof and measurement in floats is given."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from nerode.core import InputError
from nerode.languages import Alphabet, Language, Legal
from nerode.proofs.certificate import DTYPES

State = dict[str, Tensor]
Answers = npt.NDArray[np.bool_]
"""For each word: which letters may follow, in the order of the alphabet, and last whether it may end."""

Decode = Callable[[Tensor], Tensor]

_REAL = {torch.complex128: torch.float64, torch.complex64: torch.float32}


class StepModule(Protocol):
    """What a module has to offer: its start, and one letter after the other."""

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

    def read(self, scores: Tensor) -> Answers:
        """Returns the answers that scores stand for, for each letter and last for the end."""
        answers = self.decode(scores)
        if answers.dtype != torch.bool or answers.shape[-1] != len(self.alphabet) + 1:
            raise InputError(
                f"the scores decode to {answers.dtype} of shape {tuple(answers.shape)}; wanted are truth "
                f"values for {len(self.alphabet)} letters and the end"
            )
        return np.asarray(answers.cpu().numpy(), dtype=np.bool_)


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
