"""Every code block of the README and of the documentation runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.blocks import KINDS, blocks_of, run_page

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(p for p in (ROOT / "docs").rglob("*.md") if "generated" not in p.parts)]
WITH_CODE = [
    page
    for page in PAGES
    if {"python", "console"} & {block.kind for block in blocks_of(page.read_text(encoding="utf-8"))}
]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_block_says_what_it_is(page: Path) -> None:
    for block in blocks_of(page.read_text(encoding="utf-8")):
        assert block.kind in KINDS, f"{page.name}, line {block.line}: a block of the kind {block.kind!r}"


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_page(page) > 0


def test_a_block_that_is_wrong_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    for wrong in (
        "```python\nassert 1 == 2\n```\n",
        "```console\n$ nerode list languages\nno such line\n```\n",
        "```console\n$ nerode check tomita-99\n```\n",
        "```console\n$ rm -r here\n```\n",
        "```toml\na = 1\n```\n",
    ):
        page.write_text(wrong, encoding="utf-8")
        with pytest.raises(AssertionError):
            run_page(page)
