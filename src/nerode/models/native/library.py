"""The library of native kernels, loaded by ctypes, or None where there is none.

The environment variable NERODE_NATIVE chooses: `0` for plain torch, `baseline`, `avx2` or `avx512` for one
build of the library; unset, the best that this processor runs.
"""

from __future__ import annotations

import ctypes
import functools
import os
import warnings
from pathlib import Path

from nerode.core import UnknownName
from nerode.models.native.build import FLAGS, library_name, source_hash

LEVELS = tuple(FLAGS)
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
            "nerode's native kernels are not built, or not from these sources: a slower path is used. "
            "`python -m nerode.models.native` builds them once, in a minute or two, with a C++ compiler; "
            "NERODE_NATIVE=0 switches kernels and this message off",
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


def is_built(level: str) -> bool:
    """Returns whether the library for an instruction set is there, built from the sources that are here."""
    return _load(level) is not None


@functools.cache
def _load(level: str) -> ctypes.CDLL | None:
    """Returns one build of the library if it is there, loads, and was made from the sources that are here."""
    try:
        found = ctypes.CDLL(str(_FOLDER / library_name(level)))
        found.nerode_source.restype = ctypes.c_char_p
    except (OSError, AttributeError):
        return None
    return found if found.nerode_source().decode() == _source_hash() else None


def _source_hash() -> str:
    return source_hash(_FOLDER)
