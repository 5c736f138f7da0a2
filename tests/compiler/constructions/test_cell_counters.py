from dataclasses import replace

import pytest

from nerode.compiler.pipeline import compile_language
from nerode.kernel import PREDICT, Certificate
from nerode.languages.bestiary import find_language
from nerode.models.lower.assembly import network_to_architecture
from nerode.models.lower.lowering import first_error
from nerode.proofs import certify
from tests.compiler.agreement import assert_does
from tests.compiler.requests import build_named


@pytest.mark.parametrize("name", ["dyck-1", "shuffle-2", "boolean-3", "anbn", "anbncn", "majority"])
def test_relu_units_count(name):
    network = build_named("relu-counters", name, "elman-relu")
    assert network.depth == 1
    assert_does(network, name, short=5, long=40)


@pytest.mark.parametrize("name", ["dyck-1", "anbn", "majority"])
def test_every_length_is_proved_and_floats_up_to_theirs(name):
    language = find_language(name)
    network = compile_language(language, "nru")
    certificate = certify(network, language)
    assert isinstance(certificate, Certificate)
    assert [(c.task, c.length) for c in certificate.claims if c.dtype is None] == [(PREDICT, "all")]
    lengths = {c.dtype: c.length for c in certificate.claims if c.dtype is not None}
    assert lengths["float32"] >= 2**20


def test_a_unit_that_counts_otherwise_is_refused():
    language = find_language("dyck-1")
    network = compile_language(language, "elman-relu")
    layer = network.layers[0]
    update = layer.recurrence.update
    wrong = replace(
        network,
        layers=(
            replace(
                layer,
                recurrence=replace(
                    layer.recurrence, update=replace(update, bias=(update.bias[0] + 1, *update.bias[1:]))
                ),
            ),
        ),
    )
    assert not isinstance(certify(wrong, language), Certificate)


def test_the_real_layer_counts():
    language = find_language("anbn")
    model = network_to_architecture(compile_language(language, "elman-relu"), "elman-relu")
    assert first_error(model, language) is None
