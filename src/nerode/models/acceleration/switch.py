"""Puts the functions of other libraries that have a kernel here in the place of their own, and back.

A function is replaced only if its source is one that was compared with the kernel, line by line and by the
tests of `tests/models/acceleration`: a version whose source differs is refused, and nothing is replaced.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from nerode.core import InputError
from nerode.models.acceleration import replacements
from nerode.models.native.library import library


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced:
    """Functions of a library that one kernel stands for.

    Attributes:
        library: the package whose version is named in messages.
        modules: where the function is a global, or its class is.
        name: of the function, or of class and method.
        kernel: what stands for it.
        sources: the digests of its source that were compared.
    """

    library: str
    modules: tuple[str, ...]
    name: str
    kernel: Callable[..., Any]
    sources: tuple[str, ...]


def _models(*names: str) -> tuple[str, ...]:
    return tuple(f"transformers.models.{name}.modeling_{name}" for name in names)


_SELECTIVE = ("mamba", "falcon_mamba", "jamba", "zamba")
_SCALAR_DECAY = ("mamba2", "bamba", "falcon_h1", "granitemoehybrid", "nemotron_h", "zamba2")
_DELTA_RULE = ("qwen3_next", "qwen3_5", "qwen3_5_moe", "qwen4_exp", "olmo_hybrid")

PLACES = (
    Replaced(
        library="transformers",
        modules=_models(*_SELECTIVE),
        name="mamba_selective_scan",
        kernel=replacements.mamba_scan,
        sources=("b43a3221205e", "8d894aa71cbb"),
    ),
    Replaced(
        library="transformers",
        modules=_models(*_SCALAR_DECAY),
        name="mamba2_chunk_scan",
        kernel=replacements.mamba2_scan,
        sources=("8f4198702b90",),
    ),
    Replaced(
        library="transformers",
        modules=_models(*_DELTA_RULE),
        name="torch_chunk_gated_delta_rule",
        kernel=replacements.delta_rule,
        sources=("a1bbf783aa65",),
    ),
    Replaced(
        library="transformers",
        modules=_models(*_SELECTIVE, *_SCALAR_DECAY, *_DELTA_RULE),
        name="causal_conv1d_fn",
        kernel=replacements.causal_convolution,
        sources=("f932149bdf42",),
    ),
    Replaced(
        library="transformers",
        modules=_models("recurrent_gemma"),
        name="RecurrentGemmaRglru._rnn_scan",
        kernel=replacements.rg_lru_scan,
        sources=("edcf0cbffabc",),
    ),
    Replaced(
        library="transformers",
        modules=_models("rwkv"),
        name="rwkv_linear_attention_cpu",
        kernel=replacements.rwkv_attention,
        sources=("e0f49db07d33",),
    ),
    Replaced(
        library="xlstm",
        modules=("xlstm.blocks.mlstm.cell",),
        name="mLSTMCell.forward",
        kernel=replacements.parallel_mlstm,
        sources=("e23f5ff77104",),
    ),
    Replaced(
        library="xlstm",
        modules=("xlstm.blocks.slstm.cell",),
        name="slstm_forward",
        kernel=replacements.slstm_steps,
        sources=("887c537df823",),
    ),
    Replaced(
        library="mlstm_kernels",
        modules=("mlstm_kernels.torch.backend_module",),
        name="mLSTMBackend.forward",
        kernel=replacements.chunked_mlstm,
        sources=("f5f47a606502",),
    ),
)
"""All that can be replaced."""

_lock = threading.Lock()
_installed: list[tuple[Any, str, Any]] = []


def accelerate(on: bool = True) -> list[str]:
    """Switches nerode's CPU kernels on, or off, under the recurrent layers of transformers and xlstm.

    Models that exist already and models made later are both meant. Weights, caches, `generate` and
    gradients stay what they were; tensors on another device, and what torch.compile traces, go where they
    went before. Second derivatives are not computed.

    Args:
        on: False puts back every function as it was.

    Returns:
        What runs on the kernels now, as "transformers.models.mamba: mamba_selective_scan".

    Raises:
        InputError: if neither library is installed, the kernels are not built, or a library has another
            version than those compared; nothing is replaced then.
    """
    with _lock:
        while _installed and not on:
            owner, name, plain = _installed.pop()
            setattr(owner, name, plain)
        if not on or _installed:
            return _names()
        if library() is None:
            raise InputError(
                "the native kernels are not built, so there is nothing to accelerate with; "
                "build them with `python -m nerode.models.native` (a C++ compiler is needed)"
            )
        found = [_found(place, module) for place in PLACES for module in place.modules if _exists(module)]
        if not found:
            raise InputError(
                "neither transformers nor xlstm is installed; install one of them, for example "
                '`pip install "transformers>=5.22,<5.24"`'
            )
        for place, owner, name in found:
            plain = inspect.getattr_static(owner, name)
            _installed.append((owner, name, plain))
            setattr(owner, name, _standing_for(plain, place.kernel))
        return _names()


@contextmanager
def accelerated() -> Iterator[list[str]]:
    """Switches the kernels on for a `with` block, as `accelerate` does for good."""
    was_on = bool(_installed)
    names = accelerate()
    try:
        yield names
    finally:
        if not was_on:
            accelerate(False)


def _standing_for(plain: Callable[..., Any], kernel: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(plain)
    def call(*arguments: Any, **options: Any) -> Any:
        return kernel(plain, *arguments, **options)

    return call


def _names() -> list[str]:
    return [
        f"{getattr(owner, '__module__', owner.__name__).rpartition('.')[0]}: {plain.__qualname__}"
        for owner, _, plain in _installed
    ]


def _exists(module: str) -> bool:
    if module in sys.modules:
        return True
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _found(place: Replaced, module: str) -> tuple[Replaced, Any, str]:
    """The owner of a function and its name there; raises InputError if it is not one that was compared."""
    *classes, name = place.name.split(".")
    owner: Any = sys.modules.get(module) or importlib.import_module(module)
    for part in classes:
        owner = getattr(owner, part, None)
    function = getattr(owner, name, None)
    if function is None or digest(function) not in place.sources:
        given = version(place.library)
        raise InputError(
            f"{place.library} {given} has another `{place.name}` in {module} than the one that the kernels "
            f"were compared with{' (it has none)' if function is None else ''}; nothing was replaced. "
            f"Install {COMPARED[place.library]}, or go on without nerode.accelerate()"
        )
    return place, owner, name


COMPARED = {
    "transformers": "transformers 5.23",
    "xlstm": "xlstm 2.0.6",
    "mlstm_kernels": "mlstm_kernels 2.0.6",
}
"""The versions whose sources are known."""


@functools.cache
def digest(function: Callable[..., Any]) -> str:
    """Returns the first digits of the hash of a function's source, decorators included."""
    source = inspect.getsource(inspect.unwrap(function))
    return hashlib.sha256(source.encode()).hexdigest()[:12]
