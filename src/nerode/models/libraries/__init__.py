"""Weights of other libraries: one map for both ways, in and out."""

from typing import TYPE_CHECKING

from nerode.core import attach

if TYPE_CHECKING:
    from nerode.models.libraries.importing import (
        ForeignModel,
        compare_foreign,
        export_import,
        library_weights,
        read_foreign,
        with_letters,
    )
    from nerode.models.libraries.places import Place, fill_ours, give_theirs
    from nerode.models.libraries.source import choose_letters

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "nerode.models.libraries.importing": (
            "ForeignModel compare_foreign export_import library_weights read_foreign with_letters"
        ),
        "nerode.models.libraries.places": "Place fill_ours give_theirs",
        "nerode.models.libraries.source": "choose_letters",
    },
)
