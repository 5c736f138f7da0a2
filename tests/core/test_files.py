"""Files are read within limits, and written whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from nerode.core.errors import FormatError, InputError
from nerode.core.files import MAX_BYTES, read_bytes, read_text, write_atomically


def test_text_is_written_as_utf_8_with_plain_line_ends(tmp_path: Path) -> None:
    write_atomically(tmp_path / "page.html", "a → ε\nb\r\n")
    assert (tmp_path / "page.html").read_bytes() == b"a \xe2\x86\x92 \xce\xb5\nb\r\n"


def test_missing_folders_are_made(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a" / "b" / "page.html", "x")
    assert (tmp_path / "a" / "b" / "page.html").read_text() == "x"


def test_an_existing_file_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")
    write_atomically(path, "new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_reader_of_the_old_file_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")
    with path.open() as reader:
        write_atomically(path, "new and longer")
        assert reader.read() == "old"


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_permissions_are_those_of_any_new_file(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        write_atomically(tmp_path / "page.html", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "page.html").stat().st_mode) == 0o666 & ~mask


@pytest.mark.parametrize("step", ["fsync", "chmod", "replace"])
def test_an_existing_file_survives_a_failed_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")

    def fail(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(InputError, match="No space left on device; choose another place"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_text_that_is_not_unicode_is_refused_before_anything_is_touched(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "page.html"
    with pytest.raises(InputError, match=r"U\+DCFF.*UTF-8"):
        write_atomically(path, "half a character: \udcff")
    assert not path.parent.exists()


def test_a_folder_that_cannot_be_written_to_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file, not a folder")
    with pytest.raises(InputError) as refused:
        write_atomically(tmp_path / "file" / "page.html", "x")
    assert str(tmp_path / "file" / "page.html") in str(refused.value)
    assert "choose another place" in str(refused.value)
    assert (tmp_path / "file").read_text() == "a file, not a folder"


def test_a_folder_in_the_way_of_the_file_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "page.html").mkdir()
    with pytest.raises(InputError, match="choose another place"):
        write_atomically(tmp_path / "page.html", "x")
    assert list(tmp_path.iterdir()) == [tmp_path / "page.html"]


def test_a_name_that_is_too_long_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="choose another place"):
        write_atomically(tmp_path / ("n" * 300), "x")


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder that not even root can write to")
def test_a_read_only_folder_is_an_input_error() -> None:
    with pytest.raises(InputError, match="cannot write /proc/self/page"):
        write_atomically(Path("/proc/self/page.html"), "x")


def test_a_name_that_no_file_can_have_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="choose another name"):
        write_atomically(tmp_path / "a\0b", "x")


def test_a_byte_order_mark_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"\xef\xbb\xbf0 1 \xce\xb5\r\n")
    assert read_text(path) == "0 1 ε\r\n"


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


def test_a_missing_file_comes_with_the_hint_of_the_caller(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"no such file\. `nerode compile` writes it"):
        read_bytes(tmp_path / "network.json", hint="`nerode compile` writes it")
