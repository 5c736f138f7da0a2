"""Claims of a folder, judged once more by nerode-check, the checker that is itself proved (`formal/`).

`make formal` builds it. It reads network and language by itself, and of the certificate takes hints alone.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from nerode.core import InputError
from nerode.kernel import ANY_ORDER, PREDICT, RECOGNISE, VALID_PREFIXES, Claim
from nerode.proofs.coq import CAPS, COUNTERS, INTEGERS, POINTS, STACKS

FORMAL_METHODS = (POINTS, COUNTERS, CAPS, STACKS)
"""Methods of exact claims that have a proof in `formal/`."""

FORMAL, CHECKED = "formal", "checked"
"""The two levels of a claim."""

CHECKER = "nerode-check"
_BUILT = Path("out", "formal", CHECKER)
_TASKS = {PREDICT: "predict", VALID_PREFIXES: "valid", RECOGNISE: "recognise"}
_SECONDS = 600


def find_checker() -> Path:
    """Returns the program: on the path, or where `make formal` puts it.

    Raises:
        InputError: with how to get it.
    """
    found = shutil.which(CHECKER)
    if found is not None:
        return Path(found)
    if _BUILT.exists():
        return _BUILT.absolute()
    raise InputError(
        f"{CHECKER}, the checker that is proved in Coq, is not here; in a clone of the repository "
        f"`make formal` builds {_BUILT} (it needs Coq: apt-get install --no-install-recommends coq ocaml-nox)"
    )


def formal_senses(claim: Claim) -> tuple[str, ...]:
    """Returns the senses in which nerode-check has to accept a claim; none if it does not speak of it."""
    if claim.length != "all" or claim.task not in _TASKS:
        return ()
    if claim.method in FORMAL_METHODS and claim.dtype is None:
        return ("exact",)
    if claim.method != INTEGERS or claim.dtype is None:
        return ()
    return (claim.dtype, f"{claim.dtype}/scan") if claim.scope == ANY_ORDER else (claim.dtype,)


def levels(folder: Path, claims: Sequence[Claim]) -> list[str]:
    """Returns for each claim of a folder "formal" if nerode-check accepts it, "checked" otherwise.

    Raises:
        InputError: if the program is not here, or does not end as it should.
    """
    program, known = find_checker(), dict[tuple[str, str], bool]()

    def accepts(task: str, sense: str) -> bool:
        if (task, sense) not in known:
            words = [str(program), "--task", task, "--format", sense, str(folder.absolute())]
            try:
                done = subprocess.run(words, capture_output=True, text=True, timeout=_SECONDS, check=False)
            except (OSError, subprocess.TimeoutExpired) as error:
                raise InputError(f"{program} did not end: {error}") from None
            known[task, sense] = done.returncode == 0 and done.stdout.rstrip("\n").endswith(": proved")
        return known[task, sense]

    def judged() -> Iterator[str]:
        for claim in claims:
            senses = formal_senses(claim)
            accepted = bool(senses) and all(accepts(_TASKS[claim.task], sense) for sense in senses)
            yield FORMAL if accepted else CHECKED

    return list(judged())
