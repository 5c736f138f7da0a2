from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from nerode.core import PatternError
from nerode.languages.notation import read_bracketed, read_escape, write_symbol


@given(st.text(st.characters(exclude_categories=["Z", "C"]), min_size=2, max_size=5))
def test_names_come_back(name: str) -> None:
    text = "x" + write_symbol(name, reserved=())
    assert read_bracketed(text + "y", 1) == (name, len(text))


def test_reserved_characters_are_protected() -> None:
    assert write_symbol("a", "|") == "a"
    assert write_symbol("|", "|") == r"\|"
    assert write_symbol("S", "S") == "<S>"
    assert read_escape(r"\|b", 0) == ("|", 2)


@pytest.mark.parametrize("text", ["<a b>", "<>", "<$>", "<a", r"<\x>", "<a\\"])
def test_bad_names(text: str) -> None:
    with pytest.raises(PatternError):
        read_bracketed(text, 0)


@pytest.mark.parametrize("text", ["\\", r"\w", "\\ ", r"\$"])
def test_bad_escapes(text: str) -> None:
    with pytest.raises(PatternError):
        read_escape(text, 0)
