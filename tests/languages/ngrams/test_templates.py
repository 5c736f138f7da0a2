"""Every number of the spec about the seed's language, against a plain listing of its sentences."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from nerode.core import Budget, BudgetExceeded, InputError
from nerode.languages.ngrams import (
    BOS,
    BOS_NAME,
    Template,
    TemplateGrammar,
    seed_ngram_language,
    seed_ngram_model,
    seed_templates,
)
from nerode.languages.ngrams.model import NgramModel


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


LISTS = {
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
FIRST = "A woke at B o'clock and was too C to go back to D"
SECOND = "He E up and F on his G because he didn't want to H into the I in his J"


def fill(template: str) -> list[tuple[str, ...]]:
    return list(itertools.product(*(LISTS.get(part, part).split() for part in template.split())))


SENTENCES = fill(FIRST) + fill(SECOND)


def counted(length: int, pads: int) -> dict[tuple[str, ...], Counter[str]]:
    """How often each word, or "$", follows each window in the listed sentences."""
    counts: dict[tuple[str, ...], Counter[str]] = {}
    for sentence in SENTENCES:
        marked = (BOS_NAME,) * pads + sentence + ("$",)
        for i in range(len(marked) - length):
            counts.setdefault(marked[i : i + length], Counter())[marked[i + length]] += 1
    return counts


def named(model: NgramModel) -> dict[tuple[str, ...], dict[str, Fraction]]:
    names = (*model.vocabulary.symbols, "$", BOS_NAME)
    return {
        tuple(names[w] for w in context): {names[w]: p for w, p in distribution}
        for context, distribution in model.rows
    }


def test_sentences_words_and_outputs() -> None:
    grammar = seed_templates()
    assert [t.num_sentences for t in grammar.templates] == [1680, 6300]
    assert grammar.num_sentences == len(SENTENCES) == 7980
    assert sorted(grammar.sentences()) == sorted(SENTENCES)
    assert len(set(SENTENCES)) == 7980
    model = seed_ngram_model()
    assert len(model.vocabulary) == 79
    assert len(model.vector(["Harry", "woke", "at"])) == 80


@pytest.mark.parametrize(("tokens", "contexts"), [("words", 145), ("phrases", 170), ("woke-up", 146)])
def test_number_of_trigrams_depends_on_the_tokens(tokens: str, contexts: int) -> None:
    assert seed_templates(tokens).model(4).num_contexts == contexts  # type: ignore[arg-type]


def test_the_templates_share_words_but_no_trigram() -> None:
    first, second = seed_templates().templates
    windows = [
        {s[i : i + 3] for s in template.sentences() for i in range(len(s) - 2)}
        for template in (first, second)
    ]
    assert [len(w) for w in windows] == [73, 72]
    assert not windows[0] & windows[1]
    shared = {w for s in first.sentences() for w in s} & {w for s in second.sentences() for w in s}
    assert shared == {"and", "to"}


def test_the_trigram_that_table_1_lacks() -> None:
    model = seed_ngram_model()
    go_back = model.distribution(("excited", "to", "go"))
    assert ("excited", "to", "go") in named(model)
    assert go_back == {model.vocabulary.index("back"): 1}


@pytest.mark.parametrize(("pads", "contexts"), [(0, 145), (2, 169), (3, 170)])
def test_model_is_the_conditional_distribution_under_uniform_sentences(pads: int, contexts: int) -> None:
    model = seed_ngram_model(pads=pads)
    expected = {
        window: {word: Fraction(n, following.total()) for word, n in following.items()}
        for window, following in counted(3, pads).items()
    }
    assert named(model) == expected
    assert model.num_contexts == contexts
    assert model.num_windows == 145
    assert tuple(row for row in model.rows if BOS not in row[0]) == seed_ngram_model().rows


@pytest.mark.parametrize("pads", [0, 1, 2])
def test_equally_likely_is_the_same_as_uniform_sentences_after_the_first_word(pads: int) -> None:
    grammar = seed_templates()
    assert grammar.model(4, pads=pads) == grammar.model(4, pads=pads, weighting="sentences")


def test_the_first_word_is_not_equally_likely_under_uniform_sentences() -> None:
    model = seed_ngram_model(pads=3)
    first = model.next_distribution("")
    he = model.vocabulary.index("He")
    assert first[he] == Fraction(6300, 7980)
    assert {p for word, p in first.items() if word != he} == {Fraction(168, 7980)}
    assert model != seed_templates().model(4, pads=3)


def test_distributions_sum_to_exactly_one() -> None:
    for pads in range(4):
        model = seed_ngram_model(pads=pads)
        assert all(sum(p for _, p in distribution) == 1 for _, distribution in model.rows)
        assert sum(model.vector(model.contexts[0])) == 1


def test_eight_contexts_end_the_sentence_and_none_both_ends_and_continues() -> None:
    model = seed_ngram_model()
    final = {model.show(context) for context, row in model.rows if row == ((model.end, Fraction(1)),)}
    garments = ["robes", "pyjamas", "shorts", "underpants", "boxers", "trunks"]
    assert final == {"back to sleep", "back to bed"} | {f"in his {g}" for g in garments}
    mixed = [
        c for c in model.contexts if model.end in model.distribution(c) and len(model.distribution(c)) > 1
    ]
    assert mixed == []


def test_two_words_are_enough_and_one_is_not() -> None:
    model = seed_ngram_model()
    two, one = seed_ngram_model(order=3), seed_ngram_model(order=2)
    assert two.num_contexts == 115
    assert len(model.disagreements(two)) == 0
    assert len(model.disagreements(one)) == 31


def test_unknown_contexts_give_the_extra_symbol() -> None:
    model = seed_ngram_model()
    assert model.next_distribution("Harry woke Harry") == {model.end: 1}


def test_a_sentence_of_the_paper() -> None:
    model = seed_ngram_model(pads=3)
    assert model.probability("Ron woke at seven o'clock and was too troubled to go back to bed") == Fraction(
        1, 7980
    )
    assert model.probability("Ron woke at seven o'clock and was too troubled to go back to station") == 0


def test_perplexity_of_the_whole_language() -> None:
    model = seed_ngram_model(pads=3)
    predictions = sum(len(s) + 1 for s in SENTENCES)
    expected = math.exp(7980 * math.log(7980) / predictions)
    assert model.perplexity(SENTENCES) == pytest.approx(expected, rel=1e-12)


def test_language_is_the_set_of_sentences() -> None:
    language = seed_ngram_language()
    dfa = language.dfa()
    assert all(dfa.accepts(sentence) for sentence in SENTENCES)
    # Nothing else is accepted: were there longer words, there would be some of up to twice 35 letters.
    ways = np.zeros(dfa.num_states, dtype=np.int64)
    ways[dfa.start] = 1
    accepted = []
    for _ in range(2 * dfa.num_states):
        accepted.append(int(ways[dfa.accepting].sum()))
        after = np.zeros_like(ways)
        for letter in range(dfa.num_letters):
            np.add.at(after, dfa.transitions[dfa.live, letter], ways[dfa.live])
        ways = np.where(dfa.live, after, 0)
    assert {length: n for length, n in enumerate(accepted) if n} == {14: 1680, 20: 6300}
    # One state for each position: 13 and 19 inside the templates, the start, the end, the dead state.
    assert dfa.num_states == 35


def test_legal_words_along_sentences_and_beside_them() -> None:
    language = seed_ngram_language()
    follow: dict[tuple[str, ...], set[str]] = {}
    for s in SENTENCES:
        for i, word in enumerate((*s, "$")):
            follow.setdefault(s[:i], set()).add(word)
    for s in SENTENCES[::97]:
        legal = [set(step.names(language.alphabet)) for step in language.legal_along(s)]
        assert legal == [follow[s[:i]] for i in range(len(s) + 1)]
    beside = language.legal_along("He woke")[-1]
    assert beside.names(language.alphabet) == []


def test_the_language_says_what_it_is() -> None:
    language = seed_ngram_language()
    assert (language.name, language.kind, language.family) == ("ngram-seed", "n-gram", "n-gram")
    assert language.regular
    assert dict(language.parameters) == {"n": 4, "contexts": 145}
    assert "7,980" in language.convention


def test_samples_by_length_are_sentences_and_near_uniform() -> None:
    language = seed_ngram_language()
    rng = np.random.default_rng(5)
    seen = Counter(language.alphabet.decode(language.sample(14, rng)).split()[3] for _ in range(2400))
    assert set(seen) == set(LISTS["B"].split())
    # Twelve hours, 200 expected each; six standard deviations are about 81.
    assert max(abs(n - 200) for n in seen.values()) < 81
    assert language.accepts(language.sample(20, rng))
