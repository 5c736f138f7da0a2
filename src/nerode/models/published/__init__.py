"""The models of the papers, one file for each family of experiments; importing this fills the table."""

from nerode.models.published import formal_languages, groups, memory

__all__ = ["formal_languages", "groups", "memory"]
