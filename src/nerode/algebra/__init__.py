"""The algebra of a regular language: its monoid, the groups inside, the varieties it belongs to."""
