"""Any module with a step as an ONNX graph: a Scan over the words, and in it a Scan over the letters.

A loop that is written out, or a scan by doubling, would be correct only at the length it was traced with. The
words of a batch are read one by one, so that no answer depends on the words beside it. A compiled network is
written as its module.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from onnx import ModelProto, ValueInfoProto, helper
from torch import Tensor, nn

from nerode.core import InputError, write_atomically
from nerode.models.base import State
from nerode.models.exports.traced_step import ONNX_TYPES, Complex, Name, Nodes, OnnxStep, trace_step
from nerode.models.network_module.model import load_model
from nerode.models.network_module.numbers import AffineMap
from nerode.models.own_models import is_stateful
from nerode.network import LogitDecoder, Network
from nerode.records import ModelClaim, claims_to_json

Facts = Mapping[str, Any]

ELEMENTS = {"float64": torch.float64, "float32": torch.float32}
"""The types in which compiled networks are written."""

IR_VERSION = 10
OPSET = 18

MAX_BYTES = 1_500_000_000
"""Protocol buffers end at 2 GiB."""


class StateNumbers:
    """The state of one word as the inputs and outputs of a graph: complex parts are two real ones.

    Args:
        state: the start, of one word.

    Attributes:
        names: of the parts, in order.
        parts: real tensors (axes of one word, without the word).
    """

    def __init__(self, state: State) -> None:
        self.names: list[str] = []
        self.parts: list[Tensor] = []
        self._complex = {name: value.is_complex() for name, value in state.items()}
        for name, value in state.items():
            value = value.detach()[0]
            split = [(".real", value.real), (".imag", value.imag)] if value.is_complex() else [("", value)]
            for ending, part in split:
                if part.dtype not in ONNX_TYPES:
                    raise InputError(
                        f"the state {name!r} is of {part.dtype}, which ONNX graphs do not hold here"
                    )
                self.names.append(f"{name}{ending}")
                self.parts.append(part.contiguous())

    def joined(self, parts: Sequence[Any]) -> list[Any]:
        """Returns the values of the state from those of its parts."""
        left = iter(parts)
        return [Complex(next(left), next(left)) if split else next(left) for split in self._complex.values()]

    def split(self, values: Sequence[Any]) -> list[Any]:
        """Returns the parts of values of the state."""
        found: list[Any] = []
        for value, split in zip(values, self._complex.values(), strict=True):
            found += [value.real, value.imaginary] if split else [value]
        return found


def network_to_onnx(
    network: Network,
    *,
    dtype: str = "float32",
    carry_state: bool = False,
    claims: Sequence[ModelClaim] = (),
) -> ModelProto:
    """Returns the ONNX model of a compiled network, whose affine maps are products of matrices.

    Inputs and outputs are those of `module_to_onnx`. What the scores mean is said in the metadata under
    `decoder`: "scores" are legal above 1/2, "points" likewise (they are 0 or 1), "softmax", "sparsemax" and
    "hardmax" are the logits of a distribution.

    Args:
        network: what the compiler made.
        dtype: float32 or float64.
        carry_state: whether the graph takes the states, for streams.
        claims: what is known of the graph, for the metadata under `claims`.

    Raises:
        InputError: for another type, a weight beyond its largest number, or a network too large for one file.
    """
    if dtype not in ELEMENTS:
        raise InputError(f"ONNX graphs are written in {' or '.join(ELEMENTS)}; {dtype!r} was asked for")
    model, decoder = load_model(network, dtype=ELEMENTS[dtype]), network.decoder
    for part in model.modules():
        if isinstance(part, AffineMap):
            part.as_product = True
    facts = {
        "alphabet": "\n".join(network.alphabet),
        "decoder": decoder.normaliser if isinstance(decoder, LogitDecoder) else decoder.kind,
        "language": network.origin.language,
        "construction": network.origin.construction,
        "claims": claims_to_json(claims),
    }
    return module_to_onnx(model, carry_state=carry_state, facts=facts)


def write_onnx(
    path: Path,
    network: Network,
    *,
    dtype: str = "float32",
    carry_state: bool = False,
    claims: Sequence[ModelClaim] = (),
) -> int:
    """Writes the ONNX file of a network and returns its size in bytes; see `network_to_onnx`."""
    model = network_to_onnx(network, dtype=dtype, carry_state=carry_state, claims=claims)
    content = model.SerializeToString()
    write_atomically(path, content)
    return len(content)


def module_to_onnx(module: nn.Module, *, carry_state: bool = False, facts: Facts | None = None) -> ModelProto:
    """Returns the ONNX model of a module, in the type of its weights.

    Inputs: `letters` (batch, time) of int64; with `carry_state` also `state_0`, `state_1` … (batch, axes of
    the part). Outputs: `scores` (batch, time, scores) and `after_0`, `after_1` …, the state after the last
    letter. The metadata `states` names the parts.

    Args:
        module: with `step` and `initial_state`, whose state has a fixed size.
        carry_state: whether the graph takes the states, for streams; otherwise it begins at the start.
        facts: texts, or values for JSON, for the metadata.

    Raises:
        InputError: if it has no step, its state grows, or an operation has no counterpart.
    """
    require_step(module)
    with torch.no_grad():
        start = module.initial_state(1)  # type: ignore[operator]
        state, x = StateNumbers(start), torch.zeros(1, dtype=torch.int64)
        step = OnnxStep(trace_step(module.eval(), x, start))
    given = [Name(f"before_{i}", (1, *p.shape), p.dtype) for i, p in enumerate(state.parts)]
    scores, *after = step.run([Name("letter", tuple(x.shape), x.dtype), *state.joined(given)])
    outputs = [
        step.node("Identity", value, like=like) for value, like in zip(state.split(after), given, strict=True)
    ]
    scores = step.node(
        "Identity", scores, like=torch.empty(tuple(scores.shape), dtype=scores.dtype, device="meta")
    )
    letter = Name("letter", tuple(x.shape), x.dtype)
    body = helper.make_graph(
        step.nodes,
        "step",
        [*map(_value, given), _value(letter)],
        [*map(_value, outputs), _value(scores)],
        initializer=step.constants,
    )
    graph = _over_words(body, state, scores, carry_state)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="nerode")
    model.ir_version = IR_VERSION
    about = [
        {"name": name, "shape": list(part.shape), "dtype": str(part.dtype).removeprefix("torch.")}
        for name, part in zip(state.names, state.parts, strict=True)
    ]
    if carry_state:
        start_of = [[part.tolist(), entry["dtype"]] for part, entry in zip(state.parts, about, strict=True)]
        facts = {**(facts or {}), "start": start_of}
    texts = {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for key, value in {**(facts or {}), "states": about}.items()
    }
    helper.set_model_props(model, texts)
    if model.ByteSize() > MAX_BYTES:
        raise InputError(f"the ONNX file would have {model.ByteSize():,} bytes; the most is {MAX_BYTES:,}")
    return model


def require_step(module: nn.Module) -> None:
    """Raises InputError unless a module has a step with a state of fixed size."""
    if not is_stateful(module):
        grows = (
            "a state that grows"
            if getattr(module, "grows", False)
            else "no step(x, state) with initial_state"
        )
        raise InputError(
            f"{type(module).__name__} has {grows}; what is written is a step with a state of fixed size"
        )


def _over_words(body: Any, state: StateNumbers, scores: Name, carry_state: bool) -> Any:
    """The Scan over words around the Scan over letters."""
    count = len(state.parts)
    word = Nodes("word")
    if carry_state:
        rows = [Name(f"row_{i}", tuple(p.shape), p.dtype) for i, p in enumerate(state.parts)]
        starts: list[Any] = [word.reshape(row, [1, *row.shape]) for row in rows]
    else:
        rows, starts = [], [part[None] for part in state.parts]
    # The letter that the step reads has an axis for its word.
    word.nodes.append(helper.make_node("Unsqueeze", ["row", word.constant([1])], ["positions"]))
    ends = [f"end_{i}" for i in range(count)]
    word.nodes.append(
        helper.make_node(
            "Scan",
            [*(word.name(start) for start in starts), "positions"],
            [*ends, "row_scores"],
            body=body,
            num_scan_inputs=1,
        )
    )
    word.nodes.append(helper.make_node("Squeeze", ["row_scores", word.constant([1])], ["scores_of_word"]))
    for i in range(count):
        word.nodes.append(helper.make_node("Squeeze", [ends[i], word.constant([0])], [f"after_word_{i}"]))
    row = helper.make_tensor_value_info("row", ONNX_TYPES[torch.int64], ["time"])
    inner = helper.make_graph(
        word.nodes,
        "word",
        [*map(_value, rows), row],
        [
            helper.make_tensor_value_info(
                "scores_of_word", ONNX_TYPES[scores.dtype], ["time", scores.shape[-1]]
            ),
            *(_described(f"after_word_{i}", part.shape, part.dtype) for i, part in enumerate(state.parts)),
        ],
        initializer=word.constants,
    )
    states = [f"state_{i}" for i in range(count)] if carry_state else []
    after = [f"after_{i}" for i in range(count)]
    node = helper.make_node(
        "Scan", [*states, "letters"], ["scores", *after], body=inner, num_scan_inputs=len(states) + 1
    )
    batch: list[Any] = ["batch"]
    return helper.make_graph(
        [node],
        "words",
        [
            helper.make_tensor_value_info("letters", ONNX_TYPES[torch.int64], [*batch, "time"]),
            *(_described(n, [*batch, *p.shape], p.dtype) for n, p in zip(states, state.parts, strict=False)),
        ],
        [
            helper.make_tensor_value_info(
                "scores", ONNX_TYPES[scores.dtype], [*batch, "time", scores.shape[-1]]
            ),
            *(_described(n, [*batch, *p.shape], p.dtype) for n, p in zip(after, state.parts, strict=True)),
        ],
    )


def _value(value: Name) -> ValueInfoProto:
    return _described(value.name, value.shape, value.dtype)


def _described(name: str, shape: Sequence[int | str], dtype: torch.dtype) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, ONNX_TYPES[dtype], list(shape))
