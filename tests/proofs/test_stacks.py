from __future__ import annotations

from dataclasses import replace

import pytest

from nerode.kernel import PREDICT, VALID_PREFIXES, Refutation, certificate_to_json
from nerode.languages import Dyck, describe_language
from nerode.languages.brackets import dyck
from nerode.network import Gated, Interpreter, Network, network_to_json
from nerode.proofs import check
from nerode.proofs.certification import certify_exact
from nerode.proofs.counters import slot_cover
from tests.proofs import networks
from tests.proofs.test_certification import certified

LANGUAGE = dyck(4, 6)
"""5462 states: too many for a table of stacks, few enough for a fast test."""


def with_write(network: Network, change: dict[int, dict[str, int]]) -> Network:
    """The network with other units for some writes of the layer of kinds."""
    layer = network.layers[1]
    rows = list(layer.units.rows)
    columns = {name: j for j, name in enumerate(layer.reads)}
    for i, terms in change.items():
        rows[i] = tuple(sorted((columns[name], c) for name, c in terms.items()))
    layers = (
        network.layers[0],
        replace(layer, units=replace(layer.units, rows=tuple(rows))),
        network.layers[2],
    )
    return replace(network, layers=layers)


def test_slots_are_found_by_probing() -> None:
    found = slot_cover(networks.bounded_dyck_network(dyck(3, 2)), dyck(3, 2))
    assert found == {
        "slots": [[f"2:s{j},{k}" for k in range(3)] for j in (1, 2)],
        "codes": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    }


def test_no_slots_without_a_bound_or_without_kinds_in_the_state() -> None:
    language = dyck(2, 3)
    network = networks.bounded_dyck_network(language)
    assert slot_cover(network, dyck(2)) is None
    deaf = with_write(network, {i: {} for i in range(6)})
    assert slot_cover(deaf, language) is None


def test_many_stacks_are_proved_depth_by_depth() -> None:
    network = networks.bounded_dyck_network(LANGUAGE)
    certificate = certified(network, LANGUAGE)
    assert certificate.claims[0].method == "stack-invariant"
    assert certificate.claims[0].task == PREDICT
    everywhere = {c.dtype for c in certificate.claims if c.task == VALID_PREFIXES and c.length == "all"}
    assert everywhere == {"float64", "float32", "bfloat16", "float16"}
    assert len(str(certificate_to_json(certificate))) < 8_000


@pytest.mark.parametrize("level", [1, 3, 6])
def test_a_slot_that_is_written_at_another_depth_is_refuted(level: int) -> None:
    network = networks.bounded_dyck_network(LANGUAGE)
    wrong_level = 2 if level != 2 else 3
    i = (level - 1) * 4 + 1
    opening = network.layers[1].reads[2]
    wrong = with_write(network, {i: {opening: 1, f"at{wrong_level}": 1}})
    answer = certify_exact(wrong, LANGUAGE, task=PREDICT)
    assert isinstance(answer, Refutation)
    assert replay(wrong, LANGUAGE, answer)


def test_a_slot_that_forgets_when_a_deeper_bracket_closes_is_refuted() -> None:
    network = networks.bounded_dyck_network(LANGUAGE)
    layer = network.layers[1]
    assert isinstance(layer.recurrence, Gated)
    gate = layer.recurrence.gate
    closing = layer.reads.index("x=]")
    rows = (((closing, -1), *gate.rows[0]), *gate.rows[1:])
    recurrence = replace(layer.recurrence, gate=replace(gate, rows=rows))
    wrong = replace(
        network, layers=(network.layers[0], replace(layer, recurrence=recurrence), network.layers[2])
    )
    answer = certify_exact(wrong, LANGUAGE, task=PREDICT)
    assert isinstance(answer, Refutation)
    # ( [ ] shows it: the kind at depth 1 is gone when it is needed again.
    assert answer.word == ("(", "[", "]")


def replay(network: Network, language: Dyck, answer: Refutation) -> bool:
    """Whether the network really says what the refutation says."""
    got = Interpreter(network).run(answer.word)[-1].legal
    expected = language.legal_along(answer.word)[-1]
    named = (tuple(expected.names(language.alphabet)), tuple(got.names(language.alphabet)))
    return named == (answer.expected, answer.got) and got != expected


def test_slots_of_another_language_are_refused() -> None:
    network = networks.bounded_dyck_network(LANGUAGE)
    data = certificate_to_json(certified(network, LANGUAGE))
    evidence = data["evidence"]["stack-invariant"]
    for change in (
        {"slots": evidence["slots"][:-1]},
        {"codes": evidence["codes"][:-1]},
        {"codes": [*evidence["codes"][1:], evidence["codes"][0]]},
        {"slots": [["2:nobody"] * 4, *evidence["slots"][1:]]},
        {"merged": 2},
    ):
        changed = {**data["evidence"], "stack-invariant": {**evidence, **change}}
        result = check(network_to_json(network), describe_language(LANGUAGE), {**data, "evidence": changed})
        assert not result.ok
        assert result.failure is not None
        assert result.failure.entry == "evidence.stack-invariant"
