from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from nerode.algebra import Profile
from nerode.languages import RegularLanguage
from nerode.languages.bestiary import find_language
from nerode.report.pages.language import explain_page
from nerode.study import TrainingOutcome
from nerode.study.atlas import study_language
from nerode.study.trained import Point
from nerode.verdict import ARCHITECTURES
from tests.report.cases import (
    EVIL,
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
from tests.report.specimens import SPECIMENS, counter

VOID = {"meta", "link", "input", "br", "img", "hr"}


class Balance(HTMLParser):
    """Checks that elements nest, and collects attributes, texts and ids."""

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.stack, f"</{tag}> closes nothing"
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.stack and self.stack[-1] not in ("style", "script"):
            self.text.append(data)


def read(page: str) -> Balance:
    parser = Balance()
    parser.feed(page)
    parser.close()
    assert parser.stack == []
    return parser


def words(page: str) -> str:
    """The page's text, with single spaces between and inside its pieces."""
    return " ".join(" ".join(read(page).text).split())


def assert_offline(page: str) -> None:
    for tag, attributes in read(page).seen:
        for name in ("src", "href", "srcset", "action", "poster"):
            value = attributes.get(name) or ""
            assert value.startswith(("#", "data:")) or value == "", f"<{tag} {name}={value}>"
        assert not [name for name in attributes if name.startswith("on")]
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", page)


@pytest.fixture(scope="module")
def page() -> str:
    return explain_page(
        study_of(PARITY, PARITY_PROFILE, parity_verdicts(), dfa=PARITY.automaton, eggboxes=PARITY_BOXES),
        definition="named language",
        command="nerode explain parity -o page.html",
    )


def test_the_page_loads_nothing_and_runs_nothing(page: str) -> None:
    assert_offline(page)
    assert "<script" not in page
    assert "default-src 'none'" in page
    assert "script-src 'none'" in page


def test_the_page_says_what_the_language_is(page: str) -> None:
    text = words(page)
    assert "named language · over { 0, 1 } · minimal DFA 2 states · syntactic monoid of order 2" in text
    assert "not star-free (contains the group Z₂)" in text
    assert "Words over {0, 1} with an even number of 1s." in text


def test_the_page_says_why(page: str) -> None:
    text = words(page)
    assert "v = 1 the words v n go in and out of the language with period 2" in text
    assert "n=0 in n=1 out n=2 in n=3 out n=4 in" in text
    assert "group Z₂" in text


def test_statuses_are_words_and_not_only_colours(page: str) -> None:
    pills = re.findall(r'<span class="pill (yes|no|open)( mini)?">(.*?)</span>', page)
    assert pills
    assert all(status in text for status, _, text in pills)


def test_verdicts_have_reason_source_size_assumptions_and_witness(page: str) -> None:
    text = words(page)
    assert "Diagonal, gates in [0, 1] Mamba , GLA no contains the group Z2 [ Sarrof et al. 2024 ]" in text
    assert "1 layer, 1 state" in text
    assert "assumes constant precision" in text
    assert "witness v = 1, period = 2" in text
    assert "tried some-row: the language is not star-free" in text
    assert "under noise: open" in text


def test_classes_are_chips_with_their_test(page: str) -> None:
    text = words(page)
    assert "commutative : yes" in text
    assert "locally testable : open" in text
    assert "xy = yx" in text
    assert re.search(r'title="star-free: no — [^"]+ \(v = 1\)"', page)


def test_every_citation_has_its_entry(page: str) -> None:
    links = set(re.findall(r'href="#(ref-\w+)"', page))
    entries = set(re.findall(r'id="(ref-\w+)"', page))
    assert links
    assert links == entries


def test_words_counts_and_next_symbols_are_shown(page: str) -> None:
    text = words(page)
    assert "in the language ε 0 00 11 000 011 101 110 0000 0011 not in it 1 01 10 001 010 100" in text
    assert "length 0 1 2 3 4 5 6 7 8 9 10 11 12 words 1 1 2 4 8 16 32 64 128 256 512 1,024 2,048" in text
    assert "may come next may end 0 ε 0 1 yes 1 1 0 1 no" in text


def test_nothing_that_a_user_names_becomes_markup() -> None:
    language = hostile_language()
    page = explain_page(
        study_of(
            language, hostile_profile(), hostile_verdicts(), dfa=language.automaton, eggboxes=hostile_boxes()
        ),
        definition=EVIL,
        command=EVIL,
    )
    assert_offline(page)
    tags = {tag for tag, _ in read(page).seen}
    assert "script" not in tags
    assert "img" not in tags
    assert words(page).count("<script>document.title") > 8
    assert "\x02" not in page
    assert "\u202e" not in page


def test_undecided_languages_say_so() -> None:
    profile = Profile(regular=True, num_states=41, incomplete={"monoid_size": "more than 10 elements"})
    language = RegularLanguage(name="Z41", automaton=counter(41), convention="")
    text = words(explain_page(study_of(language, profile, dfa=language.automaton)))
    assert "star-free or not: undecided" in text
    assert "The budget was used up" in text
    assert "monoid size: more than 10 elements" in text
    assert "too large for a picture" in text


def test_star_free_languages_say_why() -> None:
    language = RegularLanguage(name="(ab)*", automaton=SPECIMENS["(ab)*"], convention="")
    profile = Profile(regular=True, num_states=3, star_free=True, monoid_size=6)
    text = words(explain_page(study_of(language, profile)))
    assert "Every group inside the syntactic monoid is trivial" in text
    assert "Minimal automaton" not in text


def test_a_typical_page_is_small_and_always_the_same() -> None:
    language = RegularLanguage(name="S4", automaton=SPECIMENS["S4"], convention="")

    def make() -> str:
        return explain_page(
            study_of(
                language, PARITY_PROFILE, every_architecture(), dfa=language.automaton, eggboxes=PARITY_BOXES
            )
        )

    page = make()
    assert page == make()
    assert len(page.encode()) < 300_000
    read(page)


@pytest.mark.parametrize("name", ["parity", "ab-star", "dyck-2-3", "contains-abaab", "t3", "dyck-1", "z60"])
def test_named_languages_have_whole_pages(name: str) -> None:
    study = study_language(find_language(name))
    page = explain_page(study)
    assert_offline(page)
    assert len(page.encode()) < 300_000
    text = words(page)
    assert "IEEE float32" in text
    assert ("not regular (counter language)" in text) == (name == "dyck-1")
    assert ("The egg-box" in text or "the egg-box" in text) == bool(study.eggboxes)
    assert ("Level of these proofs: checked" in " ".join(text.split())) == any(
        n.is_proved for n in study.networks
    )
    for architecture in study.table.architectures():
        assert ARCHITECTURES[architecture].title in text


def test_verdicts_stand_under_the_title(page: str) -> None:
    text = words(page)
    assert "LSTM and Mamba, gates in [-1,1] can predict it at every length; Mamba and GLA cannot;" in text
    chips = re.findall(r'<a class="(yes|no|open)" href="#family-(\d)"', page)
    assert [status for status, _ in chips] == ["yes", "yes", "no", "open"]
    for _, number in chips:
        assert f'<tbody id="family-{number}">' in page
    assert page.index('class="strip"') < page.index("Minimal automaton")


def test_training_stands_beside_the_verdicts() -> None:
    points = (
        Point(label="40", median=1.0, low=1.0, high=1.0),
        Point(label="80", median=0.5, low=0.4, high=1.0),
    )
    found = [
        TrainingOutcome(
            language=language,
            architecture=name,
            model=name,
            points=points,
            seeds=3,
            threshold=0.9,
            source="runs",
            statuses=statuses,
        )
        for language, name, statuses in (
            ("parity", "mamba", ()),
            ("parity", "lstm", ("● every length",)),
            ("other", "lstm", ()),
        )
    ]
    study = study_of(PARITY, PARITY_PROFILE, parity_verdicts(), dfa=PARITY.automaton, eggboxes=PARITY_BOXES)
    page = explain_page(study, trained=found)
    assert_offline(page)
    text = words(page)
    assert "Mamba impossible 100 40 50 80 ○ fails, as theory says" in text
    assert "LSTM possible 100 40 50 80 ● " in text
    assert page.count('<svg class="sparkline"') == 2


def test_drawings_can_be_saved_without_a_script(page: str) -> None:
    found = re.findall(r'download="([^"]+)" href="data:image/svg\+xml;base64,([^"]+)"', page)
    assert [name for name, _ in found] == ["parity-automaton.svg", "parity-egg-box.svg"]
    for _, data in found:
        svg = base64.b64decode(data).decode()
        ElementTree.fromstring(svg)
        assert "fill=" in svg
