"""Files are written whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from nerode.core.errors import InputError
from nerode.core.files import write_atomically


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
