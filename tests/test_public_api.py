"""The Python twin of the README, and the names that `import nerode` promises."""

import subprocess
import sys

import pytest
import torch

import nerode as nr


def test_every_promised_name_is_there():
    assert sorted(nr.__all__) == sorted([*nr._HOMES, "__version__"])
    for name in nr.__all__:
        assert getattr(nr, name) is not None
    assert set(nr.__all__) <= set(dir(nr))


def test_the_example_of_the_readme():
    language = nr.language("(aa)*")
    verdicts = nr.decide(language)
    assert verdicts["mamba"].status == "no"
    assert verdicts["mamba", "ieee"].status == "no"
    assert str(verdicts["mamba-signed"].size) == "1 layer, 1 state"
    network = nr.compile_language(language, to="diagonal-signed")
    assert nr.Interpreter(network).accepts("aaaa")
    assert nr.certify(network, language).claims[0].length == "all"


def test_models_from_python(tmp_path):
    network = nr.compile_language(nr.language("(aa)*"), to="diagonal-signed")
    scores, _ = nr.load_model(network)(torch.zeros(1, 4, dtype=torch.int64))
    assert nr.load_model(network).legal(scores)[0, :, -1].tolist() == [False, True, False, True]
    model = nr.build_model(nr.model_config("mamba,transformer-nope", letters=3, outputs=2, width=16), seed=1)
    nr.save_model(tmp_path / "model", model)
    assert nr.read_model(tmp_path / "model").num_parameters == model.num_parameters


def test_training_from_python():
    tables = {
        "task": {"name": "parity", "settings": {"longest": 10}},
        "model": {"layers": "gru", "width": 4},
        "run": {"steps": 4, "batch": 8, "test_lengths": [20], "test_sequences": 4},
    }
    record, model = nr.train(nr.TrainSpec.from_mapping(tables))
    assert record.at(20).sequences == 4
    assert model(torch.tensor([[0, 1]]))[0].shape == (1, 2, 2)


def test_importing_nerode_imports_nothing_heavy():
    code = "import sys, nerode; print([m for m in ('torch', 'numpy', 'click', 'rich') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_values_print_in_one_line():
    language = nr.language("(aa)*")
    verdicts = nr.decide(language, architectures=["mamba", "lstm", "transformer"])
    network = nr.compile_language(language, to="diagonal-signed")
    assert repr(verdicts) == "<verdicts on (aa)* (predict): 1 yes, 1 no, 1 open at finite precision>"
    assert repr(verdicts["mamba"]).startswith("<mamba, finite-precision: no, needs a star-free language")
    assert repr(network) == "<network of (aa)* for diagonal-signed: 1 layer, width 1>"
    shown = repr(nr.certify(network, language))
    assert shown == "<certificate: all lengths in exact arithmetic; 5 claims in all>"
    assert repr(nr.profile(language)) == "<profile: 2 states, not star-free>"
    assert repr(nr.profile(nr.language("dyck-1"))) == "<profile: not regular>"


def test_a_missing_package_is_one_sentence():
    code = "import sys; sys.modules['torch'] = None; import nerode as nr; nr.train"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].endswith("this needs torch: pip install 'nerode[torch]'")


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nonsense"):
        nr.nonsense  # noqa: B018
