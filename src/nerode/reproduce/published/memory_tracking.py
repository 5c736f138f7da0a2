"""State tracking in the memory paper: table 1 (long sequences) and table 2 (beyond the training length)."""

from __future__ import annotations

from typing import Any

from nerode.reproduce.published.small_models import NEVER, falling, small_model, spec
from nerode.reproduce.records import LengthRange, PaperFigure, PaperTable, TableCell, TableLine, tick_cells

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

GROUPS = ("Z60", "A4xZ5", "A5")
"""The groups of the paper, each of order 60: cyclic, solvable and not commutative, not solvable."""

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
    "Mamba": {"width": 128, "rate": 2e-3, "states": 4},
    "Transformer": {"depth": 3, "width": 128, "rate": 1e-3, "heads": 8},
    "S4": {"width": 256, "rate": 2e-3, "states": 16, "smallest_step": 0.1, "largest_step": 1.0},
    "IDS4": {"width": 64, "rate": 2e-3, "states": 64, "activation": "gelu", "draw": "published"},
    "RNN": {"width": 128, "rate": 1e-3, "hidden": 384},
    "LSTM": {"width": 128, "rate": 2e-3, "hidden": 256},
    "GRU": {"width": 128, "rate": 2e-3, "hidden": 256},
    "NRU": {"width": 128, "rate": 1e-3, "hidden": 256},
}
"""Models for the word problems with 60 letters."""

_UPDATES: dict[str, tuple[tuple[int, int], ...]] = {
    "Mamba": ((4000, 1600), (6000, 3500), (4000, 2500)),
    "Transformer": ((4000, 1000), (6000, 2000), (6000, 2000)),
    "S4": ((3000, 1500), (5000, 2500), (5000, 2500)),
    "RNN": ((12_000, 6000),) * 3,
    "LSTM": ((4000, 1500),) * 3,
    "GRU": ((4000, 1500), (4000, 1500), (9000, 6000)),
    "NRU": ((4000, 1500), (4000, 1500), (12_000, 6000)),
}
"""By model, for Z60, A4 x Z5 and A5: batches, and how many of them before the rate falls."""

_DECAY = {"Mamba": 0.5, "S4": 0.1, "Transformer": 0.2}
_ENDS_WHEN_LEARNED = {"threshold": 0.95, "patience": 1, "length": 8}
"""Above the 0.9 of a tick, which the mean of five seeds has to pass."""

_RECURRENT = ("RNN", "LSTM", "GRU", "NRU")


def _spec(model: str, group: str) -> dict[str, Any]:
    """The run of a line of table 2: how each model learns the products of pairs decides about the rest.

    Mamba, S4 and the Transformer end when length 8 is learned; recurrent networks go on, because how far they
    stay correct depends on it.
    """
    own = small_model(MODELS[model], **_SETTINGS[model])
    own["optimiser"] |= {"clip": 1.0, "decay": _DECAY.get(model, 0.0), "warm_up": 100}
    task: dict[str, Any] = {"monoid": group, "shortest": 3, "longest": 8, "pairs": 0.15}
    run: dict[str, Any] = {"batch": 128, "evaluate_every": 100, "validation": 500, "test_sequences": 200}
    if model == "IDS4":
        return spec(
            "state-tracking", own, settings=task, steps=4000, stop={"threshold": 0.995, "patience": 3}, **run
        )
    steps, hold = _UPDATES[model][GROUPS.index(group)]
    own = falling(own, hold=hold)
    if model in _RECURRENT:
        return spec("state-tracking", own, settings=task, steps=steps, stop=NEVER, **run)
    run |= {"stop": _ENDS_WHEN_LEARNED, "validation": 256}
    task |= {"pairs": 0.01, "shortest": 3 if model == "Transformer" else 8}
    if model != "Transformer":
        own["model"]["depth"] = 2 if group == "Z60" else 3
    match model:
        case "Mamba":
            own["model"]["embedding"] = 0.1
        case "S4":
            run["curriculum"] = {"start": 2, "step": 6, "threshold": 0.9}
        case "Transformer":
            run["curriculum"] = {"start": 3, "step": 5, "threshold": 0.8}
    return spec("state-tracking", own, settings=task, steps=steps, **run)


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
            "stop": {"threshold": 0.9, "patience": 1},
        },
    }


_LENGTHS = (8, 16, 24, 32, 40, 64, 128, 256, 512)


def _line(model: str, group: str) -> TableLine:
    layers = MODELS[model]
    deep = model not in (*_RECURRENT, "IDS4")
    return TableLine(
        row=group,
        model=model,
        cells=tick_cells(
            COLUMNS, [LengthRange(low=n, high=n) for n in _LENGTHS], MARKS[model][GROUPS.index(group)]
        ),
        language=group,
        architecture=ARCHITECTURES.get(layers, layers),
        cpu=_spec(model, group),
        paper=published_spec(model, group, 8, depth=2 if deep else 1),
        grid={"model.depth": (1, 2, 3, 4)} if deep else {},
        note="IDS4 as published: its draw of the matrices and GELU" if model == "IDS4" else "",
    )


_COMPILED = "ids4"
"""The class of the compiled networks: a dense transition for each letter, here permutations."""


def _compiled(group: str) -> TableLine:
    """A network of the compiler, beside the trained ones."""
    readings = [LengthRange(low=n, high=n) for n in _LENGTHS]
    return TableLine(
        row=group,
        model=f"{_COMPILED}, compiled (ours)",
        cells=tuple(TableCell(column=c, reading=r) for c, r in zip(COLUMNS, readings, strict=True)),
        language=group,
        architecture=_COMPILED,
        compile_to=_COMPILED,
    )


TABLE_2 = PaperTable(
    name="table-2",
    title="state tracking: trained on length 8, tested on longer sequences",
    where="Table 2",
    unit="tick",
    protocol="10^6 sequences of 8 group elements and all pairs, about 3 million parameters a layer, as "
    "many layers as needed for 90 % at length 8, where training ends; a tick is more than 90 % of whole "
    "sequences, mean of 5 seeds, there and at all shorter lengths; learning rate chosen by extrapolation",
    corrected="new sequences at each step, test sequences never trained on; recipes and numbers of batches "
    "were set on other seeds by length 8 only; every seed counts",
    scale="the groups of the paper with all 60 letters; models of 10^5 to 10^6 parameters instead of 3 "
    "million, 1 layer (recurrent networks, IDS4), 2 or 3 (Mamba, S4), 3 (Transformer); 3,000 to 12,000 "
    "batches of 128 words. Ours and not the paper's: rates of 1e-3 and 2e-3 that fall (the paper: 1e-4), "
    "weight decay of 0 to 0.5 (the paper: 0.01), a smaller draw of Mamba's embedding, pairs or words of 3 "
    "first (S4, Transformer), and that recurrent networks go on after length 8 is learned",
    lines=tuple(
        line for group in GROUPS for line in (*(_line(model, group) for model in MODELS), _compiled(group))
    ),
    remarks=(
        "IDS4 is run as published, with its draw of the matrices and GELU. Our earlier runs had a smaller "
        "draw and no GELU, learned length 8 as well, and failed from 28 letters on: products of matrices "
        "left the range of float32. The same weights in float64 answered 0.97, 0.92 and 0.78 of the "
        "positions at 28, 32 and 40 correctly (seed 901), so that the format ended it and not learning.",
        "In the copy of the paper at hand the marks of A5 are shifted by one column: a cross at the length "
        "of training stands before ticks, which the text rules out. They are read shifted back. What then "
        "depends on where a mark was lost or doubled is left out: 5X of the recurrent networks on A5, 5X of "
        "the RNN and 256 of the NRU on A4 x Z5.",
    ),
)

_LONG = ("128", "256", "512")
_PRINTED_LONG = {
    "Z60": {"RNN": "✓✓✗", "LSTM": "✓✓✓", "GRU": "✓✓✓", "NRU": "✓✓✓"},
    "A4xZ5": {"RNN": "✓✗✗", "LSTM": "✓✓✓", "GRU": "✓✗✗", "NRU": "✓✓✗"},
    "A5": {"RNN": "✓✗✗", "LSTM": "✓✓✗", "GRU": "✓✗✗", "NRU": "✓✗✗"},
}


def _long_spec(model: str, group: str, length: int) -> dict[str, Any]:
    own = falling(small_model(MODELS[model], **_SETTINGS[model]), hold=3000, clip=1.0, decay=0.0)
    return spec(
        "state-tracking",
        own,
        settings={"monoid": group, "shortest": 3, "longest": length, "pairs": 0.15},
        steps=6000,
        batch=64,
        evaluate_every=100,
        validation=256,
        stop={"threshold": 0.95, "patience": 2, "length": length},
        curriculum={"start": 8, "step": 24, "threshold": 0.9},
        test_sequences=200,
    )


def _long_line(group: str, model: str, column: int) -> TableLine:
    length = int(_LONG[column])
    return TableLine(
        row=f"{group}, length {length}",
        model=model,
        cells=tick_cells(
            (_LONG[column],), [LengthRange(low=length, high=length)], _PRINTED_LONG[group][model][column]
        ),
        language=group,
        architecture=ARCHITECTURES.get(MODELS[model], MODELS[model]),
        cpu=_long_spec(model, group, length) if column == 0 else None,
        paper=published_spec(model, group, length),
        note="short sequences first",
    )


TABLE_1 = PaperTable(
    name="table-1",
    title="state tracking: how long can sequences be that a single layer learns",
    where="Table 1",
    unit="tick",
    protocol="one layer of about 3 million parameters trained on sequences of one length; a tick is more "
    "than 90 % of whole sequences of that length, mean of 5 seeds",
    corrected="test sequences never trained on; every seed counts",
    scale="the groups of the paper at length 128, one layer of 256 units (RNN: 384), short sequences first, "
    "6,000 batches of 64; lengths 256 and 512 only at full scale. Rates, the curriculum and no weight decay "
    "are ours",
    lines=tuple(
        _long_line(group, model, column)
        for group in _PRINTED_LONG
        for column in range(3)
        for model in _RECURRENT
    ),
)

FIGURE_4 = PaperFigure(
    name="figure-4",
    where="Figure 4",
    title="Accuracy on new words while one layer learns words of a fixed length",
    kind="learning",
    table=TABLE_1,
)
