"""Imports: a model of another library as a folder of the zoo, first compared with the library.

State dicts of torch's RNN, GRU and LSTM have no config; they are read alone, or between an embedding and a
linear head.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from nerode.core import FormatError, InputError, charge
from nerode.models.config import ModelConfig
from nerode.models.kernels.norms import NORM_EPSILON
from nerode.models.libraries.decoders import DECODERS, library_shapes
from nerode.models.libraries.formats import FORMATS
from nerode.models.libraries.library_model import (
    LibraryFormat,
    LibraryModel,
    Scorer,
    Settings,
    Shapes,
    silence_libraries,
)
from nerode.models.libraries.places import Place, fill_ours, give_theirs, inside, torch_cell
from nerode.models.libraries.source import LibraryFiles, read_library_files
from nerode.models.model import Model
from nerode.models.zoo import LayerConfig
from nerode.records import TokenLetters

TOLERANCE = 1e-9
"""The difference from the library up to which an import is written, as a share of the largest score. Both
sides compute in float64, so that rounding stays far below it, however large the model is."""

_LENGTH, _BATCH = 33, 2
_TORCH = "torch"

Activation = Literal["tanh", "relu"]

_CELL = re.compile(r"(.*?)weight_ih(_l\d+)?(_reverse)?$")
_GATES = {1: "elman", 3: "gru", 4: "lstm"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignModel:
    """A model of another library, mapped and not yet compared.

    Attributes:
        files: what was read.
        described: what it is here.
        kind: the format; None for torch's cells.
        whole: the model of the zoo with the whole vocabulary, in float64; a map may have to round.
        dtype: the type of the weights that were read.
    """

    files: LibraryFiles
    described: LibraryModel
    kind: LibraryFormat | None
    whole: Model
    dtype: torch.dtype

    @property
    def vocabulary(self) -> int:
        """The number of tokens."""
        assert self.described.config.letters is not None
        return self.described.config.letters

    def longest(self, letters: TokenLetters) -> int | None:
        """Returns how many letters may be read, marks left out; None for any number."""
        most = self.described.longest
        return None if most is None else most - (letters.begin is not None)

    @property
    def library(self) -> str:
        """The name of the library."""
        return _TORCH if self.kind is None else self.kind.library


def read_foreign(path: Path, *, activation: Activation = "tanh") -> ForeignModel:
    """Returns a model of another library with its weights, as one of the zoo.

    Args:
        path: a folder, or a safetensors file of one of torch's cells.
        activation: of an RNN of torch.

    Raises:
        FormatError: if the files are not those of a model that is known here, or do not fit each other.
    """
    return map_foreign(read_library_files(path), activation=activation)


def map_foreign(files: LibraryFiles, *, activation: Activation = "tanh") -> ForeignModel:
    """Returns the model of files that were read, as one of the zoo.

    Raises:
        FormatError: if they are not those of a model that is known here, or do not fit each other.
    """
    shapes = {name: tuple(tensor.shape) for name, tensor in files.weights.items()}
    kind = next((row for row in FORMATS if row.describes(files.config)), None)
    try:
        if kind is not None:
            described = kind.read(Settings(files.config), shapes)
        elif holds_cells(shapes):
            described = read_cells(shapes, activation=activation)
        else:
            raise InputError(_unknown(files))
        whole = _build(described).double()
        fill_ours(whole.state_dict(), files.weights, described.places, optional=described.optional)
    except InputError as error:
        raise FormatError(str(error), path=files.path) from None
    wide = any(tensor.dtype == torch.float64 for tensor in files.weights.values())
    return ForeignModel(
        files=files,
        described=described,
        kind=kind,
        whole=whole.eval(),
        dtype=torch.float64 if wide else torch.float32,
    )


def _build(described: LibraryModel) -> Model:
    """The model; its own draw of weights is thrown away."""
    charge()
    with torch.random.fork_rng(devices=[]):
        return Model(described.config)


def _unknown(files: LibraryFiles) -> str:
    known = ", ".join(row.name for row in FORMATS)
    what = files.config.get("model_type") or files.config.get("format")
    given = (
        f"its config is of {what!r}"
        if what
        else "it has no config and no weights of torch's RNN, GRU or LSTM"
    )
    return f"is not a model that can be imported: {given}; there are {known}, and torch's cells"


def compare_foreign(foreign: ForeignModel, *, seed: int = 0) -> tuple[float | None, str]:
    """Returns the largest difference from the library's scores on random letters, and the library's version.

    Raises:
        InputError: if the difference is more than rounding.
    """
    if importlib.util.find_spec(foreign.library) is None:
        return None, f"{foreign.library} is not installed, so the outputs were not compared"
    charge()
    most = (foreign.files.config.get("context_length"), foreign.described.longest)
    length = min([_LENGTH, *(int(limit) for limit in most if limit)])
    generator = torch.Generator().manual_seed(seed)
    letters = torch.randint(0, foreign.vocabulary, (_BATCH, length), generator=generator)
    with torch.no_grad(), silence_libraries():
        with _InDouble():  # type: ignore[no-untyped-call]
            theirs = _load(foreign)(letters)
        ours = _ours(foreign, letters)
    assert theirs.dtype == ours.dtype == torch.float64
    difference = float((theirs - ours).abs().max() / theirs.abs().max().clamp(min=1e-30))
    if not difference <= TOLERANCE:
        raise InputError(
            f"{foreign.files.path}: the scores differ from those of {foreign.library} by {difference:.2g} of "
            f"the largest in float64, more than {TOLERANCE:g}; nothing was written"
        )
    return difference, f"{foreign.library} {importlib.metadata.version(foreign.library)}"


def _ours(foreign: ForeignModel, letters: Tensor) -> Tensor:
    """Our scores in float64, capped as the library's are."""
    scores: Tensor = foreign.whole(letters)[0]
    cap = foreign.described.cap
    return cap * torch.tanh(scores / cap) if cap else scores


class _InDouble(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Lets a library compute in float64 where it asks for float32: its norms and scans do so by name."""

    def __enter__(self) -> Self:
        self._before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *problem: object) -> None:
        super().__exit__(*problem)  # type: ignore[no-untyped-call]
        torch.set_default_dtype(self._before)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        args, kwargs = tree_map(_widened, (args, kwargs or {}))
        return func(*args, **kwargs)


def _widened(argument: Any) -> Any:
    return torch.float64 if argument is torch.float32 else argument


def _load(foreign: ForeignModel) -> Scorer:
    files = foreign.files
    if foreign.kind is None:
        return load_cells(foreign.described, files.weights)[1]
    try:
        return foreign.kind.load(files.path, files.config, files.weights)[1]
    except (ValueError, RuntimeError, TypeError, KeyError, OSError) as error:
        what = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise FormatError(f"{foreign.library} cannot load it: {what}", path=files.path) from None


def with_letters(foreign: ForeignModel, letters: TokenLetters) -> Model:
    """Returns the model that reads these letters only: the same layers, and the rows of these tokens.

    Its weights have the type of those that were read.

    Raises:
        InputError: if the model reads one-hot letters and is to leave some out.
    """
    config, weights = foreign.described.config, foreign.whole.state_dict()
    if (
        letters.tokens != tuple(range(foreign.vocabulary))
        or letters.begin is not None
        or letters.end is not None
    ):
        config = _choose_rows(config, weights, letters, foreign.vocabulary)
    with torch.random.fork_rng(devices=[]):
        model = Model(config).to(foreign.dtype)
    model.load_state_dict(weights)
    return model.eval()


def _choose_rows(
    config: ModelConfig, weights: dict[str, Tensor], letters: TokenLetters, vocabulary: int
) -> ModelConfig:
    """Keeps the rows of some tokens in the weights; returns the settings of the smaller model."""
    if config.width is None:
        raise InputError(
            "the cell reads one-hot letters without an embedding; all of them have to be letters"
        )
    reads = [*letters.tokens, *([] if letters.begin is None else [letters.begin])]
    scores = [*letters.tokens, *([] if letters.end is None else [letters.end])]
    predicts = config.head == "linear" and config.outputs == vocabulary
    weights["embedding.weight"] = weights["embedding.weight"][reads]
    if predicts:
        for name in ("head.weight", "head.bias"):
            if name in weights:
                weights[name] = weights[name][scores]
    return replace(
        config,
        letters=len(letters.tokens),
        outputs=len(scores) if predicts else config.outputs,
        beginning=letters.begin is not None,
    )


def library_weights(model: nn.Module, config: Mapping[str, Any]) -> dict[str, Tensor]:
    """Returns the weights of a model of the zoo as the library of this config names them: the way back.

    Raises:
        InputError: if the config is not one of `FORMATS`, or the model has what the library lacks.
    """
    kind = next((row for row in FORMATS if row.describes(config)), None)
    if kind is None:
        raise InputError(f"the config {config.get('model_type')!r} is of no library that is known here")
    tied = config.get("tie_word_embeddings", config.get("model_type") == "mamba")
    head = "head" if config.get("model_type") == "rwkv" else "lm_head"
    shapes: dict[str, tuple[int, ...]] = {} if tied else {f"{head}.weight": ()}
    weights = model.state_dict()
    for name, value in weights.items():
        if name.endswith("feed_forward.up.weight"):
            shapes["backbone.blocks.0.ffn.proj_up.weight"] = tuple(value.shape)
        if name.endswith("feed_forward.down.weight"):
            number = name.split(".")[1]
            shapes[f"xlstm_block_stack.blocks.{number}.ffn.proj_down.weight"] = tuple(value.shape)
        if name.endswith("layer.up.weight"):
            number = name.split(".")[1]
            shapes[f"xlstm_block_stack.blocks.{number}.xlstm.proj_up.weight"] = tuple(value.shape)
    shapes["embedding.weight"] = tuple(weights["embedding.weight"].shape)
    if config.get("model_type") in DECODERS:
        shapes = library_shapes(config)
    return give_theirs(weights, kind.read(Settings(config), shapes).places)


def holds_cells(names: Mapping[str, Any]) -> bool:
    """Returns whether the weights are those of one of torch's cells, perhaps with others around it."""
    return any(_CELL.match(name) for name in names)


def read_cells(shapes: Shapes, *, activation: Activation = "tanh") -> LibraryModel:
    """Returns what a module with one RNN, GRU or LSTM of torch is here.

    Args:
        shapes: of all weights. Beside the cell there may be an embedding before it, a layer norm before or
            after it, and one linear map or two after it; names decide only where shapes allow two roles.
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
    single = f"{prefix}weight_ih" in shapes
    depth = 1 if single else sum(f"{prefix}weight_ih_l{i}" in shapes for i in range(len(shapes)))
    end = "" if single else "_l0"
    rows, inputs = _matrix(shapes, f"{prefix}weight_ih{end}")
    hidden = _matrix(shapes, f"{prefix}weight_hh{end}")[1]
    if rows % hidden or rows // hidden not in _GATES:
        raise InputError(
            f"{prefix}weight_ih{end} has {rows} rows for {hidden} units; an RNN has one, a GRU three and an "
            "LSTM four times as many"
        )
    cell, bias = _GATES[rows // hidden], f"{prefix}bias_ih{end}" in shapes
    layer = LayerConfig(
        name=f"elman-{activation}" if cell == "elman" else cell,
        settings={"hidden": hidden, "recurrent_bias": bias},
    )
    around = _found_around(shapes, prefix, inputs, hidden)
    places = [
        place
        for i in range(depth)
        for place in inside(torch_cell("" if single else f"_l{i}", bias=bias), prefix, f"blocks.{i}.layer.")
    ]
    heads = ("head",) if len(around.heads) == 1 else ("head.0", "head.2")
    for theirs, ours in (
        (around.embedding, "embedding"),
        (around.embedding_norm, "embedding_norm"),
        (around.final_norm, "final_norm"),
        *zip(around.heads, heads, strict=False),
    ):
        places += [
            Place(theirs=f"{theirs}.{kind}", ours=f"{ours}.{kind}")
            for kind in ("weight", "bias")
            if theirs and f"{theirs}.{kind}" in shapes
        ]
    sizes = [shapes[f"{name}.weight"][0] for name in around.heads]
    config = ModelConfig(
        layers=(layer,) * depth,
        letters=shapes[f"{around.embedding}.weight"][0] if around.embedding else inputs,
        width=inputs if around.embedding else None,
        outputs=sizes[-1] if sizes else hidden,
        embedding_norm="layer" if around.embedding_norm else "none",
        final_norm="layer" if around.final_norm else "none",
        head=("none", "linear", "relu")[len(sizes)],
        head_width=sizes[0] if len(sizes) == 2 else 0,
        head_bias=bool(sizes) and f"{around.heads[-1]}.bias" in shapes,
    )
    assumed = "ReLU between the two maps after the cell" if len(sizes) == 2 else ""
    if around.embedding_norm or around.final_norm:
        assumed = " and ".join(filter(None, [assumed, f"{NORM_EPSILON:g} added to variances by the norm"]))
    return LibraryModel(config=config, places=tuple(places), assumed=assumed)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Around:
    """The modules around a cell by their role; "" where there is none.

    Attributes:
        embedding: the table before the cell.
        embedding_norm: a layer norm before the cell.
        final_norm: a layer norm after it.
        heads: the linear maps after it, in order; at most two.
    """

    embedding: str = ""
    embedding_norm: str = ""
    final_norm: str = ""
    heads: tuple[str, ...] = ()


_BEFORE = re.compile(r"emb|enc|tok|wte|lookup")
_AFTER = re.compile(r"head|out|dec|lin|fc|proj|score|class|logit")
"""Names of a table before a cell and of a map after it; they decide only where the shapes allow both."""


def _found_around(shapes: Shapes, prefix: str, inputs: int, hidden: int) -> _Around:
    """The modules around a cell: what a table, a norm or a map does there follows from its shape."""
    others = [
        name for name in shapes if not re.match(rf"{re.escape(prefix)}(weight|bias)_[ih]h(_l\d+)?$", name)
    ]
    given = f"beside the cell the file holds {', '.join(sorted(others))}"
    modules = {name.removesuffix(".weight"): shapes[name] for name in others if name.endswith(".weight")}
    biased = {name.removesuffix(".bias") for name in others if name.endswith(".bias")}
    norms = [name for name, shape in modules.items() if len(shape) == 1 and name in biased]
    maps = [name for name, shape in modules.items() if len(shape) == 2]
    tables = [name for name in maps if name not in biased and modules[name][1] == inputs]
    tables = [name for name in tables if modules[name][1] != hidden or not _AFTER.search(name.lower())]
    if len(tables) > 1:
        tables = [name for name in tables if _BEFORE.search(name.lower())]
    chain: list[str] = []
    while after := [
        name
        for name in maps
        if name not in tables + chain and modules[name][1] == (modules[chain[-1]][0] if chain else hidden)
    ]:
        chain.append(min(after, key=lambda name: name.lower()))
    before = [n for n in norms if modules[n] == (inputs,) and (inputs != hidden or _BEFORE.search(n.lower()))]
    last = [name for name in norms if name not in before and modules[name] == (hidden,)]
    used = [*tables, *chain, *before, *last]
    known = {f"{name}.{kind}" for name in used for kind in ("weight", "bias")}
    if set(others) - known or max(len(tables), len(before), len(last)) > 1 or len(chain) > 2:
        raise InputError(
            f"{given}; read are an embedding of {inputs} columns, a layer norm before or after the cell, and "
            f"one linear map or two after it, the first of {hidden} columns"
        )
    return _Around(
        embedding="".join(tables),
        embedding_norm="".join(before),
        final_norm="".join(last),
        heads=tuple(chain),
    )


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
    first_map = places["blocks.0.layer.read.weight"]
    prefix, end = first_map[: first_map.rindex("weight_ih")], "" if first_map.endswith("_l0") else "_l0"
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
            n.removeprefix(prefix) + end: v.double()
            for n, v in weights.items()
            if n.startswith((f"{prefix}weight_", f"{prefix}bias_"))
        }
    )

    def named(part: str, kind: str) -> Tensor | None:
        name = places.get(f"{part}.{kind}")
        return None if name is None else weights[name].double()

    def through(part: str, x: Tensor) -> Tensor:
        """A linear map or a layer norm, where there is one."""
        weight, bias = named(part, "weight"), named(part, "bias")
        if weight is None:
            return x
        if weight.ndim == 1:
            return nn.functional.layer_norm(x, weight.shape, weight, bias, NORM_EPSILON)
        return nn.functional.linear(x, weight, bias)

    def score(x: Tensor) -> Tensor:
        table = named("embedding", "weight")
        stream = nn.functional.one_hot(x, letters).double() if table is None else table[x]
        y = through("final_norm", cell(through("embedding_norm", stream))[0])
        return (
            through("head.2", through("head.0", y).relu())
            if "head.2.weight" in places
            else through("head", y)
        )

    return cell.eval(), torch.no_grad()(score)
