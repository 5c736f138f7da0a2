"""Which architecture can express a language: classes, theorems, and the decision."""
