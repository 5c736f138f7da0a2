"""The script that draws figures: Vega-Lite, Vega and its interpreter of expressions, inside the page itself.

The interpreter takes the place of compiled functions, so that a page needs no `unsafe-eval` in its policy.
"""

from __future__ import annotations

import functools
import re
from importlib import resources

_IMPORT = re.compile(r"^import \{([^}]*)\} from 'vega-util';\n", re.MULTILINE)
_EXPORT = re.compile(r"^export \{ (\w+) as expressionInterpreter \};\n", re.MULTILINE)
_SOURCE_MAP = re.compile(r"^//# sourceMappingURL=.*\n?", re.MULTILINE)


@functools.cache
def engine_program() -> str:
    """Returns the one script that a page with figures needs."""
    parts = [_read("vendor/vega.min.js"), _read("vendor/vega-lite.min.js"), _interpreter()]
    parts.append(_read("templates/figures.js"))
    return _SOURCE_MAP.sub("", ";\n".join(parts))


def _interpreter() -> str:
    """The interpreter as a plain script; it is published only as a module."""
    text = _read("vendor/vega-interpreter.js")
    imports, exports = _IMPORT.search(text), _EXPORT.search(text)
    if imports is None or exports is None:
        raise ValueError("vendor/vega-interpreter.js is not the module that this file was written for")
    body = _EXPORT.sub("", _IMPORT.sub("", text))
    return (
        f"const vegaInterpreter = (() => {{ const {{{imports[1]}}} = vega;\n"
        f"{body}\nreturn {{expressionInterpreter: {exports[1]}}}; }})()"
    )


def _read(name: str) -> str:
    return resources.files("nerode.report").joinpath(name).read_text(encoding="utf-8")
