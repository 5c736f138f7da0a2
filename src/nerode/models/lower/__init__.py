"""From a compiled network to the weights of an architecture; of models only this knows the compiler."""

from typing import TYPE_CHECKING

from nerode.core import lazy_door

if TYPE_CHECKING:
    from nerode.models.lower.assembly import network_to_architecture, writer_of
    from nerode.models.lower.explanation import Explanation, compare_answers
    from nerode.models.lower.heads import is_decoder, network_to_decoder
    from nerode.models.lower.lowering import BlockStyle, Lowered, lower, lowerings, main_refusal, show_word

__getattr__, __dir__, __all__ = lazy_door(__name__, __file__)
