from __future__ import annotations

import copy
from typing import Any

import pytest

from nerode.core import InputError
from nerode.languages.bestiary import find_language
from nerode.network import network_to_json
from nerode.proofs.checker_network import read_network
from tests.proofs import networks

PARITY = network_to_json(networks.parity_network(find_language("parity")))
POINTS = network_to_json(networks.cyclic_network(find_language("z3"), 3))
MATRICES = network_to_json(
    networks.one_hot_network(find_language("tomita-1"), find_language("tomita-1").dfa())
)

CHANGES: list[tuple[Any, tuple[str | int, ...], Any]] = [
    (PARITY, ("format",), "other"),
    (PARITY, ("version",), 2),
    (PARITY, ("alphabet",), ["0"]),
    (PARITY, ("alphabet",), ["0", "0"]),
    (PARITY, ("alphabet",), "01"),
    (PARITY, ("surprise",), 1),
    (PARITY, ("embedding", "vectors"), [[1, 0]]),
    (PARITY, ("embedding", "vectors", 0), [1]),
    (PARITY, ("embedding", "vectors", 0, 0), 0.5),
    (PARITY, ("embedding", "vectors", 0, 0), True),
    (PARITY, ("embedding", "directions"), ["x=0", "x=0"]),
    (PARITY, ("embedding", "directions"), ["x=0", "\x01now0"]),
    (PARITY, ("layers", 0, "reads"), ["x=0", "x=2"]),
    (PARITY, ("layers", 0, "state"), []),
    (PARITY, ("layers", 0, "start"), []),
    (PARITY, ("layers", 0, "start", 0), "one"),
    (PARITY, ("layers", 0, "outputs"), ["s", "t"]),
    (PARITY, ("layers", 0, "outputs"), ["x=0"]),
    (PARITY, ("layers", 0, "exposes_previous"), True),
    (PARITY, ("layers", 0, "complex_state"), 1),
    (PARITY, ("layers", 0, "units", "inputs"), 3),
    (PARITY, ("layers", 0, "units", "bias"), [0]),
    (PARITY, ("layers", 0, "recurrence", "kind"), "magic"),
    (PARITY, ("layers", 0, "recurrence", "extra"), 1),
    (PARITY, ("layers", 0, "recurrence", "gate", "rows", 0), [[5, 1]]),
    (PARITY, ("layers", 0, "recurrence", "gate", "rows", 0), [[0, 1], [0, 1]]),
    (PARITY, ("layers", 0, "recurrence", "gate", "rows", 0), [["0", 1]]),
    (PARITY, ("layers", 0, "recurrence", "gate", "rows", 0, 0, 1), "1/0"),
    (PARITY, ("layers",), 3),
    (PARITY, ("decoder", "kind"), "oracle"),
    (PARITY, ("decoder", "reads"), ["nobody"]),
    (PARITY, ("decoder", "empty"), ["0", "2"]),
    (PARITY, ("decoder", "empty"), ["0", "0"]),
    (PARITY, ("decoder", "scores", "bias"), [1, 1]),
    (PARITY, ("decoder", "extra"), 1),
    (POINTS, ("decoder", "points"), []),
    (POINTS, ("decoder", "points", 0), [1]),
    (POINTS, ("decoder", "answers"), []),
    (POINTS, ("decoder", "answers", 0), "012"),
    (MATRICES, ("layers", 0, "recurrence", "matrices"), []),
    (MATRICES, ("layers", 0, "recurrence", "matrices", 0), []),
    (MATRICES, ("layers", 0, "recurrence", "writes"), [[0, 0]]),
    (MATRICES, ("layers", 0, "recurrence", "writes", 0), [0]),
]


def test_networks_of_the_compiler_are_read() -> None:
    for data in (PARITY, POINTS, MATRICES):
        read = read_network(data)
        assert tuple(read.alphabet) == tuple(data["alphabet"])
        assert len(read.layers) == len(data["layers"])


@pytest.mark.parametrize(("data", "path", "value"), CHANGES)
def test_anything_else_is_refused(data: Any, path: tuple[str | int, ...], value: Any) -> None:
    fresh = copy.deepcopy(data)
    place = fresh
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(InputError):
        read_network(fresh)


@pytest.mark.parametrize("data", [None, [], 3, "network", {}])
def test_other_values_are_refused(data: Any) -> None:
    with pytest.raises(InputError):
        read_network(data)


@pytest.mark.parametrize("key", list(PARITY))
def test_a_missing_part_is_refused(key: str) -> None:
    with pytest.raises(InputError):
        read_network({k: v for k, v in PARITY.items() if k != key})
