"""The models of the papers, by name.

First the papers on formal languages and on state tracking in groups and automata, then "On memory and
generalization in the era of linear recurrence", its tables 6 to 8. Table 6 (state tracking) and table 7
(copying and denoising) give sizes without counts; table 8 (counting) gives counts without sizes, which pins
down what stands around each layer: a linear map from the one input to 1 (recurrent networks) or to the hidden
size (the others), one LayerNorm and 64 states for Mamba and S4D, a feed-forward part of 128 units for the
transformer, 32 places of memory for the NRU.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from nerode.core import InputError, Reference, Registry
from nerode.models.config import ModelConfig, spec_config
from nerode.records import ModelSpec, Norm, Surroundings

NORMED = Surroundings(norm="layer", residual=True)
NORMED_AFTER = Surroundings(norm="layer", position="post", residual=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedModel:
    """A model of a paper, but for the sizes that belong to the task.

    Attributes:
        name: kebab-case.
        source: the paper.
        note: what it was used for, and what is not in the paper but inferred.
        model: its layers, all alike, and what stands around them.
        scores: whether the last layer itself gives the scores, without a head.
        letters: size of the vocabulary in the paper, where it says one.
        features: number of features in the paper, for a model that reads features.
        outputs: number of scores in the paper.
        parameters: how many the paper counts with these sizes; None where it does not say.
    """

    name: str
    source: Reference
    note: str
    model: ModelSpec
    scores: bool = False
    letters: int | None = None
    features: int | None = None
    outputs: int | None = None
    parameters: int | None = None


def _row(
    name: str,
    source: str,
    layer: str,
    settings: dict[str, Any],
    *,
    note: str,
    width: int | None,
    depth: int = 1,
    labels: int | None = None,
    surroundings: Surroundings | None = None,
    positions: Literal["none", "sine"] = "none",
    final_norm: Norm = "none",
    **rest: Any,
) -> PublishedModel:
    """A row; `labels` are its letters and its outputs, where they are one."""
    model = ModelSpec(
        layers=layer,
        depth=depth,
        width=width or 0,
        settings=settings,
        surroundings=surroundings,
        positions=positions,
        final_norm=final_norm,
    )
    sizes = {"letters": labels, "outputs": labels} | rest
    return PublishedModel(name=name, source=Reference(source), note=note, model=model, **sizes)


_LANGUAGES = (
    _row(
        "vaswani-base",
        "Vaswani2017",
        "transformer-nope",
        {"heads": 8},
        depth=6,
        note="the decoder of the base model, without attention to an encoder: sines and cosines, norms after "
        "the sums",
        width=512,
        surroundings=Surroundings(
            norm="layer", position="post", residual=True, feed_forward="relu", dropout=0.1
        ),
        positions="sine",
    ),
    _row(
        "sarrof-mamba",
        "Sarrof2024",
        "mamba",
        {"states": 16, "convolution": 4},
        note="27 languages and flip-flops: widths 16, 64, 128 (256 for counters), one to three layers",
        width=64,
        surroundings=NORMED,
        final_norm="layer",
    ),
    _row(
        "sarrof-dyck-mamba",
        "Sarrof2024",
        "mamba",
        {"states": 16, "convolution": 4},
        depth=2,
        note="Dyck(8,10): widths 20, 30, 50, 100, one or two layers",
        width=20,
        surroundings=NORMED,
        final_norm="layer",
    ),
    *(
        _row(
            f"mat-{name}",
            "Dankowiakowski2025",
            "slstm-block" if name == "slstm" else name,
            {},
            note="parity and flip-flops, one layer; flip-flops also at widths 2, 4, 8, 16, 32; "
            "the norm before the head is inferred",
            width=128,
            final_norm="layer" if name == "slstm" else "rms",
        )
        for name in ("mamba", "mamba-signed", "slstm")
    ),
    *(
        _row(
            f"ngram-{name}",
            "Nandakumar2024",
            layer,
            {"states" if name == "ssm" else "hidden": 145},
            note="4-grams of two templates: 145 trigrams, 79 words",
            width=10,
            scores=name == "ssm",
            letters=79,
            outputs=79,
        )
        for name, layer in (("ssm", "ssm"), ("rnn", "elman-relu"))
    ),
    *(
        _row(
            f"cpu-parity-{name}",
            "Grazzi2025",
            layer,
            {"hidden": hidden, "recurrent_bias": True},
            note="parity on one core, in about a second",
            width=8,
            letters=2,
            outputs=2,
            parameters=count,
        )
        for name, layer, hidden, count in (("rnn", "elman-tanh", 16, 466), ("lstm", "lstm", 16, 1714))
    ),
    *(
        _row(
            f"cpu-parity-{layer}",
            "Grazzi2025",
            layer,
            {"states": 4},
            note="parity on one core: the signed one learns it in about five seconds, the other never",
            width=16,
            final_norm="rms",
            letters=2,
            outputs=2,
            parameters=2306,
        )
        for layer in ("mamba", "mamba-signed")
    ),
)


_WORDS = "products in Z60, A4 x Z5 and A5, one to four layers; sizes and norms from the authors' program"


_GROUPS = (
    *(
        _row(
            f"merrill-{name}",
            "Merrill2024",
            layer,
            {"hidden": 2048, "recurrent_bias": True},
            note=_WORDS,
            width=512,
            labels=60,
        )
        for name, layer in (("rnn", "elman-tanh"), ("lstm", "lstm"), ("gru", "gru"))
    ),
    _row(
        "merrill-transformer",
        "Merrill2024",
        "transformer-nope",
        {"heads": 8},
        note=_WORDS + ", which adds the sines by row of the batch instead of by position; here by position",
        width=512,
        surroundings=Surroundings(norm="layer", position="post", residual=True, feed_forward="gelu"),
        positions="sine",
        labels=60,
    ),
    _row(
        "merrill-mamba",
        "Merrill2024",
        "mamba",
        {},
        note=_WORDS,
        width=698,
        surroundings=NORMED,
        final_norm="layer",
        labels=60,
    ),
    _row(
        "merrill-s4",
        "Merrill2024",
        "s4d",
        {},
        note=_WORDS + ", where S4 is S4D",
        width=1174,
        surroundings=NORMED_AFTER,
        labels=60,
    ),
    _row(
        "merrill-ids4",
        "Merrill2024",
        "ids4",
        {"states": 110, "activation": "gelu", "draw": "published"},
        note=_WORDS + "; the layer as the paper defines it, not as the program has it",
        width=255,
        surroundings=NORMED_AFTER,
        labels=60,
    ),
    *(
        _row(
            f"grazzi-{task}-{layer.removesuffix('-block')}",
            "Grazzi2025",
            layer,
            settings,
            note=f"{task}, train length 3 to 40, test to 256"
            + ("; 12 letters with brackets" if task == "arithmetic" else "")
            + ("; which positions its transformer has is inferred" if layer == "transformer" else ""),
            width=128,
            depth=depth,
            final_norm="layer" if layer in ("transformer", "mlstm", "slstm-block") else "rms",
            labels=letters,
        )
        for task, depth, letters in (("parity", 2, 3), ("arithmetic", 3, 10))
        for layer, settings in (
            ("transformer", {"heads": 4}),
            ("mlstm", {"heads": 4}),
            ("slstm-block", {"heads": 4}),
            ("mamba", {}),
            ("mamba-signed", {}),
            ("deltanet", {"heads": 4}),
            ("deltanet-signed", {"heads": 4}),
        )
    ),
    *(
        _row(
            f"grazzi-s5-{layer}",
            "Grazzi2025",
            layer,
            {"heads": 4, "convolution": 0},
            note="products in S5, train length 32, one or five layers",
            width=128,
            final_norm="rms",
            labels=120,
        )
        for layer in ("deltanet", "deltanet-signed")
    ),
    *(
        _row(
            f"siems-{group}-deltaproduct",
            "Siems2025",
            "deltaproduct-signed",
            {"heads": 8, "key_width": 32, "value_width": 32, "factors": factors},
            note="products in a group, train length 128, test 512; the fewest factors reported to "
            "solve it; the width, heads times their size, is inferred",
            width=256,
            final_norm="rms",
            labels=order,
        )
        for group, order, factors in (("s3", 6, 2), ("s4", 24, 2), ("a5", 60, 2), ("s5", 120, 4))
    ),
    _row(
        "terzic-regular-pd-ssm",
        "Terzic2025PdSsm",
        "pd-ssm",
        {},
        note="four regular tasks, train length 3 to 40, test to 256",
        width=128,
        depth=2,
    ),
    _row(
        "cpu-groups-rotations",
        "Merrill2024",
        "orthogonal",
        {"blocks": 4, "size": 3, "spread": 1.0},
        note="products in A5 on one core: one-hot letters in, scores out of the one layer",
        width=None,
        scores=True,
        labels=60,
    ),
    _row(
        "cpu-groups-deltaproduct",
        "Siems2025",
        "deltaproduct-signed",
        {"heads": 4, "factors": 2},
        note="products in S3 on one core: states of 8 x 8; width inferred",
        width=32,
        final_norm="rms",
        labels=6,
    ),
)

FORMAL_LANGUAGE_MODELS = (*_LANGUAGES, *_GROUPS)


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


def _memory(
    task: str, model: str, settings: dict[str, Any], *, suffix: str = "", depth: int = 1, **rest: Any
) -> PublishedModel:
    name = f"memory-{task}-{model}{suffix}"
    return _row(name, "MemoryGeneralization", MEMBERS[model], settings, depth=depth, **rest)


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
        yield _memory("tracking", model, _cell(model, hidden, memory=256), note=note, width=256, **task)
    note += "; what it does not say is as in the program of Merrill et al."
    yield _memory(
        *("tracking", "transformer", {"heads": 8}),
        note=note,
        width=512,
        surroundings=_decoder(512, 2048),
        **task,
    )
    yield _memory("tracking", "s4d", {}, note=note, width=1174, surroundings=NORMED_AFTER, **task)
    yield _memory("tracking", "mamba", {}, note=note, width=512, surroundings=NORMED, **task)
    settings = {"states": 128, "activation": "gelu", "draw": "published"}
    yield _memory("tracking", "ids4", settings, note=note, width=256, surroundings=NORMED_AFTER, **task)


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
            yield _memory("copying", model, settings, note=note, width=10, **rest)
        settings = _cell("nru", 128, memory=64)
        yield _memory(
            "copying", "nru", settings, note=note + "; 64 places of memory inferred", width=10, **rest
        )
        for model, sizes in {"mamba": (256, 256), "s4d": (2400, 3000)}.items():
            settings = {"states": sizes[depth - 1]}
            yield _memory(
                "copying", model, settings, note=note + of_states, width=10, surroundings=NORMED, **rest
            )
        inferred = note + "; heads and the 256 units of the feed-forward part are inferred"
        around = _decoder(64, 256)
        yield _memory(
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
            yield _memory(
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
            (
                "transformer",
                {"heads": 1},
                _decoder(size, 128),
                note + "; no positions, heads inferred",
            ),
        )
        for model, settings, around, own_note in rows:
            yield _memory(
                *("counting", model, settings),
                suffix=f"-{size}",
                note=own_note,
                width=size,
                surroundings=around,
                features=1,
                outputs=1,
                parameters=COUNTS[model][number],
            )


MEMORY_MODELS = (*_tracking(), *_copying(), *_counting())


def _collect() -> Registry[PublishedModel]:
    table: Registry[PublishedModel] = Registry(
        "configuration", hint="`nerode.models.published.all_configurations()` has them."
    )
    for row in (*FORMAL_LANGUAGE_MODELS, *MEMORY_MODELS):
        table.add(row.name, row)
    return table


_CONFIGURATIONS = _collect()


def all_configurations() -> Registry[PublishedModel]:
    """Returns the models of the papers, by name."""
    return _CONFIGURATIONS


def configuration(
    name: str,
    *,
    letters: int | None = None,
    features: int | None = None,
    outputs: int | None = None,
    width: int | None = None,
    depth: int | None = None,
) -> ModelConfig:
    """Returns the model of a paper, or raises UnknownName with the nearest.

    Args:
        name: of the configuration.
        letters: size of the vocabulary; the paper's when not given.
        features: number of features at each position, instead of letters.
        outputs: number of scores; the paper's when not given.
        width: another width than the paper's.
        depth: another number of layers than the paper's.
    """
    row = _CONFIGURATIONS[name.lower()]
    if letters is None and features is None:
        letters, features = row.letters, row.features
    outputs = row.outputs if outputs is None else outputs
    if outputs is None or (letters is None and features is None):
        raise InputError(
            f"the configuration {row.name!r} leaves the task open; give letters or features, and outputs"
        )
    depth = row.model.depth if depth is None else depth
    if depth < 1:
        raise InputError(f"a depth of {depth} was asked for; it has to be 1 or more")
    spec = replace(row.model, depth=depth, width=row.model.width if width is None else width)
    if row.scores:
        spec = replace(spec, head="none", layer_settings=(*({},) * (depth - 1), {"outputs": outputs}))
    return spec_config(spec, letters=letters, features=features, outputs=outputs)
