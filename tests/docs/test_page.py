"""The page that needs no installation: the kernel in a real browser, and a forged folder."""

from __future__ import annotations

import functools
import http.server
import importlib.util
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.browser import OpenPage, wait_until

pytestmark = [pytest.mark.browser]

ROOT = Path(__file__).parents[2]
PYODIDE = ROOT / "out" / "pyodide"
STATUS = "document.getElementById('result').dataset.status"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture(scope="module")
def builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_page", ROOT / "docs" / "page" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def address(builder: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if not all((PYODIDE / name).is_file() for name in builder.FILES):
        pytest.skip("Pyodide was not fetched: run `make page`")
    page = tmp_path_factory.mktemp("page")
    builder.assemble(page, PYODIDE)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=page))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/index.html"
    server.shutdown()
    server.server_close()


def test_the_example_holds_and_is_refused_when_it_is_forged(address: str, open_page: OpenPage) -> None:
    page = open_page(address)
    page.click("#example")
    wait_until(page, f"{STATUS} === 'holds'", seconds=120)
    assert "claims hold" in page.inner_text("#result h2")
    assert "all lengths in exact arithmetic" in page.inner_text("#result")
    page.click("#forged")
    wait_until(page, f"{STATUS} === 'refused'", seconds=120)
    assert "forged: refused" in page.inner_text("#result h2")
    assert page.evaluate("document.querySelectorAll('#result li').length") == 0


def test_a_folder_of_the_user_is_checked_and_another_one_refused(
    address: str, builder: ModuleType, tmp_path: Path, open_page: OpenPage
) -> None:
    made = builder.example()
    folder = tmp_path / "mine"
    (folder / "model").mkdir(parents=True)
    (folder / "model" / "network.json").write_text("not for the kernel")
    for name, text in made["files"].items():
        (folder / name).write_text(text)
    page = open_page(address, width=390, dark=True)
    page.set_input_files("#folder", folder)
    wait_until(page, f"{STATUS} === 'holds'", seconds=120)
    assert page.inner_text("#result h2").startswith("mine: All")
    # A certificate that claims more than it proves.
    told = json.loads((folder / "certificate.json").read_text())
    told["claims"][0]["scope"] = "all lengths under noise below eps"
    (folder / "certificate.json").write_text(json.dumps(told))
    page.set_input_files("#folder", folder)
    wait_until(page, f"{STATUS} !== 'working' && !document.querySelector('#result li')", seconds=120)
    assert page.evaluate(STATUS) in ("refused", "unreadable")
    (folder / "certificate.json").unlink()
    page.set_input_files("#folder", folder)
    wait_until(page, f"{STATUS} === 'failed'", seconds=60)
    assert "no certificate.json" in page.inner_text("#result")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
