"""The evidence of a proof in floats: a list of states, the arithmetic, the hash of the weights."""

from __future__ import annotations

import hashlib
import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from nerode.core import InputError
from nerode.kernel import LANGUAGE_TASKS, TRACK

Json = Any

KEYS = ("arithmetic", "batches", "dtype", "empty", "layout", "length", "module", "moves", "task")

MOST_IN_BATCH = 4_096
"""Words of one batch; more of them would take too much memory."""


@dataclass(frozen=True, kw_only=True)
class Listed:
    """The evidence, read and found well-formed.

    Attributes:
        task: PREDICT, VALID_PREFIXES, RECOGNISE or TRACK.
        dtype: the float format of the weights.
        length: the length up to which words are read; None for all.
        covers_empty: whether the empty prefix is part of the claim.
        module: the SHA-256 of the module.
        batches: the sizes of the batches in which every transition was computed.
        layout: name, shape and type of the tensors of a state.
        moves: for each state where the letters lead; -1 for a letter that is not read.
    """

    task: str
    dtype: str
    length: int | None
    covers_empty: bool
    module: str
    batches: tuple[int, ...]
    layout: tuple[tuple[str, tuple[int, ...], str], ...]
    moves: tuple[tuple[int, ...], ...]


def read_listing(evidence: Json, letters: int) -> Listed:
    """Returns the evidence, or raises InputError for what does not make sense."""
    if not isinstance(evidence, dict) or set(evidence) != set(KEYS):
        raise InputError(f"the evidence must have exactly the keys {', '.join(KEYS)}")
    length, moves = evidence["length"], evidence["moves"]
    if length != "all" and (type(length) is not int or length < 0):
        raise InputError(f"the evidence speaks of the length {str(length)[:40]!r}")
    if evidence["task"] not in (*LANGUAGE_TASKS, TRACK) or type(evidence["empty"]) is not bool:
        raise InputError(f"the evidence speaks of the task {str(evidence['task'])[:40]!r}")
    if not isinstance(moves, list) or not moves:
        raise InputError("the evidence has no rows of moves")
    if not isinstance(evidence["arithmetic"], dict):
        raise InputError("the evidence does not say on which arithmetic it was computed")
    batches = evidence["batches"]
    if not isinstance(batches, list) or not batches or not all(map(_is_batch, batches)):
        raise InputError(f"the evidence does not name batches of 1 to {MOST_IN_BATCH:,} words")
    for row in moves:
        if not isinstance(row, list) or len(row) != letters:
            raise InputError(f"a row of moves has not {letters} entries")
        if any(type(target) is not int or not -1 <= target < len(moves) for target in row):
            raise InputError("a move leads to a state that is not listed")
    try:
        layout = tuple((str(n), tuple(map(int, shape)), str(d)) for n, shape, d in evidence["layout"])
    except (TypeError, ValueError):
        raise InputError("the layout of the states is not written as it should be") from None
    return Listed(
        task=evidence["task"],
        dtype=str(evidence["dtype"]),
        length=None if length == "all" else length,
        covers_empty=evidence["empty"],
        module=str(evidence["module"]),
        batches=tuple(batches),
        layout=layout,
        moves=tuple(map(tuple, moves)),
    )


def _is_batch(size: Json) -> bool:
    return type(size) is int and 1 <= size <= MOST_IN_BATCH


def describe_arithmetic() -> dict[str, str | int]:
    """Returns what the bits of a result may depend on besides the module and its input."""
    smallest = torch.tensor([torch.finfo(torch.float32).tiny])
    return {
        "torch": str(torch.__version__),
        "processor": platform.machine(),
        "model": _processor_model(),
        "capability": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "denormals": "kept" if float(smallest / 2) else "flushed",
        "matmul": torch.get_float32_matmul_precision(),
        "onednn": "on" if torch.backends.mkldnn.enabled else "off",
        "native": os.environ.get("NERODE_NATIVE", "best"),
    }


def _processor_model() -> str:
    """The name of the processor, by which libraries choose their instructions; "" where it is not told."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")


def fingerprint(module: object) -> str:
    """Returns the SHA-256 of the class, the parameters and the buffers of a module."""
    digest = hashlib.sha256(f"{type(module).__module__}.{type(module).__qualname__}\n".encode())
    if isinstance(module, nn.Module):
        for name, tensor in sorted(module.state_dict().items()):
            if not isinstance(tensor, torch.Tensor):
                continue
            dense = tensor.to_dense() if tensor.layout is not torch.strided else tensor
            flat = dense.detach().cpu().resolve_conj().resolve_neg().contiguous().reshape(-1)
            digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
            if flat.numel():
                digest.update(flat.view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
