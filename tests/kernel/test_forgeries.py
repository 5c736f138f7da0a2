"""Networks built to be wrong where a cover does not look: each is refused, or it is right."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.corruption import Facts
from benchmarks.forgeries import hold_coordinate
from nerode import kernel
from nerode.kernel import Unreadable
from nerode.kernel.domains.forms import AffineForm
from nerode.kernel.domains.roots import Field
from nerode.kernel.numbers import imaginary_part, real_part
from nerode.kernel.work import Undecided, WorkCount
from tests.kernel.cases import compiled
from tests.kernel.test_covers import DOMAINS, STACK, found

Json = Any


def _accepts(network: Json, language: Json, method: str, description: Json) -> bool:
    try:
        return kernel.prove(network, language, method, description).failure is None
    except Unreadable:
        return False


# The simulator has no probabilities, which is what networks of n-gram models compute.
@pytest.mark.parametrize("method", [method for method in DOMAINS if not method.startswith("n-gram")])
def test_the_start_of_every_coordinate_is_checked(method: str) -> None:
    network, language, method, description = found(method)
    for layer in network["layers"]:
        for number, first in enumerate(layer["start"]):
            for other in ("0", "1/2", "1", "-1", "2"):
                layer["start"][number] = other
                if _accepts(network, language, method, description):
                    assert not Facts(network, language).wrong(description["task"]), (number, other)
            layer["start"][number] = first


@pytest.mark.parametrize("slot", [0, 4, 8, 9])
@pytest.mark.parametrize("value", ["1", "2", "3"])
def test_a_slot_does_not_scale_affine_coordinates(value: str, slot: int) -> None:
    """A coordinate that holds 1 is not a coordinate that holds 2, wherever a slot starts.

    Depth 10 is where the network is wrong, beyond the first cells, which the search reads word by word.
    """
    network, language = compiled("dyck-2-10", "diagonal")
    assert hold_coordinate(network, value)
    slots = [f"depth {depth} kind.0" for depth in range(1, 11)]
    assert network["layers"][1]["state"] == slots
    description = {
        **STACK,
        "counters": [{**STACK["counters"][0], "points": [0, 10]}],
        "affine": {**STACK["affine"], "1:x": [int(value), [0]]},
        "slots": [[f"2:{name}"] for name in slots],
    }
    for first in ("0", f"1/{value}"):
        network["layers"][1]["start"][slot] = first
        assert _accepts(network, language, "stack-invariant", description) is (value == "1")
    assert bool(Facts(network, language).wrong("predict")) is (value != "1")


@pytest.mark.parametrize("k", [1, 2, 3, 5, 7])
def test_a_form_has_no_complex_multiple(k: int) -> None:
    root, form = Field(12, WorkCount()).root(k), AffineForm(3, {"c": 1, "d": 2})
    with pytest.raises(Undecided):
        form * root
    assert (real_part(form), imaginary_part(form)) == (form, 0)
