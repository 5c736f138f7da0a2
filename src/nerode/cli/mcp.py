"""`nerode mcp`: the commands as tools for programs that speak the Model Context Protocol.

A tool call is the command with `--json` in a process of its own, so that a crash or a long run ends nothing
else. Messages are JSON-RPC 2.0, one per line, on standard input and output.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from nerode.cli.options import Command

VERSIONS = ("2025-06-18", "2025-03-26", "2024-11-05")
"""Versions of the protocol, the newest first."""

SECONDS = 600
"""Clock seconds after which a tool call is ended."""

_PARSE_ERROR, _INVALID_REQUEST, _NO_METHOD, _INVALID_PARAMS = -32700, -32600, -32601, -32602


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A command as a tool.

    Attributes:
        text: what it answers.
        places: names of the positional arguments, all of them required.
        options: names of options, with what they mean; their values are strings.
        required: options that have to be given.
    """

    text: str
    places: Mapping[str, str]
    options: Mapping[str, str]
    required: tuple[str, ...] = ()

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        known = {**self.places, **self.options}
        return {
            "type": "object",
            "properties": {name: {"type": "string", "description": text} for name, text in known.items()},
            "required": [*self.places, *self.required],
            "additionalProperties": False,
        }


_LANG = "a named language (parity, tomita-3, S3), a regular expression like (ab|c)*d, or a file"
TOOLS = {
    "check": Tool(
        text="Which architectures can express a formal language at every length, and the theorem behind each "
        "answer.",
        places={"language": _LANG},
        options={"arch": "architectures to answer for, with commas", "task": "predict or recognise"},
    ),
    "compile": Tool(
        text="Write exact weights that recognise a language, with a certificate, into a folder.",
        places={"language": _LANG},
        options={
            "to": "architecture or class, like mamba or diagonal-signed",
            "output": "the folder to write",
        },
        required=("to", "output"),
    ),
    "verify": Tool(
        text="Check the certificate in a folder again; it searches nothing and trusts nothing.",
        places={"folder": "a folder that compile, train or mend has written"},
        options={},
    ),
    "ask": Tool(
        text="What a trained model computes: proved correct at every length, or the word that it gets wrong.",
        places={"model": "a checkpoint folder or file, or the folder of a run"},
        options={
            "language": f"what the model should do: {_LANG}",
            "letters": "the tokens that are letters, like a=3,b=4",
        },
    ),
    "diff": Tool(
        text="Whether two languages are equal, or the shortest word that only one of them has.",
        places={"first": _LANG, "second": _LANG},
        options={},
    ),
}


@click.command(cls=Command)
def mcp() -> None:
    """Serve check, compile, verify, ask and diff over the Model Context Protocol.

    A program starts this command and talks to it on standard input and output. Answers are the JSON of the
    commands (docs/reference/json.md). Files are written only where a call names a folder.

    \b
    nerode mcp
    {"mcpServers": {"nerode": {"command": "nerode", "args": ["mcp"]}}}
    """
    for line in sys.stdin:
        if line.strip() and (reply := answer(line)) is not None:
            sys.stdout.write(json.dumps(reply, ensure_ascii=False) + "\n")
            sys.stdout.flush()


def offered() -> dict[str, Tool]:
    """Returns the tools whose command this version has."""
    from nerode.cli.main import COMMANDS

    return {name: tool for name, tool in TOOLS.items() if name in COMMANDS}


def answer(line: str) -> dict[str, Any] | None:
    """Returns the reply to a message; None where none is due."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return _error(None, _PARSE_ERROR, "the line is not JSON")
    if not isinstance(message, dict) or not isinstance(method := message.get("method"), str):
        return _error(None, _INVALID_REQUEST, "a message has to be an object with a method")
    if "id" not in message:
        # Notifications have no answer.
        return None
    number, params = message["id"], message.get("params") or {}
    if not isinstance(params, dict):
        return _error(number, _INVALID_PARAMS, "params have to be an object")
    if method == "initialize":
        return _result(number, _hello(params))
    if method == "ping":
        return _result(number, {})
    if method == "tools/list":
        tools = [
            {"name": name, "description": tool.text, "inputSchema": tool.schema}
            for name, tool in TOOLS.items()
        ]
        return _result(number, {"tools": tools})
    if method != "tools/call":
        return _error(number, _NO_METHOD, f"there is no method {method!r}")
    try:
        command = words(params.get("name"), params.get("arguments") or {})
    except ValueError as error:
        return _error(number, _INVALID_PARAMS, str(error))
    return _result(number, call(command))


def _hello(params: Mapping[str, Any]) -> dict[str, Any]:
    from importlib.metadata import version

    asked = params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "nerode", "version": version("nerode")},
    }


def words(name: object, arguments: object) -> list[str]:
    """Returns the command line of a tool call.

    Raises:
        ValueError: if there is no such tool, or the arguments do not fit it.
    """
    tools = offered()
    tool = tools.get(name) if isinstance(name, str) else None
    if tool is None:
        raise ValueError(f"there is no tool {name!r}; there are {', '.join(tools)}")
    if not isinstance(arguments, dict) or not all(isinstance(value, str) for value in arguments.values()):
        raise ValueError("arguments have to be an object with strings as values")
    known = (*tool.places, *tool.options)
    if unknown := [key for key in arguments if key not in known]:
        raise ValueError(f"{name} has no argument {unknown[0]!r}; it has {', '.join(known)}")
    if missing := [key for key in (*tool.places, *tool.required) if not arguments.get(key)]:
        raise ValueError(f"{name} needs the argument {missing[0]!r}")
    if "model" in arguments and not Path(arguments["model"]).exists():
        # On the command line a name like module:function would be imported; a tool call runs no code.
        raise ValueError(f"there is no file or folder {arguments['model']!r}")
    given = [f"--{key}={arguments[key]}" for key in tool.options if key in arguments]
    # After -- no value is read as an option.
    return [str(name), *given, "--json", "--", *(arguments[key] for key in tool.places)]


def call(command: list[str]) -> dict[str, Any]:
    """Returns the result of a command as that of a tool: exit code 1 is a negative answer, 2 an error."""
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "nerode", *command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return _content(f"the command took more than {SECONDS} s; ask for something smaller", failed=True)
    failed = done.returncode not in (0, 1, 3)
    text = done.stdout.strip() or done.stderr.strip()
    content = _content(text if not failed else done.stderr.strip() or text, failed=failed)
    try:
        answers = [json.loads(line) for line in done.stdout.splitlines() if line.strip()]
    except ValueError:
        return content
    return (
        content if failed else {**content, "structuredContent": {"exit": done.returncode, "answers": answers}}
    )


def _content(text: str, *, failed: bool) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": failed}


def _result(number: object, result: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "result": result}


def _error(number: object, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}
