"""What the server remembers."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from nerode.explorer.app import Access, Explorer, make_app, open_socket
from nerode.explorer.workers import Limits
from tests.explorer.conftest import first_line, running


class Scripted:
    """Gives one answer after the other, and counts."""

    def __init__(self, *answers: bytes) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def warm(self) -> None:
        await asyncio.sleep(0)

    async def run(self, job: str, payload: dict[str, Any]) -> bytes:
        self.asked += 1
        return self.answers.pop(0)


def ask(workers: Scripted, times: int) -> list[dict[str, Any]]:
    explorer = Explorer(limits=Limits())
    explorer.workers = workers  # type: ignore[assignment]
    access = Access(80)
    with TestClient(make_app(access, explorer), base_url="http://127.0.0.1:80") as client:
        headers = {"host": "127.0.0.1:80"}
        place = f"/{access.token}/api/language"
        return [
            client.post(place, json={"language": {"text": "a"}}, headers=headers).json() for _ in range(times)
        ]


def test_an_answer_is_computed_once() -> None:
    workers = Scripted(b'{"name": "a"}')
    assert ask(workers, 3) == [{"name": "a"}] * 3
    assert workers.asked == 1


def test_what_went_wrong_is_tried_again() -> None:
    workers = Scripted(b'{"error": {"kind": "budget", "message": "slow"}}', b'{"name": "a"}')
    assert ask(workers, 3) == [{"error": {"kind": "budget", "message": "slow"}}, {"name": "a"}, {"name": "a"}]
    assert workers.asked == 2


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )


def test_the_server_itself_loads_no_torch() -> None:
    done = python("import sys, nerode.cli.explore, nerode.explorer.app\nassert 'torch' not in sys.modules")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("missing", ["uvicorn", "starlette"])
def test_a_missing_extra_is_told(missing: str) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None\nfrom nerode.cli.main import main\nmain(['explore'])"
    done = python(code)
    assert done.returncode == 2
    assert "pip install 'nerode[explore]'" in done.stderr


def explore(*options: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nerode.cli.main", "explore", "--no-browser", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=cwd, check=False)


@pytest.mark.parametrize(
    ("options", "message"),
    [(["--runs", "runs"], "No such option '--runs'"), (["--port", "70000"], "70000")],
)
def test_wrong_use(options: list[str], message: str, tmp_path: Path) -> None:
    done = explore(*options, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr


def test_it_begins_with_a_language_and_ends_with_an_interrupt() -> None:
    command = [sys.executable, "-m", "nerode.cli.main", "explore", "(ba)*", "--no-browser"]
    with running(command) as process:
        address = first_line(process)
        assert httpx.get(f"{address}api/begin").json()["first"] == "(ba)*"
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


def test_the_socket_listens_before_its_address_is_told() -> None:
    with open_socket(0) as listener, socket.create_connection(listener.getsockname(), timeout=5):
        pass


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with open_socket(0) as listener:
        done = explore("--port", str(listener.getsockname()[1]), cwd=tmp_path)
    assert done.returncode == 2
    assert "cannot listen on port" in done.stderr
