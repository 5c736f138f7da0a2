"""State dicts of torch's RNN, GRU and LSTM, alone or between an embedding and a linear head."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor, nn

from nerode.core import InputError
from nerode.models.libraries.layers import torch_cell
from nerode.models.libraries.library_model import LibraryModel, Scorer, Shapes
from nerode.models.libraries.places import Place, inside
from nerode.models.model import ModelConfig
from nerode.models.zoo import LayerConfig

Activation = Literal["tanh", "relu"]

_CELL = re.compile(r"(.*?)weight_ih_l(\d+)(_reverse)?$")
_GATES = {1: "elman", 3: "gru", 4: "lstm"}


def holds_cells(names: Mapping[str, Any]) -> bool:
    """Returns whether the weights are those of one of torch's cells, perhaps with others around it."""
    return any(_CELL.match(name) for name in names)


def read_cells(shapes: Shapes, *, activation: Activation = "tanh") -> LibraryModel:
    """Returns what a module with one RNN, GRU or LSTM of torch is here.

    Args:
        shapes: of all weights. Beside the cell there may be one matrix before it, the embedding, and one
            matrix with or without a bias after it, the head.
        activation: of an RNN, which its weights do not tell.

    Raises:
        InputError: if there are several cells, or the cell reads both ways or projects its state.
    """
    prefixes = sorted({found[1] for name in shapes if (found := _CELL.match(name))})
    if len(prefixes) != 1:
        raise InputError(f"the file holds {len(prefixes)} cells ({', '.join(prefixes)}); it has to hold one")
    prefix = prefixes[0]
    for word, what in (("_reverse", "reads both ways"), ("weight_hr_", "projects its state")):
        if any(word in name for name in shapes):
            raise InputError(f"the cell {what}; the zoo has none that does")
    depth = sum(f"{prefix}weight_ih_l{i}" in shapes for i in range(len(shapes)))
    rows, inputs = _matrix(shapes, f"{prefix}weight_ih_l0")
    hidden = _matrix(shapes, f"{prefix}weight_hh_l0")[1]
    if rows % hidden or rows // hidden not in _GATES:
        raise InputError(
            f"{prefix}weight_ih_l0 has {rows} rows for {hidden} units; an RNN has one, a GRU three and an "
            "LSTM four times as many"
        )
    cell, bias = _GATES[rows // hidden], f"{prefix}bias_ih_l0" in shapes
    layer = LayerConfig(
        name=f"elman-{activation}" if cell == "elman" else cell,
        settings={"hidden": hidden, "recurrent_bias": bias},
    )
    embedding, head, head_bias = _around(shapes, prefix, inputs, hidden)
    places = [
        place
        for i in range(depth)
        for place in inside(torch_cell(i, bias=bias), prefix, f"blocks.{i}.layer.")
    ]
    if embedding:
        places.append(Place(theirs=embedding, ours="embedding.weight"))
    if head:
        places.append(Place(theirs=head, ours="head.weight"))
    if head_bias:
        places.append(Place(theirs=head_bias, ours="head.bias"))
    config = ModelConfig(
        layers=(layer,) * depth,
        letters=shapes[embedding][0] if embedding else inputs,
        width=inputs if embedding else None,
        outputs=shapes[head][0] if head else hidden,
        head="linear" if head else "none",
        head_bias=bool(head_bias),
    )
    return LibraryModel(config=config, places=tuple(places))


def _around(shapes: Shapes, prefix: str, inputs: int, hidden: int) -> tuple[str, str, str]:
    """The names of the embedding, the head and its bias; empty where there is none."""
    others = [name for name in shapes if not re.match(rf"{re.escape(prefix)}(weight|bias)_[ih]h_l\d+$", name)]
    matrices = [name for name in others if len(shapes[name]) == 2]
    biases = [name for name in others if len(shapes[name]) == 1]
    heads = [name for name in matrices if name.replace("weight", "bias") in biases]
    embeddings = [name for name in matrices if name not in heads and "embed" in name.lower()]
    heads = heads or [name for name in matrices if name not in embeddings]
    left = set(others) - set(heads) - set(embeddings) - {name.replace("weight", "bias") for name in heads}
    if left or len(heads) > 1 or len(embeddings) > 1:
        raise InputError(
            f"beside the cell the file holds {', '.join(sorted(others))}; one embedding before it and one "
            "linear head after it are read"
        )
    head, embedding = (names[0] if names else "" for names in (heads, embeddings))
    for name, axis in ((embedding, inputs), (head, hidden)):
        if name and shapes[name][1] != axis:
            raise InputError(f"{name} has the shape {shapes[name]}; beside this cell it needs {axis} columns")
    return embedding, head, biases[0] if head and biases else ""


def _matrix(shapes: Shapes, name: str) -> tuple[int, int]:
    shape = shapes.get(name)
    if shape is None:
        raise InputError(f"the weight {name} is missing")
    if len(shape) != 2 or 0 in shape:
        raise InputError(f"the weight {name} has the shape {shape}; it has to be a matrix")
    return shape[0], shape[1]


def load_cells(model: LibraryModel, weights: Mapping[str, Tensor]) -> tuple[nn.Module, Scorer]:
    """Returns torch's own cell with these weights, between the same embedding and head."""
    config, first = model.config, model.config.layers[0]
    places = {place.ours: place.theirs for place in model.places}
    prefix = places["blocks.0.layer.read.weight"].removesuffix("weight_ih_l0")
    kinds = {"gru": nn.GRU, "lstm": nn.LSTM}
    options: dict[str, Any] = {
        "num_layers": len(config.layers),
        "bias": first.settings["recurrent_bias"],
        "batch_first": True,
    }
    if first.name not in kinds:
        options["nonlinearity"] = first.name.removeprefix("elman-")
    letters = config.letters or 1
    cell = kinds.get(first.name, nn.RNN)(config.width or letters, first.settings["hidden"], **options)
    cell.load_state_dict(
        {
            n.removeprefix(prefix): v.double()
            for n, v in weights.items()
            if n.startswith((f"{prefix}weight_", f"{prefix}bias_"))
        }
    )

    def score(x: Tensor) -> Tensor:
        table = places.get("embedding.weight")
        stream = nn.functional.one_hot(x, letters).double() if table is None else weights[table].double()[x]
        y: Tensor = cell(stream)[0]
        if "head.weight" not in places:
            return y
        bias = places.get("head.bias")
        return nn.functional.linear(
            y, weights[places["head.weight"]].double(), None if bias is None else weights[bias].double()
        )

    return cell.eval(), torch.no_grad()(score)
