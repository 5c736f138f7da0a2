"""The study of certified length generalisation: its draw, its rows, and that it goes on."""

from __future__ import annotations

import json

import pytest
from torch import nn

from benchmarks.generalisation import count_rows
from nerode.analysis import generalisation
from nerode.analysis.generalisation import draw_languages, read_rows, study_generalisation
from nerode.core import InputError


def _monoid(dfa) -> set[tuple[int, ...]]:
    """The maps of all words, by brute force."""
    letters = [tuple(column) for column in dfa.transitions.T.tolist()]
    found = {tuple(range(dfa.num_states))}
    pending = list(found)
    while pending:
        word = pending.pop()
        for letter in letters:
            longer = tuple(letter[q] for q in word)
            if longer not in found:
                found.add(longer)
                pending.append(longer)
    return found


def _is_aperiodic(dfa) -> bool:
    """Whether every map has a power that one more step does not change."""
    for step in _monoid(dfa):
        power = step
        for _ in range(dfa.num_states):
            power = tuple(step[q] for q in power)
        if tuple(step[q] for q in power) != power:
            return False
    return True


def test_languages_are_what_the_draw_says():
    drawn = draw_languages(star_free=8, others=4)
    assert [language.star_free for language in drawn] == [True] * 8 + [False] * 4
    for row in drawn:
        assert _is_aperiodic(row.language.dfa()) == row.star_free
        low, high = map(int, row.stratum.split("-"))
        assert low <= row.language.dfa().num_states <= high
    strata = [row.stratum for row in drawn]
    assert strata == ["3-4", "5-6", "7-9", "10-12"] * 3


def test_a_longer_draw_begins_with_a_shorter():
    short, long = draw_languages(star_free=3, others=1), draw_languages(star_free=5, others=2)
    texts = [
        [str(row.language.dfa().transitions.tolist()) for row in rows if row.star_free]
        for rows in (short, long)
    ]
    assert texts[1][:3] == texts[0]
    assert len(set(texts[1])) == 5
    other = draw_languages(seed=1, star_free=3, others=0)
    assert [str(row.language.dfa().transitions.tolist()) for row in other] != texts[0]


def test_rows_are_made_once_and_a_cut_line_is_made_again(tmp_path, monkeypatch):
    monkeypatch.setattr(generalisation, "UPDATES", 20)
    made = []
    settings = {
        "out": tmp_path,
        "star_free": 1,
        "others": 0,
        "seeds": (0,),
        "ways": ("plain",),
        "seconds": 1.0,
    }
    rows = study_generalisation("gru", **settings, on_row=made.append)
    assert len(rows) == len(made) == 1
    assert rows[0]["status"] in ("proved", "refuted", "unsettled")
    assert rows[0]["updates"] == 20
    assert study_generalisation("gru", **settings, on_row=made.append) == rows
    assert len(made) == 1
    path = tmp_path / "rows.jsonl"
    path.write_text(path.read_text()[:-30])
    assert read_rows(path) == []
    again = study_generalisation("gru", **settings, on_row=made.append)
    assert len(made) == 2
    same = ("accuracy", "status", "word", "weights", "key")
    assert [again[0][name] for name in same] == [rows[0][name] for name in same]


def test_nothing_to_train_is_refused(tmp_path):
    with pytest.raises(InputError, match="name an architecture, or give build"):
        study_generalisation(out=tmp_path)


def test_counts_of_rows():
    row = {"learned": True, "passes": True, "train_seconds": 1800.0, "settle_seconds": 0.0}
    rows = [
        row | {"status": "proved", "word": None},
        row | {"status": "refuted", "word": 17},
        row | {"status": "refuted", "word": 200},
        row | {"status": "refuted", "word": 5, "passes": False, "learned": False},
    ]
    counts = count_rows(rows)
    numbers = (counts.runs, counts.learned, counts.passes, counts.proved, counts.passes_refuted)
    assert numbers == (4, 3, 3, 1, 2)
    assert (counts.refuted_within, counts.hours) == (1, 2.0)
    assert json.dumps(str(counts)).count("1 of them within")


def test_a_layer_of_the_users_own_is_trained_plainly(tmp_path, monkeypatch):
    monkeypatch.setattr(generalisation, "UPDATES", 5)
    settings = {"out": tmp_path, "star_free": 1, "others": 0, "seeds": (0,), "seconds": 1.0}
    (row,) = study_generalisation(build=_Lstm, name="mine", **settings)
    assert (row["architecture"], row["way"], row["updates"]) == ("mine", "plain", 5)


class _Lstm(nn.Module):
    """A plain torch module with a state."""

    def __init__(self, task) -> None:
        super().__init__()
        self.cell = nn.LSTM(task.letters, 8, batch_first=True)
        self.head = nn.Linear(8, task.outputs)
        self.letters = task.letters

    def forward(self, letters, state=None):
        hidden, state = self.cell(nn.functional.one_hot(letters, self.letters).float(), state)
        return self.head(hidden), state
