"""What can a sequence model compute, at every length?

    import nerode as nr

    L = nr.language("(aa)*")
    v = nr.decide(L)
    v["mamba"].status, v["mamba"].reason, v["mamba"].reference
    net = nr.compile_language(L, to="diagonal-signed")
    cert = nr.certify(net, L)
    model = nr.load_model(net)

Names are imported when they are first used, so that `import nerode` is quick and never loads torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nerode.algebra.profile import profile
    from nerode.analysis.examination import analyse
    from nerode.analysis.extraction.extract import extract
    from nerode.analysis.polish.pipeline import polish
    from nerode.analysis.subject import load_subject
    from nerode.certificates.certify import certify
    from nerode.compiler.construction import Options
    from nerode.compiler.interpreter import Interpreter
    from nerode.compiler.pipeline import compile_language
    from nerode.core.budget import Budget
    from nerode.core.errors import BudgetExceeded, InputError, NerodeError, NotCompilable
    from nerode.languages.dfa import Dfa
    from nerode.languages.language import Language
    from nerode.languages.minimise import minimise
    from nerode.languages.resolve import resolve_language as language
    from nerode.models.configurations import configuration, model_config
    from nerode.models.folder import read_model, save_model
    from nerode.models.load import load_architecture, load_model
    from nerode.models.model import ModelConfig, build_model
    from nerode.training.loop import train
    from nerode.training.run_folder import read_run
    from nerode.training.spec import TrainSpec
    from nerode.verdict.decide import decide

_HOMES = {
    "Budget": ("nerode.core.budget", "Budget"),
    "BudgetExceeded": ("nerode.core.errors", "BudgetExceeded"),
    "Dfa": ("nerode.languages.dfa", "Dfa"),
    "InputError": ("nerode.core.errors", "InputError"),
    "Interpreter": ("nerode.compiler.interpreter", "Interpreter"),
    "Language": ("nerode.languages.language", "Language"),
    "NerodeError": ("nerode.core.errors", "NerodeError"),
    "NotCompilable": ("nerode.core.errors", "NotCompilable"),
    "ModelConfig": ("nerode.models.model", "ModelConfig"),
    "Options": ("nerode.compiler.construction", "Options"),
    "TrainSpec": ("nerode.training.spec", "TrainSpec"),
    "build_model": ("nerode.models.model", "build_model"),
    "certify": ("nerode.certificates.certify", "certify"),
    "compile_language": ("nerode.compiler.pipeline", "compile_language"),
    "configuration": ("nerode.models.configurations", "configuration"),
    "decide": ("nerode.verdict.decide", "decide"),
    "language": ("nerode.languages.resolve", "resolve_language"),
    "load_architecture": ("nerode.models.load", "load_architecture"),
    "load_model": ("nerode.models.load", "load_model"),
    "minimise": ("nerode.languages.minimise", "minimise"),
    "model_config": ("nerode.models.configurations", "model_config"),
    "profile": ("nerode.algebra.profile", "profile"),
    "read_model": ("nerode.models.folder", "read_model"),
    "save_model": ("nerode.models.folder", "save_model"),
    "train": ("nerode.training.loop", "train"),
    "analyse": ("nerode.analysis.examination", "analyse"),
    "extract": ("nerode.analysis.extraction.extract", "extract"),
    "load_subject": ("nerode.analysis.subject", "load_subject"),
    "polish": ("nerode.analysis.polish.pipeline", "polish"),
    "read_run": ("nerode.training.run_folder", "read_run"),
}

__all__ = [
    "Budget",
    "BudgetExceeded",
    "Dfa",
    "InputError",
    "Interpreter",
    "Language",
    "ModelConfig",
    "NerodeError",
    "NotCompilable",
    "Options",
    "TrainSpec",
    "analyse",
    "build_model",
    "certify",
    "compile_language",
    "configuration",
    "decide",
    "extract",
    "language",
    "load_architecture",
    "load_model",
    "load_subject",
    "minimise",
    "model_config",
    "polish",
    "profile",
    "read_model",
    "read_run",
    "save_model",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'nerode' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    return getattr(importlib.import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)
