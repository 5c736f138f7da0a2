"""Membership in some languages, written down again from their definitions, and legality by trying."""

from __future__ import annotations

import itertools
import re


def runs(word):
    return [(letter, len(list(group))) for letter, group in itertools.groupby(word)]


def has_no_odd_ones_then_odd_zeros(word):
    return not any(
        first[0] == "1" and second[0] == "0" and first[1] % 2 and second[1] % 2
        for first, second in itertools.pairwise(runs(word))
    )


def is_balanced(word, pairs, depth):
    """Brackets by replacing innermost pairs, and the depth by counting."""
    heights = list(itertools.accumulate(1 if c in dict(pairs) else -1 for c in word))
    while any(a + b in word for a, b in pairs):
        for a, b in pairs:
            word = word.replace(a + b, "")
    return not word and max(heights, default=0) <= depth


MEMBER = {
    "tomita-1": lambda w: "0" not in w,
    "tomita-2": lambda w: w == "10" * (len(w) // 2),
    "tomita-3": has_no_odd_ones_then_odd_zeros,
    "tomita-4": lambda w: "000" not in w,
    "tomita-5": lambda w: w.count("0") % 2 == 0 and w.count("1") % 2 == 0,
    "tomita-6": lambda w: (w.count("0") - w.count("1")) % 3 == 0,
    "tomita-7": lambda w: re.fullmatch("0*1*0*1*", w) is not None,
    "012-star-02-star": lambda w: w.rstrip("2")[-1:] == "0",
    "parity": lambda w: w.count("1") % 2 == 0,
    "aa-star": lambda w: len(w) % 2 == 0,
    "abab-star": lambda w: w == "abab" * (len(w) // 4),
    "d-2": lambda w: is_balanced(w, [("a", "b")], 2),
    "dyck-1": lambda w: is_balanced(w, [("(", ")")], len(w)),
    "dyck-2": lambda w: is_balanced(w, [("(", ")"), ("[", "]")], len(w)),
    "dyck-2-3": lambda w: is_balanced(w, [("(", ")"), ("[", "]")], 3),
    "shuffle-2": lambda w: (
        is_balanced(re.sub(r"[\[\]]", "", w), [("(", ")")], len(w))
        and is_balanced(re.sub(r"[()]", "", w), [("[", "]")], len(w))
    ),
    "anbn": lambda w: len(w) > 0 and w == "a" * (len(w) // 2) + "b" * (len(w) // 2),
    "majority": lambda w: w.count("1") > w.count("0"),
}
"""By name, whether a text is in the language."""


def may_continue(name, prefix, alphabet, most):
    """Whether some word of the language begins with a prefix, by trying all continuations up to a length."""
    member = MEMBER[name]
    return any(
        member(prefix + "".join(rest))
        for length in range(most + 1)
        for rest in itertools.product(alphabet, repeat=length)
    )
