from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

import pytest

from nerode.core import InputError
from nerode.explorer.app import JOB_NAMES
from nerode.explorer.jobs import JOBS
from nerode.explorer.workers import Limits, RequestRefused, Workers
from tests.explorer.conftest import slow_language

QUICK = {"language": {"text": "(ab)*"}, "length": 4}


def with_workers(limits: Limits, action: Callable[[Workers], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        await action(Workers(limits))

    asyncio.run(run())


def test_the_server_knows_the_jobs() -> None:
    assert frozenset(JOBS) == JOB_NAMES


def test_limits_are_positive() -> None:
    with pytest.raises(InputError, match="not positive"):
        Limits(seconds=0)


def test_a_fork_server_that_dies_is_replaced() -> None:
    async def action(workers: Workers) -> None:
        first = json.loads(await workers.run("word", QUICK))
        server = forkserver._forkserver._forkserver_pid
        os.kill(server, signal.SIGKILL)
        os.waitid(os.P_PID, server, os.WEXITED | os.WNOWAIT)
        assert json.loads(await workers.run("word", QUICK)) == first == {"word": "abab", "length": 4}

    with_workers(Limits(), action)


def test_requests_read_no_code_from_the_folder_they_are_started_in(tmp_path: Path) -> None:
    (tmp_path / "resource.py").write_text("raise SystemExit('code of the folder')\n")
    code = (
        "import asyncio; from nerode.explorer.workers import Workers\n"
        "order = {'language': {'text': 'a'}, 'length': 1}\n"
        "async def ask(): print((await Workers().run('word', order)).decode())\n"
        "asyncio.run(ask())\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        check=False,
    )
    assert json.loads(done.stdout) == {"word": "a", "length": 1}, done.stderr


def test_who_goes_away_frees_the_place() -> None:
    async def action(workers: Workers) -> None:
        await workers.run("word", QUICK)
        slow = asyncio.create_task(workers.run("language", {"language": slow_language()}))
        await asyncio.sleep(0.3)
        before = time.monotonic()
        waiting = asyncio.create_task(workers.run("word", QUICK))
        await asyncio.sleep(0)
        with pytest.raises(RequestRefused, match="too many"):
            await workers.run("word", QUICK)
        slow.cancel()
        assert json.loads(await waiting)["length"] == 4
        assert time.monotonic() - before < 30

    with_workers(Limits(together=1, waiting=1, cpu_seconds=60, seconds=120), action)


def test_large_answers_are_refused() -> None:
    async def action(workers: Workers) -> None:
        with pytest.raises(RequestRefused, match="larger than 1,000 bytes"):
            await workers.run("language", {"language": {"text": "(ab)*"}})

    with_workers(Limits(answer=1000), action)


def child(body: str) -> subprocess.CompletedProcess[str]:
    code = (
        "from nerode.explorer.jobs import set_limits\n"
        "set_limits(seconds={seconds}, cpu_seconds={cpu}, memory=1 << 30)\n" + body
    )
    limits = {"seconds": 60, "cpu": 1} if "while" in body else {"seconds": 1, "cpu": 60}
    code = code.replace("{seconds}", str(limits["seconds"])).replace("{cpu}", str(limits["cpu"]))
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )


def test_the_system_stops_what_takes_too_much() -> None:
    assert child("while True: pass").returncode < 0
    assert child("import time; time.sleep(100)").returncode < 0
    memory = child("b = bytearray(2 << 30)")
    assert memory.returncode == 1
    assert "MemoryError" in memory.stderr
