"""A compiled network as a torch module in floats of one type; no compiler."""

from nerode.models.network_module.model import CompiledLayer, CompiledModel, load_model
from nerode.models.network_module.recurrence import CompiledRecurrence, Drive
