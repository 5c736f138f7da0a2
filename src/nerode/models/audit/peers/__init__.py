"""One file for each library whose layers can be audited."""

from nerode.models.audit.peers import gpu, mambapy, torch_cells, transformers, xlstm

__all__ = ["gpu", "mambapy", "torch_cells", "transformers", "xlstm"]
