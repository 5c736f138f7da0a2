"""Which language a name or a task is about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nerode.analysis.about import language_of, same_language
from nerode.core import InputError
from nerode.languages.bestiary import find_language


def test_languages_of_names_and_of_tasks() -> None:
    assert language_of("predict-tomita-5").name == "tomita-5"
    assert same_language(language_of("parity"), language_of("parity-last"))
    assert language_of("s3-generators").dfa().num_states == 6
    assert not same_language(language_of("tomita-5"), language_of("tomita-6"))
    with pytest.raises(InputError):
        language_of("no-such-thing(")


def test_what_a_language_is_called_does_not_count() -> None:
    parity, other = find_language("parity"), find_language("tomita-5")
    assert not same_language(parity, replace(other, name="parity"))
    assert same_language(parity, replace(parity, name="something else"))
    assert same_language(find_language("dyck-1"), find_language("dyck-1"))
    assert not same_language(find_language("dyck-1"), find_language("dyck-2"))
    assert not same_language(find_language("dyck-1"), parity)
