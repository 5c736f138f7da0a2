"""The constructions, one file each; importing this package fills the table.

The order of the imports is the order in which the pipeline tries them: cheaper networks first.
"""

from nerode.compiler.construction import CONSTRUCTIONS as TABLE

__all__ = ["TABLE"]
