"""N-gram language models: exact ones in fractions, back-off ones from ARPA files, and their languages.

model   = seed_ngram_model()                     # (P, f) of the seed paper, 145 contexts
model   = read_rules("toy.rules")                # w1 w2 w3 -> w4 : 1/7
model   = read_arpa("model.arpa")                # exact decimal logarithms, with back-off
model.next_distribution("Harry woke at")         # {word number: probability}
seed_ngram_language().accepts("…")
"""

from nerode.languages.ngrams.arpa import (
    backoff_from_json,
    backoff_to_json,
    format_arpa,
    parse_arpa,
    read_arpa,
    write_arpa,
)
from nerode.languages.ngrams.backoff import BackoffModel, check_normalisation
from nerode.languages.ngrams.files import (
    model_from_json,
    model_to_json,
    parse_rules,
    read_model,
    read_ngram_language,
    read_rules,
    write_model,
)
from nerode.languages.ngrams.language import NgramLanguage, ngram_language
from nerode.languages.ngrams.model import NgramModel, with_starts
from nerode.languages.ngrams.next_word import BOS, BOS_NAME, NextWordModel
from nerode.languages.ngrams.templates import (
    Template,
    TemplateGrammar,
    seed_ngram_language,
    seed_ngram_model,
    seed_templates,
)
