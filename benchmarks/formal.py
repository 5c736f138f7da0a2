"""The Python kernel against nerode-check, the checker that is proved in Coq (`make formal` builds it).

    python -m benchmarks formal [--languages LANG ...] [--mutants N] [--corruptions N] [--seed S]
                                [--seconds S] [--processes N]

First every compiled network of the bestiary and of the architecture classes whose certificate has a method
that is proved in `formal/`: nerode-check has to accept the same claims. Then mutants: numbers of small
networks are changed, keys are taken out or added, and both checkers judge the same files. Last, the networks
and languages of `benchmarks.corruption`, corrupted as it does.

    both, neither      both accept; both refuse
    different          one accepts what the other refuses; there should be none
    form               nerode-check does not read networks of this form (tanh, roots of unity, ...)
"""

from __future__ import annotations

import argparse
import copy
import functools
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.corruption import KernelCase, cases, corrupt
from nerode import kernel
from nerode.core import Budget, BudgetExceeded, NerodeError
from nerode.kernel import OverBudget, Unreadable, WorkBudget
from nerode.languages import describe_language, resolve_language
from nerode.languages.bestiary import BESTIARY
from nerode.network import network_hash, network_to_json
from nerode.proofs.coq import FORMAL_METHODS, INTEGERS, STACKS
from nerode.study import study_networks

Json = Any
Case = tuple[Json, Json, Json, str]
"""Network, language, certificate and the method of its exact claims."""

CLASSES = (
    *("diagonal", "diagonal-signed", "diagonal-complex", "householder", "permutation-diagonal"),
    *("dense", "ssm", "elman-relu", "transformer-hard"),
)
CHECKER = Path("out/formal/nerode-check")
TASKS = {kernel.PREDICT: "predict", kernel.VALID_PREFIXES: "valid", kernel.RECOGNISE: "recognise"}
MOST_CELLS = 400
"""Cells of a mutant; networks that run away are refused by both."""
MOST_BY_PROOF = 100_000
"""Cells that nerode-check may take, for a network of the list and for a mutant that the kernel accepts."""
SMALL = 12_000
"""Characters of a network that is mutated."""
CHECK_SECONDS = 150
"""CPU seconds of nerode-check for one network: its tables are lists, so that wide layers take long."""
NO_ANSWER = f"no answer within {CHECK_SECONDS} CPU seconds"


class FormalChecker:
    """A running nerode-check.

    Args:
        program: what is run.
        seconds: CPU seconds after which it is ended, and answers "no answer".
    """

    def __init__(self, program: Path = CHECKER, seconds: int | None = None) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._process = subprocess.Popen(
            [program, "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        if seconds is not None:
            resource.prlimit(self._process.pid, resource.RLIMIT_CPU, (seconds, seconds))

    def write(self, network: Json, language: Json, certificate: Json = None) -> None:
        """Writes the files that are judged next."""
        parts = {kernel.NETWORK_FILE: network, kernel.LANGUAGE_FILE: language}
        parts[kernel.CERTIFICATE_FILE] = certificate or {}
        for name, data in parts.items():
            Path(self._folder.name, name).write_text(json.dumps(data, ensure_ascii=False))

    def judge(self, task: str, dtype: str | None = None, most: int = MOST_BY_PROOF) -> str:
        """Returns "proved", "not proved" or why the files are not judged."""
        words = ["--task", TASKS[task], "--format", dtype or "exact", "--most", str(most), self._folder.name]
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(" ".join(words) + "\n")
        return self._process.stdout.readline().rstrip("\n").partition("): ")[2] or NO_ANSWER

    def close(self) -> None:
        """Ends the program."""
        self._process.communicate()
        self._folder.cleanup()


def compiled(name: str, seconds: float) -> Iterator[tuple[Json, Json, Json]]:
    """Yields networks, language and certificates (JSON values) of one language, each network once."""
    language = resolve_language(name)
    seen = set()
    for found in study_networks(language, targets=dict.fromkeys(CLASSES, ()), budget=Budget(seconds=seconds)):
        network, certificate = found.network, found.result
        if network is None or not isinstance(certificate, kernel.Certificate):
            continue
        mark = network_hash(network)
        if mark in seen or certificate.network != mark:
            continue
        seen.add(mark)
        parts = (
            network_to_json(network),
            describe_language(language),
            kernel.certificate_to_json(certificate),
        )
        yield tuple(json.loads(json.dumps(part)) for part in parts)


def judged_claims(certificate: Json) -> Iterator[tuple[str, str, str | None]]:
    """Yields the claims (method, task, dtype) that `formal/` can speak of."""
    for claim in certificate["claims"]:
        if (
            claim["length"] == "all"
            and claim["task"] in TASKS
            and claim["method"] in (*FORMAL_METHODS, INTEGERS)
        ):
            yield claim["method"], claim["task"], claim["dtype"]


def spots(data: Json, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yields the places of all numbers of a network that may be changed; columns of rows are not."""
    if isinstance(data, dict):
        for key, value in data.items():
            if key not in ("origin", "version", "inputs"):
                yield from spots(value, (*path, key))
    elif isinstance(data, list):
        is_entry = (
            len(data) == 2
            and isinstance(data[0], int)
            and path[-2:-1]
            and path[-3:-2] in (("rows",), ("matrix",))
        )
        for i, value in enumerate(data):
            if not (is_entry and i == 0):
                yield from spots(value, (*path, i))
    elif isinstance(data, int) and not isinstance(data, bool):
        yield path


def mutate(network: Json, rng: random.Random) -> Json:
    """Returns a copy with one to three numbers changed, or with a key or an entry too many or too few."""
    mutant = copy.deepcopy(network)
    if rng.random() < 1 / 12:
        _break_form(mutant, rng)
        return mutant
    places = list(spots(mutant))
    for place in rng.sample(places, min(len(places), rng.choice((1, 1, 1, 2, 3)))):
        holder = mutant
        for key in place[:-1]:
            holder = holder[key]
        old = holder[place[-1]]
        # An entry of a row that is 0 is unreadable, so that few of them are enough.
        zero = () if len(place) > 2 and place[-3] == "rows" and rng.random() < 0.9 else (0,)
        others = (old + 1, old - 1, -old, 2 * old, "1/2", "-3/4", "1/3", *zero)
        holder[place[-1]] = rng.choice(
            [value for value in others if value not in (old, *(() if zero else (0,)))]
        )
    return mutant


def _break_form(mutant: Json, rng: random.Random) -> None:
    """Takes a key or an entry out of one object or list, or puts one in."""
    level, found = [mutant], []
    while level:
        found += level
        level = [
            v
            for part in level
            for v in (part.values() if isinstance(part, dict) else part)
            if isinstance(v, dict | list)
        ]
    part = rng.choice([p for p in found if p and p is not mutant.get("origin")])
    if isinstance(part, dict):
        if rng.random() < 0.5:
            part["extra"] = 0
        else:
            del part[rng.choice(sorted(part))]
    elif rng.random() < 0.5:
        part.append(copy.deepcopy(part[-1]))
    else:
        part.pop()


def kernel_claims(
    network: Json, language: Json, method: str, evidence: Json, most: int = MOST_CELLS
) -> set[tuple[str, str | None]] | None:
    """Returns the claims (task, dtype) for all lengths that the kernel derives; None for unreadable files."""
    description = {key: value for key, value in evidence.items() if key not in ("cells", "digest")}
    try:
        budget = WorkBudget(seconds=20.0, cells=most)
        found = kernel.prove(network, language, method, description, budget=budget)
    except Unreadable:
        return None
    except OverBudget:
        return set()
    if found.failure is not None:
        return set()
    claims = [claim for claim in found.claims if claim.length == "all" and claim.task in TASKS]
    scans = {(claim.task, f"{claim.dtype}/scan") for claim in claims if claim.scope == kernel.ANY_ORDER}
    return {(claim.task, claim.dtype) for claim in claims} | scans


def is_diagonal(network: Json) -> bool:
    """Whether all layers are diagonal; of what is no network, not."""
    try:
        return all(layer["recurrence"]["kind"] == "diagonal" for layer in network["layers"])
    except (IndexError, KeyError, TypeError):
        return False


def compare(
    checker: FormalChecker,
    network: Json,
    language: Json,
    certificate: Json,
    method: str,
    most: int = MOST_CELLS,
) -> Counter[str]:
    """Returns how often the two checkers agree on the claims of one network."""
    evidence = certificate["evidence"][method]
    task = evidence["task"]
    by_kernel = kernel_claims(network, language, method, evidence, most)
    checker.write(network, language, certificate)
    outcome: Counter[str] = Counter()
    dtypes = [None, *kernel.DTYPES] if method == "joint-closure" else [None]
    if is_diagonal(network):
        dtypes += [f"{dtype}/scan" for dtype in dtypes if dtype]
    for dtype in dtypes:
        # nerode-check counts the cells of its own cover, several for one of the kernel's.
        within = most if by_kernel is None or (task, dtype) not in by_kernel else MOST_BY_PROOF
        by_proof = checker.judge(task, dtype, within)
        what = "" if dtype is None else "scan " if dtype.endswith("/scan") else "float "
        if by_kernel is None or by_proof.endswith("reads"):
            # What the kernel cannot read must not be proved by the other, which lacks some forms.
            wrong = by_kernel is None and by_proof == "proved"
            outcome[what + ("different" if wrong else "unreadable" if by_kernel is None else "form")] += 1
            continue
        pair = ((task, dtype) in by_kernel, by_proof == "proved")
        outcome[what + {(True, True): "both", (False, False): "neither"}.get(pair, f"different {pair}")] += 1
    return outcome


def main(arguments: Sequence[str] = ()) -> int:
    """Prints both tables; the exit code is 1 if the checkers differ."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks formal")
    parser.add_argument("--languages", nargs="*", metavar="LANG", default=list(BESTIARY))
    parser.add_argument("--mutants", type=int, default=10_000)
    parser.add_argument("--corruptions", type=int, help="a fifth of the mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--seconds", type=float, default=20.0, help="CPU seconds for the networks of a language"
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    chosen = parser.parse_args(arguments)
    if not CHECKER.exists():
        print(f"{CHECKER} is missing: run `make formal` (it needs Coq: apt-get install coq)", file=sys.stderr)
        return 2
    begun = time.monotonic()
    small, accepted, left_out, networks = list[Case](), Counter[str](), Counter[str](), 0
    with ProcessPoolExecutor(max_workers=chosen.processes) as pool:
        work = functools.partial(check_language, seconds=chosen.seconds)
        # Groups of many letters take longest: they begin first, so that the processes end together.
        most_first = sorted(chosen.languages, key=lambda name: -len(resolve_language(name).alphabet))
        judged_each = zip(most_first, pool.map(work, most_first), strict=True)
        for name, (count, cases, claims, reasons, lines) in judged_each:
            print(f"  {name}: {claims.total()} claims", file=sys.stderr, flush=True)
            small += cases
            accepted += claims
            networks += count
            left_out += reasons
            for line in lines:
                print(line)
        print(f"claims of {networks:,} compiled networks ({time.monotonic() - begun:.0f} s of the clock):")
        for what, count in sorted(accepted.items()):
            print(f"  {count:6,}  {what}")
        print(
            "left out:", ", ".join(f"{count:,} {what}" for what, count in left_out.most_common()) or "nothing"
        )
        judged = Counter[str]()
        count = chosen.mutants if small else 0
        shares = [range(first, count, 4 * chosen.processes) for first in range(4 * chosen.processes)]
        for found, lines in pool.map(functools.partial(judge_mutants, small, chosen.seed), shares):
            judged += found
            for line in lines:
                print(line)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    spent = sum(part.ru_utime + part.ru_stime for part in used)
    print(
        f"{chosen.mutants:,} mutants of {len(small)} networks "
        f"({time.monotonic() - begun:.0f} s of the clock and {spent:.0f} CPU seconds in all):"
    )
    for what, count in sorted(judged.items()):
        print(f"  {count:6,}  {what}")
    count = chosen.mutants // 5 if chosen.corruptions is None else chosen.corruptions
    corrupted, lines = judge_corruptions(chosen.seed, count)
    print(f"{count:,} corruptions of networks and languages:", *lines, sep="\n")
    for what, count in sorted(corrupted.items()):
        print(f"  {count:6,}  {what}")
    return int(any("different" in what or "not proved" in what for what in (*judged, *accepted, *corrupted)))


def check_language(
    name: str, *, seconds: float
) -> tuple[int, list[Case], Counter[str], Counter[str], list[str]]:
    """Judges the claims of a language.

    Returns:
        How many networks were judged, the small ones, how the claims were judged, what was left out, faults.
    """
    networks = 0
    small, accepted, left_out, lines = list[Case](), Counter[str](), Counter[str](), list[str]()
    try:
        for parts in compiled(name, seconds):
            before = accepted.total()
            checker = FormalChecker(seconds=CHECK_SECONDS)
            lines += _check_claims(checker, name, parts, accepted, left_out, small)
            checker.close()
            networks += accepted.total() > before
    except (NerodeError, BudgetExceeded) as error:
        left_out[f"{type(error).__name__}"] += 1
    return networks, small, accepted, left_out, lines


def judge_mutants(small: Sequence[Case], seed: int, numbers: Sequence[int]) -> tuple[Counter[str], list[str]]:
    """Returns how mutants with these numbers were judged, and the differences."""
    checker, judged, lines = FormalChecker(), Counter[str](), list[str]()
    for number in numbers:
        rng = random.Random(f"{seed} {number}")
        network, language, certificate, method = rng.choice(small)
        mutant = mutate(network, rng)
        found = compare(checker, mutant, language, certificate, method)
        if any("different" in what for what in found):
            lines.append(f"difference: {dict(found)} {json.dumps(mutant.get('origin', {}))[:120]}")
            Path("out/formal/difference.json").write_text(json.dumps([mutant, language, certificate]))
        judged += found
    checker.close()
    return judged, lines


def judge_corruptions(seed: int, count: int) -> tuple[Counter[str], list[str]]:
    """Returns how corrupted networks and languages were judged, and the differences.

    The evidence stays as it is: nerode-check takes it for hints, and the kernel for what is to be shown.
    """
    checker, judged, lines = FormalChecker(), Counter[str](), list[str]()
    known = [case for case in cases() if isinstance(case, KernelCase)] if count else []
    known = [case for case in known if case.method in FORMAL_METHODS and case.method != STACKS]
    for number in range(count):
        rng = random.Random(f"corruption {seed} {number}")
        case = rng.choice(known)
        network, language, _ = corrupt(case.parts, rng)
        try:
            found = compare(checker, network, language, case.parts[2], case.method)
        except UnicodeEncodeError:
            found = Counter({"no text": 1})
        if any("different" in what for what in found):
            lines.append(f"difference: {dict(found)} corruption {seed} {number}")
            Path("out/formal/difference.json").write_text(json.dumps([network, language, case.parts[2]]))
        judged += found
    checker.close()
    return judged, lines


def _check_claims(
    checker: FormalChecker,
    name: str,
    parts: tuple[Json, Json, Json],
    accepted: Counter[str],
    left_out: Counter[str],
    small: list[Case],
) -> list[str]:
    """Judges the claims of one network; returns a line for each that is not proved."""
    network, _, certificate = parts
    lines = []
    claims = list(judged_claims(certificate))
    method = next((m for m, _, dtype in claims if dtype is None), None)
    if method is None:
        left_out[" and ".join(sorted(certificate["evidence"])) or "no claim for all lengths"] += 1
        return lines
    checker.write(*parts)
    for claimed, task, dtype in claims:
        said = checker.judge(task, dtype)
        if said == NO_ANSWER:
            left_out[f"{network['origin']['construction']} of {name}: {NO_ANSWER}"] += 1
            return lines
        accepted[f"{claimed}: {said}"] += 1
        if said == "not proved":
            lines.append(
                f"  {name}, {network['origin']['construction']}: {claimed} {dtype} {task} is not proved"
            )
    # Mutated stacks have positive parts of positive parts, of which the kernel decides more.
    few = certificate["evidence"][method]["cells"] < MOST_CELLS // 2
    short = few and method != STACKS and len(json.dumps(network)) < SMALL
    # Covers of nerode-check have several cells for one of the kernel's: six counters are out of its reach.
    if short and all(
        checker.judge(task, None, MOST_CELLS) == "proved" for _, task, dtype in claims if dtype is None
    ):
        small.append((*parts, method))
    return lines


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
