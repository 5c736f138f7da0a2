"""Proofs about n-gram networks, and what must not pass for one."""

from __future__ import annotations

import copy
import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, strategies as st

from nerode.core import Budget, BudgetExceeded, InputError
from nerode.kernel import (
    PREDICT,
    VALID_PREFIXES,
    Certificate,
    Refutation,
    certificate_to_json,
    content_hash,
)
from nerode.kernel.domains.ngrams import rounded_up
from nerode.languages import Alphabet, describe_language
from nerode.languages.ngrams import NgramLanguage, NgramModel, ngram_language
from nerode.network import Network, network_from_json, network_to_json
from nerode.proofs import CheckResult, Unproved, check
from nerode.proofs.certification import NGRAMS as METHOD, certify, certify_ngrams
from tests.compiler.constructions.ngrams.models import (
    EPS,
    compiled,
    distance,
    exact_model,
    from_text,
    seed,
    tables,
    texts,
    worst_on,
)
from tests.languages.ngrams.counted import model_from_sentences

Json = Any

LANGUAGE = from_text(3, "a b c a", "b c b", "a a c", "c c b a")
VARIANTS: list[tuple[str, dict[str, object]]] = [
    ("ssm", {}),
    ("ssm", {"embedding_width": 1}),
    ("ssm", {"embedding_width": 4}),
    ("ssm", {"variant": "conditioned"}),
    ("ssm", {"unknown_contexts": True}),
    ("ssm", {"normaliser": "sparsemax"}),
    ("ssm", {"normaliser": "sparsemax", "unknown_contexts": True}),
    ("elman-relu", {}),
    ("elman-relu", {"embedding_width": 1}),
    ("elman-relu", {"unknown_contexts": True}),
]


class Case:
    """A network, its language and its certificate as JSON; hashes can be made to fit again."""

    def __init__(self, network: Network, language: NgramLanguage, eps: Fraction | None = None) -> None:
        found = certify_ngrams(network, language, eps=eps)
        assert isinstance(found, Certificate), found
        self.certificate = found
        parts = (network_to_json(network), describe_language(language), certificate_to_json(found))
        self.network, self.language, self.proof = json.loads(json.dumps(parts))

    def check(self) -> CheckResult:
        """What the checker says to an attacker who has computed the hashes anew."""
        self.proof["network"] = content_hash(self.network)
        self.proof["language"] = content_hash(self.language["definition"])
        return check(self.network, self.language, self.proof)


def case(to: str = "ssm", eps: Fraction | None = None, **options: object) -> Case:
    return Case(compiled(LANGUAGE, to, **options), LANGUAGE, eps)


def refused(attacked: Case, text: str) -> None:
    result = attacked.check()
    assert not result.ok
    assert not result.claims
    assert result.failure is not None
    assert text in result.failure.what


@pytest.mark.parametrize(("to", "options"), VARIANTS, ids=str)
def test_every_variant_is_proved(to: str, options: dict[str, object]) -> None:
    found = case(to, **options)
    result = check(found.network, found.language, found.proof)
    assert result.ok, result.failure
    assert result.claims == found.certificate.claims
    claim = result.claims[-1]
    assert claim.task == VALID_PREFIXES
    if options.get("normaliser") == "sparsemax":
        assert claim.eps is None
        assert "exactly the model's" in claim.covers
    else:
        assert claim.eps == rounded_up(EPS / 2)
    everywhere = "unknown_contexts" in options
    assert [c.task for c in result.claims[:-1]] == [PREDICT] * everywhere


@pytest.mark.parametrize("width", [2, 10])
def test_the_seed_example(width: int) -> None:
    eps = Fraction(1, 10**8)
    network = compiled(seed(), embedding_width=width, eps=eps)
    found = Case(network, seed(), eps)
    assert found.check().ok
    (claim,) = found.certificate.claims
    assert (claim.task, claim.eps) == (VALID_PREFIXES, eps)
    assert claim.covers.startswith("After every prefix of at least 3 words of a sentence of the model the ")
    assert found.certificate.evidence == {METHOD: {"task": VALID_PREFIXES, "cells": 145}}
    assert len(json.dumps(found.proof)) < 1000
    assert isinstance(certify(network, seed()), Certificate)


def test_the_seed_example_on_every_window_there_is() -> None:
    """79³ windows, of which 145 are in the model: the others give the end."""
    found = Case(compiled(seed(), unknown_contexts=True), seed())
    assert found.check().ok
    assert [claim.task for claim in found.certificate.claims] == [PREDICT, VALID_PREFIXES]


@given(texts() | tables(), st.sampled_from(VARIANTS))
def test_random_models_are_proved(language: NgramLanguage, variant: tuple[str, dict[str, object]]) -> None:
    if language.windows:
        to, options = variant
        found = Case(compiled(language, to, **options), language)
        assert found.check().ok
        wanted = EPS if options.get("normaliser") is None else 0
        assert (found.certificate.claims[-1].eps or 0) <= wanted


def change_number(values: list[Json], place: int, amount: int = 1) -> None:
    """Adds to one number of a list in its written form."""
    values[place] = str(Fraction(values[place]) + amount)


def detector(network: Json, context: str) -> int:
    return network["layers"][0]["state"].index(f"after {context}")


def test_an_output_weight_is_wrong() -> None:
    attacked = case()
    (row,) = [r for r in attacked.network["decoder"]["rows"] if r][:1]
    row[0][1][0][1] = "17"
    refused(attacked, "away from the model's")


def test_a_bias_is_wrong() -> None:
    attacked = case()
    place = detector(attacked.network, "b c")
    change_number(attacked.network["layers"][0]["readout_units"]["bias"], place, -1)
    refused(attacked, "away from the model's")


def test_an_entry_of_the_matrix_is_wrong() -> None:
    attacked = case()
    row = attacked.network["layers"][0]["recurrence"]["matrix"][detector(attacked.network, "b c")]
    change_number(row[0], 1, -40)
    assert not attacked.check().ok


def test_an_entry_of_the_embedding_is_wrong() -> None:
    attacked = case()
    change_number(attacked.network["embedding"]["vectors"][1], 0, 1000)
    assert not attacked.check().ok


def test_a_probability_of_the_language_is_wrong() -> None:
    attacked = case()
    rows = attacked.language["definition"]["model"]["contexts"]
    changed = next(row for row in rows if "<s>" not in row[0] and len(row[1]) == 1)
    changed[1] = {"a": "1/2", "b": "1/2"}
    refused(attacked, "away from the model's")


def test_what_is_wrong_is_shown_after_a_shortest_prefix() -> None:
    attacked = case()
    place = detector(attacked.network, "c b")
    change_number(attacked.network["layers"][0]["readout_units"]["bias"], place, -1)
    result = attacked.check()
    assert result.failure is not None
    refutation = result.failure.refutation
    assert refutation is not None
    assert refutation.word == ("b", "c", "b")
    assert refutation.at == 3
    assert refutation.expected == ("a: 0.5", "$: 0.5")
    assert "after b c b" in result.failure.what or "after bcb" in result.failure.what


def test_without_new_hashes_any_change_is_refused() -> None:
    found = case()
    found.network["layers"][0]["name"] = "renamed"
    result = check(found.network, found.language, found.proof)
    assert not result.ok
    assert result.failure is not None
    assert "another network" in result.failure.what


def numbers(data: Json, path: tuple[Json, ...] = ()) -> list[tuple[Json, ...]]:
    """The paths to all exact numbers of a part of a network; they are written as text or as whole numbers."""
    if isinstance(data, dict):
        return [p for key, value in data.items() for p in numbers(value, (*path, key))]
    if isinstance(data, list):
        return [p for i, value in enumerate(data) for p in numbers(value, (*path, i))]
    if isinstance(data, str):
        return [path] if data.lstrip("-").replace("/", "").isdigit() else []
    if type(data) is not int or path[-1] == "inputs":
        return []
    sparse = next((i for i, key in enumerate(path) if key in ("rows", "matrix")), None)
    # An entry of a sparse row begins with the number of its column.
    return [path] if sparse is None or path[sparse + 3 :] != (0,) else []


@given(st.sampled_from(VARIANTS), st.data())
def test_a_changed_number_passes_only_where_it_does_not_matter(
    variant: tuple[str, dict[str, object]], data: st.DataObject
) -> None:
    to, options = variant
    attacked = case(to, **options)
    part = data.draw(st.sampled_from(["embedding", "layers", "decoder"]))
    path = data.draw(st.sampled_from(numbers(attacked.network[part])))
    target = attacked.network[part]
    for key in path[:-1]:
        target = target[key]
    old = Fraction(target[path[-1]])
    target[path[-1]] = str(
        data.draw(st.sampled_from([old + 1, old - 1, old * 2, -old, Fraction(0), 1 / (abs(old) + 7)]))
    )
    try:
        result = attacked.check()
    except InputError:
        return
    if result.ok:
        network = network_from_json(attacked.network)
        claims = {claim.task: claim.eps for claim in result.claims}
        assert worst_on_all(network, LANGUAGE.windows) <= (claims[VALID_PREFIXES] or 0)
        if PREDICT in claims:
            assert worst_on_all(network, ALL_WINDOWS) <= (claims[PREDICT] or 0)


ALL_WINDOWS = [(a, b) for a in range(3) for b in range(3)]


def worst_on_all(network: Network, windows: list[tuple[int, ...]] | tuple[tuple[int, ...], ...]) -> Fraction:
    """The largest distance after windows and after longer prefixes, by the interpreter."""
    from nerode.network import Interpreter

    interpreter = Interpreter(network)
    worst = Fraction(0)
    for window in windows:
        for junk in ((), (0, 2), (1, 1, 1)):
            answer = interpreter.run((*junk, *window))[-1]
            assert answer.distribution is not None
            worst = max(worst, distance(answer.distribution, exact_model(LANGUAGE).distribution(window)))
    return worst


def test_eps_is_too_small() -> None:
    attacked = case(eps=EPS)
    for eps in (EPS / 2, EPS / 3):
        attacked.proof["claims"][0]["eps"] = str(eps)
        refused(attacked, "not below")
    attacked.proof["claims"][0]["eps"] = str(EPS / 2 + Fraction(1, 10**20))
    assert attacked.check().ok


def test_an_approximation_is_not_exact() -> None:
    attacked = case()
    attacked.proof["claims"] = [
        {
            **attacked.proof["claims"][0],
            "eps": None,
            "covers": case(normaliser="sparsemax").proof["claims"][0]["covers"],
        }
    ]
    refused(attacked, "not 0")


def test_contexts_alone_do_not_prove_all_windows() -> None:
    attacked = case(variant="conditioned")
    everywhere = case(unknown_contexts=True).proof["claims"][0]
    assert everywhere["task"] == PREDICT
    attacked.proof["claims"].append(everywhere)
    attacked.proof["evidence"][METHOD] |= {"task": PREDICT, "cells": 9}
    refused(attacked, "away from the model's")
    for width, why in ((None, "away from the model's"), (1, "fires on several words")):
        shared = case(embedding_width=width)
        shared.proof["claims"].append(everywhere)
        shared.proof["evidence"][METHOD]["task"] = PREDICT
        refused(shared, why)


def test_the_neuron_for_unknown_contexts_is_wrong() -> None:
    attacked = case(unknown_contexts=True)
    change_number(attacked.network["layers"][0]["readout_units"]["bias"], -1, 1)
    assert not attacked.check().ok


@pytest.mark.parametrize("field", ["covers", "scope", "method", "task", "length"])
def test_claims_cannot_be_embellished(field: str) -> None:
    attacked = case()
    claim = attacked.proof["claims"][0]
    claim[field] = {
        "covers": claim["covers"].replace("at least 2", "at least 1"),
        "scope": "all lengths under noise below eps",
        "method": "joint-closure",
        "task": "recognise",
        "length": 7,
    }[field]
    try:
        assert not attacked.check().ok
    except InputError:
        assert field == "length"


@pytest.mark.parametrize(
    "evidence", [{}, {"task": "recognise", "cells": 8}, {"task": "predict"}, {"cells": 8}, {"words": 2}]
)
def test_corrupted_evidence(evidence: Json) -> None:
    attacked = case()
    attacked.proof["evidence"][METHOD] = evidence
    assert not attacked.check().ok


def test_the_network_looks_farther_back_than_the_model() -> None:
    sentences = [s.split() for s in ("a b c a", "b c b", "a a c", "c c b a")]
    longer = ngram_language(model_from_sentences(sentences, 4), name="longer")
    attacked = case()
    attacked.network = json.loads(json.dumps(network_to_json(compiled(longer))))
    refused(attacked, "looks at 3 words, the model at 2")
    found = certify_ngrams(compiled(longer), LANGUAGE)
    assert isinstance(found, Unproved)
    assert "looks at 3 words" in found.reason


def test_the_network_never_forgets() -> None:
    for to in ("ssm", "elman-relu"):
        attacked = case(to)
        recurrence = attacked.network["layers"][0]["recurrence"]
        if to == "ssm":
            recurrence["matrix"][0] = [[0, "1/1000"]]
        else:
            recurrence["update"]["rows"][0] += [[2, "1/1000"]]
        refused(attacked, "does not forget")
        assert isinstance(certify_ngrams(network_from_json(attacked.network), LANGUAGE), Unproved)


def test_a_network_for_another_model() -> None:
    other = from_text(3, "c b a", "b c b", "a a c", "c c b a")
    attacked = case()
    attacked.network = json.loads(json.dumps(network_to_json(compiled(other))))
    assert not attacked.check().ok
    found = certify_ngrams(compiled(other), LANGUAGE)
    assert isinstance(found, Refutation)


def test_windows_without_a_row_count_too() -> None:
    """The model has no row for b, but sentences reach it; a network that is right after a only is wrong."""
    model = NgramModel.from_table(
        order=2, vocabulary=Alphabet(("a", "b")), table={(0,): {0: Fraction(1, 2), 1: Fraction(1, 2)}}
    )
    language = ngram_language(model, name="passing")
    attacked = Case(compiled(language), language)
    assert attacked.check().ok
    place = detector(attacked.network, "b")
    change_number(attacked.network["layers"][0]["readout_units"]["bias"], place, -1)
    refused(attacked, "after ab")


def test_the_decoder_may_not_read_past_the_layer() -> None:
    attacked = case()
    decoder = attacked.network["decoder"]
    decoder["reads"].append("e0")
    decoder["rows"][0].append([len(decoder["reads"]) - 1, [["1", "3"]]])
    refused(attacked, "no layer puts out")


def test_a_direction_that_is_read_twice_counts_twice() -> None:
    attacked = case()
    layer = attacked.network["layers"][0]
    # The first direction is read a second time, with coefficients of its own.
    width = len(layer["reads"])
    layer["reads"].append("e0")
    for part in (layer["units"], layer["recurrence"]["write"], layer["readout_units"], layer["readout"]):
        part["inputs"] += 1
        if part is not layer["recurrence"]["write"] and part is not layer["units"]:
            for row in part["rows"]:
                for entry in row:
                    entry[0] += entry[0] >= width
    assert attacked.check().ok, "read but not used"
    layer["recurrence"]["write"]["rows"][detector(attacked.network, "b c")].append([width, "100"])
    assert not attacked.check().ok


@pytest.mark.parametrize("part", ["units", "readout", "complex_state", "exposes_previous", "outputs"])
def test_parts_that_are_not_read_are_refused(part: str) -> None:
    attacked = case()
    layer = attacked.network["layers"][0]
    if part == "units":
        layer["units"] = {"inputs": 2, "bias": ["1"], "rows": [[]]}
        layer["recurrence"]["write"]["inputs"] += 1
    elif part == "readout":
        layer["readout"]["rows"][0].insert(0, [0, "1"])
    elif part == "outputs":
        layer["readout"]["bias"][0] = "1"
    else:
        layer[part] = True
    try:
        assert not attacked.check().ok
    except InputError:
        assert part in ("complex_state", "exposes_previous")


def test_other_networks_and_languages_are_not_proved() -> None:
    network = compiled(LANGUAGE)
    with pytest.raises(InputError, match="alphabets"):
        certify_ngrams(network, from_text(3, "a b c d"))
    with pytest.raises(InputError, match="eps"):
        certify_ngrams(network, LANGUAGE, eps=Fraction(0))
    data = copy.deepcopy(network_to_json(network))
    data["layers"][0]["readout"]["bias"][0] = 1
    assert isinstance(certify_ngrams(network_from_json(data), LANGUAGE), Refutation)
    data["layers"][0]["readout"]["rows"][0].insert(0, [0, 1])
    assert isinstance(certify_ngrams(network_from_json(data), LANGUAGE), Unproved)


def test_a_bound_that_is_not_kept_is_refuted() -> None:
    network = compiled(LANGUAGE)
    found = certify_ngrams(network, LANGUAGE, eps=EPS / 10)
    assert isinstance(found, Refutation)
    assert LANGUAGE.legal_along(found.word)[-1] is not None
    assert worst_on(network, LANGUAGE, [LANGUAGE.alphabet.encode(found.word)[-2:]]) == EPS / 2


def test_time_is_limited() -> None:
    with pytest.raises(BudgetExceeded):
        certify_ngrams(compiled(seed()), seed(), budget=Budget(seconds=1e-9))


def test_rounding_up() -> None:
    assert rounded_up(Fraction(0)) is None
    assert rounded_up(Fraction(1, 2000)) == Fraction(501, 10**6)
    assert rounded_up(Fraction(999_999, 10**9)) == Fraction(1, 1000)
