"""From a compiled network to the weights of an architecture; of models only this knows the compiler."""

from typing import TYPE_CHECKING

from nerode.core import attach

if TYPE_CHECKING:
    from nerode.models.lower.assembly import writer_of
    from nerode.models.lower.heads import is_decoder, network_to_decoder
    from nerode.models.lower.lowering import (
        BlockStyle,
        Explanation,
        Lowered,
        compare_answers,
        lower,
        lowerings,
        main_refusal,
    )

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "nerode.models.lower.assembly": "writer_of",
        "nerode.models.lower.heads": "is_decoder network_to_decoder",
        "nerode.models.lower.lowering": (
            "BlockStyle Explanation Lowered compare_answers lower lowerings main_refusal"
        ),
    },
)
