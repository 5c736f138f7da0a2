"""`nerode mcp`: a client starts it, lists the tools, calls them, and is told what is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nerode.cli.main import COMMANDS
from nerode.cli.mcp import answer, offered, words


def talk(*messages: Any, folder: Path) -> list[dict[str, Any]]:
    lines = "".join((m if isinstance(m, str) else json.dumps(m)) + "\n" for m in messages)
    done = subprocess.run(
        [sys.executable, "-m", "nerode", "mcp"],
        input=lines,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def ask(number: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def call(number: int, name: str, **arguments: str) -> dict[str, Any]:
    return ask(number, "tools/call", name=name, arguments=arguments)


def test_a_session(tmp_path: Path) -> None:
    replies = talk(
        ask(1, "initialize", protocolVersion="2025-03-26", capabilities={}),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        ask(2, "tools/list"),
        call(3, "compile", language="(aa)*", to="mamba-signed", output="even"),
        call(4, "verify", folder="even"),
        call(5, "diff", first="(aa)*", second="(ab)*"),
        call(6, "compile", language="(aa)*", to="mamba", output="no"),
        call(7, "check", language="tomita-99"),
        folder=tmp_path,
    )
    assert [reply["id"] for reply in replies] == [1, 2, 3, 4, 5, 6, 7]
    results = [reply["result"] for reply in replies]
    assert results[0]["protocolVersion"] == "2025-03-26"
    assert {tool["name"] for tool in results[1]["tools"]} == set(offered())
    assert (tmp_path / "even" / "certificate.json").exists()
    assert results[3]["structuredContent"]["answers"][0]["ok"] is True
    assert results[4]["structuredContent"]["answers"][0]["word"] == ["a", "a"]
    refused = results[5]["structuredContent"]
    assert refused["exit"] == 1
    assert refused["answers"][0]["impossible"] is True
    assert results[6]["isError"] is True
    assert "tomita-99" in results[6]["content"][0]["text"]


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("{", -32700),
        ("[1]", -32600),
        (ask(1, "resources/list"), -32601),
        (call(1, "rm", folder="/"), -32602),
        (call(1, "verify"), -32602),
        (call(1, "verify", folder="x", formal="1"), -32602),
        (ask(1, "tools/call", name="verify", arguments={"folder": 3}), -32602),
    ],
)
def test_what_does_not_fit_is_an_error_with_a_code(message: Any, code: int) -> None:
    reply = answer(message if isinstance(message, str) else json.dumps(message))
    assert reply is not None
    assert reply["error"]["code"] == code


def test_a_value_is_never_an_option() -> None:
    assert words("verify", {"folder": "--help"}) == ["verify", "--json", "--", "--help"]
    assert words("check", {"language": "a", "arch": "--details"})[1] == "--arch=--details"


def test_every_tool_is_a_command_and_its_options_exist() -> None:
    import importlib

    from nerode.cli.main import _function

    assert {"check", "compile", "verify", "diff"} <= set(offered())
    for name, tool in offered().items():
        command = getattr(importlib.import_module(COMMANDS[name]), _function(name))
        known = {option for parameter in command.params for option in parameter.opts}
        assert {f"--{option}" for option in (*tool.options, "json")} <= known, name
