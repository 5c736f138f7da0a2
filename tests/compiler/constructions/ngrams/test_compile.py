"""Which network a request gets, and that it is always right."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from nerode.compiler.construction import NgramOptions
from nerode.compiler.pipeline import compile_language
from nerode.compiler.table import CONSTRUCTIONS
from nerode.core import InputError, NotCompilable
from nerode.languages import resolve_language
from nerode.languages.ngrams import NgramLanguage, read_ngram_language
from nerode.network.json_form import network_from_json, network_to_json
from nerode.network.step import Interpreter
from nerode.verdict import ARCHITECTURES, Sense, collect_facts, verdict_for
from nerode.verdict.theorems import THEOREMS
from tests.compiler.constructions.ngrams.models import (
    EPS,
    compiled,
    exact_model,
    from_text,
    power,
    recurrence_rows,
    seed,
    tables,
    texts,
    worst_on,
)
from tests.languages.ngrams.arpa_texts import GOOD

VARIANTS: list[tuple[str, dict[str, object]]] = [
    ("ssm", {}),
    ("ssm", {"embedding_width": 1}),
    ("ssm", {"embedding_width": 2}),
    ("ssm", {"embedding_width": 5}),
    ("ssm", {"variant": "conditioned"}),
    ("ssm", {"normaliser": "sparsemax"}),
    ("ssm", {"normaliser": "hardmax"}),
    ("ssm", {"unknown_contexts": True}),
    ("elman-relu", {}),
    ("elman-relu", {"embedding_width": 1}),
    ("elman-relu", {"embedding_width": 3, "normaliser": "sparsemax"}),
    ("elman-relu", {"unknown_contexts": True}),
]


@pytest.mark.parametrize(("to", "options"), VARIANTS, ids=str)
@settings(max_examples=15)
@given(language=texts() | tables(), junk=st.lists(st.integers(0, 1), max_size=4))
def test_every_network_is_right(
    to: str, options: dict[str, object], language: NgramLanguage, junk: list[int]
) -> None:
    model = exact_model(language)
    uniform = all(len(set(model.distribution(w).values())) == 1 for w in language.windows)
    if not language.windows or (options.get("normaliser") == "hardmax" and not uniform):
        with pytest.raises(NotCompilable, match="words of a context" if uniform else "not uniform"):
            compiled(language, to, **options)
        return
    network = compiled(language, to, **options)
    limit = EPS if options.get("normaliser", "softmax") == "softmax" else Fraction(1, 10**30)
    assert worst_on(network, language, language.windows, junk) < limit
    matrix, _ = recurrence_rows(network)
    assert not any(power(matrix, model.order - 1))
    assert len(network.embedding.directions) == options.get("embedding_width", 2)
    assert network_from_json(network_to_json(network)) == network


@given(texts(), st.integers(1, 4))
def test_no_more_neurons_than_contexts(language: NgramLanguage, width: int) -> None:
    """The theorem's number, wherever there are at least as many contexts as words in a context."""
    length = exact_model(language).order - 1
    network = compiled(language, embedding_width=width)
    if len(language.windows) >= length:
        assert network.state_size == len(language.windows)
    else:
        assert network.state_size <= len(language.windows) + (length - 1) * width


@settings(max_examples=25)
@given(texts() | tables(), st.sampled_from(["ssm", "elman-relu"]), st.sampled_from(["softmax", "sparsemax"]))
def test_unknown_contexts_give_the_end(language: NgramLanguage, to: str, normaliser: str) -> None:
    model = exact_model(language)
    network = compiled(language, to, unknown_contexts=True, normaliser=normaliser)
    windows = list(itertools.product(range(len(model.vocabulary)), repeat=model.order - 1))[:200]
    assert worst_on(network, language, windows) < EPS


def test_unknown_contexts_of_the_seed_take_one_neuron_more() -> None:
    network = compiled(seed(), unknown_contexts=True)
    assert network.state_size == 146
    windows = [*seed().windows[::20], *itertools.product((0, 40), range(0, 79, 10), range(0, 79, 11))]
    assert not set(windows) <= set(seed().windows)
    assert worst_on(network, seed(), windows) == EPS / 2
    answer = Interpreter(network).run((0, 0, 0))[-1]
    assert answer.legal.end
    assert not answer.legal.symbols


def test_without_that_neuron_unknown_contexts_give_all_words_alike() -> None:
    network = compiled(from_text(3, "a b a", "b c c"), variant="conditioned")
    answer = Interpreter(network).run("c a a")[-1]
    assert answer.distribution == {v: Fraction(1, 4) for v in range(4)}
    assert not answer.legal.end
    assert not answer.legal.symbols


def test_unknown_contexts_need_two_dimensions() -> None:
    for to in ("ssm", "elman-relu"):
        with pytest.raises(NotCompilable, match="larger embedding width"):
            compiled(seed(), to, unknown_contexts=True, embedding_width=1)


def test_with_fewer_contexts_than_words_in_a_context_nilpotency_forgets_too_much() -> None:
    """The proposition on memorising K sequences of length n with Aⁿ = 0 fails for K < n.

    The only sentence is a b b b b; after a b b b follows b, after b b b b nothing. Two neurons with a
    nilpotent A have A² = 0, so they see the last two words only, which are the same.
    """
    language = from_text(5, "a b b b b")
    assert language.windows == ((0, 1, 1, 1), (1, 1, 1, 1))
    assert exact_model(language).distribution((0, 1, 1, 1)) != exact_model(language).distribution(
        (1, 1, 1, 1)
    )
    for x, y, scale in itertools.product(range(-2, 3), repeat=3):
        # Every nilpotent 2×2 matrix has this form up to the choice of rationals.
        matrix = [[scale * x * y, -scale * x * x], [scale * y * y, -scale * x * y]]
        assert _product(matrix, matrix) == [[0, 0], [0, 0]]
    network = compiled(language)
    assert network.state_size == 2 + 3 * 2
    assert "beside the delay line" in network.origin.route
    assert worst_on(network, language, language.windows) < EPS


def _product(left: list[list[int]], right: list[list[int]]) -> list[list[int]]:
    return [
        [sum(a * b for a, b in zip(row, col, strict=True)) for col in zip(*right, strict=True)]
        for row in left
    ]


def test_contexts_that_differ_in_the_oldest_word_only() -> None:
    """Four contexts of three words whose last two are the same: the delay line cannot stand for contexts."""
    language = from_text(4, "a b b", "c b b b", "d b b")
    assert len(language.windows) == 4
    for to in ("ssm", "elman-relu"):
        network = compiled(language, to, embedding_width=1)
        assert network.state_size == 4 + 2
        assert worst_on(network, language, language.windows) < EPS


def test_wide_embeddings_leave_coordinates_zero() -> None:
    language = from_text(3, "a b a", "b a b")
    network = compiled(language, embedding_width=7)
    assert len(network.embedding.directions) == 7
    assert all(not any(vector[2:]) for vector in network.embedding.vectors)
    assert worst_on(network, language, language.windows) < EPS


def test_the_default_width_grows_with_the_vocabulary() -> None:
    assert len(compiled(from_text(2, "a b")).embedding.directions) == 2
    many = from_text(2, " ".join(f"w{i}" for i in range(101)))
    assert len(compiled(many).embedding.directions) == 9


def test_the_pipeline_chooses_it_for_n_gram_models() -> None:
    for to, name in (("ssm", "n-gram-ssm"), ("elman-relu", "n-gram-rnn")):
        assert compile_language(seed(), to).origin.construction == name
        assert CONSTRUCTIONS[name].theorem in THEOREMS


@pytest.mark.parametrize("width", [0, -3])
def test_an_embedding_of_no_width(width: int) -> None:
    with pytest.raises(InputError, match="width"):
        NgramOptions(embedding_width=width)


def test_words_without_choices() -> None:
    with pytest.raises(InputError, match="normaliser"):
        NgramOptions(normaliser="argmax")
    with pytest.raises(InputError, match="variant"):
        NgramOptions(variant="best")


def test_back_off_models_have_no_windows_of_one_length(tmp_path) -> None:
    (tmp_path / "x.arpa").write_text(GOOD, encoding="utf-8")
    language = read_ngram_language(tmp_path / "x.arpa")
    with pytest.raises(InputError, match="many lengths"):
        _ = language.windows


def test_any_given_pairs_are_memorised_by_one_neuron_for_each_window(tmp_path: Path) -> None:
    """Proposition 4.5, for pairs of a file; `check` states the size that is built."""
    choose = random.Random(45)
    pairs = {tuple(choose.choices("abcd", k=3)): choose.choice("abcd") for _ in range(20)}
    place = tmp_path / "pairs.rules"
    place.write_text("".join(f"{' '.join(words)} -> {word}\n" for words, word in pairs.items()))
    language = resolve_language(str(place))
    assert isinstance(language, NgramLanguage)
    network = compiled(language, normaliser="hardmax")
    assert network.state_size == len(language.windows) >= len(pairs)
    interpreter = Interpreter(network)
    for words, word in pairs.items():
        letters = language.alphabet.encode(" ".join(words))
        assert interpreter.run(letters)[-1].distribution == {language.alphabet.index(word): 1}
    facts = collect_facts(language)
    verdict = verdict_for(facts, ARCHITECTURES["ssm"], Sense.EXACT)
    assert verdict.size is not None
    assert verdict.size.width == network.state_size
