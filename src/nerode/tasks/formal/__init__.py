"""Words of a language by length, many at once: what the tasks of formal languages share."""
