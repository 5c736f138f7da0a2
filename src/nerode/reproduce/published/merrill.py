"""The illusion of state (Merrill et al.): word problems that one layer solves, or does not."""

from __future__ import annotations

from typing import Any

from nerode.core import Reference
from nerode.reproduce.published.memory_tracking import ARCHITECTURES
from nerode.reproduce.published.small_models import small_model, spec
from nerode.reproduce.records import TICKS, LengthRange, Paper, PaperTable, TableCell, TableLine

MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "RNN": ("elman-tanh", {"width": 16, "rate": 1e-3, "hidden": 128}),
    "IDS4": ("ids4", {"width": 32, "rate": 2e-3, "states": 64, "activation": "gelu", "draw": "published"}),
    "IDS4 by rotations": ("orthogonal", {}),
    "Transformer": ("transformer-sine", {"width": 64, "rate": 1e-3}),
    "S4": ("s4d", {"width": 64, "rate": 3e-3, "states": 32}),
    "Mamba": ("mamba", {"width": 64, "rate": 3e-3, "states": 8}),
}
"""The layer, and its settings at CPU scale."""

GROUPS = {"Z60": "Z5", "A4xZ5": "S3", "A5": "A5"}
_STEPS = {"RNN": 6000, "IDS4": 3000, "IDS4 by rotations": 700, "Transformer": 500, "S4": 400, "Mamba": 350}
_LENGTHS = {"Z60": 12, "A4xZ5": 12, "A5": 20}
_ONE_LAYER = ("RNN", "IDS4")
_DEPTH = ("Transformer", "S4", "Mamba")


def _printed(group: str, model: str) -> str:
    """Whether one layer reaches 90 % at length 20 in the paper, as far as its text says."""
    if model in _ONE_LAYER:
        return "✓"
    # That depth has to grow is said of the groups that do not commute.
    return "✗" if model in _DEPTH and group != "Z60" else "–"


def _model(model: str) -> dict[str, Any]:
    layers, settings = MODELS[model]
    if layers == "orthogonal":
        return {
            "model": {"configuration": "cpu-groups-rotations", "width": 0, "depth": 0},
            "optimiser": {"rate": 1e-2},
        }
    return small_model(layers, **settings)


def _line(group: str, model: str) -> TableLine:
    layers, _ = MODELS[model]
    printed = _printed(group, model)
    here, length = GROUPS[group], _LENGTHS[group]
    task: dict[str, Any] = {"monoid": here, "shortest": 2, "longest": length, "pairs": 0.0}
    if here == "A5":
        # Short words of two generators do not show all products: those of training begin at 12 letters.
        task |= {"letters": "generators", "shortest": 12}
    paper_name = {"IDS4 by rotations": "ids4", "S4": "s4"}.get(model, model.lower())
    return TableLine(
        row=group,
        model=f"{model}, 1 layer",
        cells=(
            TableCell(
                column="k = 20",
                reading=LengthRange(low=length, high=length),
                published=TICKS.get(printed),
                printed=printed,
                trained=True,
            ),
            TableCell(column="2 × k", reading=LengthRange(low=2 * length, high=2 * length)),
        ),
        language="A5-generators" if here == "A5" else here,
        architecture="ids4" if layers == "orthogonal" else ARCHITECTURES.get(layers, layers),
        cpu=spec(
            "state-tracking",
            _model(model),
            settings=task,
            steps=_STEPS[model],
            batch=64,
            evaluate_every=25,
            stop={"threshold": 0.99, "patience": 2},
            curriculum={"start": 12 if here == "A5" else 4, "step": 2, "threshold": 0.9},
            test_sequences=200,
        ),
        paper={
            "task": {"name": "state-tracking", "settings": {"monoid": group, "shortest": 20, "longest": 20}},
            "model": {"configuration": f"merrill-{paper_name}", "width": 0, "depth": 1},
            "optimiser": {"name": "adamw", "rate": 1e-4, "decay": 0.01},
            "run": {
                "epochs": 500,
                "sample": 800_000,
                "batch": 512,
                "evaluate_every": 1562,
                "stop": {"threshold": 0.99, "patience": 1},
            },
        },
        grid={"model.depth": (1, 2, 3, 4)} if model in _DEPTH else {},
        note="short words first",
        here=f"{here}{', two generators' if here == 'A5' else ''}, length {length}",
        stands_in=True,
    )


MERRILL = Paper(
    name="merrill",
    reference=Reference("Merrill2024"),
    title="one layer of an RNN or of an input-dependent dense recurrence solves word problems, others need "
    "depth",
    tables=(
        PaperTable(
            name="word-problems",
            title="word problems of groups with one layer",
            where="figure of the depth by length (a plot without numbers)",
            unit="tick",
            protocol="10^6 words of one length up to 20, all pairs in training, widths of 255 to 2,048; "
            "the fewest layers that reach 90 % of whole words; a tick is one layer at length 20",
            corrected="test words never trained on; twice the length is tested, too; every seed counts",
            scale="Z5 and S3 by elements at length 12, A5 by two generators at length 20; 10^3 to 10^5 "
            "parameters",
            lines=tuple(_line(group, model) for group in GROUPS for model in MODELS),
            remarks=(
                "Crosses of the transformer, S4 and Mamba here are after 350 to 500 steps; they are "
                "consistent with the paper and no proof of anything. What is impossible stands in the "
                "column of theory.",
                "IDS4 as published multiplies matrices without control of their norm; beside it is a "
                "recurrence with one rotation a letter, which has the same class in theory and is not in "
                "the paper.",
                "For Z60 the text at hand does not say how many layers the transformer, S4 and Mamba need.",
                "Commutative groups: one layer of a complex diagonal recurrence suffices in theory, and "
                "Mamba and S4 miss it here for the reason that Grazzi et al. give (gates in [0, 1]; no "
                "dependence on the input).",
            ),
        ),
    ),
)
