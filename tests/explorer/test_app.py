"""What the server remembers."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.testclient import TestClient

from nerode.explorer.app import Explorer, make_app
from nerode.explorer.guard import Access
from nerode.explorer.workers import Limits


class Scripted:
    """Gives one answer after the other, and counts."""

    def __init__(self, *answers: bytes) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def warm(self) -> None:
        await asyncio.sleep(0)

    def stop(self) -> None:
        pass

    async def run(self, job: str, payload: dict[str, Any], *, floats: bool = False) -> bytes:
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
