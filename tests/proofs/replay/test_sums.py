"""Weights that compute what their exact network computes, without rounding a sum; and what is refused."""

from __future__ import annotations

import copy
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from nerode.compiler import Options
from nerode.core import Budget, InputError
from nerode.kernel import VALID_PREFIXES, Certificate
from nerode.languages import Language, asked_of, resolve_language
from nerode.models import Model
from nerode.models.lower.lowering import Lowered, lowerings
from nerode.proofs.certification import certify
from nerode.proofs.find.schedule import FIRST_SLICE
from nerode.proofs.find.sums import certify_sums
from nerode.proofs.replay.forms import Forms, Room, last_bits, linear
from nerode.proofs.replay.listing import fingerprint
from nerode.proofs.replay.subject import make_subject
from nerode.proofs.replay.sums import METHOD, replay_sums, sums_claim
from nerode.proofs.replay.table import ABOVE_HALF
from nerode.proofs.settle import SettleSettings, settle

Made = tuple[Model, Language, Certificate]


def make(name: str, architecture: str, *, predicts: bool = False) -> Made:
    """Returns written weights with the certificate of their sums."""
    language = resolve_language(name)
    ways = lowerings(language, architecture, Options(predicts=predicts), block="zoo")
    lowered = next(way for way in ways if isinstance(way, Lowered))
    network = lowered.program.network
    exact = certify(network, language, budget=Budget(seconds=20))
    assert isinstance(exact, Certificate)
    model = lowered.model.eval()
    found = certify_sums(model, network, exact, language, budget=Budget(seconds=60))
    assert isinstance(found, Certificate), found.reason
    return model, language, found


@pytest.fixture(scope="module")
def counter() -> Made:
    return make("dyck-1", "mamba")


def replayed(model: Model, language: Language, found: Certificate, **changes: Any) -> str:
    """Returns why evidence with some changes is refused; empty if it is not."""
    evidence = {**found.evidence[METHOD], **changes}
    certificate = replace(found, evidence={METHOD: evidence})
    length = evidence["length"]
    certificate = replace(certificate, claims=(sums_claim(evidence["task"], evidence["dtype"], length),))
    failure = replay_sums(model, language, certificate, network=found.network)
    return "" if failure is None else failure.what


@pytest.mark.parametrize(
    ("name", "architecture", "least"),
    [("dyck-1", "mamba", 1_000_000), ("anbn", "mamba", 1_000_000), ("dyck-1", "gla", 1_000_000)],
)
def test_counters_in_written_weights_are_proved_for_a_million_letters(
    name: str, architecture: str, least: int
) -> None:
    _, _, found = make(name, architecture)
    length = found.claims[0].length
    assert isinstance(length, int)
    assert length >= least


def test_sums_of_counters_wait_for_no_closure() -> None:
    """A closure of counters does not end: it took the seconds, and two counters were proved to 7 letters."""
    language = resolve_language("shuffle-2")
    way = next(
        way for way in lowerings(language, "mamba", Options(), block="zoo") if isinstance(way, Lowered)
    )
    subject = make_subject(
        "shuffle-2",
        module=way.model.eval(),
        network=way.program.network,
        question=asked_of(language),
        reading=ABOVE_HALF,
    )
    settings = SettleSettings(holds=0, searched=0, boxes=False, partial=True, loops=8)
    settlement = settle(subject, settings=settings, budget=Budget(seconds=30)).settlement
    assert settlement.method == "sums"
    assert settlement.length >= 1_000_000
    assert settlement.steps["closure"] <= 2 * FIRST_SLICE


def test_bounded_brackets_in_two_layers_of_mamba_are_proved_at_every_length() -> None:
    model, language, found = make("dyck-2-5", "mamba", predicts=True)
    assert found.claims[0].length == "all"
    assert found.claims[0].task == VALID_PREFIXES
    counters = found.evidence[METHOD]["counters"]
    assert len(counters) == 1
    # A deeper counter than the brackets have is not believed.
    assert "states" in replayed(
        model, language, found, state=[[0.0, []]] * len(found.evidence[METHOD]["state"])
    )
    assert "bounded" in replayed(model, language, found, task="predict")


def test_longer_words_than_the_sums_allow_are_refused(counter: Made) -> None:
    model, language, found = counter
    length = found.evidence[METHOD]["length"]
    assert replayed(model, language, found) == ""
    assert replayed(model, language, found, length=length // 2) == ""
    assert replayed(model, language, found, length=8 * length)
    assert replayed(model, language, found, length=None)


def test_evidence_that_says_otherwise_is_refused(counter: Made) -> None:
    model, language, found = counter
    evidence = found.evidence[METHOD]
    assert replayed(model, language, found, counters={})
    assert replayed(model, language, found, joint=[])
    assert replayed(model, language, found, module="0" * 64)
    assert replayed(model, language, found, dtype="float64")
    tied = next(i for i, row in enumerate(evidence["state"]) if row is not None and row[1])
    for change in ([0.0, [[99, 1.0]]], [1.0, evidence["state"][tied][1]], [0.0, []], ["nan", []]):
        state = [change if i == tied else row for i, row in enumerate(evidence["state"])]
        assert replayed(model, language, found, state=state)
    other = {**evidence["network"], "target": "gla"}
    assert replayed(model, language, found, network=other)


def test_a_claim_of_more_than_was_shown_is_refused(counter: Made) -> None:
    model, language, found = counter
    wider = replace(found, claims=(sums_claim("predict", "float32", None),))
    assert replay_sums(model, language, wider, network=found.network) is not None
    assert replay_sums(model, resolve_language("majority"), found, network=found.network) is not None
    assert replay_sums(model, language, found, network="0" * 64) is not None


@pytest.mark.parametrize("seed", range(2))
def test_changed_weights_are_refused_or_answer_alike(counter: Made, seed: int) -> None:
    model, language, found = counter
    choose, changed = random.Random(seed), copy.deepcopy(model)
    for _ in range(5):
        name, weights = choose.choice(list(changed.named_parameters()))
        place = tuple(choose.randrange(n) for n in weights.shape)
        with torch.no_grad():
            before = weights[place].item()
            weights[place] = choose.choice([before + 1, -before, before * (1 + 2**-20), before * 2, 0.3])
        sha = fingerprint(changed)
        evidence = {**found.evidence[METHOD], "module": sha}
        certificate = replace(found, network=sha, evidence={METHOD: evidence})
        if replay_sums(changed, language, certificate, network=sha) is None:
            words = torch.randint(0, 2, (8, 60), generator=torch.Generator().manual_seed(seed))
            assert torch.equal(changed(words)[0] > 0.5, model(words)[0] > 0.5), name
        with torch.no_grad():
            weights[place] = before


def test_forms_have_the_ends_and_the_last_bits_of_their_numbers() -> None:
    assert last_bits(np.array([0.0, 1.0, 6.0, 0.375])).tolist()[1:] == [0, 1, -3]
    room = Room.of(np.array([[-2.0, 0.0]]), np.array([[5.0, 1.0]]), 24)
    numbers = Forms(room, np.array([[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]]))
    weight, bias = torch.tensor([[3.0, -0.5], [0.1, 0.0]]), torch.tensor([0.25, 0.0])
    image = linear(numbers, weight, bias)
    assert [end.tolist()[0][0] for end in image.ends()] == [-6.25, 15.25]
    # 0.1 n has more bits than a float32 where n is 3: of the product no more than its ends is known.
    assert image.loose.tolist() == [[False, True]]
    low, high = (end[0, 1] for end in image.ends())
    assert low < -0.2 < 0.5 < high


@pytest.mark.parametrize("name", ["relu", "silu", "softplus", "sigmoid", "logsigmoid", "exp"])
def test_functions_on_forms_hold_what_torch_gives(name: str) -> None:
    function = (
        getattr(torch, name) if name in ("relu", "sigmoid", "exp") else getattr(torch.nn.functional, name)
    )
    values = np.concatenate([np.linspace(-140, 90, 461), np.array([0.0, 2.0**-31, -(2.0**-31)])])
    room = Room.of(np.zeros((len(values), 1)), np.zeros((len(values), 1)), 24)
    forms = Forms.constant(room, values.astype(np.float32).astype(np.float64))
    low, high = function(forms).ends()
    given = function(torch.tensor(values, dtype=torch.float32)).double().numpy()
    known = ~room.wild
    assert ((low <= given) & (given <= high))[known].all()


def test_complex_weights_are_refused() -> None:
    """A cast would drop the imaginary part."""
    room = Room.of(np.zeros((1, 1)), np.ones((1, 1)), 24)
    with pytest.raises(InputError, match="complex"):
        Forms.constant(room, np.ones((1, 1))) * torch.tensor([1j])


def test_a_module_that_calls_something_else_is_refused() -> None:
    room = Room.of(np.zeros((1, 1)), np.ones((1, 1)), 24)
    with pytest.raises(InputError, match="of which no lemma speaks"):
        torch.tanh(Forms.constant(room, np.ones((1, 2))))  # type: ignore[arg-type]


def test_forms_whose_coefficients_float64_does_not_hold_are_loose() -> None:
    # n - c is 0 to 3, and (1 + 2^-23)(n - c) fits a float32; its coefficients have more than 53 bits.
    c = 2.0**51 + 1
    room = Room.of(np.array([[c]]), np.array([[c + 3]]), 24)
    near = linear(Forms(room.exact(), np.array([[[0.0, 1.0]]])), np.array([[1.0]]), np.array([-c]))
    assert not near.loose.any()
    weight = 1 + 2.0**-23
    for image in (linear(Forms(room, near.coef), np.array([[weight]])), Forms(room, near.coef) * weight):
        low, high = (end.item() for end in image.ends())
        assert image.loose.all()
        assert low <= 0 < 3 * weight <= high


def test_sums_of_more_terms_than_the_bound_allows_are_refused() -> None:
    room = Room.of(np.zeros((1, 1)), np.ones((1, 1)), 24)
    many = Forms.constant(room, np.ones((1, 5000)))
    with pytest.raises(InputError, match="terms"):
        linear(many, np.ones((1, 5000)))
    with pytest.raises(InputError, match="terms"):
        many.sum(-1)


def test_evidence_without_sense_is_refused(counter: Made) -> None:
    model, language, found = counter
    state = found.evidence[METHOD]["state"]
    for changes in (
        {"counters": {"99": 1}},
        {"counters": [1]},
        {"ranges": [[0, 1], [0]]},
        {"ranges": [["a", "b"]]},
        {"state": [[0.0, 3], *state[1:]]},
        {"joint": [[1, 2, 3, 4, 5, 6, 7]]},
        {"network": 3},
        {"certificate": []},
    ):
        assert replayed(model, language, found, **changes), changes


def test_a_guard_steps_the_module_itself_from_corners(counter: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checker that sees no difference would believe a counter beyond the bits of float32."""
    model, language, found = counter
    length = found.evidence[METHOD]["length"]
    monkeypatch.setattr("nerode.proofs.replay.sums._first_difference", lambda *_: None)
    assert replayed(model, language, found) == ""
    assert "at a corner" in replayed(model, language, found, length=8 * length)
    monkeypatch.setattr("nerode.proofs.replay.sums._contradiction", lambda *_: None)
    assert replayed(model, language, found, length=8 * length) == "", "the fault itself accepts the claim"


def test_cuts_settle_as_many_signs_as_they_can() -> None:
    """Of the units of a counter h, relu(h + 1), relu(h), relu(h - 1) and relu(-h): three parts are enough."""
    forms = np.array([[[1.0, 1.0], [0.0, 1.0], [-1.0, 1.0], [0.0, -1.0]]])
    work, parts = [(-1000.0, 1000.0)], []
    while work:
        low, high = work.pop()
        room = Room.of(np.array([[low]]), np.array([[high]]), 24)
        ends = np.sort(forms[..., 0, None] + forms[..., 1, None] * np.array([low, high]))
        room.ask(forms, ~((ends[..., 0] >= 0) | (ends[..., 1] <= 0)))
        if room.symbol[0] < 0:
            parts.append((low, high))
        else:
            work += [(low, float(room.cut[0])), (float(room.cut[0]) + 1, high)]
    assert sorted(parts) == [(-1000, -1), (0, 0), (1, 1000)]


@pytest.mark.slow
def test_tests_of_six_counters_are_not_added_in_one_sum() -> None:
    language = resolve_language("shuffle-6")
    lowered = next(w for w in lowerings(language, "mamba", Options(), block="zoo") if isinstance(w, Lowered))
    network = lowered.program.network
    exact = certify(network, language, budget=Budget(seconds=60))
    assert isinstance(exact, Certificate)
    found = certify_sums(lowered.model.eval(), network, exact, language, budget=Budget(seconds=300))
    assert isinstance(found, Certificate), found.reason
    assert found.claims[0].length == 4_194_240
