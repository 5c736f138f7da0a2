from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from nerode.core import Budget, BudgetExceeded, InputError
from nerode.languages.ngrams import Template, TemplateGrammar


def grammar(*texts: str, **lists: str) -> TemplateGrammar:
    fillers = {name: words.split("|") for name, words in lists.items()}
    return TemplateGrammar(templates=tuple(Template.parse(text, fillers) for text in texts))


def test_words_slots_and_fillers_of_several_words() -> None:
    found = grammar("a X b", X="c|d d")
    assert found.num_sentences == 2
    assert list(found.sentences()) == [("a", "c", "b"), ("a", "d", "d", "b")]
    assert found.vocabulary.symbols == ("a", "b", "c", "d")


@pytest.mark.parametrize(
    ("slots", "message"),
    [
        ((), "at least one slot"),
        (((),), "slot 1"),
        (((("a",),), ((),)), "slot 2"),
        (((("a",), ("a",)),), "twice"),
    ],
)
def test_each_invariant_of_a_template(slots: tuple[tuple[tuple[str, ...], ...], ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Template(slots=slots)


def test_a_grammar_needs_a_template() -> None:
    with pytest.raises(InputError, match="at least one template"):
        TemplateGrammar(templates=())


def test_the_two_weightings_differ_when_slots_share_words() -> None:
    # "b" follows "a" in three of four sentences, "c" in one.
    found = grammar("a b X", "a c", X="d|e|f")
    equal = found.model(2).distribution("a")
    shares = found.model(2, weighting="sentences").distribution("a")
    assert set(equal.values()) == {Fraction(1, 2)}
    assert sorted(shares.values()) == [Fraction(1, 4), Fraction(3, 4)]


def test_wrong_arguments() -> None:
    with pytest.raises(InputError, match="order 0"):
        grammar("a").model(0)
    with pytest.raises(InputError, match="3 start marks"):
        grammar("a").model(2, pads=3)
    with pytest.raises(InputError, match="weighting"):
        grammar("a").model(2, weighting="most")  # type: ignore[arg-type]


def test_windows_are_found_without_listing_the_sentences() -> None:
    text = " ".join(["X"] * 60)
    model = grammar(text, X="a|b").model(3, weighting="sentences")
    assert model.num_contexts == 4
    # 2^60 sentences; each of the 59 places of a window is followed by a word in 58 of them.
    assert model.distribution(("a", "b"))[model.end] == Fraction(1, 59)


def test_budget_on_windows() -> None:
    text = " ".join(["X"] * 12)
    with pytest.raises(BudgetExceeded, match="elements"):
        grammar(text, X="a|b|c").model(10, budget=Budget(elements=1000))


words = st.lists(st.sampled_from("abc"), min_size=1, max_size=2).map(tuple)
slots = st.lists(words, min_size=1, max_size=3, unique=True).map(tuple)
templates = st.lists(slots, min_size=1, max_size=4).map(lambda s: Template(slots=tuple(s)))


@given(st.lists(templates, min_size=1, max_size=3), st.integers(1, 4), st.data())
def test_counts_agree_with_listing(found: list[Template], order: int, data: st.DataObject) -> None:
    pads = data.draw(st.integers(0, order - 1))
    whole = TemplateGrammar(templates=tuple(found))
    model = whole.model(order, pads=pads, weighting="sentences")
    names = (*model.vocabulary.symbols, "$", "<s>")
    expected: dict[tuple[str, ...], Counter[str]] = {}
    for sentence in whole.sentences():
        marked = ("<s>",) * pads + sentence + ("$",)
        for i in range(len(marked) - order + 1):
            expected.setdefault(marked[i : i + order - 1], Counter())[marked[i + order - 1]] += 1
    got = {tuple(names[w] for w in c): {names[w]: p for w, p in d} for c, d in model.rows}
    assert got == {c: {w: Fraction(n, f.total()) for w, n in f.items()} for c, f in expected.items()}
