"""Works and references, read from BibTeX."""

from __future__ import annotations

import pytest

from nerode.core.config import Reference, Work, parse_works, work, works
from nerode.core.errors import UnknownName

ENTRY = """@article{Someone1900,
  author = {Someone, Ann},
  title = {On words},
  journal = {Journal of Words},
  year = {1900},
}
"""


def one(**fields: str) -> Work:
    values = {"author": "Someone, Ann", "title": "On words", "year": "1900"} | fields
    body = "".join(f"  {name} = {{{value}}},\n" for name, value in values.items() if value)
    (found,) = parse_works(f"@misc{{Someone1900,\n{body}}}\n").values()
    return found


def test_an_entry_is_read_field_by_field() -> None:
    (found,) = parse_works("% a comment\n\n" + ENTRY).values()
    assert (found.key, found.kind, found.title) == ("Someone1900", "article", "On words")
    assert (found.author, found.year, found.where) == ("Someone, Ann", "1900", "Journal of Words")
    assert found.bibtex == ENTRY.strip()


def test_the_last_field_needs_no_comma_and_values_may_be_broken() -> None:
    text = "@book{K,\n  Author = {A, B},\n  title = {One\n    two},\n  year = {1901}\n}\n"
    assert parse_works(text)["K"].title == "One two"
    assert parse_works(text)["K"].year == "1901"


@pytest.mark.parametrize(
    ("bibtex", "plain"),
    [
        (r"Sch{\"u}tzenberger", "Schützenberger"),
        (r"Kl{\'i}ma, Ond{\v{r}}ej", "Klíma, Ondřej"),
        (r"Pin, Jean-{\'E}ric", "Pin, Jean-Éric"),
        (r"Dani{\`e}le", "Danièle"),
        (r"Terzi{\'c}", "Terzić"),
        (r"Fran\c{c}ois, {\^o}", "François, ô"),
        (r"Garc{\'\i}a", "García"),
        (r"\'{e}t\'e", "été"),
        (r"{The nerode authors}", "The nerode authors"),
        ("already é", "already é"),
    ],
)
def test_accents_become_letters(bibtex: str, plain: str) -> None:
    assert one(author=bibtex).author == plain
    assert one(title=bibtex).title == plain
    assert one(journal=bibtex).where == plain


@pytest.mark.parametrize(
    ("author", "label"),
    [
        ("Kamp, Hans", "Kamp 1900"),
        ("McNaughton, Robert and Papert, Seymour", "McNaughton & Papert 1900"),
        ("Krohn and Rhodes and Tilson", "Krohn et al. 1900"),
        ("Beck, Maximilian and others", "Beck et al. 1900"),
        ("{The nerode authors}", "The nerode authors 1900"),
    ],
)
def test_labels_name_one_author_or_two(author: str, label: str) -> None:
    assert one(author=author).label == label


def test_where_a_work_appeared() -> None:
    assert one().where == ""
    assert one(eprint="1508.06345").where == "arXiv:1508.06345"
    assert one(booktitle="ICML", eprint="1").where == "ICML, arXiv:1"
    assert one(publisher="MIT Press").where == "MIT Press"


def test_two_entries_with_one_key_are_refused() -> None:
    with pytest.raises(ValueError, match="two entries called Someone1900"):
        parse_works(ENTRY + "\n" + ENTRY)


@pytest.mark.parametrize("field", ["author", "title", "year"])
def test_an_entry_without_what_a_citation_needs_is_refused(field: str) -> None:
    with pytest.raises(ValueError, match=f"Someone1900 of references.bib has no {field}"):
        one(**{field: ""})


def test_an_entry_that_is_not_closed_does_not_vanish() -> None:
    broken = ENTRY.rstrip("}\n") + "\n"
    with pytest.raises(ValueError, match="not closed"):
        parse_works(broken)
    with pytest.raises(ValueError, match="not closed"):
        parse_works(broken + ENTRY.replace("1900", "1901"))


def test_the_shipped_file_is_read_without_a_rest() -> None:
    assert len(works()) > 100
    for found in works().values():
        assert "\\" not in found.author + found.title + found.where, found.key
        assert found.year.isdigit(), found.key
        assert found.title[0].isupper() or found.title.startswith(("x", "k-means")), found.key


def test_an_unknown_work_names_the_nearest() -> None:
    assert work("Sarrof2024").label == "Sarrof et al. 2024"
    with pytest.raises(UnknownName, match="unknown reference 'Sarof2024'") as unknown:
        work("Sarof2024")
    assert isinstance(unknown.value.nearest, tuple)
    assert "Sarrof2024" in unknown.value.nearest


def test_a_reference_is_a_work_and_a_place() -> None:
    assert str(Reference("Grazzi2025")) == "Grazzi et al. 2025"
    assert str(Reference("Grazzi2025", "Theorem 3")) == "Grazzi et al. 2025, Theorem 3"
    with pytest.raises(UnknownName):
        Reference("Nobody1900")
