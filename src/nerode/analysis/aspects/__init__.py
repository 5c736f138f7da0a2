"""Aspects of a network that `nerode analyse` computes: spectra, context, clusters, traces, memory, metric."""
