"""`python -m nerode.kernel DIR`: prints each claim of a folder's certificate with ✓, or the first failure.

The exit code is 0 if every claim holds, 1 if the certificate is refused or the budget ends, 2 if a file
cannot be read.
"""

from __future__ import annotations

import argparse
import sys

from nerode.kernel.check import check_folder
from nerode.kernel.claims import Claim, Failure
from nerode.kernel.work import OverBudget, Unreadable, WorkBudget


def main(arguments: list[str] | None = None) -> int:
    """Checks the folders that are named on the command line and returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m nerode.kernel", description="Re-checks certificates.")
    parser.add_argument("folder", nargs="+", help="with network.json, language.json and certificate.json")
    parser.add_argument("--max-seconds", type=float, default=60.0, help="CPU seconds per folder (60)")
    parser.add_argument("--max-cells", type=int, default=1_000_000, help="cells of one walk (1,000,000)")
    given = parser.parse_args(arguments)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    return max(_check_one(path, given.max_seconds, given.max_cells) for path in given.folder)


def _check_one(path: str, seconds: float, cells: int) -> int:
    try:
        result = check_folder(path, budget=WorkBudget(seconds=seconds, cells=cells))
    except Unreadable as error:
        print(f"unreadable: {error}", file=sys.stderr)
        return 2
    except OverBudget as error:
        print(f"✗ {path}: {error}; raise --max-seconds or --max-cells")
        return 1
    if result.failure is not None:
        print(f"✗ {path}: {_reason(result.failure)}")
        return 1
    for claim in result.claims:
        print(f"✓ {_headline(claim)}\n    {claim.covers}")
    return 0


def _headline(claim: Claim) -> str:
    parts = [claim.scope, f"task: {claim.task}"]
    parts += [claim.dtype] if claim.dtype else []
    parts += [f"N = {claim.length:,}"] if isinstance(claim.length, int) else []
    parts += [f"eps = {claim.eps}"] if claim.eps is not None else []
    return " · ".join([*parts, claim.method])


def _reason(failure: Failure) -> str:
    return f"{failure.what} ({failure.entry})" if failure.entry else failure.what


if __name__ == "__main__":
    sys.exit(main())
