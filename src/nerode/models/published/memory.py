"""Models of "On memory and generalization in the era of linear recurrence", its tables 6 to 8.

Table 6 (state tracking) and table 7 (copying and denoising) give sizes without counts; table 8 (counting)
gives counts without sizes, which pins down what stands around each layer: a linear map from the one input to
1 (recurrent networks) or to the hidden size (the others), one LayerNorm and 64 states for Mamba and S4D, a
feed-forward part of 128 units for the transformer, 32 places of memory for the NRU.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nerode.core import Reference
from nerode.models.base import Surroundings
from nerode.models.model import PublishedModel
from nerode.models.zoo import LayerConfig

NORMED = Surroundings(norm="layer", residual=True)
NORMED_AFTER = Surroundings(norm="layer", position="post", residual=True)
MEMBERS = {
    "rnn": "elman-tanh",
    "lstm": "lstm",
    "gru": "gru",
    "nru": "nru-one-head",
    "transformer": "transformer-nope",
    "s4d": "s4d",
    "mamba": "mamba",
    "ids4": "ids4",
}


def _row(
    task: str, model: str, settings: dict[str, Any], *, suffix: str = "", depth: int = 1, **rest: Any
) -> PublishedModel:
    name = f"memory-{task}-{model}{suffix}"
    layers = (LayerConfig(name=MEMBERS[model], settings=settings),) * depth
    return PublishedModel(name=name, source=Reference("MemoryGeneralization"), layers=layers, **rest)


def _cell(model: str, hidden: int, memory: int) -> dict[str, Any]:
    """The settings of a recurrent network as torch has it, with a bias on either side."""
    if model == "nru":
        return {"hidden": hidden, "memory": memory, "factored": False}
    return {"hidden": hidden, "recurrent_bias": True}


def _decoder(width: int, hidden: int) -> Surroundings:
    """The surroundings of torch's own transformer layer: norms after the sums."""
    return Surroundings(
        norm="layer", position="post", residual=True, feed_forward="relu", expansion=hidden / width
    )


def _tracking() -> Iterator[PublishedModel]:
    note = "state tracking, table 6; the text says about 3 million parameters a layer"
    task: dict[str, Any] = {"letters": 60, "outputs": 60}
    for model, hidden in (("rnn", 768), ("lstm", 768), ("gru", 768), ("nru", 1024)):
        yield _row("tracking", model, _cell(model, hidden, memory=256), note=note, width=256, **task)
    note += "; what it does not say is as in the program of Merrill et al."
    yield _row(
        *("tracking", "transformer", {"heads": 8}),
        note=note,
        width=512,
        surroundings=_decoder(512, 2048),
        **task,
    )
    yield _row("tracking", "s4d", {}, note=note, width=1174, surroundings=NORMED_AFTER, **task)
    yield _row("tracking", "mamba", {}, note=note, width=512, surroundings=NORMED, **task)
    settings = {"states": 128, "activation": "gelu", "draw": "published"}
    yield _row("tracking", "ids4", settings, note=note, width=256, surroundings=NORMED_AFTER, **task)


def _copying() -> Iterator[PublishedModel]:
    note = "copying and denoising, table 7: 10 tokens and padding, embedded in 10 numbers"
    of_states = (
        "; only as the number of states does the size fit the counts of the others, and the limit of 256 "
        "that the paper names for Mamba is that of its program for states"
    )
    for depth in (1, 2):
        rest: dict[str, Any] = {"suffix": f"-{depth}", "depth": depth, "letters": 11, "outputs": 10}
        for model, sizes in {"rnn": (216, 200), "lstm": (112, 96), "gru": (128, 112)}.items():
            settings = _cell(model, sizes[depth - 1], memory=0)
            yield _row("copying", model, settings, note=note, width=10, **rest)
        settings = _cell("nru", 128, memory=64)
        yield _row("copying", "nru", settings, note=note + "; 64 places of memory inferred", width=10, **rest)
        for model, sizes in {"mamba": (256, 256), "s4d": (2400, 3000)}.items():
            settings = {"states": sizes[depth - 1]}
            yield _row(
                "copying", model, settings, note=note + of_states, width=10, surroundings=NORMED, **rest
            )
        inferred = note + "; heads and the 256 units of the feed-forward part are inferred"
        around = _decoder(64, 256)
        yield _row(
            "copying", "transformer", {"heads": 4}, note=inferred, width=64, surroundings=around, **rest
        )


COUNTS = {
    "gru": (275, 12931),
    "lstm": (363, 17219),
    "mamba": (3641, 51393),
    "nru": (3205, 17093),
    "rnn": (99, 4355),
    "s4d": (1225, 16961),
    "transformer": (2529, 33665),
}
"""Table 8, for the hidden sizes 8 and 64."""


def _counting() -> Iterator[PublishedModel]:
    note = "counting, table 8; sizes inferred from its counts"
    nru_note = note + "; it counts 66 more, as a second bias of the heads would be"
    for number, size in enumerate((8, 64)):
        for model in ("rnn", "lstm", "gru"):
            yield _row(
                *("counting", model, _cell(model, size, memory=0)),
                suffix=f"-{size}",
                note=note,
                width=1,
                features=1,
                outputs=1,
                parameters=COUNTS[model][number],
            )
        rows: tuple[tuple[str, dict[str, Any], Surroundings, str], ...] = (
            ("mamba", {"states": 64}, NORMED, note),
            ("s4d", {"states": 64}, NORMED, note),
            ("nru", _cell("nru", size, memory=32), NORMED, nru_note),
            ("transformer", {"heads": 1}, _decoder(size, 128), note + "; no positions, heads inferred"),
        )
        for model, settings, around, said in rows:
            yield _row(
                *("counting", model, settings),
                suffix=f"-{size}",
                note=said,
                width=size,
                surroundings=around,
                features=1,
                outputs=1,
                parameters=COUNTS[model][number],
            )


MODELS = (*_tracking(), *_copying(), *_counting())
