"""Sizes of the compiler's networks in `nerode check`."""

from __future__ import annotations

from nerode.languages import resolve_language
from nerode.study import check_language
from nerode.verdict import VerdictTable


def table(text: str, *architectures: str) -> VerdictTable:
    return check_language(resolve_language(text), architectures=architectures).table


def test_the_compiler_knows_a_smaller_network() -> None:
    size = table("d-12", "elman-tanh")["elman-tanh"].size
    assert size is not None
    assert (size.layers, size.note) == (1, "compiled")
    assert size.width is not None
    assert size.width < 13 * 2  # one unit for each state and letter


def test_the_size_of_a_theorem_stays_where_it_is_smaller() -> None:
    size = table("dyck-1", "mamba")["mamba"].size
    assert size is not None
    assert (size.layers, size.width, size.note) == (1, 1, "")


def test_fewer_layers_than_the_derived_length_do_not_do() -> None:
    """The bound stays beside the size of a network that reaches it; abelian groups have none."""
    sizes = {name: table(name, "complex-diagonal")["complex-diagonal"].size for name in ("z3", "s3", "s4")}
    assert {name: size and size.layers for name, size in sizes.items()} == {"z3": 1, "s3": 2, "s4": 3}
    texts = {name: str(size) for name, size in sizes.items()}
    assert "not" not in texts["z3"]
    assert texts["s3"].startswith("2 layers (not 1: the derived length of S3,")
    assert texts["s4"].startswith("3 layers (not 2: the derived length of S4,")


def test_a_network_for_prefixes_is_no_size_of_one_that_recognises() -> None:
    """The position decides what may follow in (aa)*, and not whether a word with a b is in it."""
    language = resolve_language("(aa)*", alphabet="ab")
    for task, compiled in (("predict", True), ("recognise", False)):
        found = check_language(language, architectures=("s4d",), task=task).table["s4d"]
        assert (found.size is not None and found.size.note == "compiled") == compiled
