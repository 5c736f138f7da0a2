import pytest

from nerode.core import InputError, UnknownName
from nerode.languages import resolve_language
from nerode.verdict.architectures import ALIASES, ARCHITECTURES, find_architecture
from nerode.verdict.classes import ArchitectureClass, Gates, MemoryKind, Transition, UnitGate
from nerode.verdict.decision import decide
from nerode.verdict.records import Sense

# The table of properties in section 1.2 of the specification.
NONNEGATIVE = {"mamba", "mamba-2", "griffin", "gla", "hgrn2", "mlstm", "rwkv-6", "deltanet", "gated-deltanet"}
NONNEGATIVE |= {"mingru", "rwkv-4"}
TIME_INVARIANT = {"retnet", "rwkv-4", "s4", "s4d", "lru", "megalodon", "h3", "lssl", "ssm"}

# Every architecture that the issue names.
NAMED = """elman-tanh elman-relu lstm gru nru slstm transformer transformer-nope ssm s4 s4d h3 lru lssl retnet
megalodon mamba mamba-2 griffin hgrn2 gla mlstm rwkv-6 rwkv-7 ids4 deltanet gated-deltanet deltaproduct
mamba-signed deltanet-signed deltaproduct-signed complex-diagonal pd-ssm mamba-attention transformer-alibi
transformer-periodic mingru rwkv-4 ttt-linear orthogonal slice mamba-3 complex-kda aussm rwkv-7-signed
transformer-hard transformer-hard-left transformer-hard-periodic""".split()


def test_all_named_architectures_have_a_row():
    assert set(NAMED) <= set(ARCHITECTURES)


@pytest.mark.parametrize("name", sorted(NONNEGATIVE))
def test_nonnegative(name):
    assert ARCHITECTURES[name].properties.gates is Gates.NONNEGATIVE


@pytest.mark.parametrize("name", [n for n in ARCHITECTURES if not ARCHITECTURES[n].is_class])
def test_time_invariance(name):
    properties = ARCHITECTURES[name].properties
    if properties.recurrence is MemoryKind.LINEAR:
        assert properties.input_dependent == (name not in TIME_INVARIANT)


@pytest.mark.parametrize("name", ["mamba", "mamba-2", "griffin", "hgrn2", "deltanet"])
def test_writes_tied_to_the_gate(name):
    assert not ARCHITECTURES[name].properties.free_write


def test_gates_that_the_equations_do_not_have():
    # w - a with w in (0.545, 1) and a in (0, 1); modulus 1 throughout.
    assert ARCHITECTURES["rwkv-7"].properties.gates is Gates.ABOVE_MINUS_HALF
    assert ARCHITECTURES["aussm"].properties.gates is Gates.UNIT


def test_retnet_never_holds():
    assert ARCHITECTURES["retnet"].properties.unit_gate is UnitGate.NEVER


def test_aliases_point_to_rows():
    for alias, name in ALIASES.items():
        assert alias not in ARCHITECTURES
        assert find_architecture(alias.upper()).name == name


def test_unknown_name_has_the_nearest():
    with pytest.raises(UnknownName, match="mamba"):
        find_architecture("mambo")


def test_every_row_describes_itself():
    for row in ARCHITECTURES.values():
        assert row.properties.describe()
        assert row.update


def test_writes_that_a_gate_ties_do_not_count_freely():
    """A new row whose writes are tied has to say how it counts; the default would be a wrong "yes"."""
    with pytest.raises(InputError, match="say how the class counts"):
        ArchitectureClass(recurrence=MemoryKind.LINEAR, transition=Transition.DIAGONAL, free_write=False)


@pytest.mark.parametrize(
    ("name", "training", "inference"),
    [
        ("lstm", "letter by letter", "n"),
        ("elman-tanh", "letter by letter", "n"),
        ("transformer", "parallel", "n²"),
        ("mamba", "parallel", "n"),
        ("s4d", "parallel", "n"),
        ("mlstm", "parallel", "n"),
        ("slstm", "letter by letter", "n"),
        ("mamba-attention", "parallel", "n²"),
    ],
)
def test_the_costs_of_the_slides(name: str, training: str, inference: str) -> None:
    """RNN: not parallel, linear; transformer: parallel, quadratic; SSM: parallel, linear."""
    properties = ARCHITECTURES[name].properties
    assert (properties.training, properties.inference) == (training, inference)


@pytest.mark.parametrize(
    ("stack", "language", "sense", "expected"),
    [
        # Kimi- and Qwen-like: a delta rule and attention without positions.
        ("gated-deltanet+transformer-nope", "set-reset", "finite-precision", "yes"),
        ("gated-deltanet+transformer-nope", "parity", "finite-precision", "no"),
        ("gated-deltanet+transformer-nope", "parity", "ieee", "yes"),
        ("gated-deltanet+transformer-nope", "dyck-2", "ieee", "no"),
        ("complex-kda+transformer-nope", "s3", "finite-precision", "yes"),
        # Jamba-like, with other selective layers, and with positions.
        ("gla+transformer-nope", "parity", "ieee", "no"),
        ("gla+transformer-nope", "dyck-2", "finite-precision", "no"),
        ("deltanet+transformer-periodic", "z2", "finite-precision", "open"),
        ("deltanet+transformer-periodic", "(aa)*", "finite-precision", "yes"),
        ("hgrn2+transformer-periodic", "parity", "ieee", "no"),
        ("mamba+s4d", "parity", "finite-precision", "no"),
        # Recurrences of two kinds: each settles; rounding turns the delta rule.
        ("mamba+deltanet", "parity", "finite-precision", "no"),
        ("mamba+deltanet", "parity", "ieee", "yes"),
        ("mamba+griffin", "parity", "exact", "no"),
        ("mamba+griffin", "parity", "ieee", "no"),
        ("mamba+deltanet", "parity", "exact", "open"),
    ],
)
def test_a_stack_is_decided_by_its_parts(stack: str, language: str, sense: str, expected: str) -> None:
    found = decide(resolve_language(language), architectures=[stack])[stack, sense]
    assert found.status == expected
    assert (expected == "yes") == bool(found.no_network)


def test_a_stack_of_the_parts_of_a_row_is_this_row() -> None:
    for language in ("flip-flop", "parity", "dyck-1", "s3"):
        table = decide(
            resolve_language(language), architectures=["mamba-attention", "mamba+transformer-nope"]
        )
        for sense in Sense:
            named, stack = (table[name, sense] for name in table.architectures())
            assert (named.status, named.theorem) == (stack.status, stack.theorem)


def test_a_stack_has_two_kinds_of_layers() -> None:
    with pytest.raises(InputError, match="several kinds"):
        find_architecture("mamba+mamba")
    with pytest.raises(UnknownName, match="architecture"):
        find_architecture("mamba+nothing")
