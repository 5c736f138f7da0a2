r"""Past temporal logic, and the automata its formulas stand for.

A formula describes the words at whose *last position* it holds. From tight to loose binding:

| written | holds at a position |
|---|---|
| `a`, `7`, `é` | whose letter this is: every character without a meaning of its own |
| `<close>`, `<S>` | the same, for names of several characters and names of operators |
| `\(` | the same, for punctuation with a meaning |
| `true`, `false` | always, never |
| `( )` | grouping |
| `!f` | if f does not |
| `Y f` | yesterday: if there is a position before, and f held there |
| `Z f` | weak yesterday: if there is no position before, or f held there |
| `O f` (or `P f`) | once: if f held here or at some position before |
| `H f` | historically: if f held here and at all positions before |
| `f S g` | since: if g held here or before, and f held at every position after that one |
| `f & g` | if both do |
| `f \| g` | if one of them does |
| `f -> g` | if g does or f does not |
| `f <-> g` | if both do or neither does |

All unary operators bind equally tightly. `S` and `<->` associate to the left, `->` to the right:
`a S b S c` is `(a S b) S c`, `a -> b -> c` is `a -> (b -> c)`. White space is ignored.

The empty word has no position. What claims that something has happened is false of it, what claims that
nothing else has is true: letters, `Y`, `O` and `S` are false, `Z` and `H` are true, and the Boolean
operators decide. The laws `H f = !O !f`, `Z f = !Y !f` and `O f = true S f` hold there too. So (ab)* is
`H ((a -> Z b) & (b -> Y a)) & !a`, and `Z false` says that the word has at most one letter.

The alphabet consists of the letters written in the formula, sorted, or is given; then the formula may use
only letters of that alphabet.
"""

from nerode.languages.pastltl.automaton import formula_language, formula_to_dfa
from nerode.languages.pastltl.syntax import (
    And,
    Atom,
    Constant,
    Formula,
    Historically,
    Iff,
    Implies,
    Not,
    Once,
    Or,
    PastFormula,
    Since,
    WeakYesterday,
    Yesterday,
    conjunction,
    disjunction,
    parse,
    subformulas,
    to_text,
)

__all__ = [
    "And",
    "Atom",
    "Constant",
    "Formula",
    "Historically",
    "Iff",
    "Implies",
    "Not",
    "Once",
    "Or",
    "PastFormula",
    "Since",
    "WeakYesterday",
    "Yesterday",
    "conjunction",
    "disjunction",
    "formula_language",
    "formula_to_dfa",
    "parse",
    "subformulas",
    "to_text",
]
