"""Streams: the answers of the interpreter, in parts of any size, in constant memory."""

from __future__ import annotations

import numpy as np
import pytest

from nerode.compiler import compile_language
from nerode.core import InputError
from nerode.languages import Alphabet, resolve_language
from nerode.languages.bestiary import find_language
from nerode.languages.ngrams import seed_ngram_model
from nerode.models.streaming import NextWordScorer, Stream, TextReader, score_text
from nerode.network import Interpreter


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("parity", "diagonal-signed"),
        ("flip-flop", "diagonal"),
        ("dyck-2-5", "diagonal"),
        ("s3", "diagonal-complex"),
        ("s3", "householder"),
        ("tomita-3", "lstm"),
        ("dyck-1", "diagonal"),
    ],
)
def test_the_answers_of_the_interpreter(name, target):
    network = compile_language(find_language(name), target)
    word = np.random.default_rng(0).integers(0, len(network.alphabet), 700)
    wanted = Interpreter(network).run(word.tolist())
    stream, position = Stream(network), 0
    assert stream.answer == wanted[0]
    for size in (1, 2, 0, 3, 50, 300, 344):
        stream.feed(word[position : position + size])
        position += size
        assert stream.tokens == position
        assert stream.answer.legal == wanted[position].legal


def test_long_words_are_a_walk():
    network = compile_language(find_language("flip-flop"), "diagonal")
    language = find_language("flip-flop")
    word = np.random.default_rng(0).integers(0, len(network.alphabet), 3_000_000)
    stream = Stream(network)
    stream.feed(word)
    state = language.initial()
    for letter in word.tolist():
        state = language.advance(state, letter)
    assert stream.answer.legal == language.legal(state)
    assert stream.configurations < 100


def test_a_full_table_goes_on_by_steps():
    network = compile_language(find_language("dyck-1"), "diagonal")
    stream = Stream(network, most=10)
    stream.feed(np.zeros(500, dtype=int))
    assert stream.full
    assert stream.configurations == 10
    assert not stream.answer.legal.end
    stream.feed(np.ones(500, dtype=int))
    assert stream.answer.legal.end


def test_a_number_that_is_no_letter_is_refused_before_anything_is_read():
    network = compile_language(find_language("parity"), "diagonal-signed")
    stream = Stream(network)
    stream.feed([0, 1])
    with pytest.raises(InputError, match=r"the letter number 7 at position 4 is outside 0…1"):
        stream.feed([0, 7, 0])
    assert stream.tokens == 2


def letters(alphabet, text, size):
    parts = [text[i : i + size] for i in range(0, len(text), size)]
    found = list(TextReader(alphabet).read(parts))
    return np.concatenate(found).tolist() if found else []


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_text_in_parts_of_any_size(size):
    assert letters(Alphabet(("a", "b")), b"ab b\na\r\n", size) == [0, 1, 1, 0]
    assert letters(Alphabet(("go", "stop")), b"go stop\tgo\n stop", size) == [0, 1, 0, 1]
    assert letters(Alphabet(("α", "β")), "αβ β".encode(), size) == [0, 1, 1]


def test_text_that_is_not_in_the_alphabet():
    with pytest.raises(InputError, match=r"the symbol 'c' is not in the alphabet \{a, b\}"):
        letters(Alphabet(("a", "b")), b"abc", 10)
    with pytest.raises(InputError, match="the symbol 'og' is not"):
        letters(Alphabet(("go", "stop")), b"go og", 10)
    with pytest.raises(InputError, match="the byte 0xff of the text is not UTF-8"):
        letters(Alphabet(("α", "β")), b"\xff\xfe ", 10)
    for size in (1, 2, 10):  # the first fault is told, however the text is cut
        with pytest.raises(InputError, match="the symbol 'c' is not in the alphabet"):
            letters(Alphabet(("a", "b")), b"abc\xff", size)
        with pytest.raises(InputError, match="the byte 0xff of the text"):
            letters(Alphabet(("a", "b")), b"ab\xffc", size)
    with pytest.raises(InputError, match="no white space in a million bytes"):
        letters(Alphabet(("go", "stop")), b"g" * (2 << 20), 1 << 19)


def test_networks_without_a_softmax_are_refused() -> None:
    for name, target in (("parity", "elman-relu"), ("z3", "diagonal-complex")):
        with pytest.raises(InputError, match="no softmax"):
            NextWordScorer(compile_language(resolve_language(name), target))


def test_the_paper_s_language_has_the_costs_of_its_model() -> None:
    """Its network is correct from three words on; the model is asked with start marks there."""
    language = resolve_language("ngram-seed")
    network = compile_language(language, "ssm")
    scorer, model = NextWordScorer(network), seed_ngram_model()
    words = model.encode("Harry woke at one o'clock and was too excited to go back to sleep".split())
    logs = scorer.logs(words)
    for i, word in enumerate((*words, model.end)):
        if i >= 3:
            assert logs[i, word] == pytest.approx(model.log_next(words[i - 3 : i], word), abs=1e-3)


def test_no_sentence() -> None:
    language = resolve_language("ngram-seed")
    with pytest.raises(InputError, match="no sentence"):
        score_text(compile_language(language, "ssm"), language.model, ["", "  "])  # type: ignore[attr-defined]
