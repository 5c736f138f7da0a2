"""N-gram models as one layer of neurons: one neuron for each context.

Everything rests on detectors, neurons that single out one context; the next-word distribution can then be
written into their output weights. docs/theory/ngrams.md has the argument.

    layouts.py      words as points of one norm, detectors and delay neurons, on a sphere or on a line
    targets.py      the scores of each context, and how delay neurons share them with detectors
    networks.py     the SSM with a delay line, the SSM of detectors alone, and the Elman network
    backoff.py      back-off models: one unit per context of any length, correct from the first word on

The rows of the table, and the choice among these networks, are in `ngram_models.py` beside this folder.
"""
