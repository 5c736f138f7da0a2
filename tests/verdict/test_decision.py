"""Verdicts against the statements of the specification, and the table against itself."""

import itertools
from dataclasses import replace

import pytest

from nerode.core import InputError, UnknownName
from nerode.languages import resolve_language
from nerode.languages.bestiary import BESTIARY
from nerode.verdict.architectures import ARCHITECTURES
from nerode.verdict.decision import decide
from nerode.verdict.records import Provenance, Sense, Status, VerdictTask
from nerode.verdict.theorems import THEOREMS
from tests.verdict.tables import table

NONNEGATIVE = ["mamba", "mamba-2", "griffin", "gla", "hgrn2", "mlstm", "rwkv-6", "diagonal"]
TIME_INVARIANT = ["s4", "s4d", "h3", "lru", "lssl", "megalodon", "ssm"]
NONLINEAR = ["elman-tanh", "elman-relu", "lstm", "gru", "nru", "slstm"]
STAR_FREE = ["(ab)*", "flip-flop", "tomita-1", "tomita-2", "tomita-4", "tomita-7", "d-4", "dyck-8-10"]
NOT_STAR_FREE = ["(aa)*", "parity", "s3", "a5", "z60", "tomita-3", "tomita-5", "tomita-6"]
COUNTERS = ["dyck-1", "shuffle-2", "boolean-3", "anbn", "anbncn", "anbncndn"]


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
            for a in ("ids4", "slice", "pd-ssm", "rwkv-7-signed")
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


@pytest.mark.parametrize("text", [*COUNTERS, "majority"])
def test_counters(text):
    counting = """gla rwkv-6 s4d ssm ids4 lstm elman-relu mamba mamba-2 mamba-signed mlstm nru rwkv-7
    deltanet-signed deltaproduct-signed""".split()
    for architecture in counting:
        assert status(text, architecture) == "yes"
        assert status(text, architecture, "ieee") == "no"
        assert status(text, architecture, "robust") == "no"
    # A gate that goes to 1 while the write stays; no float network of the record.
    for architecture in ("hgrn2", "griffin", "mingru", "deltanet", "gated-deltanet", "deltaproduct"):
        assert status(text, architecture) == "yes"
    # States that stay bounded whatever is written.
    for architecture in ("gru", "elman-tanh", "retnet"):
        assert status(text, architecture) == "no"


@pytest.mark.parametrize("text", ["dyck-2"])
def test_unbounded_stacks(text):
    assert status(text, "elman-relu", "exact") == "yes"
    assert status(text, "mamba", "exact") == "yes"
    assert status(text, "mamba") == "no"
    assert status(text, "ids4") == "yes"
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
    assert table(name, task)


# Languages that fire rows which no bestiary language does.
EXTRA = ["(aa)*", "(ab)*", "(a|b)*a", "a*b*", "(a|b)*", "S5:generators"]


@pytest.fixture(scope="module")
def fired():
    found = set()
    for text, task in itertools.product([*BESTIARY, *EXTRA], VerdictTask):
        for verdict in table(text, task):
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


def test_open_names_the_question():
    for verdict in table("parity").open_cells():
        assert verdict.question.endswith("?")
        assert verdict.tried
    verdict = table("parity")["s4d", "ieee"]
    assert verdict.status is Status.OPEN
    assert "round" in verdict.question


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


@pytest.mark.parametrize("architecture", [n for n in ARCHITECTURES if n not in ("transformer-hard",)])
@pytest.mark.parametrize("text", COUNTERS)
def test_every_recurrence_counts_over_the_reals(architecture, text):
    # A counter and a unit that fade together: their quotient is exact, whatever the gate.
    row = ARCHITECTURES[architecture]
    if row.properties.recurrence in ("linear", "nonlinear"):
        assert table(text)[architecture, "exact"].status == "yes"


def test_one_reflection_that_is_not_whole_does_every_group_over_the_reals():
    for text in ("z3", "s3", "a5"):
        verdicts = table(text)
        for architecture in ("deltanet-signed", "rwkv-7", "deltaproduct-signed", "deltaproduct"):
            assert verdicts[architecture, "exact"].status == "yes"
        # One contraction per token: not known.
        assert verdicts["deltanet", "exact"].status == "open"


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


def test_what_hangs_on_a_condition_is_marked_and_gives_way():
    # Conditional alone: transformers and A5.
    conditional = table("a5")["transformer"]
    assert (conditional.status, conditional.mark[:2]) == ("no", "✗°")
    assert conditional.conditional_on == "TC0 ≠ NC1"
    # Of two conditions one is printed, and the other row is named.
    found = table("a5")["complex-diagonal"]
    assert found.conditional_on == "TC0 ≠ NC1"
    assert "complex-diagonal-only-solvable" in found.also
    # An unconditional row says the same, so the condition is not printed.
    firm = table("a5")["mamba"]
    assert firm.conditional_on == ""
    assert "diagonal-in-tc0" in firm.also
    # An assumption about the weights.
    assert "angle" in table("parity")["ssm"].conditional_on


def test_a_cache_has_no_robustness():
    for architecture in ("transformer", "transformer-nope", "mamba-attention"):
        verdict = table("parity")[architecture, "robust"]
        assert verdict.undefined
        assert verdict.mark == "–"
        assert verdict not in table("parity").open_cells()


def test_rows_that_were_not_read_have_a_dot():
    assert table("dyck-1")["mamba"].mark == "✓·"
    assert table("flip-flop")["mamba"].mark == "✓"
    secondary = table("flip-flop")["deltanet-signed"]
    assert (secondary.provenance, secondary.mark) == (Provenance.SECONDARY, "✓·")


@pytest.mark.parametrize(
    ("text", "architecture", "sense", "bits"),
    [
        ("flip-flop", "mamba", "exact", "n bits"),
        ("flip-flop", "mamba", "finite-precision", "constantly many bits"),
        ("flip-flop", "mamba", "ieee", "constantly many bits"),
        ("dyck-1", "gla", "finite-precision", "log n bits"),
        ("dyck-1", "gla", "exact", "n bits"),
        ("dyck-2", "ids4", "finite-precision", "n bits"),
        ("dyck-2-3", "s4d", "finite-precision", "log n bits"),
        ("flip-flop", "diagonal", "exact", "constantly many bits"),
        ("flip-flop", "lstm", "exact", "constantly many bits"),
        ("last-letter", "mamba", "exact", "constantly many bits"),
    ],
)
def test_bits_as_a_function_of_the_length(text, architecture, sense, bits):
    found = table(text)[architecture, sense]
    assert (found.status, found.bits, found.to_json()["bits"]) == ("yes", bits, bits)


def test_only_a_yes_has_bits():
    for verdict in table("parity"):
        assert (verdict.bits is not None) == (verdict.status is Status.YES)


@pytest.mark.parametrize("name", list(THEOREMS))
def test_rows_name_the_model_of_their_source(name):
    assert THEOREMS[name].model


def test_only_a_theorem_in_exact_arithmetic_may_ask_for_more_there():
    row = THEOREMS["monotone-floats"]
    with pytest.raises(ValueError, match="asks for more"):
        replace(row, over_the_reals=row.architecture)
