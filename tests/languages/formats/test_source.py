from __future__ import annotations

from pathlib import Path

import pytest

from nerode.core import FormatError, InputError
from nerode.languages.formats.source import MAX_BYTES, read_text, write_text


def test_a_byte_order_mark_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"\xef\xbb\xbf0 1 \xce\xb5\r\n")
    assert read_text(path) == "0 1 ε\r\n"


def test_writing_and_reading(tmp_path: Path) -> None:
    write_text(tmp_path / "x", "ε\n")
    assert (tmp_path / "x").read_bytes() == b"\xce\xb5\n"


@pytest.mark.parametrize("content", [b"", b" \n\t\r\n", b"\xef\xbb\xbf"])
def test_empty_files(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(FormatError, match="the file is empty"):
        read_text(path)


def test_bytes_that_are_not_utf_8_are_named_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"0 1 a\n0 1 \xe9\n")
    with pytest.raises(FormatError, match="0xe9 is not UTF-8") as caught:
        read_text(path)
    assert caught.value.line == 2


def test_missing_files_directories_and_impossible_names(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no such file"):
        read_text(tmp_path / "x")
    with pytest.raises(FormatError, match="a directory or a device"):
        read_text(tmp_path)
    with pytest.raises(FormatError, match="a directory or a device"):
        read_text(Path("/dev/zero"))
    with pytest.raises(FormatError):
        read_text(Path("a\0b"))
    with pytest.raises(FormatError):
        read_text(tmp_path / ("x" * 5000))


def test_files_above_the_limit_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"a" * 11)
    assert read_text(path, max_bytes=11) == "a" * 11
    with pytest.raises(FormatError, match="more than 10 bytes"):
        read_text(path, max_bytes=10)
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(FormatError, match="more than 33,554,432 bytes"):
        read_text(path)


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none" / "x", Path("a\0b")):
        with pytest.raises(InputError, match="cannot be written"):
            write_text(path, "x")
