"""Proofs beside runs: what `nerode train … --certify` adds to the folder of a run.

    proof/attempt.json       what was tried and what came of it
    proof/config.json        the exact network, only if there is a proof
    proof/language.json      what it does
    proof/certificate.json   why; `nerode verify` re-checks it
    proof/model/             the same network as a module in float32: the run's, trained on

The model of the run itself stays as it is.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from nerode.analysis.proofs.certifying import Attempt, CertifySettings, prove_model
from nerode.analysis.proofs.goals import goal_of
from nerode.analysis.subject import load_subject
from nerode.core import FormatError, InputError, from_mapping, to_mapping, write_atomically
from nerode.models import model_config, save_model
from nerode.proofs import RUN_WEIGHTS, read_network, tensor_hash, write_folder
from nerode.records import TaskConfig
from nerode.tasks import build_task

PROOF = "proof"
ATTEMPT = "attempt.json"
MODEL = "model"

_HIDDEN, _MANY_HIDDEN = 32, 48
_MANY_PAIRS = 30
"""Pairs of a state and a letter from which on more units are taken."""

_BARE = {"norm": "none", "residual": False, "feed_forward": "none"}


def certify_tables(task: Mapping[str, Any], layers: str) -> dict[str, Any]:
    """Returns settings for models that may be certified, to be laid under those of the user.

    The start is learnt, as at zero units saturate least; nothing stands around the cell; a GRU has its reset
    gate before the product, and keeps at most seven eighths of its state.

    Raises:
        InputError: if the task or the layers are none that boxes are made for.
    """
    names = layers.replace("+", ",")
    kinds = [layer.resolve()[0].name for layer in model_config(names, letters=2, outputs=2).layers]
    special: dict[str, dict[str, Any]] = {
        "elman-tanh": {},
        "gru": {"reset_after": False, "recurrent_bias": False, "cap": 0.875},
        "lstm": {},
        "slstm": {},
    }
    if len(kinds) != 1 or kinds[0] not in special:
        raise InputError(
            f"--certify is for one layer of {', '.join(special)}; for {layers} there are no boxes"
        )
    goal = goal_of(build_task(from_mapping(TaskConfig, dict(task))))
    pairs = goal.dfa.num_states * len(goal.language.alphabet)
    hidden = _MANY_HIDDEN if pairs > _MANY_PAIRS else _HIDDEN
    settings = {"hidden": hidden, "learned_start": True, **special[kinds[0]]}
    return {"model": {"settings": settings, "surroundings": _BARE, "final_norm": "none"}}


def certify_run(folder: Path, *, settings: CertifySettings | None = None) -> Attempt:
    """Returns what came of the search for a proof about a run, and leaves it in the run's folder.

    A search that was made before with the same settings is not made again.

    Args:
        folder: of the run.
        settings: how to look for the proof.
    """
    settings = settings or CertifySettings()
    target = folder / PROOF
    known = _read_attempt(target / ATTEMPT, settings)
    if known is not None and (not known.proved or _is_bound(target, tensor_hash(folder / RUN_WEIGHTS))):
        return known
    subject = load_subject(folder)
    if subject.task is None or subject.spec is None:
        raise InputError(f"{folder} is no run of a task; there is nothing to prove about it")
    proof = prove_model(
        subject.zoo_model,
        subject.task,
        seed=subject.spec.run.seed,
        settings=settings,
        weights=tensor_hash(folder / RUN_WEIGHTS),
    )
    shutil.rmtree(target, ignore_errors=True)
    if proof.certificate is not None and proof.network is not None:
        save_model(target / MODEL, proof.model)
        write_folder(target, proof.network, proof.goal.language, proof.certificate)
    content = {"attempt": proof.attempt.to_json(), "settings": to_mapping(settings)}
    write_atomically(target / ATTEMPT, json.dumps(content, ensure_ascii=False, indent=1) + "\n")
    return proof.attempt


def _is_bound(target: Path, weights: str) -> bool:
    """Whether a proof names these weights; older ones name none."""
    try:
        return read_network(target).origin.weights == weights
    except FormatError:
        return False


def _read_attempt(path: Path, settings: CertifySettings) -> Attempt | None:
    """The attempt of a file, if it was made with the same settings."""
    if not path.exists():
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["settings"] != json.loads(json.dumps(to_mapping(settings))):
            return None
        return from_mapping(Attempt, content["attempt"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FormatError(f"is no attempt at a proof: {error}", path=path) from None


def attempt_lines(attempt: Attempt) -> list[str]:
    """Returns what came of an attempt, in words."""
    stages = "; ".join(
        f"{stage.name}{f' {stage.steps} steps' if stage.steps else ''} (accuracy {stage.accuracy:.3f}, "
        f"{stage.cpu_seconds:.1f} s)"
        for stage in attempt.stages
    )
    if not attempt.proved:
        return [
            f"no proof found for {attempt.language} ({attempt.task}, all words): {attempt.reason}",
            f"  tried: {stages}",
        ]
    eps = float(Fraction(attempt.eps or 0))
    return [
        f"✓ proved for {attempt.language} ({attempt.task}, all words) at every length, under noise below "
        f"{eps:.2g}: {attempt.boxes} boxes, last {attempt.letters} letters",
        f"  after: {stages}; the checker took {attempt.check_cpu_seconds:.1f} s",
    ]
