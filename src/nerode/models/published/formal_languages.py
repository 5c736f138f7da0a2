"""Models of the papers on formal languages and on state tracking in groups and automata."""

from __future__ import annotations

from typing import Any

from nerode.core import Reference
from nerode.models.base import Surroundings
from nerode.models.model import PublishedModel
from nerode.models.zoo import LayerConfig

_LANGUAGES = (
    PublishedModel(
        name="vaswani-base",
        source=Reference("Vaswani2017"),
        note="the decoder of the base model, without attention to an encoder: sines and cosines, norms after "
        "the sums",
        layers=(LayerConfig(name="transformer-nope", settings={"heads": 8}),) * 6,
        width=512,
        surroundings=Surroundings(
            norm="layer", position="post", residual=True, feed_forward="relu", dropout=0.1
        ),
        positions="sine",
    ),
    PublishedModel(
        name="sarrof-mamba",
        source=Reference("Sarrof2024"),
        note="27 languages and flip-flops: widths 16, 64, 128 (256 for counters), one to three layers",
        layers=(LayerConfig(name="mamba", settings={"states": 16, "convolution": 4}),),
        width=64,
        surroundings=Surroundings(norm="layer", residual=True),
        final_norm="layer",
    ),
    PublishedModel(
        name="sarrof-dyck-mamba",
        source=Reference("Sarrof2024"),
        note="Dyck(8,10): widths 20, 30, 50, 100, one or two layers",
        layers=(LayerConfig(name="mamba", settings={"states": 16, "convolution": 4}),) * 2,
        width=20,
        surroundings=Surroundings(norm="layer", residual=True),
        final_norm="layer",
    ),
    *(
        PublishedModel(
            name=f"mat-{name}",
            source=Reference("Dankowiakowski2025"),
            note="parity and flip-flops, one layer; flip-flops also at widths 2, 4, 8, 16, 32; "
            "the norm before the head is inferred",
            layers=(LayerConfig(name="slstm-block" if name == "slstm" else name),),
            width=128,
            final_norm="layer" if name == "slstm" else "rms",
        )
        for name in ("mamba", "mamba-signed", "slstm")
    ),
    *(
        PublishedModel(
            name=f"ngram-{name}",
            source=Reference("Nandakumar2024"),
            note="4-grams of two templates: 145 trigrams, 79 words",
            layers=(LayerConfig(name=layer, settings={"states" if name == "ssm" else "hidden": 145}),),
            width=10,
            scores=name == "ssm",
            letters=79,
            outputs=79,
        )
        for name, layer in (("ssm", "ssm"), ("rnn", "elman-relu"))
    ),
    *(
        PublishedModel(
            name=f"cpu-parity-{name}",
            source=Reference("Grazzi2025"),
            note="parity on one core, in about a second",
            layers=(LayerConfig(name=layer, settings={"hidden": hidden, "recurrent_bias": True}),),
            width=8,
            letters=2,
            outputs=2,
            parameters=count,
        )
        for name, layer, hidden, count in (("rnn", "elman-tanh", 16, 466), ("lstm", "lstm", 16, 1714))
    ),
    *(
        PublishedModel(
            name=f"cpu-parity-{layer}",
            source=Reference("Grazzi2025"),
            note="parity on one core: the signed one learns it in about five seconds, the other never",
            layers=(LayerConfig(name=layer, settings={"states": 4}),),
            width=16,
            final_norm="rms",
            letters=2,
            outputs=2,
            parameters=2306,
        )
        for layer in ("mamba", "mamba-signed")
    ),
)


_AFTER = Surroundings(norm="layer", position="post", residual=True)


def _row(
    name: str,
    source: str,
    layer: str,
    settings: dict[str, Any],
    *,
    note: str,
    width: int | None,
    depth: int = 1,
    **rest: Any,
) -> PublishedModel:
    layers = (LayerConfig(name=layer, settings=settings),) * depth
    return PublishedModel(name=name, source=Reference(source), note=note, layers=layers, width=width, **rest)


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
            letters=60,
            outputs=60,
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
        letters=60,
        outputs=60,
    ),
    _row(
        "merrill-mamba",
        "Merrill2024",
        "mamba",
        {},
        note=_WORDS,
        width=698,
        surroundings=Surroundings(norm="layer", residual=True),
        final_norm="layer",
        letters=60,
        outputs=60,
    ),
    _row(
        "merrill-s4",
        "Merrill2024",
        "s4d",
        {},
        note=_WORDS + ", where S4 is S4D",
        width=1174,
        surroundings=_AFTER,
        letters=60,
        outputs=60,
    ),
    _row(
        "merrill-ids4",
        "Merrill2024",
        "ids4",
        {"states": 110, "activation": "gelu", "draw": "published"},
        note=_WORDS + "; the layer as the paper defines it, not as the program has it",
        width=255,
        surroundings=_AFTER,
        letters=60,
        outputs=60,
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
            letters=letters,
            outputs=letters,
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
            letters=120,
            outputs=120,
        )
        for layer in ("deltanet", "deltanet-signed")
    ),
    *(
        _row(
            f"siems-{group}-deltaproduct",
            "Siems2025",
            "deltaproduct-signed",
            {"heads": 8, "key_width": 32, "value_width": 32, "factors": factors},
            note="products in a group, train length 128, test 512; the fewest factors that are said to "
            "solve it; the width, heads times their size, is inferred",
            width=256,
            final_norm="rms",
            letters=order,
            outputs=order,
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
        letters=60,
        outputs=60,
    ),
    _row(
        "cpu-groups-deltaproduct",
        "Siems2025",
        "deltaproduct-signed",
        {"heads": 4, "factors": 2},
        note="products in S3 on one core: states of 8 x 8; width inferred",
        width=32,
        final_norm="rms",
        letters=6,
        outputs=6,
    ),
)

MODELS = (*_LANGUAGES, *_GROUPS)
