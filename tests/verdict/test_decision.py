"""Verdicts against the statements of the specification, and the table against itself."""

import functools
from dataclasses import replace

import pytest

from nerode.core import InputError, UnknownName
from nerode.languages import resolve_language
from nerode.languages.bestiary import BESTIARY
from nerode.verdict.architectures import ARCHITECTURES
from nerode.verdict.decision import collect_facts, decide, verdict_for
from nerode.verdict.records import Provenance, Sense, Status, VerdictTask
from nerode.verdict.theorems import THEOREMS

NONNEGATIVE = ["mamba", "mamba-2", "griffin", "gla", "hgrn2", "mlstm", "rwkv-6", "diagonal"]
TIME_INVARIANT = ["s4", "s4d", "h3", "lru", "lssl", "megalodon", "ssm"]
NONLINEAR = ["elman-tanh", "elman-relu", "lstm", "gru", "nru", "slstm"]
STAR_FREE = ["(ab)*", "flip-flop", "tomita-1", "tomita-2", "tomita-4", "tomita-7", "d-4", "dyck-8-10"]
NOT_STAR_FREE = ["(aa)*", "parity", "s3", "a5", "z60", "tomita-3", "tomita-5", "tomita-6"]
COUNTERS = ["dyck-1", "shuffle-2", "boolean-3", "anbn", "anbncn", "anbncndn"]


@functools.cache
def table(text, task="predict"):
    return decide(resolve_language(text), architectures=tuple(ARCHITECTURES), task=task)


def status(text, architecture, sense="finite-precision", task="predict"):
    return table(text, task)[architecture, sense].status


@pytest.mark.parametrize("text", STAR_FREE)
@pytest.mark.parametrize("architecture", NONNEGATIVE)
def test_star_free_is_what_nonnegative_gates_do(text, architecture):
    for sense in ("exact", "finite-precision", "ieee"):
        assert status(text, architecture, sense) == "yes"


@pytest.mark.parametrize("text", NOT_STAR_FREE)
@pytest.mark.parametrize("architecture", NONNEGATIVE)
def test_nothing_else_is(text, architecture):
    verdict = table(text)[architecture]
    assert verdict.status == "no"
    assert verdict.witness is not None
    for sense in ("exact", "ieee"):
        assert status(text, architecture, sense) == "no"


@pytest.mark.parametrize("text", NOT_STAR_FREE)
def test_the_witness_alternates(text):
    language = resolve_language(text)
    witness = table(text)["mamba"].witness
    u, v, x = (language.alphabet.encode(witness[k]) for k in "uvx")
    answers = [language.accepts(u + v * n + x) for n in range(4 * witness["period"])]
    assert len(set(answers[: witness["period"]])) == 2
    assert answers[: -witness["period"]] == answers[witness["period"] :]


@pytest.mark.parametrize(
    ("text", "architecture", "expected"),
    [
        # Signs: parity and the 2-groups, never an odd period (Grazzi et al., Theorem 2).
        ("parity", "mamba-signed", "yes"),
        ("(aa)*", "mamba-signed", "yes"),
        ("z2xz2", "mamba-signed", "yes"),
        ("q8", "mamba-signed", "yes"),
        ("d4", "diagonal-signed", "yes"),
        ("z3", "mamba-signed", "no"),
        ("s3", "mamba-signed", "no"),
        ("z60", "mamba-signed", "no"),
        ("tomita-6", "mamba-signed", "no"),
        ("tomita-5", "mamba-signed", "yes"),
        # Roots of unity: the solvable groups (Shakerinava et al.).
        ("z60", "complex-diagonal", "yes"),
        ("s3", "complex-diagonal", "yes"),
        ("s4", "complex-diagonal", "yes"),
        ("a4xz5", "complex-diagonal", "yes"),
        ("a5", "complex-diagonal", "no"),
        ("s5", "complex-diagonal", "no"),
        # Everything regular.
        *[
            (t, a, "yes")
            for t in ("a5", "s5", "s3", "z60", "flip-flop")
            for a in ("ids4", "pd-ssm", "rwkv-7")
        ],
        *[(t, "deltaproduct-signed", "yes") for t in ("a5", "s5", "z60", "tomita-3", "flip-flop")],
        *[(t, "deltanet-signed", "yes") for t in ("z60", "parity", "s3")],
        # β in [0,1] never works.
        *[
            (t, a, "no")
            for t in ("parity", "s3", "z60")
            for a in ("deltanet", "deltaproduct", "gated-deltanet")
        ],
        ("flip-flop", "deltanet", "yes"),
        # Time-invariant: parity no, position modulo m yes.
        *[("parity", a, "no") for a in TIME_INVARIANT],
        *[("(aa)*", a, "yes") for a in ("s4d", "lru", "ssm", "lssl")],
        ("offset-counting-10", "s4d", "yes"),
        # TC0 (conditional).
        ("a5", "transformer", "no"),
        ("s5", "mamba-attention", "no"),
        ("a5", "mamba", "no"),
        # Hybrids.
        ("flip-flop", "mamba-attention", "yes"),
        ("(aa)*", "s4d-mamba", "yes"),
        ("parity", "s4d-mamba", "no"),
        # The n-gram theorem.
        ("ngram-seed", "ssm", "yes"),
    ],
)
def test_finite_precision(text, architecture, expected):
    assert status(text, architecture) == expected


@pytest.mark.parametrize("text", COUNTERS)
def test_counters(text):
    for architecture in ("gla", "rwkv-6", "s4d", "ssm", "ids4", "lstm", "elman-relu"):
        assert status(text, architecture) == "yes"
        assert status(text, architecture, "ieee") == "no"
        assert status(text, architecture, "robust") == "no"
    # The write is tied to the gate: conjectured no, so open.
    for architecture in ("mamba", "hgrn2", "griffin", "mamba-2"):
        assert status(text, architecture) == "open"
    for architecture in ("gru", "elman-tanh"):
        assert status(text, architecture) == "no"


@pytest.mark.parametrize("text", ["dyck-2"])
def test_unbounded_stacks(text):
    assert status(text, "elman-relu", "exact") == "yes"
    assert status(text, "mamba") == "open"
    assert status(text, "mamba", "ieee") == "no"


@pytest.mark.parametrize("architecture", NONLINEAR)
@pytest.mark.parametrize("text", ["parity", "flip-flop", "a5", "(ab)*", "tomita-3"])
def test_nonlinear_networks_do_everything_regular_robustly(text, architecture):
    for sense in Sense:
        assert status(text, architecture, sense.value) == "yes"


@pytest.mark.parametrize(
    "architecture", ["mamba", "gla", "deltanet-signed", "ids4", "pd-ssm", "s4d", "diagonal"]
)
def test_linear_recurrences_are_not_robust_on_the_flip_flop(architecture):
    for text in ("flip-flop", "parity", "s3"):
        assert status(text, architecture, "robust") == "no"


def test_a_finite_window_is_robust_and_the_task_matters():
    # (ab)* is strictly local, so prediction needs two letters; recognition must remember an error for ever.
    assert status("(ab)*", "mamba", "robust", task="predict") == "yes"
    assert status("(ab)*", "mamba", "robust", task="recognise") == "no"
    assert status("last-letter", "mamba", "robust", task="recognise") == "yes"


@pytest.mark.parametrize(
    ("text", "architecture", "layers", "width", "factors"),
    [
        ("parity", "mamba-signed", 1, 1, None),
        ("flip-flop", "gla", 2, 5, None),
        ("dyck-8-10", "gla", 2, 31, None),
        ("ngram-seed", "ssm", 1, 145, None),
        ("s3", "ids4", 1, 6, None),
        ("s3", "complex-diagonal", 2, None, None),
        ("s4", "complex-diagonal", 3, None, None),
        ("a5", "deltaproduct-signed", 1, 3, 2),
        ("s4", "deltaproduct-signed", 1, 3, 2),
        ("dyck-1", "gla", 1, 1, None),
        ("shuffle-4", "gla", 1, 4, None),
    ],
)
def test_sizes(text, architecture, layers, width, factors):
    size = table(text)[architecture].size
    assert (size.layers, size.width, size.factors) == (layers, width, factors)


@pytest.mark.parametrize("architecture", ["ssm", "gla", "lstm"])
def test_one_layer_of_counters_is_no_recogniser(architecture):
    # ")(" leaves the same counter as "()", so one counter and no more cannot tell whole words apart.
    verdict = table("dyck-1", "recognise")[architecture]
    assert verdict.status == "yes"
    assert verdict.size is None


@pytest.mark.parametrize("task", list(VerdictTask))
@pytest.mark.parametrize("name", list(BESTIARY))
def test_no_two_rows_contradict_each_other(name, task):
    # decide raises ContradictionError when they do.
    decide(resolve_language(name), architectures=tuple(ARCHITECTURES), task=task)


# Languages that fire rows which no bestiary language does.
EXTRA = ["(aa)*", "(ab)*", "(a|b)*a", "a*b*", "S5:generators"]


@pytest.fixture(scope="module")
def fired():
    found = set()
    for text in [*BESTIARY, *EXTRA]:
        try:
            language = resolve_language(text)
        except InputError:
            continue
        for task in VerdictTask:
            facts = collect_facts(language, task=task)
            for row in ARCHITECTURES.values():
                for sense in Sense:
                    verdict = verdict_for(facts, row, sense)
                    found.update([verdict.theorem, *verdict.also])
    return found


@pytest.mark.parametrize("name", list(THEOREMS))
def test_every_row_fires(name, fired):
    assert name in fired


@pytest.mark.parametrize("name", list(THEOREMS))
def test_rows_are_documented(name):
    row = THEOREMS[name]
    assert row.statement.endswith(".")
    assert row.reference.key
    if row.provenance is not Provenance.READ:
        assert not row.reference.place


def test_open_says_what_was_tried():
    verdict = table("dyck-1")["mamba"]
    assert verdict.status is Status.OPEN
    assert verdict.tried
    assert "gate" in verdict.reason


def test_unknown_task_dtype_sense_and_architecture():
    language = resolve_language("parity")
    with pytest.raises(InputError, match="task"):
        decide(language, task="guess")
    with pytest.raises(InputError, match="dtype"):
        decide(language, dtype="float8")
    with pytest.raises(UnknownName, match="mamba"):
        decide(language, architectures=["mamab"])
    with pytest.raises(InputError, match="sense"):
        decide(language)["mamba", "approximately"]
    with pytest.raises(UnknownName):
        decide(language, architectures=["mamba"])["lstm"]


@pytest.mark.parametrize("architecture", ["gla", "s4d", "rwkv-6", "rwkv-7", "lstm", "pd-ssm"])
@pytest.mark.parametrize("text", COUNTERS)
def test_a_gate_below_one_is_no_counter_over_the_reals(architecture, text):
    # With h = g h ± 1 and g < 1 both a^n b^n and a^(n+1) b^n tend to -1/(1-g): the counter leaks.
    verdicts = table(text)
    assert verdicts[architecture].status == "yes"
    assert verdicts[architecture, "exact"].status == "open"
    assert "limit" in verdicts[architecture, "exact"].reason


@pytest.mark.parametrize("architecture", ["ssm", "ids4", "complex-diagonal", "elman-relu"])
@pytest.mark.parametrize("text", COUNTERS)
def test_a_gate_of_one_counts_over_the_reals(architecture, text):
    assert table(text)[architecture, "exact"].status == "yes"


def test_one_reflection_that_is_not_whole_is_open_over_the_reals():
    for text in ("z3", "s3", "a5"):
        verdicts = table(text)
        assert verdicts["deltanet-signed"].status == "yes"
        assert verdicts["deltanet-signed", "exact"].status == "open"
        # Several factors can shrink the state evenly, so that its direction stays exact.
        assert verdicts["deltaproduct-signed", "exact"].status == "yes"
    # A sign survives shrinking.
    assert table("parity")["deltanet-signed", "exact"].status == "yes"


@pytest.mark.parametrize(
    ("text", "theorem"),
    [("flip-flop", "flip-flop-two-layers"), ("dyck-2-5", "bounded-dyck-two-layers")],
)
def test_sizes_of_predictors_are_not_given_for_recognition(text, theorem):
    # A recogniser has to remember an error besides; the cited networks predict.
    assert table(text, "predict")["gla"].theorem == theorem
    recognised = table(text, "recognise")["gla"]
    assert recognised.status == "yes"
    assert recognised.size is None
    assert theorem not in (recognised.theorem, *recognised.also)


def test_brackets_of_one_kind_need_the_counter_alone():
    size = table("dyck-1-5")["gla"].size
    assert (size.layers, size.width) == (1, 1)


def test_only_a_theorem_in_exact_arithmetic_may_ask_for_more_there():
    row = THEOREMS["monotone-floats"]
    with pytest.raises(ValueError, match="asks for more"):
        replace(row, over_the_reals=row.architecture)
