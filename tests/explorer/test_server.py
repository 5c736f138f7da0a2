from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from nerode.explorer.server import open_socket
from tests.explorer.conftest import first_line, running


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )


def test_the_server_itself_loads_no_torch() -> None:
    done = python("import sys, nerode.cli.explore, nerode.explorer.server\nassert 'torch' not in sys.modules")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("missing", ["uvicorn", "starlette"])
def test_a_missing_extra_is_told(missing: str) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None\nfrom nerode.cli.main import main\nmain(['explore'])"
    done = python(code)
    assert done.returncode == 2
    assert "install `nerode[explore]`" in done.stderr


def explore(*options: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nerode.cli.main", "explore", "--no-browser", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=cwd, check=False)


@pytest.mark.parametrize(
    ("options", "message"), [(["--runs", "no-such-folder"], "no folder"), (["--port", "70000"], "70000")]
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
