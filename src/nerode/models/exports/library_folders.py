"""Models as folders that other libraries load, and as state dicts of plain torch.

A model that was imported from transformers keeps its config; where letters were chosen from its vocabulary,
the tokens of the folder are the beginning, the end and these letters. A model that was trained or compiled
here gets the config of its architecture. That of an imported or trained one is read again, and has to
describe the same model, setting by setting. mamba-ssm and fla load compiled whole models; they need a GPU and
are not run.
"""

from __future__ import annotations

import importlib.util
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor, nn

from nerode.core import InputError, plural, whole_folder, write_atomically
from nerode.languages import Alphabet
from nerode.models.base import Surroundings
from nerode.models.exports.comparing import BATCH, Compared, Scores, compare
from nerode.models.exports.library_forms import (
    BEGIN,
    END,
    EXPORT_FORMS,
    FIRST,
    NOTE_FILE,
    SPECIAL,
    TAPS,
    tokenizer,
)
from nerode.models.exports.module_graph import require_step
from nerode.models.exports.traced_step import trace_step
from nerode.models.folder import dtype_of, weights_of
from nerode.models.libraries.formats import FORMATS, load_causal
from nerode.models.libraries.importing import Activation, library_weights, read_cells
from nerode.models.libraries.library_model import LibraryModel, Settings, silence_libraries
from nerode.models.libraries.places import give_theirs, inside, renamed, torch_cell
from nerode.models.lower.published import ALWAYS, LOGIT
from nerode.models.model import Model
from nerode.records import ImportOrigin, SubjectRecord, TokenLetters

TRANSFORMERS = "transformers"
CARD_FILE = "README.md"

Config = dict[str, Any]

_LENGTH = 1_000
"""Letters of the long words that are compared."""

_CHUNK_NUMBERS = 1 << 24
"""Numbers in the largest tensor that the library makes while it is compared."""

Decode = Callable[[Tensor], Tensor]


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryForm:
    """A model as a library has it.

    Attributes:
        weights: under the library's names.
        config: of the library.
        begin: the token before every word; None for none.
        letters: the token of each letter.
        columns: the token of each of our scores.
        own_tokens: whether the tokens are those of `tokenizer`.
    """

    weights: dict[str, Tensor]
    config: Config
    begin: int | None
    letters: tuple[int, ...]
    columns: tuple[int, ...]
    own_tokens: bool

    @property
    def described(self) -> LibraryModel:
        """The model as one of the zoo, by the library's config."""
        kind = next(row for row in FORMATS if row.describes(self.config))
        shapes = {name: tuple(value.shape) for name, value in self.weights.items()}
        return kind.read(Settings(self.config), shapes)

    @property
    def longest(self) -> int:
        """The longest word that the library reads."""
        return (self.described.longest or 1 << 30) - int(self.begin is not None)

    def scores(self, model: Any) -> Scores:
        """Returns the scores of the library's own model, in the order of ours."""

        def read(words: Tensor) -> Tensor:
            tokens = torch.tensor(self.letters)[words]
            if self.begin is not None:
                tokens = torch.cat([torch.full((len(words), 1), self.begin), tokens], dim=1)
            logits = model(tokens, use_cache=False).logits[:, int(self.begin is not None) :]
            return logits[..., list(self.columns)]  # type: ignore[no-any-return]

        return read


def library_form(model: Model, subject: SubjectRecord, to: str = "huggingface") -> LibraryForm:
    """Returns a model of the zoo as a library has it.

    Raises:
        InputError: if the library has no such architecture, or not with these settings.
    """
    origin, letters = subject.library, subject.letters
    library = TRANSFORMERS if to == "huggingface" else to
    if origin is not None and origin.library == TRANSFORMERS:
        config = dict(origin.config)
        if (
            letters == TokenLetters.numbered(letters.alphabet)
            and model.config.outputs == model.config.letters
        ):
            everything = tuple(range(len(letters.tokens)))
            form = LibraryForm(
                weights=library_weights(model, config),
                config=config,
                begin=None,
                letters=everything,
                columns=everything,
                own_tokens=False,
            )
            _require_same(model, form)
            return form
        tokens = _with_marks(model)
        config |= {"vocab_size": tokens.config.letters, "tie_word_embeddings": False, **SPECIAL}
        weights = library_weights(tokens, config)
    else:
        architecture = model.config.layers[0].name
        forms = EXPORT_FORMS[to]
        if architecture not in forms or any(layer.name != architecture for layer in model.config.layers):
            names = ", ".join(dict.fromkeys(layer.name for layer in model.config.layers))
            raise InputError(
                f"{library} has no language model of {names} that nerode can write; it has for "
                f"{', '.join(forms)}. --to onnx and --to torch take every state of fixed size"
            )
        tokens = _four_taps(_with_marks(model, compiled=model.config.beginning))
        try:
            weights, config = forms[architecture](tokens)
        except InputError as problem:
            raise InputError(
                f"{library} has no such model: {problem}; compile it with --surroundings published"
            ) from None
    outputs = len(letters.alphabet) + 1
    form = LibraryForm(
        weights=weights,
        config=config,
        begin=BEGIN if model.config.beginning else None,
        letters=tuple(range(FIRST, FIRST + outputs - 1)),
        columns=(*range(FIRST, FIRST + outputs - 1), END)[: model.config.outputs],
        own_tokens=True,
    )
    # Of a compiled model settings without effect may differ; its words are compared.
    if origin is not None or not model.config.beginning:
        _require_same(tokens, form)
    return form


@torch.no_grad()
def _with_marks(model: Model, *, compiled: bool = False) -> Model:
    """Returns the same model over tokens: the beginning, the end and the letters.

    The beginning never follows: its score is that of an illegal letter in a compiled model, where a place
    always holds the unit, and else 0.

    Raises:
        InputError: if its embedding, head or scores are none of a language model.
    """
    config, weights = model.config, model.state_dict()
    letters = config.letters or 0
    problem = ""
    if config.letters is None or config.width is None:
        problem = "its letters are not embedded (train it with a width)"
    elif config.outputs not in (letters, letters + 1):
        problem = f"it gives {plural(config.outputs, 'score')}, not one per letter and one for the end"
    elif config.head != "linear" or ("head.bias" in weights and bool(weights["head.bias"].any())):
        problem = (
            "its head is not one linear map without a bias (train it with --set model.head_bias=false, or "
            "compile it with --surroundings published)"
        )
    if problem:
        raise InputError(
            f"transformers has no such language model: {problem}; --to onnx and --to torch take it"
        )
    table, rows = weights["embedding.weight"], weights["head.weight"]
    mark = table[letters:] if config.beginning else torch.zeros_like(table[:1])
    end = rows[letters:] if config.outputs > letters else torch.zeros_like(rows[:1])
    never = torch.zeros_like(rows[:1])
    if compiled:
        never[0, ALWAYS] = -LOGIT
    vocabulary = letters + FIRST
    changed = replace(config, letters=vocabulary, outputs=vocabulary, beginning=False, head_bias=False)
    found = Model(changed).to(table.dtype)
    weights.pop("head.bias", None)
    weights["embedding.weight"] = torch.cat([mark, mark, table[:letters]])
    weights["head.weight"] = torch.cat([never, end, rows[:letters]])
    found.load_state_dict(weights)
    return found.eval()


def _four_taps(model: Model) -> Model:
    """Returns the same model with the published convolutions; the older taps, which were not there, are 0."""
    layers = [
        replace(x, settings={**x.settings, "convolution": TAPS})
        if 0 < x.settings.get("convolution", 0) < TAPS
        else x
        for x in model.config.layers
    ]
    found = Model(replace(model.config, layers=tuple(layers)))
    weights = {
        name: nn.functional.pad(value, (TAPS - value.shape[1], 0))
        if name.endswith("convolution.weight")
        else value
        for name, value in model.state_dict().items()
    }
    found.to(weights["embedding.weight"].dtype).load_state_dict(weights)
    return found.eval()


def _require_same(model: Model, form: LibraryForm) -> None:
    """Raises InputError unless the library's config describes the same model."""
    found = form.described.config.complete()
    wanted = model.config.complete()
    for ours, theirs in zip(wanted.layers, found.layers, strict=False):
        for name, value in ours.settings.items():
            # A draw of weights is no part of the function; a learned start is refused as a weight.
            if name not in ("learned_start", "steps") and theirs.settings.get(name) != value:
                raise InputError(
                    f"transformers has no {ours.name} with {name} = {value!r} (there it is "
                    f"{theirs.settings.get(name)!r}); --to onnx and --to torch take it"
                )
    for name in (
        "width",
        "surroundings",
        "final_norm",
        "embedding_norm",
        "norm_epsilon",
        "positions",
        "head",
    ):
        if getattr(wanted, name) != getattr(found, name):
            raise InputError(
                f"transformers has no {found.layers[0].name} with this {name.replace('_', ' ')}; --to onnx "
                "and --to torch take it"
            )


def write_library_folder(
    out: Path,
    model: Model,
    subject: SubjectRecord,
    *,
    to: str = "huggingface",
    decode: Decode | None,
    note: Mapping[str, Any],
    card: Callable[[str, Compared | None], str],
    compared: Mapping[str, Any] | None = None,
) -> Compared | None:
    """Writes a model as a folder of a library, and returns on which words it answers as ours does.

    Args:
        out: the folder to write.
        model: of the zoo.
        subject: its letters and its origin.
        to: a name of `EXPORT_FORMS`.
        decode: from scores to answers.
        note: the content of nerode.json.
        card: makes the text of README.md from a piece of Python that loads the model, and the comparison.
        compared: settings of `compare`.

    Raises:
        InputError: if the library has no such model, or its own model answers otherwise.
    """
    form, alphabet = library_form(model, subject, to), subject.letters.alphabet
    config = {**form.config, "dtype": dtype_of(model)}
    tokens = {"begin": form.begin, "letters": list(form.letters), "scores": list(form.columns)}
    files: dict[str, Any] = {"config.json": config, NOTE_FILE: {**note, "tokens": tokens}}
    if form.own_tokens and to != "mamba-ssm":
        generation = {"do_sample": True, **SPECIAL}
        files |= {"generation_config.json": generation}
        files |= tokenizer(Alphabet(alphabet), begins=form.begin is not None)
    tensors = {name: value.detach().contiguous().clone() for name, value in form.weights.items()}
    with whole_folder(out) as place:
        write_atomically(place / "model.safetensors", save(tensors, metadata={"format": "pt"}))
        for name, content in files.items():
            write_atomically(
                place / name, json.dumps(content, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
            )
        found = None
        if to == "huggingface" and importlib.util.find_spec(TRANSFORMERS) is not None:
            import transformers

            limits: dict[str, Any] = {"length": _LENGTH, **(compared or {})}
            limits["length"] = min(limits["length"], form.longest)
            # Without its kernels the library fills each word up to a chunk, and keeps all pairs of places.
            chunk = prod(
                config.get(name, 1) for name in ("chunk_size", "chunk_size", "num_heads", "state_size")
            )
            limits["batch"] = max(1, min(BATCH, _CHUNK_NUMBERS // chunk))
            with silence_libraries():
                found = compare(
                    form.scores(load_causal(place, dtype="auto")),
                    model,
                    program=f"transformers {transformers.__version__}",
                    alphabet=alphabet,
                    decode=decode,
                    cap=form.described.cap,
                    **limits,
                )
        write_atomically(place / CARD_FILE, card(_loading(form, alphabet, to), found))
    return found


_LOADERS = {
    "mamba-ssm": "import mamba_ssm.models.mixer_seq_simple as mamba_ssm\n\n"
    'model = mamba_ssm.MambaLMHeadModel.from_pretrained("DIR", device="cuda").eval()\n',
    "fla": 'import fla.models\n\nmodel = fla.models.MambaForCausalLM.from_pretrained("DIR").eval()\n',
}


def _loading(form: LibraryForm, alphabet: tuple[str, ...], to: str) -> str:
    """The lines of Python that load a folder and read a word."""
    if to in _LOADERS:
        return _LOADERS[to]
    name = (form.config.get("architectures") or ["AutoModelForCausalLM"])[0]
    begin = [] if form.begin is None else [form.begin]
    word = [*begin, *form.letters[:2]]
    return (
        f"import torch, transformers\n\n"
        f'model = transformers.{name}.from_pretrained("DIR").eval()\n'
        f"tokens = torch.tensor([{word}])  # {' '.join([*['the beginning'] * len(begin), *alphabet[:2]])}\n"
        f"scores = model(tokens).logits[:, {len(begin)}:, {list(form.columns)}]\n"
    )


def write_torch_folder(
    out: Path,
    module: nn.Module,
    subject: SubjectRecord,
    *,
    note: Mapping[str, Any],
    card: Callable[[str, Compared | None], str],
    compared: Mapping[str, Any],
) -> Compared:
    """Writes a model for plain torch, and returns on which words its program answers as it does.

    `model.safetensors` is the state dict: of a user's own module, of torch's cell between an embedding and a
    head where the model is one, else of the model of the zoo. `program.pt2` is its step, as torch.export
    saves it, and `start.safetensors` the state before the first letter.

    Raises:
        InputError: if it has no step with a state of fixed size, torch cannot trace it, or a weight is not
            finite.
    """
    require_step(module)
    given: Any = module
    start = {name: value.detach().clone() for name, value in given.initial_state(1).items()}
    program = trace_step(module, torch.zeros(1, dtype=torch.int64), start)
    found = compare(
        _program_scores(program.module(), start), module, program=f"torch {torch.__version__}", **compared
    )
    weights, loading = weights_of(module), ""
    if subject.network.kind == "module":
        maker, _, function = str(subject.network.code.get("name") or "module:build").partition(":")
        loading = _LOADING_OWN.format(maker=maker, function=function)
    elif isinstance(module, Model) and (cell := torch_cell_weights(module, subject.library)) is not None:
        weights, loading = cell
    content = io.BytesIO()
    torch.export.save(program, content)
    with whole_folder(out) as place:
        write_atomically(place / "model.safetensors", save(weights, metadata={"format": "pt"}))
        write_atomically(place / "start.safetensors", save({n: v.contiguous() for n, v in start.items()}))
        write_atomically(place / "program.pt2", content.getvalue())
        write_atomically(
            place / NOTE_FILE, json.dumps(note, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
        )
        write_atomically(place / CARD_FILE, card(loading + _LOADING_STEP, found))
    return found


def _program_scores(program: Any, start: Mapping[str, Tensor]) -> Scores:
    """The scores of a traced step, word by word."""

    def read(words: Tensor) -> Tensor:
        rows = []
        for word in words:
            state, row = list(start.values()), []
            for letter in word:
                scores, *state = program(letter[None], tuple(state))
                row.append(scores[0])
            rows.append(torch.stack(row))
        return torch.stack(rows)

    return read


_LOADING_OWN = """\
import safetensors.torch
from {maker} import {function}

model = {function}(...)  # as it was built
model.load_state_dict(safetensors.torch.load_file("DIR/model.safetensors"))
"""

_LOADING_STEP = """
# Any model, by its traced step: one word at a time, without nerode.
import safetensors.torch, torch

step = torch.export.load("DIR/program.pt2").module()
state = list(safetensors.torch.load_file("DIR/start.safetensors").values())
for letter in [0, 1]:
    scores, *state = step(torch.tensor([letter]), tuple(state))
"""

_LOADING_CELL = """\
import safetensors.torch
from torch import nn

model = nn.ModuleDict({parts})
model.load_state_dict(safetensors.torch.load_file("DIR/model.safetensors"))
"""

_CELLS = {
    "lstm": ("LSTM", ""),
    "gru": ("GRU", ""),
    "elman-tanh": ("RNN", ""),
    "elman-relu": ("RNN", ', nonlinearity="relu"'),
}


@torch.no_grad()
def torch_cell_weights(model: Model, origin: ImportOrigin | None) -> tuple[dict[str, Tensor], str] | None:
    """Returns a model as torch's cell between an embedding and a head, and the lines that load it.

    A cell that was imported from torch gets the names that it came with. None where the model is none.
    """
    config, weights = model.config, dict(model.state_dict())
    if origin is not None and origin.format == "torch-cell" and origin.config:
        shapes = {name: tuple(shape) for name, shape in origin.config["weights"].items()}
        activation: Activation = "relu" if config.layers[0].name == "elman-relu" else "tanh"
        return give_theirs(weights, read_cells(shapes, activation=activation).places), ""
    name = config.layers[0].name
    around = {config.around(i) for i in range(len(config.layers))}
    plain = Surroundings()
    if name not in _CELLS or any(layer.name != name for layer in config.layers) or config.beginning:
        return None
    if around != {plain} or {config.final_norm, config.embedding_norm, config.positions} != {"none"}:
        return None
    starts = [weights.pop(key) for key in list(weights) if key.endswith("layer.start")]
    if config.width is None or config.head != "linear" or any(bool(start.any()) for start in starts):
        return None
    hidden = weights["blocks.0.layer.recurrent"].shape[1]
    for i in range(len(config.layers)):
        bias = weights[f"blocks.{i}.layer.read.bias"]
        weights.setdefault(f"blocks.{i}.layer.recurrent_bias", torch.zeros_like(bias))
    places = [
        place
        for i in range(len(config.layers))
        for place in inside(torch_cell(f"_l{i}", bias=True), "cell.", f"blocks.{i}.layer.")
    ]
    places += renamed({key: key for key in weights if key.startswith(("embedding.", "head."))})
    kind, more = _CELLS[name]
    sizes = f"{config.width}, {hidden}, num_layers={len(config.layers)}, batch_first=True{more}"
    parts = (
        f'{{"embedding": nn.Embedding({config.letters}, {config.width}), "cell": nn.{kind}({sizes}), '
        f'"head": nn.Linear({hidden}, {config.outputs}, bias={config.head_bias})}}'
    )
    return give_theirs(weights, places), _LOADING_CELL.format(parts=parts)
