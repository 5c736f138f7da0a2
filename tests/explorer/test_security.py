"""Whoever may not ask gets nothing, and whoever asks for too much harms only himself."""

from __future__ import annotations

import json
import socket
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from nerode.explorer.app import HEADERS, POLICY, open_socket
from tests.explorer.conftest import slow_language

ORDER = {"language": {"text": "(ab)*"}}


def raw(address: str, request: str) -> str:
    """The first line of the answer to a request that no library would send."""
    parts = urlsplit(address)
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as connection:
        connection.sendall(request.encode())
        return connection.makefile().readline()


def base(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


@pytest.mark.parametrize("path", ["/", "/static/main.js", "/api/begin", "/api/language", "//", "/index.html"])
def test_nothing_without_the_token(address: str, path: str) -> None:
    assert httpx.get(base(address) + path).status_code == 404
    answer = httpx.post(base(address) + path, json=ORDER)
    assert answer.status_code == 404
    assert "name" not in answer.json()


def test_nothing_with_a_wrong_token(address: str) -> None:
    token = urlsplit(address).path.strip("/")
    assert len(token) >= 32
    wrong = ["x" * len(token), token[:-1], token + "x", token.swapcase(), "é" * len(token)]
    for guess in wrong:
        assert httpx.get(f"{base(address)}/{guess}/").status_code == 404
    assert httpx.get(address).status_code == 200


def test_a_request_about_no_path_is_refused(address: str) -> None:
    host = urlsplit(address).netloc
    for path in ("*", "x"):
        assert " 404 " in raw(address, f"OPTIONS {path} HTTP/1.1\r\nhost: {host}\r\n\r\n")


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "evil.example:80", "127.0.0.1:1", ""])
def test_a_foreign_host_is_refused(address: str, host: str) -> None:
    assert httpx.get(address, headers={"host": host}).status_code == 421


def test_localhost_is_this_machine_too(address: str) -> None:
    port = urlsplit(address).port
    assert httpx.get(address, headers={"host": f"localhost:{port}"}).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "file://"])
def test_a_foreign_origin_is_refused(address: str, origin: str) -> None:
    answer = httpx.post(f"{address}api/language", json=ORDER, headers={"origin": origin})
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


def test_the_own_origin_is_not(address: str) -> None:
    headers = {"origin": base(address), "sec-fetch-site": "same-origin"}
    answer = httpx.post(f"{address}api/language", json=ORDER, headers=headers, timeout=60)
    assert answer.json()["name"] == "(ab)*"


def test_what_another_site_embeds_is_refused(address: str) -> None:
    for site in ("cross-site", "same-site"):
        assert httpx.get(f"{address}static/main.js", headers={"sec-fetch-site": site}).status_code == 403


@pytest.mark.parametrize(
    "path",
    [
        "static/../guard.py",
        "static/%2e%2e/guard.py",
        "static/..%2fguard.py",
        "static//etc/passwd",
        "static/../../../../../../etc/passwd",
        "../",
        "api/../static/main.js/..",
    ],
)
def test_paths_do_not_lead_out(address: str, path: str) -> None:
    parts = urlsplit(address)
    line = raw(
        address, f"GET {parts.path}{path} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n"
    )
    assert line.split()[1] == "404"


def test_texts_are_no_files(address: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.att"
    secret.write_text("0 1 geheim\n1\n")
    answer = httpx.post(f"{address}api/language", json={"language": {"text": str(secret)}}, timeout=60).json()
    assert "geheim" not in json.dumps(answer)
    assert "/" in answer["alphabet"]


def test_dropped_names_do_not_lead_out(address: str, tmp_path: Path) -> None:
    aim = tmp_path / "aim.att"
    order = {"language": {"text": f"../../../..{aim}", "file": "0 1 a\n1\n"}}
    answer = httpx.post(f"{address}api/language", json=order, timeout=60).json()
    assert answer["alphabet"] == ["a"]
    assert not aim.exists()


def test_every_answer_carries_the_policy(address: str) -> None:
    for answer in (httpx.get(address), httpx.get(base(address)), httpx.get(f"{address}static/main.js")):
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
        assert "server" not in answer.headers
    assert "unsafe" not in POLICY
    assert "http" not in POLICY


def test_large_bodies_are_refused(tight_address: str) -> None:
    large = json.dumps({"language": {"text": "a" * 60_000}}).encode()
    headers = {"content-type": "application/json"}
    announced = httpx.post(f"{tight_address}api/language", content=large, headers=headers)
    assert announced.status_code == 413
    streamed = httpx.post(
        f"{tight_address}api/language", content=iter([large[:30_000], large[30_000:]]), headers=headers
    )
    assert streamed.status_code == 413
    assert httpx.get(tight_address).status_code == 200


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"1", b"[" * 100_00, b"\xff"])
def test_what_is_no_object_is_refused(address: str, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    assert httpx.post(f"{address}api/language", content=body, headers=headers).status_code == 400


def test_forms_of_other_pages_are_refused(address: str) -> None:
    answer = httpx.post(
        f"{address}api/language", content=json.dumps(ORDER), headers={"content-type": "text/plain"}
    )
    assert answer.status_code == 400


def test_unknown_jobs_and_settings_are_refused(address: str) -> None:
    assert httpx.post(f"{address}api/os.system", json={}).status_code == 404
    answer = httpx.post(f"{address}api/language", json={**ORDER, "shell": "ls"}, timeout=60).json()
    assert "shell" in answer["error"]["message"]


@pytest.mark.parametrize("text", ["(a|b)*a(a|b){40}", "((a{1000}){1000}){1000}", "((a*)*)*" * 50, "(" * 5000])
def test_bombs_are_bounded(address: str, text: str) -> None:
    answer = httpx.post(f"{address}api/language", json={"language": {"text": text}}, timeout=60).json()
    if "error" in answer:
        assert answer["error"]["kind"] in ("budget", "pattern")
    else:
        assert answer["states"] <= 3000


def test_a_slow_request_is_stopped_while_others_go_on(tight_address: str) -> None:
    quick = {"language": {"text": "(ab)*"}}
    httpx.post(f"{tight_address}api/language", json=quick, timeout=120)
    ended: list[tuple[float, dict[str, dict[str, str]]]] = []

    def ask_slowly() -> None:
        order = {"language": slow_language()}
        answer = httpx.post(f"{tight_address}api/language", json=order, timeout=120)
        ended.append((time.monotonic(), answer.json()))

    thread = threading.Thread(target=ask_slowly)
    thread.start()
    others = []
    for number in range(1, 4):
        order = {"language": {"text": f"a{{{number}}}"}}
        answer = httpx.post(f"{tight_address}api/language", json=order, timeout=120).json()
        others.append((time.monotonic(), answer["states"]))
    thread.join()
    assert [states for _, states in others] == [3, 4, 5]
    assert others[0][0] < ended[0][0]
    assert ended[0][1]["error"]["kind"] == "budget"
    assert "was stopped" in ended[0][1]["error"]["message"]


def test_only_this_machine_is_listened_to() -> None:
    with open_socket(0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"
