"""How models learn tasks: specs, one loop, records keyed by length, and a folder for each run."""
