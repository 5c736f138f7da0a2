"""A compiled network as a torch module in floats of one type, and exactly on long words; no compiler."""

from typing import TYPE_CHECKING

from nerode.core import lazy_door

if TYPE_CHECKING:
    from nerode.models.network_module.model import CompiledLayer, CompiledModel, load_model
    from nerode.models.network_module.recurrence import CompiledRecurrence, Drive
    from nerode.models.network_module.streaming import Stream, TextReader, TextScore, score_text

__getattr__, __dir__, __all__ = lazy_door(__name__, __file__)
