"""From words to a proved network: an automaton is learned from labelled words, then compiled.

Open `learner` first. `words` reads the data, `consistent` has the smallest automaton that agrees with all
labels, `likelihood` the one for wrong labels and for words without labels. `fitting` trains a network on the
labels alone.
"""

from nerode.analysis.learning.fitting import fit_words, write_fitted
from nerode.analysis.learning.learner import LearnSettings, learn, learn_language
from nerode.analysis.learning.words import read_words

__all__ = ["LearnSettings", "fit_words", "learn", "learn_language", "read_words", "write_fitted"]
