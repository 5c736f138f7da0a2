"""Runs every module of this folder that has a `main`, or those named on the command line.

Options after the names are handed to each module that is named.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks


def main(arguments: list[str]) -> int:
    first = next((i for i, a in enumerate(arguments) if a.startswith("-")), len(arguments))
    names, options = arguments[:first], arguments[first:]
    known = sorted(
        module.name for module in pkgutil.iter_modules(benchmarks.__path__) if module.name[0] != "_"
    )
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    for name in names or known:
        module = importlib.import_module(f"benchmarks.{name}")
        if hasattr(module, "main"):
            print(f"== {name}: {(module.__doc__ or '').strip().splitlines()[0]}")
            code = module.main(options) if options else module.main()
            if code:
                return int(code)
        elif names:
            print(f"benchmarks.{name} has no main()", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
