"""The page under load: many requests at once, slow ones, and ones that go away."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np
import pytest

from tests.explorer.conftest import first_line

_SERVER = """
from nerode.explorer.workers import Limits
from nerode.explorer.app import serve
serve(limits=Limits(body_seconds={body_seconds}), tell=lambda address: print(address, flush=True))
"""

LONGEST = 10.0
"""Seconds after which every request has been answered or refused."""


@contextlib.contextmanager
def serving(log: Path, *, body_seconds: float = 5.0) -> Iterator[str]:
    """A server whose terminal is a file; at the end nothing may have gone wrong in it."""
    code = _SERVER.format(body_seconds=body_seconds)
    with log.open("w") as terminal:
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=terminal, text=True
        )
        try:
            address = first_line(process)
            # The first request also waits for the processes to start.
            order = {"language": {"text": "(ab)*"}, "length": 2}
            assert httpx.post(f"{address}api/word", json=order, timeout=60).status_code == 200
            yield address
        finally:
            process.terminate()
            process.wait(20)
            assert process.stdout is not None
            process.stdout.close()
    assert log.read_text() == ""


Seen = tuple[int, float, dict[str, Any]]


async def flood(address: str, job: str, orders: list[dict[str, Any]]) -> list[Seen]:
    """Status, seconds and content of the answers to requests that come at once."""

    async def ask(client: httpx.AsyncClient, order: dict[str, Any]) -> Seen:
        begun = time.monotonic()
        answer = await client.post(f"{address}api/{job}", json=order)
        return answer.status_code, time.monotonic() - begun, answer.json()

    limits = httpx.Limits(max_connections=200)
    async with httpx.AsyncClient(timeout=60, limits=limits) as client:
        return list(await asyncio.gather(*(ask(client, order) for order in orders)))


def check_flood(seen: list[Seen], is_answer: Callable[[dict[str, Any]], bool]) -> int:
    """Returns how many requests were answered; the others were refused in a sentence, all in time."""
    assert max(seconds for _, seconds, _ in seen) < LONGEST
    answered = 0
    for status, _, content in seen:
        assert status in (200, 503), content
        if status == 503:
            assert content["error"]["kind"] == "busy"
            assert "try again in a moment" in content["error"]["message"]
        else:
            assert is_answer(content), content
            answered += 1
    return answered


def test_sixty_requests_at_once_are_answered_or_refused(tmp_path: Path) -> None:
    with serving(tmp_path / "log") as address:
        orders = [{"language": {"text": "(ab)*"}, "length": 4 + i, "seed": i} for i in range(60)]
        seen = asyncio.run(flood(address, "word", orders))
        answered = check_flood(seen, lambda content: "word" in content or "error" in content)
        assert answered >= 1
        assert httpx.post(f"{address}api/word", json=orders[0], timeout=30).status_code == 200


def heavy_language(seed: int) -> dict[str, str]:
    """An automaton of a thousand states, whose algebra takes longer than a request may."""
    rng = np.random.default_rng([1, seed])
    moves = [f"{q} {rng.integers(1000)} {letter}" for q in range(1000) for letter in "ab"]
    return {"text": f"heavy-{seed}.att", "file": "\n".join([*moves, *map(str, range(0, 1000, 3))]) + "\n"}


@pytest.mark.slow
def test_sixty_heavy_requests_at_once(tmp_path: Path) -> None:
    with serving(tmp_path / "log") as address:
        orders = [{"language": heavy_language(i)} for i in range(60)]
        seen = asyncio.run(flood(address, "language", orders))
        check_flood(seen, lambda content: bool(content))
        # The page is there for the next one.
        time.sleep(2)
        again = httpx.post(f"{address}api/language", json={"language": {"text": "(ab)*"}}, timeout=30)
        assert again.status_code == 200
        assert again.json()["name"]


def begin_request(address: str, body: bytes, *, announced: int) -> socket.socket:
    """A connection on which a request has begun, but not come to its end."""
    parts = urlsplit(address)
    connection = socket.create_connection((parts.hostname, parts.port), timeout=30)
    head = (
        f"POST {parts.path}api/word HTTP/1.1\r\nhost: {parts.netloc}\r\ncontent-type: application/json\r\n"
        f"content-length: {announced}\r\n\r\n"
    )
    connection.sendall(head.encode() + body)
    return connection


def test_a_slow_body_is_cut_off(tmp_path: Path) -> None:
    with serving(tmp_path / "log", body_seconds=1.0) as address:
        begun = time.monotonic()
        with begin_request(address, b"{", announced=100) as connection:
            connection.settimeout(0.2)
            answer = b""
            while b"\r\n\r\n" not in answer and time.monotonic() - begun < LONGEST:
                with contextlib.suppress(OSError):
                    connection.sendall(b" ")
                with contextlib.suppress(TimeoutError):
                    answer += connection.recv(4096)
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b"connection: close" in answer.lower()
        assert 0.9 < time.monotonic() - begun < LONGEST


def test_clients_that_go_away_leave_the_terminal_clean(tmp_path: Path) -> None:
    order = b'{"language": {"text": "(ab)*"}, "length": 4}'
    with serving(tmp_path / "log") as address:
        for body, announced in ((b"{", 100), (b"", 100), (order, len(order)), (order, len(order) + 1)):
            for _ in range(3):
                begin_request(address, body, announced=announced).close()
        reset = begin_request(address, order[:5], announced=len(order))
        # The connection is torn down instead of closed.
        reset.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        reset.close()
        good = httpx.post(
            f"{address}api/word", content=order, headers={"content-type": "application/json"}, timeout=30
        )
        assert good.status_code == 200
