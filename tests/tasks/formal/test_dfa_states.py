"""States by running the automaton of another library; what is read; which languages have states."""

from __future__ import annotations

import numpy as np
import pytest
from automata.fa.dfa import DFA

from nerode.core import InputError
from nerode.languages.bestiary import BESTIARY
from nerode.records import TaskConfig
from nerode.tasks import build_task
from nerode.tasks.formal.dfa_states import NOT_WALKED
from nerode.tasks.formal.source import MOST_STATES
from nerode.tasks.table import all_tasks
from tests.tasks.formal.membership import MEMBER, may_continue


def task(language, **settings):
    return build_task(TaskConfig(name=f"states-{language}", settings=settings))


@pytest.mark.parametrize("words", ["prefixes", "accepted", "any"])
@pytest.mark.parametrize("name", ["tomita-3", "s3", "dyck-2-3", "012-star-02-star"])
def test_states_by_another_library(name, words):
    built = task(name, words=words)
    dfa = built.language.dfa()
    table = dfa.transitions.tolist()
    letters = range(len(built.alphabet))
    other = DFA(
        states=set(range(dfa.num_states)),
        input_symbols={str(a) for a in letters},
        transitions={q: {str(a): table[q][a] for a in letters} for q in range(dfa.num_states)},
        initial_state=dfa.start,
        final_states=set(np.flatnonzero(dfa.accepting).tolist()),
    )
    batch = built.sample(30, 10, np.random.default_rng(0))
    assert built.outputs == dfa.num_states
    for word, targets in zip(batch.inputs.tolist(), batch.targets.tolist(), strict=True):
        visited = list(other.read_input_stepwise([str(a) for a in word], ignore_rejection=True))
        assert targets == visited[1:]
        if words == "accepted":
            assert built.language.accepts(word)


def test_prefixes_can_be_continued():
    built = task("tomita-3")
    for word in built.sample(7, 40, np.random.default_rng(1)).inputs.tolist():
        assert may_continue("tomita-3", "".join(map(str, word)), "01", 3)
    accepted = [
        MEMBER["tomita-3"]("".join(map(str, w)))
        for w in built.sample(7, 200, np.random.default_rng(1)).inputs.tolist()
    ]
    assert not all(accepted)


def test_one_answer_at_the_end():
    batch = task("parity", labels="last").sample(9, 5, np.random.default_rng(0))
    assert batch.mask.sum(1).tolist() == [1] * 5
    assert batch.mask[:, -1].all()
    assert batch.targets[:, -1].tolist() == [sum(w) % 2 for w in batch.inputs.tolist()]


def test_presets_are_those_with_an_automaton_of_a_reasonable_size():
    presets = all_tasks()[1]
    for name, row in BESTIARY.items():
        language = row.language()
        states = language.num_states()
        walked = language.regular and (states is None or states <= MOST_STATES)
        assert walked == (f"states-{name}" in presets) == (name not in NOT_WALKED), name
    with pytest.raises(InputError, match="no automaton of at most 4,096 states"):
        build_task(TaskConfig(name="dfa-states", settings={"language": "dyck-1"}))
    with pytest.raises(InputError, match="no automaton"):
        build_task(TaskConfig(name="dfa-states", settings={"language": "dyck-8-10"}))
