"""N-gram models as one layer of neurons: one neuron for each context.

Everything rests on detectors, neurons that single out one context; the next-word distribution can then be
written into their output weights. docs/theory/ngrams.md has the argument.

    lattice.py      integer points of one norm
    embedding.py    words as such points, far apart
    targets.py      the distribution of each context as scores that a softmax turns into it up to eps
    layout.py       words, detectors and delay neurons, whatever recurrence carries them
    sphere.py       the layout for an embedding of width two or more: products with the context's words
    line.py         the layout for width one: ramps
    sharing.py      delay neurons that stand for contexts, so that |P| neurons are enough
    structural.py   the SSM with a delay line; its transition matrix is nilpotent by its shape
    conditioned.py  the SSM whose neurons are all detectors; on the contexts its hidden matrix is the identity
    recurrent.py    the delay line and the detectors as an Elman network with ReLU units
    compile.py      which of them a request gets
"""

from nerode.compiler.constructions.ngrams.compile import compile_ngram_rnn, compile_ngram_ssm

__all__ = ["compile_ngram_rnn", "compile_ngram_ssm"]
