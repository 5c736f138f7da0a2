"""Mending a model: training that goes on from its weights until it is proved; the outcome is a new run.

gates   exact gates: training goes on through gates that are exactly 0, 1 or -1. The first attempts begin with
        the given weights, whose gate scores are spread, so that about half of the gates write; that changes
        the function. If these find no proof, fresh weights of the same config follow.
words   failing words: training goes on with words that a search names. It is made for any module with a
        `step`; the gates of a user's own module, if they are Sigmoid and Tanh modules, are pushed to where
        they are exact.

The folder that is written is that of a run: its spec names the weights that it began with. The given model is
not changed.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from safetensors.torch import save
from torch import Tensor, nn

from nerode.analysis.recipes import recipe
from nerode.analysis.settle.keeping import settled_or_new
from nerode.analysis.subject import LoadedNetwork, imported_task, load_subject, trained_network
from nerode.core import Budget, InputError, Shown, charge, claim_folder, read_bytes, to_mapping
from nerode.languages import Language, resolve_language
from nerode.models import Model, ModelConfig, fill_weights, is_stateful, read_tensors
from nerode.records import (
    IMPORTED,
    MAX_WEIGHTS,
    RESULT,
    ModelSpec,
    RunRecord,
    Settlement,
    TaskConfig,
    hash_tensors,
    merge_tables,
    run_name,
)
from nerode.tasks import Recognition, StateTracking, build_task
from nerode.training import (
    ProgressEvent,
    make_spec,
    own_builder,
    run_in,
    spec_model,
    spec_model_config,
)

Method = Literal["gates", "words"]

_SATURATED = 1.0
"""The weight of gates of a user's own module that are not exact."""

_ROUNDS, _STEPS = 10, 50
"""Checks by failing words, and the updates before each."""


def mend(
    subject: LoadedNetwork,
    out: Path,
    *,
    method: Method = "gates",
    task: TaskConfig | None = None,
    module: ModelSpec | None = None,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    budget: Budget | None = None,
) -> tuple[RunRecord, Settlement]:
    """Returns the run that mends a model, and its settlement; both are in the folder.

    Args:
        subject: a model of the zoo, or a module of the user's own whose code is trusted; it is not changed.
        out: the folder of the mended model; what is there is replaced.
        method: how.
        task: what the model should do, if it says nothing of it itself.
        module: of given weights of a module of the user's own, its name.
        seed: of the run.
        settings: further tables of its spec.
        budget: limits the CPU seconds in which a model without a proof is settled.

    Raises:
        InputError: if nothing says what is correct, or the method is not made for the model.
    """
    chosen = _task_of(subject, task)
    if not isinstance(subject.model, Model) and not is_stateful(subject.model):
        raise InputError(
            f"{subject.name} has no `step` and `initial_state`, so that no proof can end its training; "
            "docs/tutorials/own-architecture.md shows how to add them"
        )
    if isinstance(subject.model, Model) and subject.model.grows:
        raise InputError(
            f"{subject.name} has attention, whose state grows with the word, so that no proof ends its "
            "training. `nerode mend` is for recurrent models; `nerode ask` tells where this one fails"
        )
    weights = {
        name: value.detach().clone().contiguous() for name, value in subject.model.state_dict().items()
    }
    own = module or (subject.spec.model if subject.spec is not None else None)
    own = own or _model_spec(subject.zoo_model.config, chosen)
    if own.module and method == "gates":
        raise InputError(f"{own.module} is a model of your own; its method is words")
    spec = make_spec(
        merge_tables(
            {"task": to_mapping(chosen), "model": to_mapping(own)},
            _tables(method, chosen, own),
            {"run": {"seed": seed, "start": hash_tensors(save(weights))}},
            settings or {},
        )
    )
    record = _run_into(out, spec, weights, subject, method)
    if record.divergence is not None:
        raise InputError(f"training diverged after {record.divergence.step} updates; give a smaller rate")
    return record, settled_or_new(out, budget=budget, trust_code=bool(own.module))


@dataclass(frozen=True, kw_only=True, eq=False)
class Mended(Shown):
    """A mended model.

    Attributes:
        model: in evaluation mode.
        settlement: whether it is proved, refuted by a word, or neither.
        place: its folder, which is removed with this value.
    """

    model: nn.Module
    settlement: Settlement
    place: Path

    def save(self, folder: Path | str, *, force: bool = False) -> None:
        """Writes the folder of the mended model, which every command takes.

        Raises:
            InputError: if another folder is there, unless forced.
        """
        claim_folder(out := Path(folder), holds=(RESULT,), of="a run", force=force)
        shutil.copytree(self.place, out, dirs_exist_ok=True)

    def shown(self) -> tuple[list[str], None]:
        """Returns what is proved, or the word that refutes it."""
        found = self.settlement
        if found.status == "refuted":
            return [f"✗ wrong after {' '.join(found.word or ())}"], None
        return [f"✓ {claim}" for claim in found.claims] or [f"not settled: {found.reason}"], None

    def __str__(self) -> str:
        """The same as text."""
        return "\n".join(self.shown()[0])


def mend_model(
    source: Any,
    language: Language | str | None = None,
    *,
    recognise: bool = False,
    seed: int = 0,
    trust_code: bool = False,
    budget: Budget | None = None,
) -> Mended:
    """Returns the nearest model that is proved, if one is found: `nerode mend` in Python.

    Args:
        source: the folder of a run, of an import or of a saved model, or what `nerode.train` returned; it is
            not changed. For a module of your own there is `nerode mend FILE.safetensors --model mine:build`.
        language: what a model should do that does not say so itself.
        recognise: with a language: whether the word is in it, not which letters may follow.
        seed: of the training words.
        trust_code: whether code that a folder names may be imported.
        budget: limits the CPU seconds in which a model without a proof is settled.

    Raises:
        InputError: if nothing says what is correct, or there is no method for the model.
    """
    given = isinstance(source, str | Path)
    subject = load_subject(source, trust_code=trust_code) if given else trained_network(source)
    task = None
    if language is not None:
        text = language if isinstance(language, str) else language.name
        if text != language and resolve_language(text) != language:
            raise InputError(f"{text} is the name of another language; give an expression or a file")
        kind = "language-recognition" if recognise else "language-prediction"
        task = TaskConfig(name=kind, settings={"language": text})
    if (method := choose_method(subject)) == "group":
        raise InputError(
            "`nerode.polish` takes the exact representation of a group that the matrices are near"
        )
    place = Path(tempfile.mkdtemp(prefix="nerode-mended-"))
    try:
        _, found = mend(subject, place, method=method, task=task, seed=seed, budget=budget)
        mended = Mended(model=load_subject(place, trust_code=trust_code).model, settlement=found, place=place)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    weakref.finalize(mended, shutil.rmtree, place, ignore_errors=True)
    return mended


def choose_method(subject: LoadedNetwork) -> Literal["gates", "words", "group"]:
    """Returns the first method that a model allows: exact gates, the representation of a group, words."""
    if not isinstance(subject.model, Model):
        return "words"
    layers = subject.model.config.layers
    kinds = [layer.resolve()[0] for layer in layers]
    if all("two" in kind.gates for kind in kinds):
        return "gates"
    if isinstance(subject.task, StateTracking) and [kind.name for kind in kinds] == ["orthogonal"]:
        return "group"
    return "words"


def given_module(path: Path, name: str, task: TaskConfig) -> LoadedNetwork:
    """Returns a user's own module with weights from a file; this imports and runs its code.

    Args:
        path: a safetensors file with its state dict.
        name: "module:function" that builds it for a task.
        task: what it should do.

    Raises:
        InputError: if it cannot be built, or the weights are not its own.
    """
    made = build_task(task)
    build = own_builder(ModelSpec(module=name))
    model = spec_model(ModelSpec(module=name), made, seed=0, build=build)
    fill_weights(model, read_tensors(read_bytes(path, max_bytes=MAX_WEIGHTS), path), path)
    return LoadedNetwork(name=path.name, model=model.eval(), build=build)


def _note(event: ProgressEvent) -> None:
    """Leaves what is known for the message of a budget that ends, and looks at the clock."""
    share = "" if event.accuracy is None else f", {event.accuracy:.1%} of the validation words correct"
    charge(mended=f"{event.step:,} of {event.steps:,} updates{share}; nothing was written")


def _run_into(
    out: Path, spec: Any, start: Mapping[str, Tensor], subject: LoadedNetwork, method: str
) -> RunRecord:
    """Makes a run whose folder is this one; it appears whole or not at all."""
    written = None if subject.subject is None else subject.subject.record
    origin: dict[str, Any] = {"kind": "mended", "method": method, "from": written.hash if written else ""}
    if written is not None and written.library is not None:
        origin[IMPORTED] = to_mapping(written.library)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as place:
        record = run_in(
            Path(place),
            spec,
            start=start,
            origin=origin,
            letters=written.letters if written is not None and written.letters.alphabet else None,
            on_progress=_note,
        )
        if out.exists():
            shutil.rmtree(out)
        (Path(place) / run_name(record.key)).rename(out)
    return record


def _task_of(subject: LoadedNetwork, task: TaskConfig | None) -> TaskConfig:
    """The task of a model: its own, or the given one."""
    if subject.spec is not None:
        own = subject.spec.task
    elif subject.imported is not None and subject.task is not None:
        own = imported_task(subject.imported, recognises=isinstance(subject.task, Recognition))
    elif task is None:
        raise InputError(f"{subject.name} has no task, so nothing says what is correct; name it (--task)")
    else:
        return task
    if task is not None:
        raise InputError(f"{subject.name} says by itself what it should do; leave --task out")
    return own


def _model_spec(config: ModelConfig, task: TaskConfig) -> ModelSpec:
    """The spec of a model that was not trained here.

    Raises:
        InputError: if no spec describes it for this task.
    """
    around = [config.around(number) for number in range(len(config.layers))]
    spec = ModelSpec(
        layers=",".join(layer.name for layer in config.layers),
        layer_settings=tuple(dict(layer.settings) for layer in config.layers),
        width=config.width or 0,
        surroundings=around[0],
        positions="sine" if config.positions == "sine" else "none",
        final_norm=config.final_norm,
        head=config.head,
        head_width=config.head_width,
        head_bias=config.head_bias,
        beginning=config.beginning,
        embedding_norm=config.embedding_norm,
        norm_epsilon=config.norm_epsilon,
    )
    made = build_task(task)
    if (config.letters, config.outputs) != (made.letters, made.outputs):
        raise InputError(
            f"the model reads {config.letters} letters and gives {config.outputs} scores; {made.name} has "
            f"{made.letters} letters and asks for {made.outputs}"
        )
    if (
        len(set(around)) > 1
        or spec_model_config(spec, made) != replace(config, surroundings=around[0]).complete()
    ):
        raise InputError("the model has parts that no training spec describes; it cannot be mended here")
    return spec


def _tables(method: Method, task: TaskConfig, model: ModelSpec) -> dict[str, Any]:
    """The settings with which training goes on."""
    if method == "gates":
        names = "+".join([model.layers.replace(",", "+")] * model.depth)
        found = recipe(to_mapping(task), names)
        return {"optimiser": found["optimiser"], "run": found["run"]}
    return {
        "optimiser": {"name": "adam", "rate": 3e-2 if model.module else 1e-3, "decay": 0.0},
        "run": {
            "steps": _ROUNDS * _STEPS,
            "batch": 32,
            "evaluate_every": _STEPS,
            "exact": {
                "gates": "none",
                "words": "valid",
                "attempts": 1,
                "naming": 0.0,
                "judge": "words",
                "states": 20_000,
                "saturation": _SATURATED if model.module else 0.0,
            },
        },
    }
