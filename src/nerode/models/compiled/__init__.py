"""Compiled networks as torch modules and in real architectures; of models only this knows the compiler."""

from typing import TYPE_CHECKING

from nerode.core import lazy_door

if TYPE_CHECKING:
    from nerode.models.compiled.attention_decoder import is_decoder, network_to_decoder
    from nerode.models.compiled.load import (
        Around,
        CarriedModel,
        candidate_models,
        load_model,
        main_refusal,
        writer_of,
    )
    from nerode.models.compiled.model import CompiledLayer, CompiledModel
    from nerode.models.compiled.recurrence import CompiledRecurrence, Drive
    from nerode.models.compiled.streaming import Stream, TextReader, TextScore, score_text

__getattr__, __dir__, __all__ = lazy_door(__name__, __file__)
