"""Tests of hypotheses: a wrong one is found out by words, by states, and by clusters that are split."""

from __future__ import annotations

import itertools

import aalpy
import numpy as np
import pytest
from aalpy.oracles import RandomWMethodEqOracle
from torch import nn

import nerode as nr
from nerode.analysis.extraction.clustering import ClusterSettings, extract_by_clusters
from nerode.analysis.extraction.extraction import extract
from nerode.analysis.extraction.learning import (
    HypothesisTest,
    ProductSettings,
    extract_by_queries,
    find_counterexample,
    find_failures,
    systematic_words,
    telling_words,
)
from nerode.analysis.extraction.oracle import Machine, subject_about
from nerode.analysis.subject import LoadedNetwork
from nerode.core import InputError, UnknownName
from nerode.languages import LanguageQuestion, Moore
from nerode.models import build_model, model_config
from nerode.models.network_module import load_model

from .test_comparison import machine_of
from .trained import trained


def compiled(name: str) -> Machine:
    language = nr.language(name)
    model = load_model(nr.compile_language(language, to="lstm")).eval()
    return Machine(subject_about(name, model, language))


@pytest.mark.parametrize("wrong", ["tomita-1", "tomita-2", "tomita-3", "tomita-6", "tomita-7"])
def test_a_wrong_hypothesis_is_found_out_by_words_and_by_states(wrong: str) -> None:
    machine, hypothesis = compiled("tomita-5"), machine_of(wrong, "prediction")
    by_words = find_failures(
        machine, hypothesis, HypothesisTest(words=20, longest=10), np.random.default_rng(0)
    )
    by_states = find_counterexample(machine, hypothesis, ProductSettings())
    assert by_words
    assert by_states is not None
    for word in (*by_words, by_states):
        assert machine.traces([word])[0][-1] != hypothesis.trace(word)[-1]
        assert machine.traces([word])[0][:-1] == hypothesis.trace(word)[:-1]


def test_a_right_hypothesis_passes() -> None:
    machine, hypothesis = compiled("tomita-5"), machine_of("tomita-5", "prediction")
    assert not find_failures(
        machine, hypothesis, HypothesisTest(words=20, longest=10), np.random.default_rng(0)
    )
    assert find_counterexample(machine, hypothesis, ProductSettings()) is None


def test_systematic_words_tell_all_machines_with_one_more_state_apart() -> None:
    hypothesis = machine_of("tomita-4")
    words = list(systematic_words(hypothesis, HypothesisTest(extra_states=1)))
    rng = np.random.default_rng(1)
    n = hypothesis.num_states + 1
    told = 0
    for _ in range(300):
        other = Moore(
            alphabet=hypothesis.alphabet,
            transitions=rng.integers(0, n, (n, 2)),
            start=0,
            outputs=tuple(rng.choice(["in", "out"], n)),
        )
        same = other.minimise() == hypothesis
        assert same == all(other.trace(word) == hypothesis.trace(word) for word in words)
        told += not same
    assert told > 200
    assert len(telling_words(hypothesis)) <= hypothesis.num_states


def test_clusters_are_split_until_they_agree() -> None:
    found = extract_by_clusters(
        compiled("tomita-3"), settings=ClusterSettings(walks=1, walk_length=1, depth_points=1)
    )
    assert found.rounds > 1
    assert found.consistent
    target = LanguageQuestion(nr.language("tomita-3"))
    alphabet = nr.language("tomita-3").alphabet
    assert (
        found.machine == Moore.explore(alphabet, target.initial(), target.advance, target.answer).minimise()
    )


def test_extraction_that_ends_early_says_so() -> None:
    few = ClusterSettings(walks=1, walk_length=1, depth_points=1, rounds=1)
    assert not extract_by_clusters(compiled("tomita-3"), settings=few).consistent


def test_learning_agrees_with_aalpy() -> None:
    for name in ("tomita-1", "tomita-4", "tomita-7"):
        machine = compiled(name)
        letters = list(range(len(machine.alphabet)))

        class Network(aalpy.SUL):  # type: ignore[misc, name-defined]
            def pre(self) -> None:
                self.word: tuple[int, ...] = ()

            def post(self) -> None:
                pass

            def step(self, letter: int | None) -> str:
                self.word = self.word if letter is None else (*self.word, letter)
                return machine.traces([self.word])[0][-1]  # noqa: B023  (asked before the next one)

        network = Network()
        oracle = RandomWMethodEqOracle(letters, network, walks_per_state=20, walk_len=8)
        theirs = aalpy.run_Lstar(letters, network, oracle, automaton_type="moore", print_level=0)
        ours = extract_by_queries(compiled(name))
        assert ours.consistent
        assert ours.machine.num_states == len(theirs.states)
        for word in itertools.product(letters, repeat=6):
            assert list(ours.machine.trace(word)[1:]) == theirs.execute_sequence(theirs.initial_state, word)


def test_a_transformer_is_asked_by_words() -> None:
    language = nr.language("tomita-1")
    model = build_model(model_config("transformer-nope", letters=2, outputs=3, width=8), seed=0)
    # A head that always says the same: 1 may follow, or the end.
    assert isinstance(model.head, nn.Linear)
    model.head.weight.data.zero_()
    model.head.bias.data[:] = nn.Parameter(model.head.bias.new_tensor([-1.0, 1.0, 1.0]))
    subject = LoadedNetwork(name="attention", model=model.eval(), language=language)
    found = extract(subject, method="lstar", probe=HypothesisTest(words=20, longest=10))
    assert found.method == "L*, black box"
    assert found.equal
    with pytest.raises(InputError, match="grows"):
        extract(subject, method="cluster")
    with pytest.raises(UnknownName):
        extract(subject, method="guess")  # type: ignore[arg-type]


def test_the_members_of_a_trained_network() -> None:
    found = extract(trained("parity", "lstm"), probe=HypothesisTest(words=60, longest=30))
    assert found.kind == "acceptance"
    assert found.equal
    assert found.machine.outputs == ("in", "out")
    assert found.theory is not None
    assert found.theory.groups == ("Z2",)


@pytest.mark.parametrize(
    "make",
    [
        lambda: HypothesisTest(words=0),
        lambda: HypothesisTest(longest=0),
        lambda: HypothesisTest(extra_states=-1),
        lambda: ClusterSettings(rounds=0),
        lambda: ProductSettings(radii=()),
        lambda: ProductSettings(radii=(0.0,)),
    ],
)
def test_settings_that_make_no_sense_are_refused(make: object) -> None:
    with pytest.raises(InputError):
        make()  # type: ignore[operator]
