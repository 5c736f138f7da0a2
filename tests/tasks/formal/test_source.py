"""What may follow the prefixes of any words, against the machine of the language, letter by letter."""

from __future__ import annotations

import numpy as np
import pytest

from nerode.languages import resolve_language
from nerode.tasks.formal.source import AutomatonWords, BracketWords, CounterWords, word_source


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("tomita-3", AutomatonWords),
        ("dyck-2-3", AutomatonWords),
        ("ngram-seed", AutomatonWords),
        ("dyck-2", BracketWords),
        ("dyck-8-10", BracketWords),
        ("dyck-1", CounterWords),
        ("shuffle-2", CounterWords),
        ("boolean-3", CounterWords),
        ("anbncn", CounterWords),
        ("majority", CounterWords),
    ],
)
def test_prefixes_of_any_words(name, kind):
    language = resolve_language(name)
    source = word_source(language)
    assert isinstance(source, kind)
    rng = np.random.default_rng(0)
    words = rng.integers(0, len(language.alphabet), (150, 8))
    # Random words soon are beyond hope; some are words of the language with one letter changed.
    length = {"anbncn": 9, "boolean-3": 9, "ngram-seed": 14}.get(name, 8)
    edited = source.words(length, 50, rng)
    edited[np.arange(50), rng.integers(0, length, 50)] = rng.integers(0, len(language.alphabet), 50)
    for tried in (words, edited):
        legal, accepted = source.legal(tried), source.accepted(tried)
        for word, follows, inside in zip(tried.tolist(), legal, accepted, strict=True):
            machine = language.legal_along(word)[1:]
            assert [set(np.flatnonzero(row[:-1]).tolist()) for row in follows] == [m.symbols for m in machine]
            assert inside.tolist() == follows[:, -1].tolist() == [m.end for m in machine]


@pytest.mark.parametrize("name", ["tomita-2", "dyck-1", "dyck-2", "anbncn", "boolean-3", "ngram-seed"])
def test_which_lengths_have_words(name):
    source = word_source(resolve_language(name))
    wanted = {
        **{key: [0, 2, 4, 6, 8, 10, 12, 14] for key in ("tomita-2", "dyck-1", "dyck-2")},
        "anbncn": [3, 6, 9, 12],
        "boolean-3": list(range(1, 15)),
        "ngram-seed": [14],
    }[name]
    assert [n for n in range(15) if source.has(n)] == wanted
