"""A run in the middle, in one file: weights and optimiser as tensors, the rest as JSON in its header.

Random numbers need no place here: those of each step are drawn from the seed, the purpose and the number of
the step. So a run that goes on from a checkpoint gives the same bits as one that was never stopped.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from nerode.core import FormatError, InputError, from_mapping, to_mapping, write_atomically
from nerode.records import Divergence, HistoryRow

_HEADER = "nerode-checkpoint"


@dataclass(slots=True, kw_only=True)
class Progress:
    """Progress of a run so far.

    Attributes:
        step: updates made.
        samples: training sequences seen.
        longest: longest length of training so far.
        streak: validations in a row that reached the threshold of the stop rule.
        loss_sum: sum of the training losses since the last validation.
        history: all validations.
        cpu_seconds: time of the processor so far.
        stopped: whether the stop rule has ended it.
        divergence: where it diverged.
    """

    step: int = 0
    samples: int = 0
    longest: int = 0
    streak: int = 0
    loss_sum: float = 0.0
    history: tuple[HistoryRow, ...] = ()
    cpu_seconds: float = 0.0
    stopped: bool = False
    divergence: Divergence | None = field(default=None)


def write_checkpoint(
    path: Path, *, key: str, progress: Progress, model: nn.Module, optimiser: torch.optim.Optimizer
) -> None:
    """Writes a checkpoint whole or not at all."""
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    for number, slots in optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser.{number}.{n}": v for n, v in slots.items() if isinstance(v, Tensor)}
    header = {"key": key, "progress": to_mapping(progress)}
    # Cloned, because weights may share memory, which the format does not know.
    content = save(
        {name: value.detach().clone().contiguous() for name, value in tensors.items()},
        metadata={_HEADER: json.dumps(header, allow_nan=False)},
    )
    write_atomically(path, content)


def read_checkpoint(path: Path, *, key: str, model: nn.Module, optimiser: torch.optim.Optimizer) -> Progress:
    """Fills model and optimiser, and returns how far the run is.

    Raises:
        FormatError: if it is no checkpoint, or that of another run.
    """
    try:
        with safe_open(str(path), framework="pt") as file:
            header = _header(file.metadata() or {}, path)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (no mapping)
    except (SafetensorError, OSError) as error:
        raise FormatError(f"is not a checkpoint: {error}", path=path) from None
    if header["key"] != key:
        raise FormatError(
            f"is the checkpoint of the run {header['key'][:16]}; this is {key[:16]}",
            path=path,
            hint="Delete it to begin again.",
        )
    try:
        model.load_state_dict(_under("model.", tensors))
        _fill(optimiser, _under("optimiser.", tensors))
        return from_mapping(Progress, header["progress"])
    except (RuntimeError, ValueError, InputError) as error:
        raise FormatError(f"does not fit the run: {error}", path=path) from None


def _header(metadata: dict[str, str], path: Path) -> dict[str, Any]:
    try:
        header = json.loads(metadata.get(_HEADER, ""))
    except ValueError:
        header = None
    if not isinstance(header, dict) or not isinstance(header.get("key"), str) or "progress" not in header:
        raise FormatError("is not a checkpoint: its header does not say of which run", path=path)
    return header


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name[len(prefix) :]: value for name, value in tensors.items() if name.startswith(prefix)}


def _fill(optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        number, _, slot = name.partition(".")
        state.setdefault(int(number), {})[slot] = value
    optimiser.load_state_dict({**optimiser.state_dict(), "state": state})
