"""JSON from outside: what is accepted is plain JSON, and each refusal names the path and the line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from nerode.core.errors import FormatError
from nerode.core.json_files import MAX_DEPTH, parse_json, read_json, read_json_lines

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES, st.booleans())
def test_what_python_writes_is_read_back(value: object, escaped: bool) -> None:
    text = json.dumps(value, ensure_ascii=escaped)
    assert parse_json(text, path="x.json") == value
    assert parse_json(text.encode(), path="x.json") == value


@given(st.text(alphabet='[]{}",:\\\\\n aeu0189dD.-INnft', max_size=60))
def test_a_text_is_read_as_python_reads_it_or_refused(text: str) -> None:
    line = fault_line(text)
    if line is None:
        assert parse_json(text, path="x.json") == json.loads(text)
    assert line is None or 1 <= line <= 1 + text.count("\n")


def fault_line(text: str) -> int | None:
    """The line of the error that a text gives, None if it is read."""
    try:
        parse_json(text, path="x.json")
    except FormatError as error:
        return error.line
    return None


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('{"a":\n 1,}', 2, "this is not JSON: Illegal trailing comma|this is not JSON: Expecting property"),
        ("{} {}", 1, "this is not JSON: Extra data at column 4"),
        ('[{"a": 1},\n {"b": 0,\n  "b": {}}]', 3, "the key 'b' is there twice"),
        ('{"a": {"a": 1}, "b": {"a": 1},\n"\\u0061": 1}', 2, "the key 'a' is there twice"),
        ('["NaN",\n{"start": NaN}]', 2, "NaN is no number of JSON"),
        ("[1,\n\n-Infinity]", 3, "-Infinity is no number of JSON"),
        ("[1e308,\n1e309]", 2, "1e309 is no number of JSON"),
        ("[" + "9" * 400 + ".5]", 1, "99 is no number of JSON"),
        ("[" + "9" * 400 + ",\n-" + "9" * 5000 + "]", 2, "at most 4,300 digits"),
        ("[1,\n" + "9" * 5000 + "x]", 2, "at most 4,300 digits"),
        ("[1,\n" + "9" * 5000 + ".x]", 2, "at most 4,300 digits"),
        ("[NaNs]", 1, "NaNs is no number of JSON"),
        ('["\\ud83d\\ude00",\n"\\ud83d"]', 2, "half a character"),
        ('{"\\udc00": 1}', 1, "half a character"),
        ("[" * 200_000, 1, "nested too deeply"),
        ('[\n{"a":' * MAX_DEPTH + "1" + "}]" * MAX_DEPTH, 1 + MAX_DEPTH // 2, "at most 200 levels"),
    ],
)
def test_each_refusal_names_its_line(text: str, line: int, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        parse_json(text, path="folder/x.json")
    assert caught.value.line == line
    assert str(caught.value).startswith(f"folder/x.json, line {line}: ")
    assert len(str(caught.value)) < 200


def test_half_a_character_is_refused_unescaped_too() -> None:
    with pytest.raises(FormatError, match="half a character"):
        parse_json('["\udcff"]', path="x.json")


def test_the_deepest_nesting_that_is_read() -> None:
    assert parse_json("[" * MAX_DEPTH + "]" * MAX_DEPTH, path="x.json")
    with pytest.raises(FormatError, match="nested too deeply"):
        parse_json("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), path="x.json")
    with pytest.raises(FormatError, match="at most 2 levels"):
        parse_json("[[{}]]", path="x.json", max_depth=2)


def test_a_whole_number_may_be_held_to_fewer_digits() -> None:
    assert parse_json("[123, -456, 1234.5]", path="x.json", max_digits=3) == [123, -456, 1234.5]
    with pytest.raises(FormatError, match="at most 3 digits") as caught:
        parse_json('["12345",\n-1234]', path="x.json", max_digits=3)
    assert caught.value.line == 2


def test_a_file_is_read_within_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n')
    assert read_json(path) == {"a": 1}
    with pytest.raises(FormatError, match="more than 10 bytes"):
        read_json(path, max_bytes=10)
    path.write_bytes(b'{"a":\n"\xff"}')
    with pytest.raises(FormatError, match="0xff is not UTF-8") as caught:
        read_json(path)
    assert caught.value.line == 2


def test_a_missing_file_comes_with_the_hint_of_the_caller(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"no such file.*`nerode train` writes it"):
        read_json(tmp_path / "result.json", hint="`nerode train` writes it")


def test_lines_are_read_one_by_one_and_a_fault_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n\n{"step": 2}\n')
    assert read_json_lines(path) == [{"step": 1}, {"step": 2}]
    path.write_text('{"step": 1}\n{"step": NaN}\n')
    with pytest.raises(FormatError, match="NaN is no number") as caught:
        read_json_lines(path)
    assert caught.value.line == 2
