"""Layers that do nothing but move their state and show it."""

from __future__ import annotations

from collections.abc import Sequence

from nerode.compiler.assembly import Assembly
from nerode.compiler.construction import Request
from nerode.core import Exact, Reference
from nerode.network import Affine, Decoder, Layer, Network, Recurrence, zero_map


def state_layer(
    name: str,
    state: Sequence[str],
    *,
    start: Sequence[Exact],
    recurrence: Recurrence,
    reads: Sequence[str] = (),
    units: Affine | None = None,
    complex_state: bool = False,
) -> Layer:
    """Returns a layer whose outputs are its state.

    The outputs have the names of the coordinates; of a complex state `re name` and `im name`, all real parts
    first.
    """
    outputs = [f"{part} {s}" for part in ("re", "im") for s in state] if complex_state else list(state)
    seen = len(reads) + len(outputs)
    return Layer(
        name=name,
        reads=tuple(reads),
        state=tuple(state),
        start=tuple(start),
        units=units or zero_map(len(reads)),
        recurrence=recurrence,
        readout_units=zero_map(seen),
        outputs=tuple(outputs),
        readout=Affine(
            num_inputs=seen,
            bias=(0,) * len(outputs),
            rows=tuple(((len(reads) + i, 1),) for i in range(len(outputs))),
        ),
        complex_state=complex_state,
    )


def one_layer_network(
    request: Request, layer: Layer, decoder: Decoder, *, construction: str, route: str, reference: Reference
) -> Network:
    """Returns the network of one layer over one-hot letters."""
    assembly = Assembly(request)
    assembly.append(layer, (*assembly.stream, *layer.outputs))
    return assembly.network(decoder, construction=construction, route=route, reference=reference)
