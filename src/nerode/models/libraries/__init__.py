"""Weights of other libraries: one map for both ways, in and out."""

from typing import TYPE_CHECKING

from nerode.core import attach

if TYPE_CHECKING:
    from nerode.models.libraries.formats import FORMATS, load_causal
    from nerode.models.libraries.importing import (
        compare_foreign,
        map_foreign,
        read_foreign,
        with_letters,
    )
    from nerode.models.libraries.places import fill_ours
    from nerode.models.libraries.source import (
        LibraryFiles,
        choose_letters,
        longest_input,
        read_library_files,
        read_state,
    )

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "nerode.models.libraries.importing": "compare_foreign map_foreign read_foreign with_letters",
        "nerode.models.libraries.places": "fill_ours",
        "nerode.models.libraries.formats": "FORMATS load_causal",
        "nerode.models.libraries.source": (
            "LibraryFiles choose_letters longest_input read_library_files read_state"
        ),
    },
)
