"""Certificates for modules in four formats."""

import hashlib
from dataclasses import replace

import pytest
import torch

import nerode as nr
from nerode.core import Budget, BudgetExceeded, InputError, NotCompilable, UnknownName
from nerode.kernel import STEP_BY_STEP, UP_TO_LENGTH, VALID_PREFIXES, Certificate, Refutation
from nerode.languages import resolve_language
from nerode.languages.bestiary import BESTIARY
from nerode.models.lower.assembly import network_to_architecture
from nerode.models.network_module import load_model
from nerode.proofs import Unproved
from nerode.proofs.certification import certify_exact
from nerode.proofs.find import closure
from nerode.proofs.find.closure import certify_floats, certify_module
from nerode.proofs.find.walk import LARGE_BATCH, Walk
from nerode.proofs.replay.bits import METHOD
from nerode.proofs.runner import make_runner
from tests.proofs.floats.languages import HOLD, NOTHING_YET, mamba_register, register_language
from tests.proofs.floats.modules import BatchDependent, Register, TanhRegister

DTYPES = ("float64", "float32", "bfloat16", "float16")
LANGUAGE = register_language()
MANY = 5_000


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("tomita-4", "diagonal"),
        ("flip-flop", "mamba"),
        ("parity", "mamba-signed"),
        ("S3", "deltaproduct-signed"),
    ],
)
def test_compiled_networks_are_right_at_every_length(name, target, dtype):
    language = resolve_language(name)
    network = nr.compile_language(language, to=target)
    verdict = certify_floats(network, language, dtype=dtype)
    assert verdict.refutation is None
    assert verdict.length == "all"
    claim = verdict.certificate.claims[0]
    assert (claim.scope, claim.dtype, claim.method) == (STEP_BY_STEP, dtype, METHOD)
    evidence = verdict.certificate.evidence[METHOD]
    assert evidence["batches"] == [1, 64]
    assert evidence["arithmetic"]["torch"] == str(torch.__version__)
    assert set(evidence["arithmetic"]) >= {"capability", "threads", "denormals", "processor"}


@pytest.mark.parametrize("name", ["tomita-1", "tomita-4", "tomita-7", "flip-flop"])
def test_a_module_without_rounding_has_as_many_states_as_the_exact_network(name):
    language = resolve_language(name)
    network = nr.compile_language(language, to="diagonal")
    verdict = certify_floats(network, language, dtype="float32")
    exact = certify_exact(network, language, task=verdict.task).evidence["joint-closure"]
    assert verdict.states == exact["cells"]
    moves = verdict.certificate.evidence[METHOD]["moves"]
    table = "".join(" ".join("-" if t < 0 else str(t) for t in row) + "\n" for row in moves)
    assert hashlib.sha256(table.encode()).hexdigest() == exact["digest"]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_a_saturated_mamba_holds_for_ever(dtype):
    verdict = certify_module(
        mamba_register(hold=1.0, threshold=0.5, dtype=dtype), LANGUAGE, empty=NOTHING_YET
    )
    assert verdict.length == "all"


def test_a_mamba_with_gate_three_quarters_is_right_up_to_its_horizon():
    module = mamba_register(hold=0.75, threshold=1e-3)
    verdict = certify_module(module, LANGUAGE, empty=NOTHING_YET)
    # (3/4)^24 = 1.003e-3 and (3/4)^25 = 0.75e-3.
    assert verdict.refutation.word == ("h",) + ("i",) * 25
    claim = verdict.certificate.claims[0]
    assert (claim.scope, claim.length) == (UP_TO_LENGTH, 25)
    assert isinstance(verdict.outcome(), Refutation)


def test_a_tanh_register_is_right_though_it_rounds():
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        assert certify_module(TanhRegister(dtype=dtype), LANGUAGE, empty=NOTHING_YET).length == "all"


def test_where_batches_round_differently_single_words_count():
    verdict = certify_module(BatchDependent(), LANGUAGE, empty=NOTHING_YET)
    assert verdict.length == "all"
    assert verdict.certificate.evidence[METHOD]["batches"] == [1]


class DependentLater(Register):
    """Batches differ only after two high writes, so that the start does not show it."""

    def step(self, x, state):
        scores, after = super().step(x, state)
        wrong = (state["h"] == 1.25) & (len(x) > 1)
        return scores, {"h": torch.where(wrong, after["h"] + 2.0**-7, after["h"])}


def test_where_batches_round_differently_later_the_search_is_done_again():
    module = DependentLater(overwrite=0.25, dtype=torch.bfloat16)
    verdict = certify_module(module, LANGUAGE, empty=NOTHING_YET)
    assert verdict.length == "all"
    assert verdict.certificate.evidence[METHOD]["batches"] == [1]


class DependentOnManyWords(Register):
    """Only batches as large as those of long lists differ from single words."""

    def step(self, x, state):
        scores, after = super().step(x, state)
        wrong = (state["h"] == 1.25) & (len(x) > 100)
        return scores, {"h": torch.where(wrong, after["h"] + 2.0**-7, after["h"])}


class WrongAlone(DependentOnManyWords):
    """Batches are correct; a single word is high for ever after two high writes."""

    def step(self, x, state):
        scores, after = super().step(x, state)
        wrong = (state["h"] >= 1.25) & (len(x) == 1)
        return torch.where(wrong, 1.0, scores), {"h": torch.where(wrong, 2.0, after["h"])}


def test_where_large_batches_are_refused_single_words_are_searched(monkeypatch):
    monkeypatch.setattr(closure, "_batches", lambda *_: [LARGE_BATCH])
    module = DependentOnManyWords(overwrite=0.25, dtype=torch.bfloat16)
    verdict = certify_module(module, LANGUAGE, empty=NOTHING_YET)
    assert verdict.length == "all"
    assert verdict.certificate.evidence[METHOD]["batches"] == [1]
    planted = certify_module(WrongAlone(overwrite=0.25, dtype=torch.bfloat16), LANGUAGE, empty=NOTHING_YET)
    assert planted.refutation.at == planted.length + 1


def test_of_single_words_alone_nothing_is_said_about_batches():
    good = DependentOnManyWords(overwrite=0.25, dtype=torch.bfloat16)
    verdict = certify_module(good, LANGUAGE, empty=NOTHING_YET, alone=True)
    assert verdict.length == "all"
    assert verdict.certificate.evidence[METHOD]["batches"] == [1]
    bad = WrongAlone(overwrite=0.25, dtype=torch.bfloat16)
    assert certify_module(bad, LANGUAGE, empty=NOTHING_YET, alone=True).refutation is not None


class SinglesNeverClose(Register):
    """Single words keep all that was ever written; in a batch a write leaves nothing."""

    def step(self, x, state):
        kept = 0.25 if len(x) == 1 else 0.0
        gates = torch.where(x == HOLD, 1.0, kept).to(self.gates.dtype)
        h = gates[:, None] * state["h"] + self.writes[x, None]
        return h, {"h": h}


def test_where_only_batches_close_the_claim_is_about_batches():
    module = SinglesNeverClose(dtype=torch.float64)
    verdict = certify_module(module, LANGUAGE, empty=NOTHING_YET, budget=Budget(seconds=8))
    assert verdict.length == "all"
    assert verdict.certificate.evidence[METHOD]["batches"] == [1024]
    assert " Words were read in batches of 1,024. " in verdict.certificate.claims[0].covers


@pytest.mark.parametrize("architecture", ["mamba", "gla"])
def test_a_cascade_in_a_real_architecture_is_right_at_every_length(architecture):
    language = resolve_language("tomita-7")
    network = nr.compile_language(language, to="mamba", options=nr.Options(exclusive_scan=False))
    module = network_to_architecture(network, architecture, dtype=torch.bfloat16)
    verdict = certify_module(module, language, task=VALID_PREFIXES, empty=network.decoder.empty)
    assert verdict.length == "all"
    # Overwrites keep a quarter, so that the floats remember more than the automaton has to.
    assert verdict.states > 100


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_named_star_free_language_is_right_at_every_length(dtype):
    certified = 0
    for name in BESTIARY:
        language = resolve_language(name)
        try:
            network = nr.compile_language(language, to="diagonal")
        except NotCompilable:
            continue
        # The stacks of dyck-8-10 are a thousand million; its proof in floats is that no sum is rounded.
        if not language.regular or (language.num_states() or MANY) >= MANY:
            continue
        assert certify_floats(network, language, dtype=dtype).length == "all", name
        certified += 1
    assert certified > 15


def test_the_python_twin_takes_a_dtype():
    language = nr.language("(aa)*")
    network = nr.compile_language(language, to="diagonal-signed")
    certificate = nr.certify(network, language, dtype="bfloat16")
    assert isinstance(certificate, Certificate)
    assert certificate.claims[0].dtype == "bfloat16"
    assert certificate.network == nr.certify(network, language).network
    with pytest.raises(UnknownName, match="bfloat16"):
        nr.certify(network, language, dtype="bfloat61")


def test_another_dtype_than_that_of_the_module_is_refused():
    with pytest.raises(InputError, match="float32, not in float64"):
        certify_module(Register(), LANGUAGE, dtype="float64")
    mixed = Register()
    mixed.extra = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))
    with pytest.raises(InputError, match="float32, float64"):
        make_runner(mixed, LANGUAGE)


def test_scores_of_another_width_are_refused():
    with pytest.raises(InputError, match="4 truth values"):
        certify_module(Register(), LANGUAGE, decode=lambda scores: scores > 0.5)


def test_without_time_nothing_is_claimed():
    module = Register(overwrite=0.25, dtype=torch.float64)
    verdict = certify_module(module, LANGUAGE, empty=NOTHING_YET, budget=Budget(seconds=1e-9))
    assert verdict.length != "all"
    assert "seconds" in verdict.reason
    nothing = replace(verdict, certificate=None).outcome()
    assert isinstance(nothing, Unproved)
    assert nothing.reason == verdict.reason


def test_a_replay_that_runs_out_of_time_says_how_many_states_the_next_one_has(monkeypatch):
    sizes = []
    replay = closure.recheck

    def slow(module, question, certificate, **options):
        sizes.append(len(certificate.evidence[METHOD]["moves"]))
        if len(sizes) == 1:
            known = {"transitions_replayed": 100, "transitions": 1_000}
            raise BudgetExceeded("seconds", 1.0, known_so_far=known)
        return replay(module, question, certificate, **options)

    monkeypatch.setattr(closure, "recheck", slow)
    module = Register(overwrite=0.25, dtype=torch.float64)
    verdict = certify_module(module, LANGUAGE, empty=NOTHING_YET, alone=True, budget=Budget(elements=2_000))
    assert verdict.certificate.claims[0].scope == UP_TO_LENGTH
    first, last = sizes
    assert first / 80 <= last <= first / 40


def test_a_planted_error_in_a_compiled_network_is_found():
    language = resolve_language("tomita-4")
    module = load_model(nr.compile_language(language, to="diagonal"))
    with torch.no_grad():
        module.embedding[0, 0] += 0.75
    verdict = certify_module(module, language)
    word = language.alphabet.encode(verdict.refutation.word)
    state = module.initial_state(1)
    wrong = []
    for letter, legal in zip(word, language.legal_along(word)[1:], strict=True):
        scores, state = module.step(torch.tensor([letter]), state)
        wrong.append(module.legal(scores)[0].tolist() != [a in legal.symbols for a in range(2)] + [legal.end])
    assert wrong == [False] * (len(word) - 1) + [True]


def test_a_word_that_no_valid_prefix_begins_with_refutes_nothing_where_time_is_short(monkeypatch):
    """The module is wrong after b, which no word of the language begins with, and right elsewhere."""
    language = resolve_language("ab*")
    module = load_model(nr.compile_language(resolve_language("(a|b)b*"), to="diagonal"), dtype=torch.float32)
    empty = language.legal(language.initial())
    verdict = certify_module(module, language, empty=empty)
    assert (verdict.task, verdict.length, verdict.refutation) == (VALID_PREFIXES, "all", None)

    class Hurried(Walk):
        def __init__(self, runner, question, *, most, **others):
            super().__init__(runner, question, most=1 if question.task == VALID_PREFIXES else most, **others)

    monkeypatch.setattr(closure, "Walk", Hurried)
    assert certify_module(module, language, empty=empty).refutation is None
