"""Builds the native kernels. Without a compiler the package installs all the same, and uses plain torch."""

from __future__ import annotations

import hashlib
import platform
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

FOLDER = Path("src/nerode/models/native")
X86_64 = platform.machine().lower() in ("x86_64", "amd64")
FLAGS = {
    "baseline": [],
    "avx2": ["-march=haswell"],
    "avx512": ["-march=skylake-avx512", "-mprefer-vector-width=512"],
}


def source_hash() -> str:
    """The digest by which the loader recognises a library that was built from other sources."""
    sources = sorted(FOLDER.glob("*.[ch]pp"), key=lambda path: path.name)
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


def kernels(level: str) -> Extension:
    """The library for one instruction set."""
    return Extension(
        f"nerode.models.native._{level}",
        sources=[str(FOLDER / "kernels.cpp")],
        depends=[str(path) for path in FOLDER.glob("*.hpp")],
        define_macros=[("NERODE_SOURCE", f'"{source_hash()}"')],
        # Nothing here lets the compiler reorder sums: results are the same for any number of threads.
        extra_compile_args=[
            *(
                "-std=c++17",
                "-O2",
                "-ftree-vectorize",
                "-fvect-cost-model=dynamic",
                "-g0",
                "-fvisibility=hidden",
                "-fopenmp-simd",
            ),
            *("-fno-math-errno", "-fno-trapping-math", *FLAGS[level]),
        ],
        extra_link_args=["-pthread"],
        optional=True,
    )


class BuildKernels(build_ext):
    """Builds plain shared libraries: they are loaded by ctypes and have no Python entry point."""

    def build_extension(self, ext: Extension) -> None:
        """Builds one library."""
        # One source, several builds: each needs its own place for the object file.
        shared = self.build_temp
        self.build_temp = str(Path(shared) / ext.name)
        try:
            super().build_extension(ext)
        finally:
            self.build_temp = shared

    def get_export_symbols(self, ext: Extension) -> list[str]:
        """The sources say themselves what is exported."""
        return []


setup(
    ext_modules=[kernels(level) for level in FLAGS if level == "baseline" or X86_64],
    cmdclass={"build_ext": BuildKernels},
)
