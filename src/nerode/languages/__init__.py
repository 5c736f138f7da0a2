"""Languages: automata and their operations, counter and bracket languages, files, patterns, samplers.

Open `language` first (what every language offers), then `dfa`. `resolve` turns what a user types into a
language; the folders hold the bestiary, file formats, groups, n-gram models, past-LTL, regular expressions
and samplers, each behind its own door.
"""

from nerode.languages.alphabet import END, Alphabet, Word, WordLike
from nerode.languages.brackets import Dyck, bounded_dyck_1
from nerode.languages.counters import START, CounterLanguage, CounterMachine, CounterRule, Counters
from nerode.languages.description import describe_language, language_from_description, language_hash
from nerode.languages.dfa import Dfa
from nerode.languages.language import Language, Legal, RegularLanguage
from nerode.languages.minimisation import minimise
from nerode.languages.operations import prefix_closure
from nerode.languages.resolve import looks_like_a_file, resolve_language
from nerode.languages.trees import distinct_subtrees

__all__ = [
    "END",
    "START",
    "Alphabet",
    "CounterLanguage",
    "CounterMachine",
    "CounterRule",
    "Counters",
    "Dfa",
    "Dyck",
    "Language",
    "Legal",
    "RegularLanguage",
    "Word",
    "WordLike",
    "bounded_dyck_1",
    "describe_language",
    "distinct_subtrees",
    "language_from_description",
    "language_hash",
    "looks_like_a_file",
    "minimise",
    "prefix_closure",
    "resolve_language",
]
