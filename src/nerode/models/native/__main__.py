"""`python -m nerode.models.native`: builds the kernels that are missing or out of date."""

from __future__ import annotations

import sys
from pathlib import Path

from nerode.models.native.build import BuildFailed, build_library, levels, library_name
from nerode.models.native.library import is_built


def main() -> int:
    """Builds what is missing; returns 1 if that failed, with plain torch to fall back on."""
    folder = Path(__file__).parent
    for level in levels():
        if is_built(level):
            print(f"{level}: built")
            continue
        print(f"{level}: building (about 20 CPU seconds)", flush=True)
        try:
            build_library(folder, level, folder / library_name(level))
        except BuildFailed as error:
            print(f"{error}\nnerode works without native kernels; training is slower.", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
