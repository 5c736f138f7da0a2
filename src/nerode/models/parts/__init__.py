"""Parts that several architectures share: convolutions, norms, gates, discretisations, recurrences."""
