"""Domains of the kernel: what only some certificates need; each is imported when one asks for it.

floats          meter           where float arithmetic makes no error: claims in a float format
irrational      roots           networks whose numbers are sums of roots of unity
boxes           spans           intervals, rounded outward; the step of every network over them
boxes           cells with an interval for every coordinate, under noise and roundings
infinite        counters        counter machines
forms           affine forms over unknowns, and the meter of their sums
coordinates     what a cell may know of a coordinate
knowledge       the description of a cover
unknowns        cells whose coordinates are each known in their own way
distributions   models          n-gram and back-off models
words           the units of a layer that forgets as functions of the last words
ngrams          cells that know the longest context that a prefix ends in
windows         windows         evidence that is no cover
finders         finders         completing evidence; no check needs it
"""
