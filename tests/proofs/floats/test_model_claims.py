"""Models come with what is known of them."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import nerode as nr
from nerode import kernel
from nerode.core import InputError, NotCompilable
from nerode.models.network_module import load_model as load_bare
from nerode.proofs.floats import make_architecture
from nerode.records import REFUTED, TESTED, ModelClaim


def scopes(model: object) -> list[str]:
    return [claim.scope for claim in model.claims]  # type: ignore[attr-defined]


def test_the_vocabulary_is_that_of_certificates() -> None:
    assert TESTED == kernel.TESTED
    assert REFUTED not in kernel.SCOPES


def test_a_compiled_module_is_proved_when_it_is_asked() -> None:
    model = nr.load_model(nr.compile_language(nr.language("(aa)*"), to="diagonal-signed"))
    assert scopes(model) == [kernel.EXACT, kernel.ANY_ORDER]
    assert model.claims[1].dtype == "float32"
    assert str(model.claims[1]) == "✓ all lengths bit-exact in float32, any evaluation order"
    assert all(claim.is_proof for claim in model.claims)
    assert copy.deepcopy(model).claims == model.claims


def test_without_the_language_nothing_is_claimed() -> None:
    network = nr.compile_language(nr.language("(aa)*"), to="diagonal-signed")
    other = replace(network, origin=replace(network.origin, language="(ab)*"))
    model = nr.load_model(other)
    assert scopes(model) == [TESTED]
    assert model.claims[0].length == 0
    assert "language=" in model.claims[0].says
    assert nr.load_model(other, language=nr.language("(aa)*")).claims[0].scope == kernel.EXACT
    assert scopes(load_bare(network)) == [TESTED]


def test_a_wrong_network_is_refuted() -> None:
    network = nr.compile_language(nr.language("(aa)*"), to="diagonal-signed")
    model = nr.load_model(network, language=nr.language("(aaa)*"))
    assert scopes(model) == [REFUTED]
    assert model.claims[0].length <= 3
    assert str(model.claims[0]).startswith("✗ wrong after")


def test_a_real_architecture_is_proved_or_says_how_far_it_was_read() -> None:
    model = make_architecture(nr.language("parity"), "lstm").model
    assert model.claims[0].scope == kernel.STEP_BY_STEP
    assert (model.claims[-1].scope, model.claims[-1].length) == (TESTED, 10_000)
    quick = make_architecture(nr.language("parity"), "lstm", seconds=0).model
    assert [(c.scope, c.length) for c in quick.claims] == [(TESTED, 256)]
    with pytest.raises(InputError, match="0 or more"):
        make_architecture(nr.language("parity"), "lstm", seconds=-1)


@pytest.mark.parametrize(("name", "architecture"), [("d-2", "pd-ssm"), ("d-12", "complex-diagonal")])
def test_weights_are_proved_on_prefixes_where_floats_never_close_on_all_words(
    name: str, architecture: str
) -> None:
    """The network counts errors without end, so that float states after invalid words never close."""
    proof = make_architecture(nr.language(name), architecture, seconds=5).model.claims[0]
    assert (proof.scope, proof.length) == (kernel.STEP_BY_STEP, "all")
    assert "of prefixes that no word of the language continues nothing is said" in proof.says


def test_a_model_that_drifts_is_refused_with_the_word() -> None:
    """Mirrors of the plane in half precision: a counter modulo 5 by single reflections."""
    with pytest.raises(NotCompilable, match=r"in float16 it is wrong after [\d,]+ letters, on \S") as refusal:
        make_architecture(nr.language("cycle-navigation"), "deltanet-signed", dtype=torch.float16, seconds=1)
    assert refusal.value.word


def test_claims_do_not_go_into_files_of_weights(tmp_path: Path) -> None:
    model = make_architecture(nr.language("parity"), "lstm", seconds=0).model
    nr.save_model(tmp_path / "real", model)
    (read,) = nr.read_model(tmp_path / "real").claims
    assert (read.scope, read.length) == (TESTED, 0)
    assert "says nothing about what its model does" in read.says


def test_a_trained_model_says_how_it_was_tested() -> None:
    spec = nr.TrainSpec.from_mapping(
        {
            "task": {"name": "parity"},
            "model": {"layers": "gru", "width": 4, "settings": {"hidden": 4}},
            "run": {"steps": 2, "validation": 8, "test_lengths": [1, 8], "test_sequences": 16},
        }
    )
    record, model = nr.train(spec)
    assert model.claims == record.claims
    assert REFUTED in scopes(model)
    assert record.to_json()["claims"][-1]["length"] in (1, 8)
    good = replace(record, evaluations=tuple(replace(s, sequence=1.0) for s in record.evaluations))
    (claim,) = good.claims
    assert (claim.scope, claim.length) == (TESTED, 8)
    assert str(claim) == "· tested to length 8 in float32, no proof"


@pytest.mark.parametrize(
    ("claim", "line"),
    [
        ({"scope": kernel.UP_TO_LENGTH, "length": 12_000}, "✓ correct up to length 12,000 in float32"),
        ({"scope": REFUTED, "length": 134, "word": "a b"}, "✗ wrong after 134 letters in float32 (a b)"),
        ({"scope": TESTED, "length": 0}, "· neither tested nor proved in float32"),
        ({"scope": kernel.UP_TO_LENGTH, "length": 0}, "· proved for the empty word alone in float32"),
    ],
)
def test_claims_in_a_line(claim: dict[str, object], line: str) -> None:
    assert str(ModelClaim(says="…", dtype="float32", **claim)) == line  # type: ignore[arg-type]
