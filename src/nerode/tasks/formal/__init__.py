"""Tasks about formal languages; each file has the rows of its tasks."""

from nerode.tasks.formal.language_task import LanguageSettings

__all__ = ["LanguageSettings"]
