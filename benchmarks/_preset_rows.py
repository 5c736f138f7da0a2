"""What the first, throw-away measurement of each preset was, and which scores to show."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A preset.

    Attributes:
        name: of its file.
        seeds: how many are run.
        before: what was found before, in the order of `shows`.
        seconds: of the processor, before: the most of the seeds; None where only the limit is known.
        shows: names of scores; see `_preset_scores`.
    """

    name: str
    seeds: int
    before: str
    seconds: float | None
    shows: tuple[str, ...]


_TEXT = ("greedy", "sampled")
_PARITY = ("final@40", "final@256", "final@1024", "sequence@1024")
_GROUP = ("sequence@8", "sequence@16", "sequence@64", "sequence@256", "sequence@1024")
_GENERATORS = ("final@20", "final@40", "final@160", "final@640", "final@1280", "sequence@20")
_COPY = ("blanks=20", "blanks=40", "blanks=100", "blanks=200", "pattern=10")
_FULL = ("blanks=50", "blanks=100", "blanks=250", "blanks=500", "pattern=20")
_COUNT = ("token@200", "time-off=60", "two-isi 80", "two-isi 300", "double-isi")
_BINS = ("sequence@50", "sequence@100", "sequence@150", "sequence@500")
_STREAMS = ("token@512", "ignored-percent=98", "random", "opposite")

ROWS = (
    Row(name="ngram-ssm", seeds=5, before="1.00 ×5, .77–.97", seconds=0.8, shows=_TEXT),
    Row(name="ngram-ssm-decay", seeds=5, before="1.00 ×2, .62–.63", seconds=1.0, shows=_TEXT),
    Row(name="ngram-ssm-sgd", seeds=5, before="0 ×5, 0 ×5", seconds=2.2, shows=_TEXT),
    Row(name="ngram-rnn", seeds=5, before="1.00 ×3, .87–.95", seconds=1.4, shows=_TEXT),
    Row(name="parity-lstm", seeds=3, before="1 everywhere ×3", seconds=0.4, shows=_PARITY),
    Row(name="parity-rnn", seeds=3, before="1 everywhere ×3", seconds=1.3, shows=_PARITY),
    Row(name="parity-mamba-pos", seeds=3, before=".48, .51, .47 ×2 (4000 steps)", seconds=14, shows=_PARITY),
    Row(name="parity-mamba-neg", seeds=3, before="1, 1.0, .83, .34", seconds=5, shows=_PARITY),
    Row(name="parity-mamba-pos-large-steps", seeds=3, before="not run", seconds=None, shows=_PARITY),
    Row(name="parity-mamba-neg-large-steps", seeds=3, before="not run", seconds=None, shows=_PARITY),
    Row(name="group-mamba2-z2", seeds=3, before=".99, .25", seconds=11, shows=_GROUP),
    Row(name="group-s3-lstm", seeds=3, before="1; .9 or more to 1024", seconds=1.5, shows=_GROUP),
    Row(name="group-s3-delta2", seeds=3, before="1; .9 or more to 40, 0 at 128", seconds=4.3, shows=_GROUP),
    Row(name="group-s3-delta1", seeds=3, before=".12", seconds=20, shows=_GROUP),
    Row(
        name="group-a5-rotations",
        seeds=3,
        before="at 64, 256, 1024: 1, 1, .47; 1, 1, 1 ×2",
        seconds=6.1,
        shows=_GROUP,
    ),
    Row(
        name="group-z60-rotations",
        seeds=2,
        before="1 at 32; 0 from 64 on ×2",
        seconds=6.0,
        shows=("sequence@8", "sequence@32", *_GROUP[2:]),
    ),
    Row(name="group-a4xz5-rotations", seeds=2, before="at 64, 256: .25, 0", seconds=12.4, shows=_GROUP),
    Row(
        name="group-s4-rotations", seeds=2, before="at 64, 256, 1024: .95, .25, 0", seconds=5.8, shows=_GROUP
    ),
    Row(
        name="group-a5-generators-gru",
        seeds=3,
        before="1, .99, .94, .75, .45",
        seconds=5.9,
        shows=_GENERATORS,
    ),
    Row(
        name="group-a5-generators-lstm",
        seeds=3,
        before="1, 1, .95, .83, .55",
        seconds=4.5,
        shows=_GENERATORS,
    ),
    Row(name="group-s3-generators-lstm", seeds=3, before="1 everywhere", seconds=3.0, shows=_GENERATORS),
    Row(name="copy-small-s4d", seeds=1, before=".99, .26, .24, .26, .34", seconds=3.2, shows=_COPY),
    Row(name="copy-small-mamba2", seeds=1, before=".99, 1.0, .98, .94, .35", seconds=16, shows=_COPY),
    Row(name="copy-small-gru", seeds=1, before=".99, .97, .98, .91, .53", seconds=5.9, shows=_COPY),
    Row(name="copy-small-lstm", seeds=1, before=".99, .99, .84, .60, .40", seconds=11, shows=_COPY),
    Row(name="copy-full-s4d", seeds=1, before="1.00, .12, .13, .12, .16", seconds=19, shows=_FULL),
    Row(name="copy-full-gru", seeds=1, before=".98, .99, .97, .98, .43", seconds=60, shows=_FULL),
    Row(
        name="count-200-lstm",
        seeds=3,
        before="≥ .99, 1.0; pass, pass, fail ×3",
        seconds=0.6,
        shows=_COUNT,
    ),
    Row(
        name="count-200-s4d", seeds=3, before="≥ .99, .96–1.0; pass, pass, fail ×3", seconds=1.1, shows=_COUNT
    ),
    Row(
        name="count-200-gru",
        seeds=3,
        before="≥ .99, 1.0; pass, pass ×2, double-isi 1 of 2",
        seconds=6.7,
        shows=_COUNT,
    ),
    Row(
        name="count-200-rnn", seeds=3, before="≥ .99, 1.0; pass, pass, partial ×3", seconds=3.6, shows=_COUNT
    ),
    Row(name="count-200-mamba", seeds=3, before="≥ .99, 1.0; pass, pass, fail ×2", seconds=8.4, shows=_COUNT),
    Row(name="tomita-1-mamba", seeds=3, before="1, 1, 1, 1", seconds=2.8, shows=_BINS),
    Row(name="tomita-2-mamba", seeds=3, before="1, 1, 1, 1", seconds=2.5, shows=_BINS),
    Row(name="tomita-4-mamba", seeds=3, before="1, 1, 1, 1", seconds=2.6, shows=_BINS),
    Row(name="tomita-7-mamba", seeds=3, before="1, 1, 1, 1", seconds=3.7, shows=_BINS),
    Row(name="tomita-3-mamba", seeds=1, before=".51, .13, .02, 0", seconds=15, shows=_BINS),
    Row(name="tomita-5-mamba", seeds=1, before="0, 0, 0, 0", seconds=15, shows=_BINS),
    Row(name="tomita-6-mamba", seeds=1, before=".38, 0, 0, 0", seconds=15, shows=_BINS),
    Row(name="tomita-3-mamba-neg", seeds=3, before="1, 1, 1, .97", seconds=5.5, shows=_BINS),
    Row(name="tomita-3-lstm", seeds=3, before="1, 1, 1, 1", seconds=1.7, shows=_BINS),
    Row(name="tomita-5-lstm", seeds=3, before="1, 1, 1, 1", seconds=4.8, shows=_BINS),
    Row(name="flipflop-lstm", seeds=3, before="1.0, 1.0; 100,000 or more both", seconds=1.2, shows=_STREAMS),
    Row(
        name="flipflop-mamba",
        seeds=3,
        before="1.0, .50–.55 (whole sequences); 10–70, 10–40",
        seconds=7.5,
        shows=_STREAMS,
    ),
)
