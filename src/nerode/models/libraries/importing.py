"""Imports: a model of another library as a folder of the zoo, first compared with the library."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from nerode.core import FormatError, InputError, charge, whole_folder, write_atomically
from nerode.models.folder import read_model, save_model
from nerode.models.libraries.library_model import (
    LibraryFormat,
    LibraryModel,
    Scorer,
    Settings,
    silence_libraries,
)
from nerode.models.libraries.packages import (
    FORMATS as PACKAGES,
    Activation,
    holds_cells,
    load_cells,
    read_cells,
)
from nerode.models.libraries.places import fill_ours, give_theirs
from nerode.models.libraries.source import CONFIG, WEIGHTS, LibraryFiles, TokenLetters, read_library_files
from nerode.models.libraries.transformers import FORMATS as TRANSFORMERS
from nerode.models.model import Model, ModelConfig
from nerode.records import IMPORT_FILE, ImportRecord, read_import

TOLERANCE = 1e-9
"""The difference from the library up to which an import is written, as a share of the largest score. Both
sides compute in float64, so that rounding stays far below it, however large the model is."""

FORMATS: tuple[LibraryFormat, ...] = (*TRANSFORMERS, *PACKAGES)
"""The kinds of models that are read from a folder with a config."""

_LENGTH, _BATCH = 33, 2
_TORCH = "torch"


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
    files = read_library_files(path)
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
        raise FormatError(str(error), path=path) from None
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
    length = min(_LENGTH, int(foreign.files.config.get("context_length") or _LENGTH))
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
            f"the largest in float64, more than {TOLERANCE:g}; nothing was written (`nerode audit` compares "
            "layers)"
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


def write_import(folder: Path, model: Model, record: ImportRecord) -> None:
    """Writes an imported model: the folder of the zoo, and its record beside it."""
    text = json.dumps(record.to_json(), ensure_ascii=False, indent=1)
    with whole_folder(folder) as place:
        save_model(place, model)
        write_atomically(place / IMPORT_FILE, text + "\n")


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
    return give_theirs(weights, kind.read(Settings(config), shapes).places)


def export_import(folder: Path, out: Path) -> None:
    """Writes an imported model again as its library does: config.json and model.safetensors.

    Raises:
        InputError: if the import kept some of the tokens only, or is of torch's cells.
    """
    record, model = read_import(folder), read_model(folder)
    if not record.config:
        raise InputError(f"{folder} has no config of a library; a state dict of torch's cells has none")
    if (
        record.tokens != tuple(range(len(record.tokens)))
        or record.begin is not None
        or record.end is not None
    ):
        raise InputError(f"{folder} keeps {len(record.tokens)} letters; only a whole vocabulary can go back")
    weights = library_weights(model, record.config)
    with whole_folder(out) as place:
        save_file(weights, place / WEIGHTS, metadata={"format": "pt"})
        write_atomically(place / CONFIG, json.dumps(record.config, ensure_ascii=False, indent=1) + "\n")
