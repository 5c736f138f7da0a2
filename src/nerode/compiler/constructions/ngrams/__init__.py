"""N-gram models as one layer of neurons: one neuron for each context.

Everything rests on neurons that fire on exactly one context. With word embeddings of one length the inner
product of a word with another is largest for the word itself, so the sum of the products of a context's words
with the last n-1 inputs reaches its largest value on that context alone; a threshold below it makes the
neuron 1 there and 0 elsewhere, and the next-word distribution can be written into its output weights.

    embedding.py    words as integer points of one sphere, the axes among them
    targets.py      the distribution of each context as ratios that a softmax reproduces up to eps
    neurons.py      which neurons remember, which match, and the weights that follow
    structural.py   the SSM with a nilpotent transition matrix, any embedding of width two or more
    conditioned.py  the SSM whose neurons all match; its hidden matrix is the identity
    ramps.py        the SSM for an embedding of width one
    recurrent.py    the same as an Elman network with ReLU units
"""
