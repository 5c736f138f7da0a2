"""The build of the native kernels: one shared library per instruction set, by the machine's C++ compiler.

Standard library only, and no import of nerode: `setup.py` loads this file by its path when it makes a wheel.
"""

from __future__ import annotations

import hashlib
import importlib.machinery
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

FLAGS = {
    "baseline": (),
    "avx2": ("-march=haswell",),
    "avx512": ("-march=skylake-avx512", "-mprefer-vector-width=512"),
}
"""The instruction sets, each including the one before it, and the compiler's flags for each."""

COMMON = (
    *("-std=c++17", "-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic", "-g0"),
    # Nothing here lets the compiler reorder sums: results are the same for any number of threads.
    *("-fvisibility=hidden", "-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math"),
    *("-fPIC", "-shared", "-pthread"),
)


class BuildFailed(Exception):
    """The kernels cannot be built here."""


def levels() -> tuple[str, ...]:
    """Returns the instruction sets that are built on this kind of machine."""
    return tuple(FLAGS) if platform.machine().lower() in ("x86_64", "amd64") else ("baseline",)


def library_name(level: str) -> str:
    """Returns the file name of the library for an instruction set."""
    return f"_{level}{importlib.machinery.EXTENSION_SUFFIXES[0]}"


def source_hash(folder: Path) -> str:
    """Returns the digest by which the loader recognises a library that was built from other sources."""
    sources = sorted(folder.glob("*.[ch]pp"), key=lambda path: path.name)
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


def find_compiler() -> list[str] | None:
    """Returns the command of the C++ compiler ($CXX, or the first of c++, g++, clang++); None without one."""
    wanted = shlex.split(os.environ.get("CXX", ""))
    for command in [wanted] if wanted else [["c++"], ["g++"], ["clang++"]]:
        if shutil.which(command[0]):
            return command
    return None


def build_library(folder: Path, level: str, target: Path) -> None:
    """Compiles the sources of a folder into one library, which appears whole or not at all.

    Raises:
        BuildFailed: without a compiler, or with the compiler's message.
    """
    compiler = find_compiler()
    if compiler is None:
        raise BuildFailed("no C++ compiler was found: install g++ or clang++, or name one in CXX")
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".build-") as place:
            made = Path(place) / target.name
            defined = f'-DNERODE_SOURCE="{source_hash(folder)}"'
            subprocess.run(
                [*compiler, *COMMON, *FLAGS[level], defined, str(folder / "kernels.cpp"), "-o", str(made)],
                check=True,
                capture_output=True,
                text=True,
            )
            made.replace(target)
    except subprocess.CalledProcessError as error:
        raise BuildFailed(f"{shlex.join(compiler)} failed for {level}:\n{error.stderr[-2000:]}") from None
    except OSError as error:
        raise BuildFailed(f"cannot write {target}: {error.strerror or error}") from None
