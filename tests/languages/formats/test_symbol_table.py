from __future__ import annotations

from pathlib import Path

import pytest

from nerode.core import FormatError
from nerode.languages.alphabet import Alphabet
from nerode.languages.formats.att import table_from_text, table_to_text

FILE = Path("x.syms")


def test_letters_keep_the_order_of_the_lines() -> None:
    table = table_from_text("<EPS>\t0\nz\t97\r\n\na 5\n", path=FILE)
    assert table.symbols == ("z", "a")
    assert table.by_id == {0: "<EPS>", 97: "z", 5: "a"}
    assert table.is_epsilon("<EPS>")
    assert not table.is_epsilon("z")


def test_a_table_reads_back() -> None:
    alphabet = Alphabet(("b", "a", "0", "<", "ab"))
    text = table_to_text(alphabet)
    assert text.startswith("<eps>\t0\nb\t1\n")
    assert table_from_text(text, path=FILE).symbols == alphabet.symbols


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("<eps> 0\na\n", 2, "`symbol id`"),
        ("<eps> 0\na b 1\n", 2, "`symbol id`"),
        ("a -1\n", 1, "`symbol id`"),
        ("a " + "1" * 5000 + "\n", 1, "`symbol id`"),
        ("a 1\nb 2\na 3\n", 3, "'a' was on line 1"),
        ("a 1\nb 1\n", 2, "number 1 was that of 'a'"),
        ("a 1\n<eps> 2\n", 2, "stands for the empty word"),
        ("<eps> 0\n$ 1\n", 2, "'$' cannot be a symbol"),
    ],
)
def test_errors_say_where_and_why(text: str, line: int, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        table_from_text(text, path=FILE)
    assert caught.value.line == line
    assert message in str(caught.value)
