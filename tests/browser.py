"""A real browser for tests: every page that is opened must ask nobody else and complain about nothing.

`pytest_plugins = ["tests.browser"]` is in tests/conftest.py, so that a test only has to take `open_page`, and
carry `pytestmark = [pytest.mark.browser]`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

# Every session of pytest reads this file: those without a browser test do not load the library.
if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Route

CHROMIUM = "/usr/bin/chromium"

OpenPage = Callable[..., Any]
"""Gives a `playwright.sync_api.Page`."""

# What the browser asks for on its own account (time, updates, sign-in) finds no address.
_FLAGS = (
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)

_QUIET = {"log", "info", "debug", "startGroup", "endGroup"}


def wait_until(page: Any, expression: str, *, seconds: float = 20.0) -> None:
    """Waits until an expression holds in a page; playwright's own way needs a policy that allows eval."""
    for _ in range(int(seconds / 0.05)):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"not so after {seconds} s: {expression}")


class Watch:
    """What the pages of a test complained about, and whom they asked.

    Attributes:
        complaints: warnings, errors and exceptions, as text.
        foreign: addresses that were asked for and refused.
    """

    def __init__(self) -> None:
        self.complaints: list[str] = []
        self.foreign: list[str] = []

    def guard(self, context: BrowserContext, origin: str) -> None:
        """Refuses every request but to files and to one origin, for all pages of a context."""

        def decide(route: Route) -> None:
            parts = urlsplit(route.request.url)
            if parts.scheme in ("file", "data", "blob") or f"{parts.scheme}://{parts.netloc}" == origin:
                route.continue_()
            else:
                self.foreign.append(route.request.url)
                route.abort()

        context.route("**/*", decide)

    def listen(self, page: Page) -> None:
        """Notes what a page says on its console."""
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type not in _QUIET:
            self.complaints.append(f"{message.type}: {message.text}")


# For one module only: while the browser runs, so does an event loop, and no test can start another.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    if shutil.which(CHROMIUM) is None:
        pytest.skip(f"{CHROMIUM} is missing: apt-get install chromium")
    library = pytest.importorskip(
        "playwright.sync_api", reason="playwright is missing: pip install playwright"
    )
    with library.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(_FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def watch() -> Watch:
    """What is held against the pages; a test that expects a complaint removes it from here."""
    return Watch()


@pytest.fixture
def open_page(chromium: Browser, watch: Watch) -> Iterator[OpenPage]:
    """Opens a file or an address of this machine; the test fails if a page complains or asks others.

    The function takes the path or the address, and the keywords `width`, `height`, `dark` and `script`.
    """
    contexts: list[BrowserContext] = []

    def open_at(
        place: Path | str, *, width: int = 1100, height: int = 900, dark: bool = False, script: bool = True
    ) -> Page:
        address = place.as_uri() if isinstance(place, Path) else place
        parts = urlsplit(address)
        context = chromium.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            java_script_enabled=script,
            accept_downloads=True,
        )
        contexts.append(context)
        # A page of many figures is long in loading where other work has the processors.
        context.set_default_timeout(90_000)
        watch.guard(context, f"{parts.scheme}://{parts.netloc}")
        page = context.new_page()
        watch.listen(page)
        page.goto(address)
        return page

    yield open_at
    for context in contexts:
        context.close()
    assert watch.complaints == []
    assert watch.foreign == []
