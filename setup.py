"""Builds wheels with the kept results, and with the native kernels where a C++ compiler is found.

NERODE_KERNELS=0 makes a wheel of Python alone. The kernels take about a CPU minute.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.errors import CompileError

EXPERIMENTS = Path("experiments")
FOLDER = Path("src/nerode/models/native")
_SPEC = importlib.util.spec_from_file_location("build_kernels", FOLDER / "build.py")
assert _SPEC is not None
assert _SPEC.loader is not None
kernels = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(kernels)


class BuildKernels(build_ext):
    """Builds plain shared libraries: they are loaded by ctypes and have no Python entry point."""

    def finalize_options(self) -> None:
        """Uses all processors: there is one library for each instruction set."""
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()

    def build_extension(self, ext: Extension) -> None:
        """Builds one library; an editable installation has `python -m nerode.models.native` for that."""
        if self.editable_mode:
            return
        target = Path(self.get_ext_fullpath(ext.name)).absolute()
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            kernels.build_library(FOLDER.absolute(), ext.name.rpartition("_")[2], target)
        except kernels.BuildFailed as error:
            raise CompileError(str(error)) from None


class KeepResults(build_py):
    """Copies the results of training that atlas and explain show into the package."""

    def run(self) -> None:
        """Builds the modules, and `nerode/kept` beside them; an editable installation reads the clone's."""
        super().run()
        if self.editable_mode:
            return
        kept = [*EXPERIMENTS.glob("reproduce/*/*.json"), EXPERIMENTS / "settled" / "results.jsonl"]
        for path in kept:
            target = Path(self.build_lib, "nerode", "kept", path.relative_to(EXPERIMENTS))
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


wanted = kernels.levels() if os.environ.get("NERODE_KERNELS") != "0" and kernels.find_compiler() else ()
setup(
    # Optional: if the compiler fails, the wheel is made all the same, and plain torch does the work.
    ext_modules=[
        Extension(f"nerode.models.native._{level}", sources=[str(FOLDER / "kernels.cpp")], optional=True)
        for level in wanted
    ],
    cmdclass={"build_ext": BuildKernels, "build_py": KeepResults},
)
