"""The foundation of all stages: errors, budgets, exact numbers, files, references, registries, streams.

Open `errors` first: everything that nerode raises on purpose.
"""

from typing import TYPE_CHECKING

from nerode.core.doors import attach

if TYPE_CHECKING:
    from nerode.core.budget import TABLES, Budget, budgeted_property, charge, enforce, started
    from nerode.core.config import (
        Reference,
        Registry,
        Work,
        add_plugins,
        from_mapping,
        stream,
        to_mapping,
        work,
    )
    from nerode.core.deferral import defer_registrations as defer_registrations
    from nerode.core.doors import (
        Displays,
        MissingExtra,
        Shown,
        attach,
        in_form,
        load_extra,
        missing_extra,
        to_frame,
    )
    from nerode.core.errors import (
        BudgetExceeded,
        FormatError,
        InputError,
        NerodeError,
        NotCompilable,
        PatternError,
        UnknownName,
        plural,
    )
    from nerode.core.exact import (
        DTYPES,
        Cyclotomic,
        Exact,
        cosine,
        exact_sum,
        imaginary_part,
        inverse,
        is_rational,
        read_exact,
        read_fraction,
        real_part,
        root_of_unity,
        simplify,
        sine,
        square_root,
        to_complex,
        to_float,
        write_exact,
    )
    from nerode.core.files import (
        MARK,
        Disk,
        claim_file,
        claim_folder,
        decode_text,
        excerpt,
        is_own,
        open_stream,
        parse_json,
        read_bytes,
        read_json,
        read_json_lines,
        read_lines,
        read_text,
        whole_folder,
        write_atomically,
    )
    from nerode.core.roots_of_unity import prime_factors
    from nerode.core.workers import Emit, LostJob, WorkerPool, interrupted_between_steps

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "nerode.core.budget": "TABLES Budget budgeted_property charge enforce started",
        "nerode.core.config": "Reference Registry Work add_plugins from_mapping stream to_mapping work",
        "nerode.core.deferral": "defer_registrations",
        "nerode.core.doors": "Displays MissingExtra Shown attach in_form load_extra missing_extra to_frame",
        "nerode.core.errors": (
            "BudgetExceeded FormatError InputError NerodeError NotCompilable PatternError UnknownName plural"
        ),
        "nerode.core.exact": (
            "DTYPES Cyclotomic Exact cosine exact_sum imaginary_part inverse is_rational "
            "read_exact read_fraction real_part root_of_unity simplify sine square_root to_complex to_float "
            "write_exact"
        ),
        "nerode.core.files": (
            "MARK Disk claim_file claim_folder decode_text excerpt is_own open_stream parse_json "
            "read_bytes read_json read_json_lines read_lines read_text whole_folder write_atomically"
        ),
        "nerode.core.roots_of_unity": "prime_factors",
        "nerode.core.workers": "Emit LostJob WorkerPool interrupted_between_steps",
    },
)
