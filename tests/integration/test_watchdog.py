"""No command takes more than its budget plus 2 CPU seconds, or more than 4 GiB, whatever it is given."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from nerode.cli.main import COMMANDS, nerode
from nerode.cli.mcp import SECONDS as TOOL_SECONDS
from tests.integration.heavy_inputs import HeavyCase, cases, make_corpus, make_quick_corpus
from tests.integration.watchdog import measure, warm_up

SECONDS = 1.0
LATE = 2.0
MOST_BYTES = 4 << 30
CODES = {0, 1, 2, 3}
"""An answer, a negative answer, a message that says why there is none, or `prove` without an end."""

UNLIMITED = {"list", "explore", "mcp"}
"""Commands that list what is built in, and servers, whose requests have limits of their own."""


@pytest.fixture(scope="module")
def quick_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("heavy")
    make_quick_corpus(folder)
    warm_up()
    return folder


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("all-heavy")
    make_corpus(folder)
    warm_up()
    return folder


def check(case: HeavyCase, folder: Path) -> None:
    used = measure((*case.command, "--max-seconds", str(SECONDS)), folder, most=SECONDS + 10)
    assert used.seconds <= SECONDS + LATE, used.output[-2000:]
    assert used.bytes <= MOST_BYTES
    assert "Traceback" not in used.output, used.output[-2000:]
    assert used.code in CODES, used.output[-2000:]


def named(quick: bool) -> list[object]:
    return [pytest.param(case, id=case.name) for case in cases() if case.quick is quick]


@pytest.mark.parametrize("case", named(quick=True))
def test_budgets_are_kept(case: HeavyCase, quick_corpus: Path) -> None:
    check(case, quick_corpus)


@pytest.mark.slow
@pytest.mark.parametrize("case", named(quick=False))
def test_budgets_are_kept_by_every_command(case: HeavyCase, corpus: Path) -> None:
    check(case, corpus)


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yields all commands with their names; those of a group as `runs ls`."""
    context = click.Context(nerode)
    for name in COMMANDS:
        command = nerode.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from ((f"{name} {inner}", found) for inner, found in command.commands.items())
        else:
            yield name, command


def test_every_command_that_computes_has_a_budget_and_a_case() -> None:
    limited = {name for name, command in commands() if "max_seconds" in {p.name for p in command.params}}
    assert {name for name, _ in commands()} - limited == UNLIMITED
    tried = {case.command[0] for case in cases()} | {" ".join(case.command[:2]) for case in cases()}
    assert limited <= tried


def test_the_page_of_limits_says_what_the_commands_do() -> None:
    text = Path(__file__).parents[2].joinpath("docs", "limits.md").read_text()
    assert f"each ends after {TOOL_SECONDS} seconds" in text
    stated = {}
    for names, seconds, sizes in re.findall(r"^\| (`.*`) \| ([^|]*) \| (yes|no) \|$", text, flags=re.M):
        for name in re.findall(r"`([a-z]+)`", names):
            stated[name] = (seconds, sizes == "yes")
    found = {}
    for name, command in commands():
        parameters = {p.name: p for p in command.params}
        if "max_seconds" in parameters:
            assert "max_bytes" in parameters, name
            seconds, helped = (
                parameters["max_seconds"].default,
                getattr(parameters["max_seconds"], "help", ""),
            )
            shown = "no limit" if seconds == float("inf") else f"{seconds:g}"
            shown += "".join(re.findall(" per [a-z]+", helped))
            found[name.split()[0]] = (shown, "max_states" in parameters)
    assert stated == found
