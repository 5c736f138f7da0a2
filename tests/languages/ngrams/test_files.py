from __future__ import annotations

from pathlib import Path

import pytest

from nerode.core.errors import FormatError, InputError
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
        read_ngram_language(path)
    assert read_ngram_language(path, require_unknown=False).accepts("c")
