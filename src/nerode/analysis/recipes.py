"""Recipes of training that ends with a proof: settings for an architecture and a language.

A recipe is chosen before the run and written into its spec, so that the run stays a pure function of it.
Recipes were found on seeds 0 to 4; `experiments/settled` has how often they end with a proof on other seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nerode.core import InputError, from_mapping
from nerode.models import GateForm, all_kinds, find_kind, model_config
from nerode.records import TaskConfig, TrainSpec, merge_tables
from nerode.tasks import TaskAutomaton, automaton_of, build_task

_WIDTH = 16
"""Features of a model with exact gates, unless it reads letters as they are."""

_STEPS, _HELD = 400, 0.4
"""Updates of the first attempt, and the share of them at the full rate."""

_BARE = {"norm": "none", "residual": False, "feed_forward": "none"}

_SHIFTED = ("rwkv-6",)
"""Kinds that see the letter before, too."""

_HIDDEN, _MANY_HIDDEN, _MANY_PAIRS = 32, 48, 30
"""Units of a tanh cell; more from so many pairs of a state and a letter on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Settings that differ from those of all exact gates, for one architecture and one language.

    Attributes:
        architecture: as the zoo names it.
        language: its name.
        layers: settings of each layer; a model of one layer gets as many.
        run: settings of the run.
        exact: those of the exact gates.
    """

    architecture: str
    language: str
    layers: tuple[Mapping[str, Any], ...] = ({},)
    run: Mapping[str, Any] = field(default_factory=dict)
    exact: Mapping[str, Any] = field(default_factory=dict)


def _windows(*windows: int, **others: Any) -> tuple[dict[str, Any], ...]:
    """Settings of layers with convolutions over so many letters."""
    return tuple({**others, "convolution": window} for window in windows)


RECIPES = (
    *(
        Recipe(architecture=name, language="flip-flop", layers=({}, {}))
        for name in ("hgrn2", "mingru", "mamba-2")
    ),
    Recipe(architecture="mamba-signed", language="tomita-3", exact={"gates": "three"}),
    Recipe(architecture="deltanet-signed", language="tomita-3", layers=({}, {}), exact={"gates": "three"}),
    Recipe(architecture="mamba", language="d-2", layers=_windows(4, 4)),
    Recipe(architecture="mamba", language="d-3", layers=_windows(4, 1, 1)),
    Recipe(
        architecture="mamba",
        language="dyck-2-3",
        layers=_windows(4, 1, 1, states=1, channels=40),
        run={"steps": 4_000, "evaluate_every": 50, "batch": 96},
        exact={
            "gates": "rounded",
            "words": "valid",
            "attempts": 2,
            "tested": 512,
            "tours": True,
            "mistakes": 256,
            "shed": 0.1,
            "states": 60_000,
        },
    ),
)
"""One row per architecture and language that needs other settings; depth included."""


def recipe(task: Mapping[str, Any], architecture: str) -> dict[str, Any]:
    """Returns the tables of a spec for training that ends with a proof, to be laid under those of the user.

    Args:
        task: its table: the name, and settings.
        architecture: names of layers, joined by `+`. One layer alone gets the depth of its recipe.

    Raises:
        InputError: if the task is not about a language with a small automaton, or a layer has no exact gates.
    """
    made = build_task(from_mapping(TaskConfig, dict(task)))
    automaton = automaton_of(made)
    names = [
        layer.name for layer in model_config(architecture.replace("+", ","), letters=2, outputs=2).layers
    ]
    row = find_recipe(names, automaton.language.name)
    own: Sequence[Mapping[str, Any]] = ({},) * len(names) if row is None else row.layers
    gates = "two" if row is None else row.exact.get("gates", "two")
    form = _form_of(names, gates)
    steps = _STEPS if row is None else int(row.run.get("steps", _STEPS))
    exact: dict[str, Any] = {"curriculum": "patient" if form.patient else "steady"}
    tanh = [find_kind(name).name for name in names] == ["elman-tanh"]
    if tanh and not automaton.merges_classes:
        return _box_tables(names[0], automaton)
    return merge_tables(
        {
            "model": _model(names[0], form, own),
            "optimiser": {
                "name": "adam",
                "rate": 5e-3,
                "slow_rate": 5e-3,
                "decay": 0.0,
                "schedule": "cosine",
                "hold": round(_HELD * steps),
                "floor": 0.1,
            },
            "run": {"steps": steps, "batch": 64, "evaluate_every": 100, "exact": exact},
        },
        {} if row is None else {"run": {**row.run, "exact": dict(row.exact)}},
    )


def _box_tables(name: str, automaton: TaskAutomaton) -> dict[str, Any]:
    """The tables of a tanh cell: noise on its state, units that saturate, and boxes that hold under noise.

    The start is learnt, as units saturate least at zero; nothing stands around the cell.
    """
    pairs = automaton.dfa.num_states * len(automaton.language.alphabet)
    hidden = _MANY_HIDDEN if pairs > _MANY_PAIRS else _HIDDEN
    return {
        "model": {
            "layers": name,
            "width": 8,
            "settings": {"hidden": hidden, "learned_start": True},
            "surroundings": _BARE,
            "final_norm": "none",
        },
        "optimiser": {"name": "adam", "rate": 3e-3, "slow_rate": 3e-3, "decay": 0.0},
        "run": {
            "steps": 2_000,
            "batch": 64,
            "evaluate_every": 100,
            "exact": {
                "gates": "none",
                "words": "all",
                "attempts": 3,
                "longest": 30,
                "naming": 0.3,
                "noise": 0.1,
                "saturation": 0.3,
                "boxes": 1.0,
                "judge": "boxes",
            },
        },
    }


def exact_model(names: Sequence[str]) -> dict[str, Any]:
    """Returns the table of a model with gates of two values, whatever its language.

    Args:
        names: of its layers.

    Raises:
        InputError: if they have no such gates.
    """
    return _model(names[0], _form_of(names, "two"), ({},) * len(names))


def has_recipe(spec: TrainSpec) -> bool:
    """Whether a row says how many layers a model has."""
    language = automaton_of(build_task(spec.task)).language.name
    return find_recipe([spec.model.layers.split(",")[0]], language) is not None


def needs_depth(spec: TrainSpec) -> bool:
    """Whether more layers can be trained and nothing else stands for them: gates that see one letter each."""
    layer = model_config(spec.model.layers, letters=2, outputs=2).layers[0]
    kind, made = replace(layer, settings={**layer.settings, **spec.model.settings}).resolve()
    sees_more = any(getattr(made, name, 0) for name in ("convolution", "window")) or kind.name in _SHIFTED
    return kind.gates["two"].form.embedding and not sees_more


def find_recipe(names: Sequence[str], language: str) -> Recipe | None:
    """Returns the row of an architecture and a language; None for the settings of all."""
    for row in RECIPES:
        if (row.architecture, row.language) == (names[0], language) and len(names) in (1, len(row.layers)):
            return row
    return None


def _form_of(names: Sequence[str], gates: str) -> GateForm:
    """The form of the exact gates of the layers, which are of one kind."""
    kinds = {name: find_kind(name) for name in names}
    found = kinds[names[0]].gates.get(gates)
    if found is None or len(set(names)) > 1:
        gated = sorted({kind.name for kind in all_kinds().values() if kind.gates})
        raise InputError(
            f"--certify needs layers of one kind that has exact gates, got {'+'.join(names)}; "
            f"allowed are {', '.join(gated)}"
        )
    if not found.form.embedding and len(names) > 1:
        raise InputError(f"exact gates of {names[0]} read letters as they are; give one layer")
    return found.form


def _model(name: str, form: GateForm, layers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The table of the model."""
    stacked = form.stacked if len(layers) > 1 else {}
    found: dict[str, Any] = {
        "layers": name,
        "depth": len(layers),
        "settings": {**form.settings, **stacked},
        "width": _WIDTH if form.embedding else 0,
        "final_norm": "none" if form.around == "nothing" else "rms",
    }
    if any(layers):
        found["layer_settings"] = [dict(own) for own in layers]
    if form.around != "published":
        found["surroundings"] = {**_BARE, "residual": form.around == "residual"}
    return found
