"""The environment of a run: versions, machine, threads, and the memory that it keeps."""

from __future__ import annotations

import ctypes
import functools
import platform
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nerode.models import num_threads


def describe_environment() -> dict[str, Any]:
    """Returns all that may change the last bits of a run, but is not in its spec."""
    return {
        "nerode": version("nerode"),
        "commit": _commit(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "processor": _processor(),
        "vector_instructions": torch.backends.cpu.get_cpu_capability(),
        "threads": num_threads(),
    }


_TRIM_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -4, -8
"""Names of `mallopt` in the C library of GNU."""

_KEPT = 1 << 30


@functools.cache
def keep_freed_memory() -> bool:
    """Has the C library keep up to 1 GiB of freed memory for this process; returns whether it does.

    Otherwise the tensors of a step go back to the system at its end, and the next step gets its pages again,
    each zeroed first: a fifth of the time of a small model, two thirds of a scan over 32 MiB, and what
    two threads cannot share.
    """
    try:
        change = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    return bool(change(_MMAP_MAX, 0) and change(_TRIM_THRESHOLD, _KEPT) and change(_ARENA_MAX, 1))


def _commit() -> str:
    """The commit of the source tree, or in words why it is not known."""
    source = Path(__file__).parents[1]
    if source.parent.name != "src":
        return "unknown: nerode does not run from a source tree"
    return checked_out_commit(source.parents[1])


def checked_out_commit(root: Path) -> str:
    """Returns the commit that a folder has checked out, or "unknown: " and why.

    The files of git are read and not `git` called: that may be missing, refuses a folder of another owner,
    and may take longer than a run waits when the machine is busy.
    """
    try:
        folder = root / ".git"
        if folder.is_file():
            folder = root / folder.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
        head = (folder / "HEAD").read_text(encoding="utf-8").strip()
        if not head.startswith("ref:"):
            return _hash_or_reason(head)
        name, common = head.removeprefix("ref:").strip(), folder
        if (folder / "commondir").is_file():
            common = folder / (folder / "commondir").read_text(encoding="utf-8").strip()
        for place in (folder / name, common / name):
            if place.is_file():
                return _hash_or_reason(place.read_text(encoding="utf-8").strip())
        for line in (common / "packed-refs").read_text(encoding="utf-8").splitlines():
            found, _, packed = line.partition(" ")
            if packed == name:
                return _hash_or_reason(found)
    except FileNotFoundError as error:
        return f"unknown: there is no {error.filename}"
    except (OSError, ValueError) as error:
        return f"unknown: {error}"
    return f"unknown: {name} has no commit"


def _hash_or_reason(text: str) -> str:
    return text if re.fullmatch(r"[0-9a-f]{40,64}", text) else f"unknown: {text[:40]!r} is no commit"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
