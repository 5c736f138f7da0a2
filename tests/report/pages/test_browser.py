"""The pages in a real browser: nothing is fetched, nothing fails, everything can be reached."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from nerode.report.pages.atlas import atlas_page
from nerode.report.pages.language import explain_page
from tests.report.cases import PARITY, PARITY_BOXES, PARITY_PROFILE, every_architecture, study_of
from tests.report.pages.test_atlas import hostile_row, many_rows

CHROMIUM = "/usr/bin/chromium"

# What the browser asks for on its own account whatever page it shows: time, updates, sign-in.
BROWSERS_OWN = re.compile(
    r"(clients\d?|update|accounts|content-autofill|optimizationguide-pa|safebrowsing)\.google(apis)?\.com|gvt1\.com"
)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        shutil.which(CHROMIUM) is None, reason=f"{CHROMIUM} is missing: apt-get install chromium"
    ),
]


class Listener:
    """A proxy that answers nothing and remembers who asked."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                self.requests.append(connection.recv(4096).decode("latin-1").split("\r\n")[0])

    def from_page(self) -> list[str]:
        """The requests that are not the browser's own."""
        return [request for request in self.requests if not BROWSERS_OWN.search(request)]

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(timeout=5)


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.close()


class Visit:
    """What the browser made of a file."""

    def __init__(self, path: Path, listener: Listener, *flags: str) -> None:
        profile = path.parent / f"profile-{path.stem}"
        command = [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-default-apps",
            "--allow-file-access-from-files",
            f"--user-data-dir={profile}",
            f"--proxy-server=127.0.0.1:{listener.port}",
            "--enable-logging=stderr",
            "--v=0",
            "--virtual-time-budget=4000",
            *flags,
            "--dump-dom",
            path.as_uri(),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        self.dom = done.stdout
        self.console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]

    def result(self) -> dict[str, Any]:
        """What a driver left on the page."""
        found = re.search(r'data-result="([^"]*)"', self.dom)
        assert found, f"the driver did not finish; console: {self.console}"
        result: dict[str, Any] = json.loads(unescape(found[1]))
        return result


def with_driver(page: str, script: str) -> str:
    """The page with one more script, which its own policy would not let run."""
    page = re.sub(r"script-src '[^']*'", "script-src 'unsafe-inline'", page)
    driver = f"<script>document.body.dataset.result = JSON.stringify((() => {{{script}}})());</script>"
    return page.replace("</body>", driver + "</body>")


def parity_page() -> str:
    return explain_page(
        study_of(PARITY, PARITY_PROFILE, every_architecture(), dfa=PARITY.automaton, eggboxes=PARITY_BOXES)
    )


def test_the_listener_and_the_console_notice_a_page_that_asks(tmp_path: Path, listener: Listener) -> None:
    file = tmp_path / "asks.html"
    file.write_text('<img src="http://example.invalid/x.png"><script>undefinedName()</script>')
    visit = Visit(file, listener)
    assert any("example.invalid" in request for request in listener.from_page())
    assert any("undefinedName is not defined" in line for line in visit.console)


def test_the_explain_page_asks_for_nothing_and_fails_nowhere(tmp_path: Path, listener: Listener) -> None:
    file = tmp_path / "explain.html"
    file.write_text(parity_page(), encoding="utf-8")
    visit = Visit(file, listener)
    assert visit.console == []
    assert listener.from_page() == []
    assert visit.dom.count('class="state') == 2


def test_the_atlas_asks_for_nothing_and_fails_nowhere(tmp_path: Path, listener: Listener) -> None:
    file = tmp_path / "atlas.html"
    file.write_text(atlas_page([hostile_row(), *many_rows(3)]), encoding="utf-8")
    visit = Visit(file, listener)
    assert visit.console == []
    assert listener.from_page() == []
    assert 'data-ready="true"' in visit.dom
    assert "<title>Atlas of 4 languages · nerode</title>" in visit.dom


DRIVE_ATLAS = """
  const get = (id) => document.getElementById(id);
  const change = (id, value, kind) => { get(id).value = value; get(id).dispatchEvent(new Event(kind)); };
  const shown = () => [
    [...document.querySelectorAll(".matrix thead .language")].map((item) => item.textContent),
    [...document.querySelectorAll(".matrix tbody th")].map((item) => item.textContent)];
  const cells = () => [...document.querySelectorAll(".matrix tbody td[tabindex]")];
  const dialog = document.querySelector("dialog");
  cells()[0].click();
  const opened = dialog.open, told = dialog.innerText;
  dialog.querySelector(".close").click();
  const closed = !dialog.open;
  const all = shown();
  change("filter", "TOMITA -5", "input");
  const language = shown();
  const sections = [...document.querySelectorAll("details[data-language]")].filter((item) => !item.hidden);
  change("filter", "mamba", "input");
  const architecture = shown();
  change("filter", "mamba nosuchname", "input");
  const nothing = get("nothing").hidden ? "" : get("nothing").textContent;
  const matrix = document.querySelector(".matrix").hidden;
  change("filter", "", "input");
  change("sort-languages", "name", "change");
  change("sort-architectures", "yes", "change");
  const sorted = shown();
  const rows = [...document.querySelectorAll(".matrix tbody tr")];
  const yes = rows.map((row) => row.querySelectorAll("td.yes").length);
  change("sort-languages", "kind", "change");
  change("sort-architectures", "family", "change");
  change("family", "0", "change");
  const family = shown()[1];
  change("family", "", "change");
  const before = cells().map((cell) => cell.textContent[0]).join("");
  const total = get("total-yes").textContent;
  document.querySelectorAll("input[name=sense]")[3].click();
  const after = cells().map((cell) => cell.textContent[0]).join("");
  const first = cells()[0], second = cells()[1];
  first.focus();
  first.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true}));
  const moved = document.activeElement === second && second.tabIndex === 0;
  const said = get("told").textContent;
  location.hash = "#language-2";
  return {opened, told, closed, all, language, sections: sections.length, architecture, nothing, matrix,
    sorted, yes, family, before, after, total, moved, said};
"""


def test_the_atlas_can_be_filtered_sorted_and_read(tmp_path: Path, listener: Listener) -> None:
    file = tmp_path / "driven.html"
    file.write_text(with_driver(atlas_page(many_rows(6)), DRIVE_ATLAS), encoding="utf-8")
    visit = Visit(file, listener)
    result = visit.result()
    assert visit.console == []
    assert result["opened"]
    assert result["closed"]
    assert result["told"].startswith("×\nparity (0) × diagonal, gates in [0,1]")
    assert "finite precision: " in result["told"]
    assert "under noise: " in result["told"]
    assert "[Sarrof et al. 2024]" in result["told"]
    languages, architectures = result["all"]
    assert len(languages) == 6
    assert result["language"] == [["tomita-5 (4)"], architectures]
    assert result["sections"] == 1
    assert result["architecture"][0] == languages
    assert 0 < len(result["architecture"][1]) < len(architectures)
    assert "Mamba" in result["architecture"][1]
    assert "LSTM" not in result["architecture"][1]
    assert "Nothing matches “nosuchname”" in result["nothing"]
    assert result["matrix"]
    assert result["sorted"][0] == sorted(languages)
    assert sorted(result["sorted"][1]) == sorted(architectures)
    assert result["yes"] == sorted(result["yes"], reverse=True)
    assert "Mamba" in result["family"]
    assert len(result["family"]) < len(architectures)
    assert set(result["before"]) == {"✓", "✗", "?"}
    assert result["before"] != result["after"]
    assert result["total"] == f"{result['before'].count('✓')} possible"
    assert result["moved"]
    assert " × " in result["said"]
    assert re.search(r'<details[^>]*id="language-2"[^>]* open=""', visit.dom)


MEASURE = """
  const results = {};
  for (const frame of document.querySelectorAll("iframe")) {
    const page = frame.contentDocument;
    const card = page.querySelector(".card");
    results[frame.id] = {
      overflow: page.documentElement.scrollWidth - frame.clientWidth,
      background: frame.contentWindow.getComputedStyle(page.body).backgroundColor,
      label: frame.contentWindow.getComputedStyle(page.querySelector(".dfa text")).fill,
      card: card.getBoundingClientRect().width,
    };
  }
  document.body.dataset.result = JSON.stringify(results);
"""


@pytest.mark.parametrize(("scheme", "background"), [(1, "rgb(248, 250, 252)"), (0, "rgb(11, 17, 32)")])
def test_pages_fit_a_phone_in_light_and_dark(
    tmp_path: Path, listener: Listener, scheme: int, background: str
) -> None:
    (tmp_path / "explain.html").write_text(parity_page(), encoding="utf-8")
    (tmp_path / "atlas.html").write_text(atlas_page(many_rows(4)), encoding="utf-8")
    frames = "".join(
        f'<iframe id="{name}" src="{name}.html" style="width:390px;height:800px;border:0"></iframe>'
        for name in ("explain", "atlas")
    )
    file = tmp_path / "phone.html"
    file.write_text(f"<body>{frames}<script>addEventListener('load', () => {{{MEASURE}}});</script></body>")
    visit = Visit(file, listener, f"--blink-settings=preferredColorScheme={scheme}")
    result = visit.result()
    assert set(result) == {"explain", "atlas"}
    for measured in result.values():
        assert measured["overflow"] <= 0
        assert measured["background"] == background
        assert measured["label"] != background
        assert 300 < measured["card"] <= 390
