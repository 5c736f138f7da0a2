"""Models of the papers on formal languages: next letters, parity, flip-flops and n-grams."""

from __future__ import annotations

from nerode.core import Reference
from nerode.models.base import Surroundings
from nerode.models.model import PublishedModel
from nerode.models.zoo import LayerConfig

MODELS = (
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
