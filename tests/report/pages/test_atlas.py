from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Any

import pytest

from nerode.languages import RegularLanguage
from nerode.report import AtlasEntry, entry_of
from nerode.report.pages.atlas import atlas_page
from nerode.verdict import ARCHITECTURES, Sense
from tests.report.cases import (
    PARITY,
    PARITY_BOXES,
    PARITY_PROFILE,
    every_architecture,
    hostile_boxes,
    hostile_language,
    hostile_profile,
    hostile_verdicts,
    parity_verdicts,
    study_of,
)
from tests.report.pages.test_language import assert_offline, read, words
from tests.report.specimens import SPECIMENS


def parity_row(group: str = "") -> AtlasEntry:
    return entry_of(
        study_of(PARITY, PARITY_PROFILE, parity_verdicts(), dfa=PARITY.automaton, eggboxes=PARITY_BOXES),
        group=group,
    )


def hostile_row() -> AtlasEntry:
    language = hostile_language()
    return entry_of(
        study_of(
            language, hostile_profile(), hostile_verdicts(), dfa=language.automaton, eggboxes=hostile_boxes()
        ),
        group=language.name,
    )


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def many_rows(number: int) -> list[AtlasEntry]:
    automata = list(SPECIMENS.items())
    rows = []
    for i in range(number):
        name, dfa = automata[i % len(automata)]
        language = RegularLanguage(name=f"{name} ({i})", automaton=dfa, convention="Some words.")
        rows.append(
            entry_of(
                study_of(
                    language,
                    PARITY_PROFILE,
                    every_architecture(),
                    dfa=language.automaton,
                    eggboxes=PARITY_BOXES,
                )
            )
        )
    return rows


@pytest.fixture(scope="module")
def page() -> str:
    return atlas_page([parity_row("first"), parity_row("second")], command="nerode atlas")


def test_the_matrix_has_a_cell_for_each_language_and_architecture(page: str) -> None:
    cells = re.findall(r'<td class="(\w+)" tabindex="-?\d" title="(.*?)">(.)</td>', page)
    assert [status for status, _, _ in cells] == ["no", "no", "yes", "yes", "open"] * 2
    assert [mark for _, _, mark in cells] == ["✗", "✗", "✓", "✓", "?"] * 2
    assert cells[0][1] == "parity × Mamba: no"
    assert "4 yes 4 no 2 open" in words(page)


def test_the_open_cells_of_all_arithmetics_are_counted_and_their_questions_named(page: str) -> None:
    data = data_of(page)
    answers = [
        data["answers"][number]
        for language in data["cells"]
        for numbers in language
        for number in numbers
        if number >= 0 and data["strings"][data["answers"][number][9]] != "–"
    ]
    left = [data["strings"][answer[1]] for answer in answers if answer[0] == "open"]
    (shown,) = re.findall(r'id="open-cells">([\d,]+) of ([\d,]+) cells', page)
    assert shown == (str(len(left)), str(len(answers)))
    assert left
    assert all(f"<li>{question}" in page for question in left)


def test_groups_are_headings(page: str) -> None:
    assert re.findall(r'<tr class="group"><th colspan="6">(\w+)</th>', page) == ["first", "second"]


def test_rows_of_one_group_stand_together() -> None:
    page = atlas_page([parity_row("first"), parity_row("second"), parity_row("first")])
    assert re.findall(r'<tr (?:class="group"><th colspan="6">(\w+)|data-language="(\d)")', page) == [
        ("first", ""),
        ("", "0"),
        ("", "1"),
        ("second", ""),
        ("", "2"),
    ]


def test_only_the_first_cell_is_a_tab_stop(page: str) -> None:
    assert page.count('tabindex="0" title=') == 1


def test_the_data_give_each_answer_once_and_in_every_sense(page: str) -> None:
    data = data_of(page)
    statuses = {
        (architecture[1], sense): data["answers"][number][0] if number >= 0 else None
        for architecture, numbers in zip(data["architectures"], data["cells"][1], strict=True)
        for sense, number in zip(data["senses"], numbers, strict=True)
    }
    assert statuses["mamba", "finite precision"] == "no"
    assert statuses["lstm", "finite precision"] == "yes"
    assert statuses["lstm", "under noise"] == "open"
    assert statuses["lstm", "exact arithmetic"] is None
    assert data["cells"][0] == data["cells"][1]
    assert len({json.dumps(a) for a in data["answers"]}) == len(data["answers"])
    reasons = [data["strings"][answer[1]] for answer in data["answers"]]
    assert sorted(set(reasons)) == [
        "contains the group Z2",
        "no theorem applies",
        "nothing known under noise",
        "one sign flip",
    ]


def test_every_language_has_a_section_without_the_script(page: str) -> None:
    text = words(page)
    assert text.count("Words over {0, 1} with an even number of 1s.") == 2
    assert text.count("no contains the group Z2 [ Sarrof et al. 2024 ]") == 2
    assert re.findall(r'<details class="card language" id="(language-\d)"', page) == [
        "language-0",
        "language-1",
    ]


def test_only_the_page_s_own_script_may_run(page: str) -> None:
    assert_offline(page)
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in page
    assert "innerHTML" not in scripts[0]


def test_nothing_that_a_user_names_becomes_markup() -> None:
    page = atlas_page([hostile_row(), parity_row()], command="</footer><script>x")
    assert_offline(page)
    tags = [tag for tag, _ in read(page).seen]
    assert tags.count("script") == 2
    assert "img" not in tags
    assert "</script><!--" in json.dumps(data_of(page))


def test_another_sense_may_come_first() -> None:
    page = atlas_page([parity_row()], sense=Sense.ROBUST)
    assert "0 yes 0 no 5 open" in words(page)
    assert data_of(page)["senses"][data_of(page)["first"]] == "under noise"


def test_an_atlas_of_seventy_languages_would_be_below_three_megabytes() -> None:
    page = atlas_page(many_rows(14))
    assert len(page.encode()) < 3_000_000 * 14 / 70
    assert len(data_of(page)["cells"]) == 14
    assert {len(row) for row in data_of(page)["cells"]} == {len(ARCHITECTURES)}


def test_an_empty_atlas_is_a_page() -> None:
    assert "0 languages × 0 architectures" in words(atlas_page([]))
