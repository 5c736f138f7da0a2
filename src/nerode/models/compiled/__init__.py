"""Compiled networks as torch modules; only `load` and this folder know the compiler."""

from nerode.models.compiled.layer import CompiledLayer
from nerode.models.compiled.load import load_architecture, load_model
from nerode.models.compiled.model import CompiledModel
from nerode.models.compiled.recurrence import CompiledRecurrence, Drive
from nerode.models.compiled.streaming import Stream, TextReader

__all__ = [
    "CompiledLayer",
    "CompiledModel",
    "CompiledRecurrence",
    "Drive",
    "Stream",
    "TextReader",
    "load_architecture",
    "load_model",
]
