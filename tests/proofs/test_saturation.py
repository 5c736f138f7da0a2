"""Networks with tallies: proved by caps, and planted errors refused."""

import copy
import json

import pytest

from nerode.compiler import compile_language
from nerode.kernel import Certificate, certificate_to_json, content_hash, prove
from nerode.languages import describe_language, resolve_language
from nerode.network import network_from_json, network_to_json
from nerode.proofs import check
from nerode.proofs.certification import certify_saturating, find_caps
from tests.proofs.brute_force import first_failure

METHOD = "saturating-closure"
LANGUAGES = ["(ab)*", "tomita-4", "aabbccddee", "tomita-7"]


def as_json(data):
    return json.loads(json.dumps(data))


@pytest.fixture(scope="module", params=LANGUAGES)
def case(request):
    language = resolve_language(request.param)
    network = compile_language(language, "ssm")
    certificate = certify_saturating(network, language)
    assert isinstance(certificate, Certificate)
    parts = (network_to_json(network), describe_language(language), certificate_to_json(certificate))
    return tuple(as_json(part) for part in parts)


def test_the_checker_accepts(case):
    assert find_caps(network_from_json(case[0]))
    result = check(*case)
    assert result.ok, result.failure
    assert [claim.method for claim in result.claims] == [METHOD]


def test_evidence_is_checked(case):
    network, language, certificate = case
    evidence = certificate["evidence"][METHOD]
    for key, value in (
        ("digest", "0" * 64),
        ("cells", evidence["cells"] - 1),
        ("cells", evidence["cells"] + 1),
        ("caps", {}),
        ("caps", 5),
        ("caps", None),
        ("caps", [5]),
        ("caps", {name: cap + 1 for name, cap in evidence["caps"].items()}),
        ("caps", {f"{name}?": cap for name, cap in evidence["caps"].items()}),
        ("task", "guess"),
    ):
        wrong = copy.deepcopy(certificate)
        wrong["evidence"][METHOD][key] = value
        assert not check(network, language, wrong).ok


def test_a_cap_where_a_unit_is_still_off_is_refused():
    # relu(h - 5) - relu(h - 6) is flat below 5 and above 6: a cap of 3 would hide the step.
    language = resolve_language("(ab)*")
    network = compile_language(language, "ssm")
    data = as_json(network_to_json(network))
    (layer, coordinate), cap = next(iter(find_caps(network).items()))
    units = data["layers"][layer]["readout_units"]
    column = len(data["layers"][layer]["reads"]) + coordinate
    for j, row in enumerate(units["rows"]):
        if any(k == column for k, _ in row):
            units["bias"][j] = str(int(units["bias"][j]) - 5)
    certificate = certificate_to_json(certify_saturating(network, language))
    certificate["network"] = content_hash(data)
    certificate["evidence"][METHOD]["caps"] = {f"{layer + 1}:{network.layers[layer].state[coordinate]}": cap}
    assert not check(data, as_json(describe_language(language)), as_json(certificate)).ok


def with_echo(layer, *, matrix, start):
    """A further coordinate that nothing reads, so that the network stays correct."""
    layer["state"].append("echo")
    layer["start"].append(start)
    layer["recurrence"]["matrix"].append(matrix)
    layer["recurrence"]["write"]["rows"].append([])
    layer["recurrence"]["write"]["bias"].append(0)
    place = len(layer["reads"]) + len(layer["state"]) - 1
    for part in ("readout_units", "readout"):
        layer[part]["inputs"] += 1
        layer[part]["rows"] = [[[j + (j >= place), c] for j, c in row] for row in layer[part]["rows"]]


def test_tallies_that_other_things_depend_on_are_refused():
    network = as_json(network_to_json(compile_language(resolve_language("(ab)*"), "ssm")))
    language = as_json(describe_language(resolve_language("(ab)*")))

    def reason(wrong, caps):
        proof = prove(wrong, language, METHOD, {"task": "predict", "caps": caps})
        return "" if proof.failure is None else proof.failure.what

    assert reason(network, {"2:dead": 2}) == ""
    copies = copy.deepcopy(network)
    with_echo(copies["layers"][1], matrix=[[0, 1]], start=0)
    assert "2:echo depends" in reason(copies, {"2:dead": 2})
    falls = copy.deepcopy(network)
    with_echo(falls["layers"][1], matrix=[[1, "1/2"]], start=4)
    assert "a step lowers it" in reason(falls, {"2:dead": 2, "2:echo": 3})
    shown = copy.deepcopy(network)
    layer = shown["layers"][1]
    layer["outputs"].append("seen")
    layer["readout"]["rows"].append([[len(layer["reads"]), 1]])
    layer["readout"]["bias"].append(0)
    assert reason(shown, {"2:dead": 2}) == ""  # nothing reads it
    decoder = shown["decoder"]
    decoder["reads"].append("seen")
    decoder["units"]["inputs"] += 1
    scores = decoder["scores"]
    scores["inputs"] += 1
    place = len(decoder["reads"]) - 1
    scores["rows"] = [[[j + (j >= place), c] for j, c in row] for row in scores["rows"]]
    scores["rows"][0] = sorted([*scores["rows"][0], [place, "1/1000"]])
    assert reason(shown, {"2:dead": 2})


def numbers(data, path=()):
    """Every whole number of the weights of a network."""
    if isinstance(data, dict):
        for key, value in data.items():
            if key not in ("inputs", "reads", "outputs", "state", "alphabet", "origin", "directions"):
                yield from numbers(value, (*path, key))
    elif isinstance(data, list):
        for i, value in enumerate(data):
            yield from numbers(value, (*path, i))
    elif isinstance(data, int) and not isinstance(data, bool) and path[-1] != 0:
        yield path


def test_changed_weights_are_refused_or_do_the_same(case):
    network, language, certificate = case
    refused = 0
    # Of five letters there are half a million words up to a length of 8.
    longest = 6 if language["name"] == "aabbccddee" else 8
    for path in list(numbers(network["layers"], ()))[::17][:16]:
        wrong = copy.deepcopy(network)
        place = wrong["layers"]
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] += 1
        stated = copy.deepcopy(certificate)
        stated["network"] = content_hash(wrong)
        try:
            result = check(wrong, language, stated)
        except ValueError:
            refused += 1
            continue
        if result.ok:
            spoken = resolve_language(language["name"])
            assert first_failure(network_from_json(wrong), spoken, longest) is None
        else:
            refused += 1
    assert refused
