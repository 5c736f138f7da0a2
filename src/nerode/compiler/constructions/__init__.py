"""The constructions, by the languages that they are for; `compiler.table` lists them in order."""
