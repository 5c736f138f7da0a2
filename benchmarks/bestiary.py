"""Every named language: compiled for every class, certified, and the certificates checked."""

from __future__ import annotations

import json
import time
from concurrent.futures import ProcessPoolExecutor

from nerode.certificates.certificate import Certificate, certificate_to_json
from nerode.certificates.checker import check
from nerode.compiler.json_form import network_to_json
from nerode.core.budget import Budget
from nerode.languages.bestiary import BESTIARY, find_language
from nerode.languages.description import describe_language
from nerode.report.networks import TARGETS, study_networks

SECONDS = 10.0
TARGET_SECONDS = 60.0


def study(name: str) -> tuple[str, int, int, int, float, float]:
    """Name, networks, proofs, proofs that were checked, seconds to make and seconds to check them."""
    language = find_language(name)
    begun = time.perf_counter()
    found = study_networks(language, targets=dict.fromkeys(TARGETS, ()), budget=Budget(seconds=SECONDS))
    made = time.perf_counter()
    proved = [(s.network, s.result) for s in found if isinstance(s.result, Certificate)]
    checked = 0
    for network, certificate in proved:
        parts = (network_to_json(network), describe_language(language), certificate_to_json(certificate))
        outcome = check(*(json.loads(json.dumps(p)) for p in parts), budget=Budget(seconds=60))
        checked += outcome.ok
    networks = sum(s.network is not None for s in found)
    return name, networks, len(proved), checked, made - begun, time.perf_counter() - made


def main() -> None:
    begun = time.perf_counter()
    with ProcessPoolExecutor(max_workers=2) as pool:
        rows = list(pool.map(study, BESTIARY))
    wall = time.perf_counter() - begun
    networks, proved, checked = (sum(row[i] for row in rows) for i in (1, 2, 3))
    making, checking = (sum(row[i] for row in rows) for i in (4, 5))
    print(f"{len(rows)} languages, {networks} networks, {proved} proved, {checked} checked")
    print(f"compile and certify {making:.0f} s, check {checking:.0f} s, two processes: {wall:.0f} s of wall")
    print(f"target for compiling and certifying: {TARGET_SECONDS:.0f} s on two cores", end=": ")
    print("ok" if making / 2 < TARGET_SECONDS else f"MISSED ({making / 2:.0f} s)")
    for row in sorted(rows, key=lambda row: -row[4])[:8]:
        print(f"  {row[0]:<28}{row[4]:>7.1f} s for {row[1]} networks")
