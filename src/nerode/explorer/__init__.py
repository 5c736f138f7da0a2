"""A local page: type a language, see it move."""
