"""Where the units of a linear layer fire, against trying all windows."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from nerode.core import Budget, InputError
from nerode.languages.ngrams import NgramLanguage
from nerode.network import Interpreter, Network, network_to_json
from nerode.proofs import checker_linear_windows
from nerode.proofs.checker_contexts import lone_windows, outputs_after
from nerode.proofs.checker_network import read_network
from nerode.proofs.checker_problem import Problem
from tests.compiler.constructions.ngrams.models import compiled, exact_model, hidden_rows, texts

VARIANTS = [{}, {"embedding_width": 1}, {"unknown_contexts": True}, {"variant": "conditioned"}]


def problem_for(network: Network, language: NgramLanguage) -> Problem:
    read = read_network(json.loads(json.dumps(network_to_json(network))))
    return Problem(network=read, language=language, evidence={}, budget=Budget())


def all_windows(language: NgramLanguage) -> list[tuple[int, ...]]:
    model = exact_model(language)
    return list(itertools.product(range(len(model.vocabulary)), repeat=model.order - 1))[:400]


@settings(max_examples=40)
@given(texts(), st.sampled_from(VARIANTS), st.booleans())
def test_outputs_and_lone_windows(language: NgramLanguage, options: dict[str, object], large: bool) -> None:
    network = compiled(language, **options)
    problem = problem_for(network, language)
    windows = all_windows(language)
    names = network.layers[0].outputs
    rows = hidden_rows(network, windows)
    with pytest.MonkeyPatch.context() as patch:
        # With large numbers whole numbers of Python take the place of floats.
        patch.setattr(checker_linear_windows, "_EXACT_FLOATS", 1 if large else 1 << 53)
        found = dict(outputs_after(problem, windows))
        for window, row in zip(windows, rows, strict=True):
            assert found[window] == {name: v for name, v in zip(names, row, strict=True) if v}
        complete = len(language.alphabet) ** (exact_model(language).order - 1) == len(windows)
        if complete:
            check_lone_windows(problem, windows, rows, names)


def check_lone_windows(
    problem: Problem,
    windows: list[tuple[int, ...]],
    rows: list[list[Fraction]],
    names: tuple[str, ...],
) -> None:
    fires = {
        name: [w for w, row in zip(windows, rows, strict=True) if row[j]] for j, name in enumerate(names)
    }
    constant = {name for j, name in enumerate(names) if len({row[j] for row in rows}) == 1}
    mixed = [name for name, where in fires.items() if len(where) > 1 and name not in constant]
    if mixed:
        with pytest.raises(InputError, match="several windows"):
            lone_windows(problem, len(windows[0]))
        return
    found, always = lone_windows(problem, len(windows[0]))
    assert always == {name: rows[0][names.index(name)] for name in constant if fires[name]}
    assert set(found) == {where[0] for name, where in fires.items() if where and name not in constant}


def test_start_states_do_not_matter() -> None:
    """The interpreter agrees with the map of the window although it starts elsewhere."""
    from tests.compiler.constructions.ngrams.models import from_text

    language = from_text(3, "a b a b", "b b a")
    network = compiled(language)
    problem = problem_for(network, language)
    names = network.layers[0].outputs
    interpreter = Interpreter(network)
    for window, active in outputs_after(problem, language.windows):
        state = interpreter.start()
        for word in (1, 0, 0, 1, *window[:-1]):
            state, _ = interpreter.step(state, word)
        stream = interpreter.stream(state, window[-1])
        assert {name: stream[name] for name in names if stream[name]} == active
