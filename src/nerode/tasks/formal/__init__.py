"""Words of a language by length, many at once: what the tasks of formal languages share."""

from nerode.tasks.formal.language_task import LanguageSettings

__all__ = ["LanguageSettings"]
