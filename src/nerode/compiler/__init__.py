"""From a language to a network with exact weights."""
