"""Searches about modules: what they find is replayed before anyone sees it."""
