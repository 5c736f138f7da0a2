"""Finders of proofs, and the replays that check them.

Open `certification` first: it chooses the method for an exact network, whose claims `nerode.kernel` checks.
The kernel cannot run torch modules: `find/` and `floats/` search, and `replay/` checks what they find (open
`replay/table` first).
"""

from typing import TYPE_CHECKING

from nerode.core import attach

if TYPE_CHECKING:
    from nerode.kernel import (
        ANY_ORDER,
        CERTIFICATE_FILE,
        DTYPES,
        EXACT,
        FRAGILE,
        LANGUAGE_FILE,
        NETWORK_FILE,
        PREDICT,
        RECOGNISE,
        STEP_BY_STEP,
        TESTED,
        TRACK,
        UNDER_NOISE,
        UP_TO_LENGTH,
        VALID_PREFIXES,
        WINDOW,
        Certificate,
        CheckResult,
        Claim,
        Failure,
        Refutation,
        certificate_from_json,
        certificate_to_json,
        claim_to_json,
    )
    from nerode.proofs.boxes import certify_boxes
    from nerode.proofs.certification import certify, prove_network
    from nerode.proofs.coq import (
        CHECKED,
        FORMAL,
        NotPrintable,
        folder_to_coq,
        formal_senses,
        levels,
        scans_matrices,
    )
    from nerode.proofs.folder import (
        MODEL_FOLDER,
        check,
        check_folder,
        claim_network_folder,
        graph_claims,
        read_certificate,
        read_float_certificate,
        read_language,
        read_network,
        stated_claims,
        write_certificate,
        write_folder,
    )
    from nerode.proofs.polished import (
        POLISH_BITS,
        POLISH_CLAIM,
        POLISH_FILE,
        POLISH_FORMAT,
        POLISH_VERSION,
        is_polished,
        read_proof,
    )
    from nerode.proofs.polished_checker import check_polished
    from nerode.proofs.proving import STATE_BOXES, Unproved
    from nerode.proofs.windows import fewest_ramps, find_fragile_words, find_window

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "nerode.kernel": (
            "ANY_ORDER CERTIFICATE_FILE DTYPES EXACT FRAGILE LANGUAGE_FILE NETWORK_FILE PREDICT RECOGNISE "
            "STEP_BY_STEP TESTED TRACK UNDER_NOISE UP_TO_LENGTH VALID_PREFIXES WINDOW Certificate "
            "CheckResult Claim Failure Refutation certificate_from_json certificate_to_json claim_to_json"
        ),
        "nerode.proofs.boxes": "certify_boxes",
        "nerode.proofs.certification": "certify prove_network",
        "nerode.proofs.coq": (
            "CHECKED FORMAL NotPrintable folder_to_coq formal_senses levels scans_matrices"
        ),
        "nerode.proofs.folder": (
            "MODEL_FOLDER check check_folder claim_network_folder graph_claims read_certificate "
            "read_float_certificate read_language read_network stated_claims write_certificate write_folder"
        ),
        "nerode.proofs.polished": (
            "POLISH_BITS POLISH_CLAIM POLISH_FILE POLISH_FORMAT POLISH_VERSION is_polished read_proof"
        ),
        "nerode.proofs.polished_checker": "check_polished",
        "nerode.proofs.proving": "STATE_BOXES Unproved",
        "nerode.proofs.windows": "fewest_ramps find_fragile_words find_window",
    },
)
