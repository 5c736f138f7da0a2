"""The n-gram language of Nandakumar et al., Appendix B: 7,980 sentences, 145 trigrams.

What the paper leaves open, and how it is settled here:

* Tokens. The templates are typeset with "on his", "because he" and "into the" inside one pair of commas,
  but Table 1 of the paper lists trigrams such as "on his jeans" and "because he didn't", which exist only if
  every word is a token of its own. So it is here: 79 words, d + 1 = 80 outputs, and |P| = 145 as the
  paper says. With the three phrases as single tokens |P| would be 170; with the first template "woke up
  at", as in an example of the paper's section 4.2, it would be 146. Both are available, for the tests.
* Table 1 lists 144 trigrams, not 145: "excited to go" is missing. The other 144 are those found here.
* The end. Eight trigrams close a sentence ("back to sleep", "back to bed", "in his" and one of six
  garments). f has to map them somewhere; the one symbol beside the words is the extra one.
* Short prefixes. P has windows of three words, so the paper's model says nothing about the first three.
  Two start marks (169 contexts) let it predict from the second word on, three (170 contexts) from the
  first. The language needs no such choice: it is the set of 7,980 sentences, and what may follow a short
  prefix is what follows it in a sentence.
* Probabilities. "All choices equally likely" is the conditional distribution under uniformly drawn
  sentences, because slots are filled independently and the templates share no trigram; only the choice of
  the first word differs (a sentence of the second template is 15/4 times as frequent), and there the
  models here follow the sentences.

The order 4 is not needed: the 115 windows of two words already determine the next word (`disagreements`).
"""

from __future__ import annotations

from typing import Literal

from nerode.languages.ngrams.language import NgramLanguage
from nerode.languages.ngrams.model import NgramModel
from nerode.languages.ngrams.templates import Template, TemplateGrammar

SeedTokens = Literal["words", "phrases", "woke-up"]

_TEMPLATES = (
    "A woke at B o'clock and was too C to go back to D",
    "He E up and F on his G because he didn't want to H into the I in his J",
)
_LISTS = {
    "A": "Harry Ron Sirius Hagrid Fred George Neville Draco Albus Snape",
    "B": "one two three four five six seven eight nine ten eleven twelve",
    "C": "excited angry elated agitated nervous troubled upset",
    "D": "sleep bed",
    "E": "got stood rose",
    "F": "put pulled",
    "G": "jeans trousers pants denims slacks",
    "H": "walk run jog stroll sprint saunter amble",
    "I": "station platform house building apartment",
    "J": "robes pyjamas shorts underpants boxers trunks",
}
_PHRASES = ("on his", "because he", "into the")

SEED_CONVENTION = (
    "the 7,980 sentences of two templates, words as symbols: 14 words beginning with one of ten names, "
    "or 20 words beginning with He"
)


def seed_templates(tokens: SeedTokens = "words") -> TemplateGrammar:
    """Returns the two templates of the paper.

    Args:
        tokens: "words" for one token a word (|P| = 145); "phrases" with "on his", "because he" and "into the"
            as the tokens on_his, because_he and into_the (|P| = 170); "woke-up" for the first
            template with "woke up at" (|P| = 146).
    """
    first, second = _TEMPLATES
    if tokens == "phrases":
        for phrase in _PHRASES:
            second = second.replace(phrase, phrase.replace(" ", "_"))
    elif tokens == "woke-up":
        first = first.replace("woke at", "woke up at")
    lists = {name: words.split() for name, words in _LISTS.items()}
    return TemplateGrammar(templates=(Template.parse(first, lists), Template.parse(second, lists)))


def seed_ngram_model(*, order: int = 4, pads: int = 0) -> NgramModel:
    """Returns the n-gram model of the paper's language.

    Args:
        order: n; the paper has 4.
        pads: start marks before a sentence; the paper has none.
    """
    return seed_templates().model(order, pads=pads, weighting="sentences")


def seed_ngram_language() -> NgramLanguage:
    """Returns the language `ngram-seed`: the 7,980 sentences, drawn uniformly by its model."""
    return NgramLanguage(name="ngram-seed", model=seed_ngram_model(pads=3), convention=SEED_CONVENTION)
