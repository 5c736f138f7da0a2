"""The Python twin of the README, and the names that `import nerode` promises."""

import subprocess
import sys

import pytest

import nerode as nr


def test_every_promised_name_is_there():
    assert sorted(nr.__all__) == sorted(nr._HOMES)
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


def test_importing_nerode_imports_nothing_heavy():
    code = "import sys, nerode; print([m for m in ('torch', 'numpy', 'click', 'rich') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nonsense"):
        nr.nonsense  # noqa: B018
