"""Views of verdicts, runs and findings for a terminal."""
