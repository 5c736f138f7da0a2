"""Networks of back-off models against an evaluation of the ARPA text in decimals."""

from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings, strategies as st

from benchmarks._arpa_training import RECIPES, DecimalOracle, manual, train
from nerode.compiler import NgramOptions, Options, compile_language
from nerode.compiler.constructions.ngrams.backoff import make_codes
from nerode.core import NotCompilable
from nerode.languages.ngrams import NgramLanguage, parse_arpa
from nerode.models.streaming import NextWordScorer, score_text
from nerode.network import Interpreter, Network
from nerode.proofs import Certificate, certify
from nerode.proofs.certification import certify_ngrams
from tests.languages.ngrams.arpa_texts import GOOD, arpa_texts

TARGETS = ("ssm", "elman-relu")
EPS = Fraction(1, 1000)


def read(text: str, *, normalise: bool = False) -> NgramLanguage:
    language = NgramLanguage(name="arpa", model=parse_arpa(text), convention="of a test")
    return language.normalised() if normalise else language


def distributions(network: Network, words: list[str]) -> list[dict[str, float]]:
    """What the network says after each prefix, the empty one included, by the exact interpreter."""
    names = (*network.alphabet.symbols, "</s>")
    found = []
    for answer in Interpreter(network).run(words):
        assert answer.distribution is not None
        found.append({names[i]: float(p) for i, p in answer.distribution.items()})
    return found


def gap(found: dict[str, float], wanted: dict[str, Decimal]) -> float:
    return sum(abs(found.get(word, 0.0) - float(p)) for word, p in wanted.items())


@settings(max_examples=25)
@given(arpa_texts(), st.data())
def test_any_normalised_model_is_its_network(text: str, data: st.DataObject) -> None:
    language, oracle = read(text, normalise=True), DecimalOracle(text)
    words = list(language.alphabet)
    prefix = data.draw(st.lists(st.sampled_from(words), max_size=4))
    # Where nothing may follow a context, its probabilities cannot be made 1.
    assume(all(any(oracle.log(c, w) > -99 for w in oracle.outputs) for c in oracle.backoffs))
    for target in TARGETS:
        network = compile_language(language, target)
        certificate = certify(network, language)
        assert isinstance(certificate, Certificate), certificate
        assert [claim.eps for claim in certificate.claims] == [None]
        for length, found in enumerate(distributions(network, prefix)):
            wanted = oracle.distribution(prefix[:length], normalise=True)
            assert found.keys() <= wanted.keys()
            assert gap(found, wanted) < 1e-9


@pytest.mark.parametrize("name", ["bigrams", "trigrams", "four-grams"])
def test_trained_models_are_proved(name: str) -> None:
    """Orders 2 to 4, trained on 64,000 words: eps = 1e-3 is proved and holds on samples."""
    sentences = manual()
    assert sum(map(len, sentences)) >= 50_000
    text = train(RECIPES[name], sentences)
    language, oracle = read(text), DecimalOracle(text)
    target = "ssm" if name != "trigrams" else "elman-relu"
    network = compile_language(language, target)
    certificate = certify_ngrams(network, language, eps=EPS)
    assert isinstance(certificate, Certificate), certificate
    (claim,) = certificate.claims
    assert claim.eps == EPS
    assert "the empty one included" in claim.covers
    scorer, rng = NextWordScorer(network), random.Random(0)
    names = (*language.alphabet.symbols, "</s>")
    for sentence in rng.sample(sentences, 8):
        words = language.model.encode(sentence[:8])
        for length, logs in enumerate(scorer.logs(words)):
            found = {names[i]: 2.718281828459045**v for i, v in enumerate(logs)}
            prefix = [names[w] for w in words[:length]]
            assert gap(found, oracle.distribution(prefix)) < EPS
    few = [" ".join(sentence) for sentence in sentences[:20]]
    perplexity, expected = score_text(network, language.model, few).perplexities()
    assert perplexity == pytest.approx(expected, rel=1e-5)
    assert expected == pytest.approx(language.model.perplexity(few), rel=1e-12)


def test_sums_that_are_off_are_refused_with_the_amount() -> None:
    with pytest.raises(NotCompilable, match=r"0\.837699 after '<s>', off by 0\.162") as caught:
        compile_language(read(GOOD), "ssm")
    assert "--normalise" in str(caught.value)
    network = compile_language(read(GOOD), "ssm", Options(ngrams=NgramOptions(eps=Fraction(1, 2))))
    certificate = certify(network, read(GOOD))
    assert isinstance(certificate, Certificate)
    (claim,) = certificate.claims
    assert claim.eps is not None
    assert Fraction(16, 100) < claim.eps < Fraction(17, 100)


@pytest.mark.parametrize("target", ["mamba", "elman", "diagonal"])
def test_the_support_is_never_made_unasked(target: str) -> None:
    language = read(GOOD, normalise=True)
    with pytest.raises(NotCompilable, match="--support"):
        compile_language(language, target)
    support = compile_language(language.support(), target)
    assert Interpreter(support).accepts("a b")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (NgramOptions(normaliser="sparsemax"), "normaliser sparsemax"),
        (NgramOptions(variant="conditioned"), "variant conditioned"),
        (NgramOptions(unknown_contexts=True), "unknown contexts"),
        (NgramOptions(embedding_width=2), "need an embedding of width 4, not 2"),
    ],
)
def test_options_of_exact_models_are_refused(options: NgramOptions, message: str) -> None:
    with pytest.raises(NotCompilable, match=message):
        compile_language(read(GOOD, normalise=True), "ssm", Options(ngrams=options))


@given(st.integers(0, 200))
def test_codes_differ_and_have_one_weight(num_words: int) -> None:
    codes = make_codes(num_words, None, "ssm")
    assert len({codes.digits(w) for w in range(num_words + 1)}) == num_words + 1
    assert {sum(codes.digits(w)) for w in range(num_words + 1)} == {codes.weight}


def test_unigrams_only() -> None:
    text = "\\data\\\nngram 1=3\n\\1-grams:\n-0.30103 a\n-0.60206 b\n-0.60206 </s>\n\\end\\\n"
    for target in TARGETS:
        network = compile_language(read(text), target)
        certificate = certify(network, read(text))
        assert isinstance(certificate, Certificate), certificate
        for found in distributions(network, ["b", "a"]):
            assert gap(found, DecimalOracle(text).distribution([])) < 1e-5
