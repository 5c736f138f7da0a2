from __future__ import annotations

from pathlib import Path

import pytest

from nerode.core import FormatError, InputError
from nerode.languages.ngrams import read_ngram_language, seed_ngram_language, seed_ngram_model, write_model
from tests.languages.ngrams.arpa_texts import GOOD


def test_the_ending_decides(tmp_path: Path) -> None:
    (tmp_path / "x.arpa").write_text(GOOD, encoding="utf-8")
    assert read_ngram_language(tmp_path / "x.arpa").accepts("a b zebra".replace("zebra", "<unk>"))
    (tmp_path / "y.rules").write_text("<s> -> a\na -> $\n", encoding="utf-8")
    assert read_ngram_language(tmp_path / "y.rules").accepts("a")
    write_model(seed_ngram_model(pads=3), tmp_path / "seed.json")
    found = read_ngram_language(tmp_path / "seed.json")
    assert found.name == "seed"
    assert found.dfa() == seed_ngram_language().dfa()
    with pytest.raises(InputError, match=r"\.txt"):
        read_ngram_language(tmp_path / "z.txt")


def test_unknown_word_option(tmp_path: Path) -> None:
    path = tmp_path / "x.arpa"
    path.write_text(GOOD.replace("<unk>", "c"), encoding="utf-8")
    with pytest.raises(FormatError, match="<unk>"):
        read_ngram_language(path, require_unknown=True)
    assert read_ngram_language(path).accepts("c")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ngram 2=4\n", "", "line 5: the count of the 3-grams stands in place of that of the 2-grams"),
        ("\\2-grams:", "\\3-grams:", "2-grams: is missing"),
        ("-0.15\ta b a", "-0.15\tb b a", "the first 2 words of this 3-gram are no 2-gram"),
        (
            "-0.6\tb\t0.1",
            "-0.6\tb\t2.0",
            "the back-off weight of 'b' gives 'b' a probability of 25.12, above 1",
        ),
    ],
    ids=["order not declared", "order missing", "shorter n-gram missing", "more than certain"],
)
def test_orders_and_back_offs_that_do_not_fit(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "x.arpa"
    path.write_text(GOOD.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(FormatError) as caught:
        read_ngram_language(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
