"""The native kernels as a library loaded by ctypes, or None where there is none.

The environment variable NERODE_NATIVE chooses: `0` for plain torch, `baseline`, `avx2` or `avx512` for one
build of the library; unset, the best that this processor runs.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import importlib.machinery
import os
import warnings
from pathlib import Path

from nerode.core import UnknownName

LEVELS = ("baseline", "avx2", "avx512")
"""The instruction sets, each including the one before it."""

_FOLDER = Path(__file__).parent


@functools.cache
def library() -> ctypes.CDLL | None:
    """Returns the library for this processor, or None where plain torch must do; says so once."""
    wanted = os.environ.get("NERODE_NATIVE", "")
    if wanted == "0":
        return None
    if wanted and wanted not in LEVELS:
        raise UnknownName("value of NERODE_NATIVE", wanted, [*LEVELS, "0"])
    plain = _load("baseline")
    if plain is None:
        warnings.warn(
            "nerode's native kernels are not built, or not from these sources: the plain torch path is used, "
            "which is slower. With a C++ compiler installed, run `pip install` again to build them",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    best = int(plain.nerode_cpu_level())
    allowed = LEVELS[: best + 1] if not wanted else LEVELS[: min(best, LEVELS.index(wanted)) + 1]
    for level in reversed(allowed):
        found = _load(level)
        if found is not None:
            return found
    return plain


@functools.cache
def _load(level: str) -> ctypes.CDLL | None:
    """Returns one build of the library if it is there, loads, and was made from the sources that are here."""
    path = _FOLDER / f"_{level}{importlib.machinery.EXTENSION_SUFFIXES[0]}"
    try:
        found = ctypes.CDLL(str(path))
        found.nerode_source.restype = ctypes.c_char_p
    except (OSError, AttributeError):
        return None
    return found if found.nerode_source().decode() == _source_hash() else None


def _source_hash() -> str:
    """The digest of the sources, as `setup.py` computes it."""
    sources = sorted(_FOLDER.glob("*.[ch]pp"), key=lambda path: path.name)
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
