"""Files are read within limits."""

from __future__ import annotations

import errno
import io
import json
import os
import stat
import sys
import threading
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from nerode.core import MARK, InputError, claim_file, claim_folder, is_own, whole_folder, write_atomically
from nerode.core.errors import FormatError
from nerode.core.files import (
    MAX_BYTES,
    MAX_DEPTH,
    open_stream,
    parse_json,
    read_bytes,
    read_json,
    read_json_lines,
    read_lines,
    read_text,
)


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


def test_a_pipe_that_nobody_writes_into_is_no_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nerode.core.files._PATIENCE", 0.05)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="nobody writes"), open_stream(tmp_path / "pipe"):
        pass
    for path in (tmp_path / "none", Path("a\0b")):
        with pytest.raises(InputError, match="cannot read"), open_stream(path):
            pass


def test_a_pipe_with_a_writer_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(b"ab\r\n\nc"))
    writer.start()
    with open_stream(pipe) as stream:
        assert list(read_lines(stream, name="pipe", max_bytes=10)) == ["ab", "", "c"]
    writer.join()


def test_lines_without_end_and_of_other_encodings_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_stream(Path("/dev/zero")) as stream, pytest.raises(InputError, match="line 1 of x is too long"):
        list(read_lines(stream, name="x", max_bytes=1000))
    lines = io.BytesIO(b"\xef\xbb\xbfa\n\xff\n")
    with pytest.raises(InputError, match="line 2 of x is not UTF-8"):
        list(read_lines(lines, name="x", max_bytes=1000))
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="standard input is closed"), open_stream(Path("-")):
        pass


def test_a_large_limit_takes_no_memory_for_a_small_file(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x" * 3_000_000)
    tracemalloc.start()
    assert len(read_bytes(tmp_path / "x", max_bytes=1 << 33)) == 3_000_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


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


@pytest.mark.parametrize("step", ["fsync", "rename"])
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


def test_a_link_stays_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_atomically(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
    (tmp_path / "loop").symlink_to("loop")
    claim_file(tmp_path / "loop")
    write_atomically(tmp_path / "loop", "new")
    assert (tmp_path / "loop").read_text() == "new"


def test_a_device_is_written_into_and_never_replaced(tmp_path: Path) -> None:
    write_atomically(Path("/dev/null"), "x")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    with pytest.raises(InputError, match="No space left"):
        write_atomically(Path("/dev/full"), "x")


def test_a_pipe_is_written_into_and_one_without_a_reader_is_no_wait(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="cannot write"):
        write_atomically(pipe, "x")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(pipe, "y" * 1000)
    assert os.read(reader, 2000) == b"y" * 1000
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


OWN = {
    "page.html": '<html><head><meta name="generator" content="nerode 1.0">',
    "dfa.json": '{"format": "nerode-dfa", "version": 1}',
    "packed.json": '{"format":"nerode-network"}',
    "table.tex": f"% {MARK}\n\\begin{{table}}",
    "runs.csv": "key,spec.task.name\n",
    "tail.pdf": "%PDF" + "x" * 200_000 + f"/Creator ({MARK})",
}
FOREIGN = {
    "page.html": "<html><p>made with nerode by hand</p>",
    "notes.md": "nerode compile is a command",
    "data.json": '{"format": "other", "name": "nerode-dfa"}',
    "table.csv": "key,value\n",
}


@pytest.mark.parametrize("name", OWN)
def test_own_files_are_claimed(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(OWN[name])
    assert is_own(tmp_path / name)
    claim_file(tmp_path / name)


@pytest.mark.parametrize("name", FOREIGN)
def test_the_files_of_others_are_refused_and_forced(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(FOREIGN[name])
    with pytest.raises(InputError, match="--force"):
        claim_file(path)
    claim_file(path, force=True)
    assert path.read_text() == FOREIGN[name]


def test_new_and_empty_files_are_claimed_and_nothing_is_made(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    claim_file(tmp_path / "empty")
    claim_file(tmp_path / "new" / "page.html")
    claim_file(Path("/dev/null"))
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]


def test_places_that_cannot_be_written_are_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in (
        tmp_path / "file" / "page.html",
        tmp_path,
        Path("/proc/page.html"),
        Path("a\0b"),
    ):
        with pytest.raises(InputError, match="cannot write"):
            claim_file(path, force=True)
    for folder in (tmp_path / "file", tmp_path / "file" / "x", Path("/proc/runs")):
        with pytest.raises(InputError, match="cannot write"):
            claim_folder(folder, holds=(), force=True)


def test_folders_are_claimed_if_new_empty_or_own(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    claim_folder(folder, holds=("config.json",))
    assert not folder.exists()
    folder.mkdir()
    claim_folder(folder, holds=("config.json",))
    (folder / "config.json").write_text('{"format": "nerode-model"}')
    claim_folder(folder, holds=("config.json",), form="nerode-model")
    with pytest.raises(InputError, match=r"not a network; .*--force"):
        claim_folder(folder, holds=("config.json",), form="nerode-network", of="a network")
    claim_folder(folder, holds=("config.json",), form="nerode-network", force=True)
    (folder / "config.json").write_text("{}")
    with pytest.raises(InputError, match="--force"):
        claim_folder(folder, holds=("config.json", ".work"))
    (folder / ".work").mkdir()
    claim_folder(folder, holds=("config.json", ".work"))


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    with pytest.raises(InputError, match="half a character"):
        _fill(folder, "x", "\udcff")
    assert list(tmp_path.iterdir()) == []
    with whole_folder(folder) as place:
        write_atomically(place / "a", "x")
    assert (folder / "a").read_text() == "x"
    with whole_folder(folder) as place:
        assert place == folder
    assert list(tmp_path.iterdir()) == [folder]


def _fill(folder: Path, *texts: str) -> None:
    with whole_folder(folder) as place:
        for number, text in enumerate(texts):
            write_atomically(place / str(number), text)


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


def test_a_missing_json_file_comes_with_the_hint_of_the_caller(tmp_path: Path) -> None:
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
