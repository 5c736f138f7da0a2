"""Models of the papers on formal languages: next letters, parity, flip-flops and n-grams."""

from __future__ import annotations

from nerode.core import Reference
from nerode.models.configurations import CONFIGURATIONS, Configuration
from nerode.models.surroundings import Surroundings
from nerode.models.zoo import LayerConfig


def _add(row: Configuration) -> None:
    CONFIGURATIONS.add(row.name, row)


_add(
    Configuration(
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
    )
)
_add(
    Configuration(
        name="sarrof-mamba",
        source=Reference("Sarrof2024"),
        note="27 languages and flip-flops: widths 16, 64, 128 (256 for counters), one to three layers",
        layers=(LayerConfig(name="mamba", settings={"states": 16, "convolution": 4}),),
        width=64,
        surroundings=Surroundings(norm="layer", residual=True),
        final_norm="layer",
    )
)
_add(
    Configuration(
        name="sarrof-dyck-mamba",
        source=Reference("Sarrof2024"),
        note="Dyck(8,10): widths 20, 30, 50, 100, one or two layers",
        layers=(LayerConfig(name="mamba", settings={"states": 16, "convolution": 4}),) * 2,
        width=20,
        surroundings=Surroundings(norm="layer", residual=True),
        final_norm="layer",
    )
)
for _name in ("mamba", "mamba-signed", "slstm"):
    _add(
        Configuration(
            name=f"mat-{_name}",
            source=Reference("Dankowiakowski2025"),
            note="parity and flip-flops, one layer; flip-flops also at widths 2, 4, 8, 16, 32; "
            "the norm before the head is inferred",
            layers=(LayerConfig(name="slstm-block" if _name == "slstm" else _name),),
            width=128,
            final_norm="layer" if _name == "slstm" else "rms",
        )
    )
for _name, _layer in (("ssm", "ssm"), ("rnn", "elman-relu")):
    _add(
        Configuration(
            name=f"ngram-{_name}",
            source=Reference("Nandakumar2024"),
            note="4-grams of two templates: 145 trigrams, 79 words",
            layers=(LayerConfig(name=_layer, settings={"states" if _name == "ssm" else "hidden": 145}),),
            width=10,
            scores=_name == "ssm",
            letters=79,
            outputs=79,
        )
    )
for _name, _layer, _hidden, _count in (("rnn", "elman-tanh", 16, 466), ("lstm", "lstm", 16, 1714)):
    _add(
        Configuration(
            name=f"cpu-parity-{_name}",
            source=Reference("Grazzi2025"),
            note="parity on one core, in about a second",
            layers=(LayerConfig(name=_layer, settings={"hidden": _hidden, "recurrent_bias": True}),),
            width=8,
            letters=2,
            outputs=2,
            parameters=_count,
        )
    )
for _layer in ("mamba", "mamba-signed"):
    _add(
        Configuration(
            name=f"cpu-parity-{_layer}",
            source=Reference("Grazzi2025"),
            note="parity on one core: the signed one learns it in about five seconds, the other never",
            layers=(LayerConfig(name=_layer, settings={"states": 4}),),
            width=16,
            final_norm="rms",
            letters=2,
            outputs=2,
            parameters=2306,
        )
    )
