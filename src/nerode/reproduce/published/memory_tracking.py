"""State tracking in seed 003: table 1 (long sequences) and table 2 (beyond the length of training)."""

from __future__ import annotations

from typing import Any

from nerode.reproduce.published.small_models import small_model, spec
from nerode.reproduce.records import LengthRange, PaperTable, TableLine, tick_cells

MODELS: dict[str, str] = {
    "Mamba": "mamba",
    "Transformer": "transformer-sine",
    "S4": "s4d",
    "IDS4": "ids4",
    "RNN": "elman-tanh",
    "LSTM": "lstm",
    "GRU": "gru",
    "NRU": "nru-one-head",
}
ARCHITECTURES = {"transformer-sine": "transformer", "nru-one-head": "nru"}
"""Names of layers in theory, where those of the zoo differ."""

GROUPS = {"Z60": "Z2", "A4xZ5": "S3", "A5": "A5"}
"""The groups of the paper and those at CPU scale: cyclic, solvable and not commutative, not solvable."""

COLUMNS = ("1X", "2X", "3X", "4X", "5X", "64", "128", "256", "512")

_NO = "✓✗✗✗✗✗✗✗✗"
MARKS: dict[str, tuple[str, str, str]] = {
    "Mamba": (_NO, _NO, _NO),
    "Transformer": (_NO, _NO, _NO),
    "S4": (_NO, _NO, _NO),
    "IDS4": (_NO, _NO, _NO),
    "RNN": ("✓✓✓✓✓✗✗✗✗", "✓✓✓✓–✗✗✗✗", "✓✓✓✓–✗✗✗✗"),
    "LSTM": ("✓✓✓✓✓✓✗✗✗", "✓✓✓✓✓✓✓✓✓", "✓✓✓✓–✗✗✗✗"),
    "GRU": ("✓✓✓✓✓✓✗✗✗", "✓✓✓✓✓✓✓✓✓", "✓✓✓✓–✗✗✗✗"),
    "NRU": ("✓✓✓✓✓✓✗✗✗", "✓✓✓✓✓✓✓–✗", "✓✓✓✓–✗✗✗✗"),
}
"""By model: Z60, A4 x Z5, A5; `–` where the copy at hand does not say.

In the copy the nine marks of A5 begin with a cross at the length of training, before ticks, for six models.
The text rules that out: every model has the layers that this length needs, and only recurrent networks go on
beyond it. So one of the marks of A4 x Z5 is one too many, and one of A5 is lost. A mark stands here if it is
the same whichever two they are, given that no tick follows a cross; so it does if the copy is right but for
the first column of A5.
"""

_SETTINGS: dict[str, dict[str, Any]] = {
    "Mamba": {"depth": 2, "width": 64, "rate": 3e-3, "states": 8},
    "Transformer": {"depth": 2, "width": 64, "rate": 1e-3},
    "S4": {"depth": 2, "width": 64, "rate": 3e-3, "states": 32},
    "IDS4": {"width": 32, "rate": 3e-3, "states": 16},
    "RNN": {"width": 16, "rate": 3e-3, "hidden": 48},
    "LSTM": {"width": 16, "rate": 5e-3, "hidden": 48},
    "GRU": {"width": 16, "rate": 5e-3, "hidden": 48},
    "NRU": {"width": 16, "rate": 3e-3, "hidden": 48},
}
_RECURRENT = ("RNN", "LSTM", "GRU", "NRU")
_STEPS = {"Mamba": 300, "Transformer": 500, "S4": 400, "IDS4": 400, "RNN": 1500, "NRU": 500}


def _spec(model: str, group: str) -> dict[str, Any]:
    settings: dict[str, Any] = {"monoid": group}
    run: dict[str, Any] = {
        "steps": _STEPS.get(model, 1000),
        "batch": 128 if model in _RECURRENT else 64,
        "evaluate_every": 50,
        "stop": {"threshold": 0.995, "patience": 3},
    }
    chosen = dict(_SETTINGS[model])
    if group == "A5":
        settings |= {"letters": "generators", "shortest": 2, "longest": 20, "pairs": 0.0}
        run |= {"batch": 64, "evaluate_every": 25, "curriculum": {"start": 6, "step": 2, "threshold": 0.9}}
        run["steps"] = 1200 if model in _RECURRENT else 300
        if model in _RECURRENT:
            chosen["hidden"] = 64
    own = small_model(MODELS[model], **chosen)
    run["test_sequences"] = 100
    return spec("state-tracking", own, settings=settings, **run)


def published_spec(model: str, group: str, length: int, depth: int = 1) -> dict[str, Any]:
    """Returns the paper's run: a model of its table 6, 10^6 sequences of one length and all pairs."""
    name = {"S4": "s4d"}.get(model, model.lower())
    return {
        "task": {
            "name": "state-tracking",
            "settings": {"monoid": group, "shortest": length, "longest": length},
        },
        "model": {"configuration": f"memory-tracking-{name}", "width": 0, "depth": depth},
        "optimiser": {"name": "adamw", "rate": 1e-4, "decay": 0.01},
        "run": {
            "epochs": 500,
            "sample": 800_000,
            "batch": 256,
            "evaluate_every": 3125,
            "stop": {"threshold": 0.99, "patience": 1},
        },
    }


def _readings(group: str) -> list[LengthRange]:
    # By generators, one time the length of training is 20; 64 is then between three times and four.
    base = 20 if group == "A5" else 8
    lengths = [k * base for k in range(1, 6)] + [64, 128, 256, 512]
    return [LengthRange(low=n, high=n) for n in lengths]


def _line(model: str, number: int) -> TableLine:
    published, here = list(GROUPS.items())[number]
    layers = MODELS[model]
    linear = model not in _RECURRENT
    return TableLine(
        row=published if published == here else f"{published} (here {here})",
        model=model,
        cells=tick_cells(COLUMNS, _readings(here), MARKS[model][number]),
        language="A5-generators" if here == "A5" else here,
        architecture=ARCHITECTURES.get(layers, layers),
        cpu=_spec(model, here),
        paper=published_spec(model, published, 8, depth=2 if linear and model != "IDS4" else 1),
        grid={"model.depth": (1, 2, 3, 4)} if linear and model != "IDS4" else {},
        seeds=3 if linear or model == "NRU" else 5,
        note="two generators as letters, lengths up to 20"
        if here == "A5"
        else f"{here}: small group of its kind",
        stands_in=True,
    )


TABLE_2 = PaperTable(
    name="table-2",
    title="state tracking: trained on length 8, tested on longer sequences",
    where="Table 2",
    unit="tick",
    protocol="10^6 sequences of 8 group elements and all pairs, about 3 million parameters a layer, as "
    "many layers as needed for 90 % at length 8; a tick is more than 90 % of whole sequences, mean of 5 "
    "seeds, there and at all shorter lengths; learning rate chosen by extrapolation",
    corrected="new sequences at each step, test sequences never trained on; the number of steps and when "
    "to stop are decided at the length of training only; every seed counts",
    scale="smaller groups of the same kinds (Z2, S3; A5 by two generators, lengths up to 20), models of "
    "10^3 to 10^5 parameters, a fixed depth of 1 (recurrent networks, IDS4) or 2 (the others)",
    lines=tuple(_line(model, number) for number in range(3) for model in MODELS),
    polished=True,
    remarks=(
        "Z2 and S3 stand for Z60 and A4 x Z5: where recurrent networks go further here than the paper's, "
        "the smaller group is the likely reason, and the limit that the paper finds is not tested at this "
        "scale.",
        "Z2 was taken after a trial on Z3, where two layers of Mamba reached 0.71 at length 8 in 300 steps.",
        "The NRU of 48 units and one head learns length 8 and fails from 16 or 24 on in every seed; not "
        "explained.",
        "In the copy of the paper at hand the marks of A5 are shifted by one column: a cross at the length "
        "of training stands before ticks, which the text rules out. They are read shifted back. What then "
        "depends on where a mark was lost or doubled is left out: 5X of the recurrent networks on A5, 5X of "
        "the RNN and 256 of the NRU on A4 x Z5.",
        "The polished rotations are a linear recurrence with a dense transition for each letter, the class "
        "of IDS4: trained on length 8 they drift, averaged over the group they are exact. They use the "
        "multiplication table of the group; `python -m benchmarks polish` makes them.",
    ),
)

_LONG = ("128", "256", "512")
_PRINTED_LONG = {
    "Z60": {"RNN": "✓✓✗", "LSTM": "✓✓✓", "GRU": "✓✓✓", "NRU": "✓✓✓"},
    "A4xZ5": {"RNN": "✓✗✗", "LSTM": "✓✓✓", "GRU": "✓✗✗", "NRU": "✓✓✗"},
    "A5": {"RNN": "✓✗✗", "LSTM": "✓✓✗", "GRU": "✓✗✗", "NRU": "✓✗✗"},
}


def _long_line(group: str, model: str, column: int) -> TableLine:
    length, here = int(_LONG[column]), int(_LONG[column]) // 4
    cells = tick_cells(
        (_LONG[column],), [LengthRange(low=here, high=here)], _PRINTED_LONG[group][model][column]
    )
    runs = group == "A4xZ5" and column < 2
    task = {"monoid": "S3", "shortest": 4, "longest": here, "pairs": 0.0}
    own = small_model(MODELS[model], **_SETTINGS[model])
    curriculum = {"start": 8, "step": 8, "threshold": 0.9}
    return TableLine(
        row=f"{group} (here S3, length {here})" if runs else group,
        model=model,
        cells=tuple(cells),
        language="S3" if runs else group,
        architecture=ARCHITECTURES.get(MODELS[model], MODELS[model]),
        cpu=spec(
            "state-tracking",
            own,
            settings=task,
            steps=1200,
            batch=32,
            evaluate_every=25,
            validation=128,
            stop={"threshold": 0.95, "patience": 2},
            curriculum=curriculum,
        )
        if runs
        else None,
        paper=published_spec(model, group, length),
        seeds=3,
        note=f"length {here} instead of {length}, short sequences first",
        stands_in=True,
    )


TABLE_1 = PaperTable(
    name="table-1",
    title="state tracking: how long can sequences be that a single layer learns",
    where="Table 1",
    unit="tick",
    protocol="one layer of about 3 million parameters trained on sequences of one length; a tick is more "
    "than 90 % of whole sequences of that length, mean of 5 seeds",
    corrected="test sequences never trained on; every seed counts",
    scale="S3 for A4 x Z5, lengths 32 and 64 for 128 and 256, models of 10^3 to 10^4 parameters; the other "
    "groups and lengths only at full scale",
    lines=tuple(
        _long_line(group, model, column)
        for group in _PRINTED_LONG
        for column in range(3)
        for model in _RECURRENT
    ),
)
