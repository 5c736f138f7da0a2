"""Every named language: compiled for every class, certified, and the certificates checked."""

from __future__ import annotations

import itertools
import json
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from benchmarks._rows import record
from nerode.core import Budget
from nerode.languages import describe_language
from nerode.languages.bestiary import BESTIARY, find_language
from nerode.network import network_hash, network_to_json
from nerode.proofs import Certificate, certificate_to_json, check
from nerode.study import TARGETS, study_networks

SECONDS = 10.0
CERTIFY_SECONDS, CHECK_SECONDS = 30.0, 60.0
"""Targets for the classes, in processor time: making and certifying on each of two cores, and all checks."""


CELLS = ("elman-relu", "elman-tanh", "lstm", "gru", "slstm")
CLASSES = tuple(target for target in TARGETS if target not in CELLS)


@dataclass(frozen=True, kw_only=True)
class Study:
    """What was made for one language, and the processor seconds it took."""

    name: str
    networks: int
    proved: int
    checked: int
    seconds: float
    checking: float


def study(name: str, targets: tuple[str, ...]) -> Study:
    """Compiles, certifies and checks; targets that get the same network share its proof."""
    language = find_language(name)
    begun = time.process_time()
    found = study_networks(language, targets=dict.fromkeys(targets, ()), budget=Budget(seconds=SECONDS))
    made = time.process_time()
    proved = [
        (s.network, s.result)
        for s in found
        if isinstance(s.result, Certificate) and s.network and s.result.network == network_hash(s.network)
    ]
    checked = 0
    for network, certificate in proved:
        parts = (network_to_json(network), describe_language(language), certificate_to_json(certificate))
        outcome = check(*(json.loads(json.dumps(p)) for p in parts), budget=Budget(seconds=60))
        checked += outcome.ok
    return Study(
        name=name,
        networks=len({network_hash(s.network) for s in found if s.network}),
        proved=len(proved),
        checked=checked,
        seconds=made - begun,
        checking=time.process_time() - made,
    )


def main() -> None:
    for title, targets in (("classes", CLASSES), ("nonlinear cells", CELLS)):
        begun = time.perf_counter()
        with ProcessPoolExecutor(max_workers=2) as pool:
            rows = list(pool.map(study, BESTIARY, itertools.repeat(targets)))
        wall = time.perf_counter() - begun
        networks, proved, checked = (
            sum(getattr(r, f) for r in rows) for f in ("networks", "proved", "checked")
        )
        making, checking = sum(r.seconds for r in rows), sum(r.checking for r in rows)
        print(f"{title}: {len(rows)} languages, {networks} networks, {proved} proved, {checked} checked")
        print(f"  compile and certify {making:.0f} s, check {checking:.0f} s; in two processes {wall:.0f} s")
        if targets is CLASSES:
            record(
                "certificates of the classes, per core", "30 s", [making / 2], [CERTIFY_SECONDS], threads=2
            )
            record("checks of the classes", "60 s", [checking], [CHECK_SECONDS])
        for row in sorted(rows, key=lambda row: -row.seconds)[:5]:
            print(f"  {row.name:<28}{row.seconds:>7.1f} s for {row.networks} networks")
