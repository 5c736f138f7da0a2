"""Builds wheels: of pure Python, or with NERODE_KERNELS=1 in the environment with the native kernels."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

FOLDER = Path("src/nerode/models/native")
_SPEC = importlib.util.spec_from_file_location("build_kernels", FOLDER / "build.py")
assert _SPEC is not None
assert _SPEC.loader is not None
kernels = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(kernels)


class BuildKernels(build_ext):
    """Builds plain shared libraries: they are loaded by ctypes and have no Python entry point."""

    def build_extension(self, ext: Extension) -> None:
        """Builds one library."""
        target = Path(self.get_ext_fullpath(ext.name)).absolute()
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            kernels.build_library(FOLDER.absolute(), ext.name.rpartition("_")[2], target)
        except kernels.BuildFailed as error:
            raise CompileError(str(error)) from None


wanted = kernels.levels() if os.environ.get("NERODE_KERNELS") == "1" else ()
setup(
    # Optional: without a compiler the wheel is made all the same, and plain torch does the work.
    ext_modules=[
        Extension(f"nerode.models.native._{level}", sources=[str(FOLDER / "kernels.cpp")], optional=True)
        for level in wanted
    ],
    cmdclass={"build_ext": BuildKernels},
)
