"""The constructions, by the languages that they are for; `table` lists them in order."""
