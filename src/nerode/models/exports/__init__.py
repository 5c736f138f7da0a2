"""Models and networks in the forms that other programs load."""

from typing import TYPE_CHECKING

from nerode.core import attach

if TYPE_CHECKING:
    from nerode.models.exports.comparing import Compared, compare, session_scores
    from nerode.models.exports.library_folders import write_library_folder, write_torch_folder
    from nerode.models.exports.library_forms import NOTE_FILE, NOTE_FORMAT
    from nerode.models.exports.module_graph import ELEMENTS, module_to_onnx, network_to_onnx, write_onnx

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "nerode.models.exports.comparing": "Compared compare session_scores",
        "nerode.models.exports.library_folders": "write_library_folder write_torch_folder",
        "nerode.models.exports.library_forms": "NOTE_FILE NOTE_FORMAT",
        "nerode.models.exports.module_graph": "ELEMENTS module_to_onnx network_to_onnx write_onnx",
    },
)
