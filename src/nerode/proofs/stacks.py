"""Finding where a network keeps the kinds of open brackets: one slot of coordinates for each depth.

The network is probed: among words of opening brackets only, changing the kind at one depth must change one
set of coordinates, the slot of that depth. The checker then shows, for each depth and kind by itself, that
slots keep what they hold; the number of stacks does not matter. If several layers come before the slots,
their states are merged where the layers above cannot tell them apart.
"""

from __future__ import annotations

from typing import Any

from nerode.core import write_exact
from nerode.languages import Dyck
from nerode.network import Interpreter, Network, NetworkState

Json = Any


def slot_evidence(network: Network, language: Dyck) -> dict[str, Json] | None:
    """Returns slots and codes, or None if the network does not keep kinds in separate coordinates."""
    if language.depth is None:
        return None
    depth, kinds = language.depth, len(language.pairs)
    interpreter = Interpreter(network)

    def after(level: int, kind: int) -> NetworkState:
        states = interpreter.start()
        for position in range(1, depth + 1):
            states, _ = interpreter.step(states, 2 * kind if position == level else 0)
        return states

    plain = after(0, 0)
    places = [(n, i) for n, layer in enumerate(network.layers) for i in range(layer.width)]
    slots: list[list[tuple[int, int]]] = []
    codes: list[list[Json]] | None = None
    for level in range(1, depth + 1):
        probes = [after(level, kind) for kind in range(kinds)]
        slot = [(n, i) for n, i in places if any(probe[n][i] != plain[n][i] for probe in probes)]
        found = [[_number(probe[n][i]) for n, i in slot] for probe in probes]
        if codes is not None and found != codes:
            return None
        codes = found
        slots.append(slot)
    used = [place for slot in slots for place in slot]
    if len(set(used)) < len(used) or not used:
        return None
    first = min(n for n, _ in used)
    merged = {"merged": first} if first > 1 else {}
    return {
        **merged,
        "slots": [[f"{n + 1}:{network.layers[n].state[i]}" for n, i in slot] for slot in slots],
        "codes": codes,
    }


def _number(value: Any) -> int | str:
    return value if isinstance(value, int) else write_exact(value)
