"""A compiled network as a torch module in floats of one type; no compiler."""

from nerode.models.network_module.model import (
    CompiledLayer,
    CompiledModel,
    CompiledRecurrence,
    Drive,
    load_model,
)
