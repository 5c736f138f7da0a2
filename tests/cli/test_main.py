"""How the command line ends: codes and messages that hold for all commands."""

from __future__ import annotations

import errno
import json
import re
import subprocess
import sys

import pytest

import nerode.cli.check
import nerode.cli.lists
from nerode.cli import main
from nerode.cli.main import COMMAND_GROUPS, COMMANDS, FIRST, STOPPED, UNREAD
from tests.cli.runner import run


def test_control_c_is_not_a_negative_answer(monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(nerode.cli.check, "check_language", stop)
    outcome = run("check", "parity")
    assert outcome.code == STOPPED
    assert outcome.err.strip() == "nerode: stopped"


def test_the_package_is_the_command():
    command = [sys.executable, "-m", "nerode", "languages", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == run("list", "languages", "--help").out


@pytest.mark.parametrize("command", list(COMMANDS))
def test_help_shows_each_example_on_a_line_of_its_own(command):
    outcome = run(command, "--help")
    assert outcome.code == 0
    assert "\\b" not in outcome.out
    assert "\b" not in outcome.out
    examples = [line for line in outcome.out.splitlines() if line.startswith("  nerode ")]
    assert all(line.count("nerode ") == 1 for line in examples)
    if command not in ("runs",):
        assert any(line.startswith(f"  nerode {command}") for line in examples)


def test_limits_stand_under_a_heading_of_their_own():
    shown = run("check", "--help").out
    options, limits = shown.split("Limits:")
    assert "--max-" not in options
    assert "--max-seconds" in limits


def test_the_list_of_commands_has_a_line_for_each():
    shown = run("--help").out
    for group in COMMAND_GROUPS.values():
        for name, (_, text) in group.items():
            assert re.search(rf"^  {name} +{re.escape(text)}$", shown, re.MULTILINE)


@pytest.mark.parametrize(
    ("old", "now"),
    [
        (["languages", "--suite", "tomita"], ["list", "languages", "--suite", "tomita"]),
        (["architectures"], ["list", "architectures"]),
        (["papers", "--json"], ["list", "papers", "--json"]),
        (["compare", "parity", "--arch", "mamba"], ["report", "--arch", "mamba", "--language", "parity"]),
        (["sweep", "none.toml"], ["train", "none.toml"]),
        (["extract", "no-such-run"], ["analyse", "--automaton", "no-such-run"]),
    ],
    ids=lambda words: words[0],
)
def test_commands_of_earlier_versions_name_the_new_line_and_do_the_same(old, now):
    before, after = run(*old), run(*now)
    assert (before.code, before.out) == (after.code, after.out)
    assert before.err == f"nerode {old[0]} is now: nerode {' '.join(now)}\n{after.err}"
    assert old[0] not in COMMANDS


def test_the_list_of_commands_imports_none_of_them():
    program = (
        "import sys; from nerode.cli.main import nerode; nerode.main(['--help'], standalone_mode=False); "
        "sys.exit(any(m.startswith('nerode.cli.') and m != 'nerode.cli.main' for m in sys.modules))"
    )
    subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)


def test_arguments_that_commands_share_are_explained():
    assert "LANG  A name" in run("check", "--help").out
    both = run("draw", "--help").out
    assert "LANG  A name" in both
    assert "RUN   The folder of a run" in both
    assert "Arguments:" not in run("list", "languages", "--help").out


def test_options_of_one_kind_stand_together():
    shown = run("compile", "--help").out
    options, others = shown.split("Named architectures:")
    assert "--surroundings [" not in options
    architectures, ngrams = others.split("N-gram models:")
    assert "--surroundings" in architectures
    assert "--normaliser" in ngrams.split("Limits:")[0]


@pytest.mark.parametrize(("place", "shown"), [(main.__file__, "nerode: slow"), ("x.py", "RuntimeWarning")])
def test_a_warning_of_nerode_is_one_sentence(place, shown):
    program = (
        "import warnings; from nerode.cli import main; main._shorten_warnings(); "
        f"warnings.warn_explicit('slow', RuntimeWarning, {place!r}, 1)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown in done.stderr
    assert (place in done.stderr) == (place == "x.py")


def test_american_spelling_works():
    assert run("analyze", "--help").out.splitlines()[2] == run("analyse", "--help").out.splitlines()[2]


@pytest.mark.parametrize("arguments", ["list languages", "check parity --arch mamba --fail-on-no"])
def test_a_reader_that_leaves_gets_neither_yes_nor_no(arguments):
    command = [sys.executable, "-m", "nerode.cli.main", *arguments.split()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == UNREAD


def test_a_full_disk_is_one_message(monkeypatch):
    class Full:
        def print(self, *parts):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("nerode.report.make_console", Full)
    outcome = run("list", "languages")
    assert outcome.code == 2
    assert outcome.err == "nerode: cannot write: No space left on device; make room, or write elsewhere\n"


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried …")]
)
def test_too_little_memory_is_one_message(monkeypatch, error):
    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr(nerode.cli.check, "check_language", fail)
    outcome = run("check", "parity")
    assert outcome.code == 2
    assert "not enough memory" in outcome.err


def test_other_errors_are_not_hidden(monkeypatch):
    def fail(*arguments, **options):
        raise RuntimeError("a bug")

    monkeypatch.setattr(nerode.cli.check, "check_language", fail)
    with pytest.raises(RuntimeError, match="a bug"):
        run("check", "parity")


def test_wrong_use():
    assert run("cheque").code == 2
    assert run("check").code == 2
    assert run("check", "parity", "--sense", "none").code == 2
    assert run("--version").code == 0
    assert all(f"{title}:" in run("-h").out for title in COMMAND_GROUPS)


def test_what_can_be_trained_is_listed():
    from nerode.models import all_kinds

    rows = [json.loads(line) for line in run("list", "architectures", "--train", "--json").out.splitlines()]
    assert [row["name"] for row in rows] == list(all_kinds())
    theory = {row["name"]: row["theory"] for row in rows}
    assert theory["mamba"]
    assert theory["hawk"]
    assert theory["mingru"]
    assert "mingru" in run("list", "architectures", "--train").out
    refused = run("train", "parity", "--arch", "mingrus")
    assert refused.code == 2
    assert "nerode list architectures --train" in refused.err


def test_the_help_begins_with_the_commands_that_one_needs_first():
    lines = run("--help").out.splitlines()
    start = lines.index("Start here:")
    rest = next(i for i, line in enumerate(lines) if line == "Ask:")
    assert start < rest <= 30
    assert [line.split()[0] for line in lines[start + 1 : rest - 1]] == list(FIRST)
    listed = [line.split()[0] for line in lines[start:] if line.startswith("  ")]
    assert sorted(listed) == sorted(COMMANDS)
