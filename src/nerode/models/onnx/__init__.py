"""Compiled networks as ONNX graphs: one Scan over the letters, right at any length.

A loop that is written out, or a scan by doubling, would be right only at the length it was traced with.
"""

from nerode.models.onnx.export import ELEMENTS, write_onnx

__all__ = ["ELEMENTS", "write_onnx"]
