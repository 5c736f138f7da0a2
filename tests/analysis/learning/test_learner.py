"""Learning a language from words: what is found, what is not known, and what is refused."""

from __future__ import annotations

import itertools

import aalpy
import numpy as np
import pytest

from nerode.analysis.learning.consistent import SearchTimeout, find_smallest, merge_states
from nerode.analysis.learning.learner import LearnSettings, learn, learn_language
from nerode.analysis.learning.words import make_samples, read_words
from nerode.core import InputError, stream
from nerode.languages import Alphabet, is_equivalent, resolve_language
from nerode.proofs import Certificate

TRUTH = "(ab|c)*d"
ALPHABET = Alphabet(("a", "b", "c", "d"))


def _all_words(longest: int, letters: str) -> list[str]:
    words = [""]
    for word in words:
        if len(word) < longest:
            words += [word + letter for letter in letters]
    return words


def _labelled(truth: str, longest: int = 5, letters: str = "abcd"):
    language = resolve_language(truth)
    words = _all_words(longest, letters)
    return language, words, [language.accepts(word) for word in words]


def test_all_short_words_show_the_language_and_its_network_is_proved():
    language, words, labels = _labelled(TRUTH, 4)
    found = learn(words, labels, arch="mamba")
    assert is_equivalent(found.language.dfa(), language.dfa())
    assert (found.evidence.way, found.evidence.smallest) == ("search", True)
    assert found.evidence.held_out[1] == len(words) // 10
    assert isinstance(found.proof, Certificate)
    assert any(claim.length == "all" for claim in found.proof.claims)


def test_the_smallest_automaton_is_the_smallest():
    # Words of a*: one state would do for the accepted ones, two are needed for both kinds.
    known = {(): 1, (0,): 1, (0, 0): 1, (1,): 0, (0, 1): 0, (1, 0): 0}
    found = find_smallest(known, 2, most=5, seconds=5.0)
    assert found is not None
    assert found.table.num_states == 2
    assert find_smallest(known, 2, most=1, seconds=5.0) is None
    for word, answer in known.items():
        assert found.table.answer(word) == answer
        assert merge_states(known, 2).answer(word) == answer


@pytest.mark.parametrize("seed", range(6))
def test_merging_ends_as_that_of_aalpy_does(seed):
    rng = np.random.default_rng(seed)
    moves, accepts = rng.integers(0, 5, (5, 2)), rng.integers(0, 2, 5)
    known = {}
    for length in rng.integers(0, 12, 400).tolist():
        word, state = tuple(rng.integers(0, 2, length).tolist()), 0
        for letter in word:
            state = moves[state, letter]
        known[word] = int(accepts[state])
    own = merge_states(known, 2)
    theirs = aalpy.run_RPNI(list(known.items()), "moore", print_info=False)
    assert own.num_states == len(theirs.states)
    assert not own.unseen_moves
    for word in itertools.product(range(2), repeat=10):
        theirs.reset_to_initial()
        assert own.answer(word) == [theirs.step(letter) for letter in word][-1]


def test_the_only_one_of_its_size_is_said_only_where_it_is():
    _, words, labels = _labelled("(aa)*", 6, "a")
    assert learn_language(make_samples(words, labels)).evidence.unique is True
    few = learn_language(make_samples(["", "a", "ab"], [True, False, True], alphabet=Alphabet(("a", "b"))))
    assert few.evidence.unique is False
    assert few.evidence.rival_word is not None


def test_an_answer_that_no_word_tells_is_a_guess():
    """Without a label of the empty word there are two automata of one size, and the empty word tells them."""
    words = ["".join(word) for n in range(1, 5) for word in itertools.product("ab", repeat=n)]
    first = learn_language(make_samples(words, [word[0] == "a" for word in words]))
    assert (first.evidence.states, first.evidence.smallest) == (3, True)
    assert (first.evidence.unique, first.evidence.rival_word) == (False, ())
    assert "the label of the empty word would tell" in " ".join(first.evidence.sentences())
    again = learn_language(first.samples.with_answer((), 0))
    assert (again.evidence.unique, again.evidence.rival_word) == (True, None)


def test_the_word_that_would_tell_tells():
    samples = make_samples(["", "a", "ab", "b"], [True, False, True, False], alphabet=Alphabet(("a", "b")))
    first = learn_language(samples)
    word = samples.alphabet.encode("".join(first.evidence.rival_word))
    for answer in (0, 1):
        again = learn_language(samples.with_answer(word, answer))
        assert again.language.accepts(word) == bool(answer)


def test_questions_lead_to_the_language():
    language = resolve_language("(aa)*b*")
    words = ["", "a", "b", "aab", "ab", "ba", "aa", "bb"]
    samples = make_samples(words, [language.accepts(word) for word in words])
    found = learn_language(samples, ask=lambda word: language.accepts("".join(word)))
    assert is_equivalent(found.language.dfa(), language.dfa())
    assert all(len(word) <= 8 for word in found.evidence.asked)


def test_wrong_labels_are_named():
    language, words, _ = _labelled("(ab)*", 8, "ab")
    rng = np.random.default_rng(3)
    chosen = [words[row] for row in rng.permutation(len(words))[:300]]
    right = [language.accepts(word) for word in chosen]
    wrong = sorted(rng.permutation(300)[:9].tolist())
    given = [not label if row in wrong else label for row, label in enumerate(right)]
    # Half of the words are of the language, so that its states show.
    own = ["ab" * n for n in range(1, 41)] * 4
    found = learn_language(make_samples(chosen + own, given + [True] * len(own)), LearnSettings(noisy=True))
    assert is_equivalent(found.language.dfa(), language.dfa())
    assert [row - 1 for row in found.evidence.doubted] == wrong


def test_a_word_with_two_labels_is_named_with_both_places():
    with pytest.raises(InputError, match=r"ab is both accept and reject: word 1 and word 3.*--noisy"):
        learn_language(make_samples(["ab", "a", "ab"], [True, False, False]))


def test_raw_words_show_what_may_follow():
    language = resolve_language(TRUTH)
    rng = stream(0, "test")
    words = [
        "".join(ALPHABET.symbols[a] for a in language.sample(int(n), rng))
        for n in rng.integers(1, 20, 400)
        if n % 2
    ]
    found = learn_language(make_samples(words, None, alphabet=ALPHABET))
    assert is_equivalent(found.language.dfa(), language.dfa())
    assert found.evidence.smallest is None


def test_prefix_labels_and_sets_of_letters(tmp_path):
    path = tmp_path / "words.tsv"
    path.write_text("abab\t1 0 1 0 1\nba\t1 0 0\naab\t1000\n")
    found = learn_language(read_words(path, labels="prefix"))
    assert found.language.accepts("ababab")
    assert not found.language.accepts("abaab")
    path.write_text("abab\ta,$ b a,$ b a,$\nab\ta,$ b a,$\n")
    found = learn_language(read_words(path, labels="next"))
    assert is_equivalent(found.language.dfa(), resolve_language("(ab)*").dfa())


@pytest.mark.parametrize(
    ("text", "labels", "message"),
    [
        ("", None, "has no words"),
        ("ab\t2\n", None, "line 1: '2' is no label; give 1 or 0"),
        ("ab\t1\nba\t1\n", None, "every label is accept"),
        ("ab\t1\textra\n", None, "3 columns, not 2"),
        ("ab\t1 0\n", "prefix", "2 labels for 2 letters"),
        ("ab\tx b $\n", "next", "'x' is no letter; the letters are a b"),
        ("ab\na\t1\n", None, "line 1: 1 column, not 2"),
    ],
)
def test_bad_data_is_refused_with_its_line(tmp_path, text, labels, message):
    path = tmp_path / "words.tsv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_words(path, labels=labels)


def test_a_letter_outside_the_alphabet_is_refused(tmp_path):
    path = tmp_path / "words.tsv"
    path.write_text("ab\t1\nxb\t0\n")
    with pytest.raises(InputError, match=r"line 2: 'x' is no letter; the letters are a b"):
        read_words(path, alphabet=Alphabet(("a", "b")))


def test_the_search_keeps_to_its_seconds():
    rng = np.random.default_rng(0)
    known = {tuple(rng.integers(0, 2, 12).tolist()): int(rng.integers(2)) for _ in range(400)}
    with pytest.raises(SearchTimeout):
        find_smallest(known, 2, most=40, seconds=0.2)
