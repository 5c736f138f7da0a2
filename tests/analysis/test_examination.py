from __future__ import annotations

import json

import pytest
import torch

import nerode as nr
from nerode.analysis.examination import AnalysisOptions, analyse
from nerode.analysis.subject import load_subject
from nerode.core import Budget, InputError
from nerode.proofs import write_folder
from nerode.records import run_name
from nerode.tasks import Batch
from nerode.training import run_key
from nerode.training.runs import run_in
from tests.analysis.networks import model_of, subject_of
from tests.training.tiny import Signs, tiny


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    spec = tiny(run={"steps": 5})
    run_in(out, spec)
    return out / run_name(run_key(spec))


def test_a_run_is_looked_at_from_all_sides(run):
    found = analyse(load_subject(run))
    text = found.to_json()
    json.dumps(text, allow_nan=False)
    assert text["format"] == "nerode-analysis-1"
    assert found.left_out == {}
    assert found.context is not None
    assert found.trace is not None
    assert found.margins is not None
    assert [m.length for m in found.margins.lengths] == [10, 20]
    assert [c.untrained is not None for c in found.clusters] == [True]
    assert found.attention is None
    assert found.forgetting is None
    assert text["spectra"][0]["rate"] > 0
    assert text == analyse(load_subject(run)).to_json()
    assert json.loads(json.dumps(text)) == text


def test_the_untrained_network_is_another_one(run):
    (clusters,) = analyse(load_subject(run)).clusters
    assert clusters.untrained is not None
    assert clusters.untrained.points != clusters.trained.points


def test_a_transformer_has_maps_and_no_states():
    found = analyse(subject_of(model_of("transformer", heads=1)), AnalysisOptions(length=8, ngram=1))
    assert found.attention is not None
    assert "no layer keeps a state" in found.left_out["spectra"]
    assert "no state of fixed size" in found.left_out["clusters by last symbol"]
    assert "no task" in found.left_out["margins"]
    assert found.context is not None


def test_a_module_of_ones_own_is_asked_only_for_answers():
    class Own(torch.nn.Module):
        def forward(self, x, state=None):
            return torch.nn.functional.one_hot(x, 3).float(), None

    class Letters(Signs):
        letters, features, targets_are_bits, axes = 3, None, False, ()

        def sample(self, length, count, rng):
            x = torch.from_numpy(rng.integers(0, 3, (count, length)))
            return Batch(inputs=x, targets=x, mask=torch.ones(x.shape, dtype=torch.bool))

    found = analyse(subject_of(Own(), task=Letters()), AnalysisOptions(length=5))
    assert found.context is not None
    assert found.context.by_intervention == 1
    assert {"spectra", "trace"} <= set(found.left_out)


def test_a_compiled_network_clusters_by_the_states_of_its_automaton(tmp_path):
    language = nr.language("parity")
    network = nr.compile_language(language, to="diagonal-signed")
    write_folder(tmp_path / "parity", network=network, language=language, certificate=None)
    found = analyse(load_subject(tmp_path / "parity"), AnalysisOptions(length=12))
    (clusters,) = found.clusters
    assert clusters.labelled_by == "automaton state"
    assert clusters.trained.neighbours == 1
    assert clusters.untrained is None
    assert found.context is not None
    assert found.context.by_intervention == 12
    assert "spectra" not in found.left_out
    assert [s.radius for layer in found.spectra for s in layer.spectra] == [1.0, 1.0]


def test_a_word_of_ones_own(run):
    found = analyse(load_subject(run), AnalysisOptions(word="0110"))
    assert found.trace is not None
    assert found.trace.word == ("0", "1", "1", "0")
    assert len(found.trace.strips[0].rows[0]) == 4
    with pytest.raises(InputError, match="no letter"):
        analyse(load_subject(run), AnalysisOptions(word="01x"))


@pytest.mark.parametrize(
    "wrong", [{"length": 0}, {"ngram": -1}, {"eps": 0.0}, {"eps": 5.0}, {"eps": float("nan")}]
)
def test_options_are_checked(wrong):
    with pytest.raises(InputError):
        AnalysisOptions(**wrong)


def test_the_matrix_of_an_n_gram_network_has_the_eigenvalue_0_alone(tmp_path):
    """Proposition 4.6: the window is one power of the matrix, which is nilpotent."""
    pairs = tmp_path / "pairs.rules"
    pairs.write_text("a b -> c\nb c -> a\nc a -> b\nb a -> $\n")
    network = nr.compile_language(nr.language(str(pairs)), to="ssm")
    write_folder(tmp_path / "n", network, nr.language(str(pairs)))
    (spectrum,) = analyse(load_subject(tmp_path / "n"), parts=("spectra",)).spectra
    assert {s.radius for s in spectrum.spectra} == {0.0}


def test_a_network_with_complex_states_says_so(tmp_path):
    language = nr.language("z3")
    write_folder(tmp_path / "n", nr.compile_language(language, to="complex-diagonal"), language)
    found = analyse(load_subject(tmp_path / "n"), parts=("spectra",))
    assert "complex" in found.left_out["spectra"]


def test_what_the_budget_leaves_out_is_named_and_the_rest_is_there(run):
    budget = Budget(seconds=0.0001).start()
    found = analyse(load_subject(run), budget=budget)
    assert set(found.left_out.values()) == {"the time was up; raise --max-seconds"}
    assert {"spectra", "context", "trace", "margins"} <= set(found.left_out)
    json.dumps(found.to_json(), allow_nan=False)
