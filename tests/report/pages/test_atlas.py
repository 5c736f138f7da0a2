from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import re
from typing import Any

import pytest

from nerode.languages import RegularLanguage
from nerode.report import AtlasEntry, entry_of
from nerode.report.pages.atlas import atlas_page
from nerode.study import TrainingOutcome
from nerode.study.trained import Point
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


def test_the_matrix_has_a_cell_for_each_architecture_and_language(page: str) -> None:
    cells = re.findall(r'<td class="(\w+)" tabindex="-?\d" title="(.*?)">(.)·?</td>', page)
    assert [status for status, _, _ in cells] == [
        status for status in ("no", "no", "yes", "yes", "open") for _ in range(2)
    ]
    assert [mark for _, _, mark in cells] == [mark for mark in "✗✗✓✓?" for _ in range(2)]
    assert cells[0][1] == "Parity × Mamba: no"
    assert "4 possible 4 impossible 2 open" in words(page)


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


def test_the_page_begins_with_what_was_found(page: str) -> None:
    text = words(page)
    assert "Mamba can predict none of the 2 languages that contain a group; LSTM can predict all 2" in text
    assert text.index("Mamba can predict none") < text.index("possible") < text.index("The languages")


def test_languages_of_one_kind_stand_together_under_their_title() -> None:
    others = [
        dataclasses.replace(parity_row("first"), name="u1", title="U₁", kind="star-free"),
        dataclasses.replace(parity_row("second"), name="dyck", title="Dyck-1", kind="not regular"),
    ]
    page = atlas_page([parity_row("first"), others[1], parity_row("second"), others[0]])
    heads = re.findall(r'scope="colgroup" colspan="(\d)" class="starts">([\w -]+)<', page)
    assert heads == [("1", "star-free"), ("2", "solvable groups"), ("1", "not regular")]
    assert re.findall(r'href="#language-\d">([^<]+)</a></th>', page) == ["U₁", "Parity", "Parity", "Dyck-1"]


def test_a_disagreement_is_one_line_with_its_curve() -> None:
    point = Point(label="1–50", median=1.0, low=1.0, high=1.0)
    far = Point(label="51–100", median=0.25, low=0.0, high=1.0)
    found = TrainingOutcome(
        language="parity",
        architecture="lstm",
        model="LSTM",
        points=(point, far),
        seeds=3,
        threshold=0.99,
        source="runs",
    )
    page = atlas_page([parity_row()], trained=[found])
    assert "Parity LSTM possible 100 1–50 25 51–100 ○ fails on some words" in words(page)
    assert page.count('<svg class="sparkline"') == 1
    assert data_of(page)["trained"]["0,3"][0]["status"] == "refuted"


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
    assert re.findall(r'<details class="language" id="(language-\d)"', page) == [
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
    assert "0 possible 0 impossible 5 open" in words(page)
    assert data_of(page)["senses"][data_of(page)["first"]] == "under noise"


def test_an_atlas_of_seventy_languages_would_be_below_three_megabytes() -> None:
    page = atlas_page(many_rows(14))
    assert len(page.encode()) < 3_000_000 * 14 / 70
    assert len(data_of(page)["cells"]) == 14
    assert {len(row) for row in data_of(page)["cells"]} == {len(ARCHITECTURES)}


def test_an_empty_atlas_is_a_page() -> None:
    assert "0 languages × 0 architectures" in words(atlas_page([]))
