"""The trusted proof checker: a certificate holds only if it is re-derived here.

The kernel needs Python's standard library and imports nothing else of nerode. It has its own reader of
networks and languages, its own exact numbers, its own intervals and its own step of a network.

    check, check_folder      re-check a certificate
    prove, seal              for finders: walk a cover, and the claims that follow

What every check needs is the core, the modules of this folder. In the order in which to read them:

    work        the budget, and the three ways in which a check ends early
    reader      JSON values that nobody vouches for: the form of a record is declared once
    numbers     exact numbers, and questions about values on a region
    letters     words, and a language as a machine      languages   automata and brackets
    network     eight recurrences of the file as three moves
    step        one step of a network, over the values of an arithmetic
    claims      claims and certificates
    guard       points of cells, run by a second step: no part of a proof
    walk        all cells of a cover, and PointDomain: cells that are single states
    covers      from the evidence of a method to the claims that follow
    check       the whole check

`domains` has what only some certificates need. Each is imported when a certificate asks for it: by a method
(`covers`), by the form of its language (`languages`) or by irrational numbers in its network (`network`).
"""

from typing import TYPE_CHECKING

from nerode.kernel.check import (
    CERTIFICATE_FILE,
    LANGUAGE_FILE,
    MAX_BYTES,
    NETWORK_FILE,
    CheckResult,
    check,
    check_folder,
)
from nerode.kernel.claims import (
    ANY_ORDER,
    DTYPES,
    EXACT,
    FORMAT,
    FRAGILE,
    LANGUAGE_TASKS,
    PREDICT,
    RECOGNISE,
    SCOPES,
    STEP_BY_STEP,
    TASKS,
    TESTED,
    TRACK,
    UNDER_NOISE,
    UP_TO_LENGTH,
    VALID_PREFIXES,
    VERSION,
    WINDOW,
    BinaryFormat,
    Certificate,
    Claim,
    Failure,
    Refutation,
    certificate_from_json,
    certificate_to_json,
    claim_from_json,
    claim_to_json,
    first_not_implied,
    language_claim,
)
from nerode.kernel.covers import METHODS
from nerode.kernel.reader import canonical_text, content_hash
from nerode.kernel.work import OverBudget, Undecided, Unreadable, WorkBudget

if TYPE_CHECKING:
    from nerode.kernel.domains.finders import ProvedEvidence, prove, seal
else:

    def __getattr__(name: str) -> object:
        """Returns what finders need; a check does without."""
        if name not in ("ProvedEvidence", "prove", "seal"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from nerode.kernel.domains import finders

        return getattr(finders, name)


__all__ = [
    "ANY_ORDER",
    "CERTIFICATE_FILE",
    "DTYPES",
    "EXACT",
    "FORMAT",
    "FRAGILE",
    "LANGUAGE_FILE",
    "LANGUAGE_TASKS",
    "MAX_BYTES",
    "METHODS",
    "NETWORK_FILE",
    "PREDICT",
    "RECOGNISE",
    "SCOPES",
    "STEP_BY_STEP",
    "TASKS",
    "TESTED",
    "TRACK",
    "UNDER_NOISE",
    "UP_TO_LENGTH",
    "VALID_PREFIXES",
    "VERSION",
    "WINDOW",
    "BinaryFormat",
    "Certificate",
    "CheckResult",
    "Claim",
    "Failure",
    "OverBudget",
    "ProvedEvidence",
    "Refutation",
    "Undecided",
    "Unreadable",
    "WorkBudget",
    "canonical_text",
    "certificate_from_json",
    "certificate_to_json",
    "check",
    "check_folder",
    "claim_from_json",
    "claim_to_json",
    "content_hash",
    "first_not_implied",
    "language_claim",
    "prove",
    "seal",
]
