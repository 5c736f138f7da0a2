r"""Regular expressions, and the automata they stand for.

A pattern always describes whole words. From tight to loose binding:

| written | stands for |
|---|---|
| `a`, `7`, `é` | the letter: every character without a meaning of its own |
| `<close>` | a letter whose name has several characters; `\<`, `\>`, `\\` inside |
| `\*` | the character after the backslash as a letter (punctuation only) |
| `.` | any one letter of the alphabet |
| `[abc]`, `[a-z0-9]`, `[a<close>]` | one of these letters |
| `[^ab]` | one letter of the alphabet that is not among these |
| `ε` or `()` | the empty word |
| `∅` or `[]` | no word at all |
| `( )` | grouping |
| `x*`, `x+`, `x?` | any number, at least one, at most one x |
| `x{3}`, `x{3,}`, `x{3,5}`, `x{,5}` | exactly 3, at least 3, 3 to 5, at most 5 times x |
| `~x` | every word over the alphabet that x does not match |
| `xy` | an x, then a y |
| `x&y` | words that both match |
| `x\|y` | words that one of them matches |

So `~a*b` is `(~(a*))b`, and `ab&c|d` is `((ab)&c)|d`. Postfix operators stack: `a+?` is `(a+)?`, and
since no number of a repeat goes above 10,000, `x{100}{1000}` is how to write more. White space is ignored,
but may not be part of a symbol. `^` and `$` are not anchors here; `\^` is the letter ^, and `$`, which marks
the end of a word in outputs, cannot be a letter.

The alphabet consists of the letters written in the pattern, sorted, a range counting as all its letters;
`.`, `[^…]` and `~` are relative to it. A given alphabet replaces it: then the pattern may use only letters
of that alphabet, and a range stands for those letters of the alphabet that lie in it.
"""

from nerode.languages.regex.automaton import (
    dfa_to_regex,
    least_states,
    regex_to_dfa,
    regular_language,
    simplify,
)
from nerode.languages.regex.syntax import (
    MAX_REPEAT,
    Complement,
    Concat,
    EmptySet,
    Epsilon,
    Expression,
    Intersection,
    Letters,
    Regex,
    Repeat,
    Union,
    concat,
    intersection,
    parse,
    to_text,
    union,
)

__all__ = [
    "MAX_REPEAT",
    "Complement",
    "Concat",
    "EmptySet",
    "Epsilon",
    "Expression",
    "Intersection",
    "Letters",
    "Regex",
    "Repeat",
    "Union",
    "concat",
    "dfa_to_regex",
    "intersection",
    "least_states",
    "parse",
    "regex_to_dfa",
    "regular_language",
    "simplify",
    "to_text",
    "union",
]
