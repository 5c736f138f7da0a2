"""What can a sequence model compute, at every length?

    import nerode as nr

    L = nr.language("(aa)*")
    v = nr.decide(L)
    v["mamba"].status, v["mamba"].reason, v["mamba"].reference
    made = nr.compile(L, to="mamba-signed")
    made.model, made.claims
    made.save("even")
    nr.ask("even/model")

Names are imported when they are first used, so that `import nerode` is quick and never loads torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nerode.algebra import profile as profile
    from nerode.analysis import analyse as analyse, load_subject as load_subject
    from nerode.analysis.asking import ask as ask, model as model, softmax as softmax
    from nerode.analysis.extraction.extraction import extract as extract
    from nerode.analysis.generalisation import study_generalisation as study_generalisation
    from nerode.analysis.learning import learn as learn
    from nerode.analysis.mending import mend_model
    from nerode.analysis.polish import polish as polish
    from nerode.compiler import (
        NgramOptions as NgramOptions,
        Options as Options,
        compile_language as compile_language,
    )
    from nerode.core import (
        Budget as Budget,
        BudgetExceeded as BudgetExceeded,
        InputError as InputError,
        NerodeError as NerodeError,
        NotCompilable as NotCompilable,
    )
    from nerode.languages import Dfa as Dfa, Language as Language, minimise as minimise, resolve_language
    from nerode.models import (
        ModelConfig as ModelConfig,
        build_model as build_model,
        configuration as configuration,
        model_config as model_config,
        read_model as read_model,
        save_model as save_model,
    )
    from nerode.models.acceleration import accelerate as accelerate, accelerated as accelerated
    from nerode.network import Interpreter as Interpreter
    from nerode.proofs.artefacts import compile_artefact
    from nerode.proofs.certification import certify as certify
    from nerode.proofs.floats import load_model as load_model
    from nerode.records import TrainSpec as TrainSpec, read_run as read_run
    from nerode.report import draw as draw
    from nerode.study import find_runs
    from nerode.training import train as train
    from nerode.verdict import decide as decide, describe as describe

    language = resolve_language
    runs = find_runs
    compile = compile_artefact
    mend = mend_model

_DOORS = {
    "nerode.algebra": ("profile",),
    "nerode.analysis": ("analyse", "load_subject"),
    "nerode.analysis.asking": ("ask", "model", "softmax"),
    "nerode.analysis.extraction": ("extract",),
    "nerode.analysis.generalisation": ("study_generalisation",),
    "nerode.analysis.learning": ("learn",),
    "nerode.analysis.polish": ("polish",),
    "nerode.proofs": ("certify",),
    "nerode.proofs.floats": ("load_model",),
    "nerode.compiler": ("NgramOptions", "Options", "compile_language"),
    "nerode.core": ("Budget", "BudgetExceeded", "InputError", "NerodeError", "NotCompilable"),
    "nerode.languages": ("Dfa", "Language", "minimise"),
    "nerode.models": (
        "ModelConfig",
        "build_model",
        "configuration",
        "model_config",
        "read_model",
        "save_model",
    ),
    "nerode.models.acceleration": ("accelerate", "accelerated"),
    "nerode.network": ("Interpreter",),
    "nerode.records": ("TrainSpec", "read_run"),
    "nerode.report": ("draw",),
    "nerode.training": ("train",),
    "nerode.verdict": ("decide", "describe"),
}
_HOMES = {name: (door, name) for door, names in _DOORS.items() for name in names}
_HOMES["language"] = ("nerode.languages", "resolve_language")
_HOMES["compile"] = ("nerode.proofs.artefacts", "compile_artefact")
_HOMES["mend"] = ("nerode.analysis.mending", "mend_model")
_HOMES["runs"] = ("nerode.study", "find_runs")


__all__ = [*sorted(_HOMES), "__version__"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("nerode")
    if name not in _HOMES:
        raise AttributeError(f"module 'nerode' has no attribute {name!r}")
    door, attribute = _HOMES[name]
    try:
        return getattr(importlib.import_module(door), attribute)
    except ModuleNotFoundError as error:
        from nerode.core import missing_extra

        raise missing_extra(error) or error from None


def _displays() -> Any:
    """Returns the drawings and forms of values of all stages, which `nerode.core` asks for at need."""
    from nerode.core import Displays
    from nerode.report import draw
    from nerode.report.notebook import html_of, svg_of, text_of
    from nerode.study.forms import FORMS

    return Displays(html=html_of, svg=svg_of, forms={**FORMS, "draw": draw, "text": text_of})


def __dir__() -> list[str]:
    return __all__
