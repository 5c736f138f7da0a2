"""Languages: automata and their operations, counter and bracket languages, files, patterns, samplers.

Open `language` first (what every language offers), then `dfa`. `resolve` turns what a user types into a
language; the folders hold the bestiary, file formats, groups, n-gram models, past-LTL, regular expressions
and samplers, each behind its own door.
"""

from typing import TYPE_CHECKING

from nerode.core import attach

if TYPE_CHECKING:
    from nerode.languages.alphabet import END, Alphabet, Word, WordLike, with_powers
    from nerode.languages.brackets import Dyck, bounded_dyck_1
    from nerode.languages.counters import START, CounterLanguage, CounterMachine, CounterRule, Counters
    from nerode.languages.determinise import minimise
    from nerode.languages.dfa import Dfa
    from nerode.languages.language import Language, Legal, RegularLanguage
    from nerode.languages.moore import Moore
    from nerode.languages.operations import (
        complement,
        difference,
        distinguishing_word,
        intersection,
        is_equivalent,
        left_quotient,
        over_one_alphabet,
        prefix_closure,
        reverse,
        right_quotient,
        union,
        with_alphabet,
    )
    from nerode.languages.questions import (
        IN,
        NO_ANSWER,
        NOTHING,
        OUTSIDE,
        UNASKED,
        LanguageQuestion,
        MooreQuestion,
        Question,
        answer_names,
        answer_text,
        asked_of,
        describe_question,
        legal_bits,
        legal_text,
        question_from_description,
    )
    from nerode.languages.resolve import (
        describe_language,
        is_named_rightly,
        language_from_description,
        language_hash,
        looks_like_a_file,
        resolve_language,
        title_of,
    )

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "nerode.languages.alphabet": "END Alphabet Word WordLike with_powers",
        "nerode.languages.brackets": "Dyck bounded_dyck_1",
        "nerode.languages.counters": "START CounterLanguage CounterMachine CounterRule Counters",
        "nerode.languages.determinise": "minimise",
        "nerode.languages.dfa": "Dfa",
        "nerode.languages.language": "Language Legal RegularLanguage",
        "nerode.languages.moore": "Moore",
        "nerode.languages.operations": (
            "complement difference distinguishing_word intersection is_equivalent left_quotient "
            "over_one_alphabet prefix_closure reverse right_quotient union with_alphabet"
        ),
        "nerode.languages.questions": (
            "IN NO_ANSWER NOTHING OUTSIDE UNASKED LanguageQuestion MooreQuestion Question "
            "describe_question question_from_description answer_names answer_text asked_of legal_bits "
            "legal_text"
        ),
        "nerode.languages.resolve": (
            "describe_language is_named_rightly language_from_description language_hash looks_like_a_file "
            "resolve_language title_of"
        ),
    },
)
