"""Proofs beside runs: what `nerode train … --certify` adds to the folder of a run.

    proof/attempt.json       what was tried and what came of it
    proof/config.json        the exact network, only if there is a proof
    proof/language.json      what it does
    proof/certificate.json   why; `nerode verify` re-checks it
    proof/model/             the same network as a module in float32: the run's, trained on

For layers with exact gates, and for cells without boxes, the proof is about a model that was trained through
exact gates from fresh weights:

    proof/certificate.float32.json   all its float states, listed
    proof/model/                     that model

The model of the run itself stays as it is.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from nerode.analysis.proofs.certifying import Attempt, CertifySettings, Stage, prove_model
from nerode.analysis.proofs.exact_training import EXACT_WIDTH, ExactProof, exact_config, train_exact
from nerode.analysis.proofs.goals import Goal, goal_of, require_distinct
from nerode.analysis.proofs.trained_network import carried_claim, is_carried, trained_network
from nerode.analysis.subject import load_subject
from nerode.core import (
    Budget,
    BudgetExceeded,
    FormatError,
    InputError,
    from_mapping,
    read_json,
    to_mapping,
    write_atomically,
)
from nerode.languages import language_hash
from nerode.models import Model, all_members, fixed_bits, model_config, read_model, save_model
from nerode.network import Network
from nerode.proofs import (
    RUN_WEIGHTS,
    VALID_PREFIXES,
    CheckResult,
    Failure,
    certificate_from_json,
    certificate_to_json,
    check_folder,
    find_link,
    read_language,
    read_network,
    run_of,
    tensor_hash,
    write_folder,
)
from nerode.proofs.floats import decoder
from nerode.proofs.replay import recheck_module
from nerode.records import TaskConfig, read_run
from nerode.tasks import build_task

PROOF = "proof"
ATTEMPT = "attempt.json"
FLOAT_CERTIFICATE = "certificate.float32.json"
MODEL = "model"

_HIDDEN, _MANY_HIDDEN = 32, 48
_MANY_PAIRS = 30
"""Pairs of a state and a letter from which on more units are taken."""

_CELLS: dict[str, dict[str, Any]] = {
    "elman-tanh": {},
    "gru": {"reset_after": False, "recurrent_bias": False, "cap": 0.875},
    "lstm": {},
    "slstm": {},
}
"""Cells that boxes are made for, with the settings that they ask for."""

_BARE = {"norm": "none", "residual": False, "feed_forward": "none"}


def certify_tables(task: Mapping[str, Any], layers: str) -> dict[str, Any]:
    """Returns settings for models that may be certified, to be laid under those of the user.

    For single cells the start is learnt, as at zero units saturate least; nothing stands around the cell; a
    GRU has its reset gate before the product, and keeps at most seven eighths of its state. Layers with exact
    gates have the settings that these ask for, and a width of 16, or 0 where they read letters as they are.

    Raises:
        InputError: if the task or the layers are none that proofs are made for.
    """
    names = layers.replace("+", ",")
    kinds = [layer.resolve()[0] for layer in model_config(names, letters=2, outputs=2).layers]
    goal = goal_of(build_task(from_mapping(TaskConfig, dict(task))))
    form = kinds[0].exact_gates
    alike = form is not None and len({kind.name for kind in kinds}) == 1
    if form is not None and alike and not (form.bare and len(kinds) == 1):
        model = {"settings": dict(form.settings), "width": 0 if form.one_hot else EXACT_WIDTH}
        if form.unnormed:
            model |= {"surroundings": {**_BARE, "residual": True}, "final_norm": "rms"}
        return {"model": model}
    if len(kinds) != 1 or kinds[0].name not in _CELLS:
        gated = sorted({m.kind.name for m in all_members().values() if m.kind.exact_gates is not None})
        raise InputError(
            f"--certify is for one layer of {', '.join(_CELLS)}, by boxes, and for layers of "
            f"{', '.join(gated)}, by exact gates; {layers} is neither"
        )
    pairs = goal.dfa.num_states * len(goal.language.alphabet)
    hidden = _MANY_HIDDEN if pairs > _MANY_PAIRS else _HIDDEN
    settings = {"hidden": hidden, "learned_start": True, **_CELLS[kinds[0].name]}
    return {"model": {"settings": settings, "surroundings": _BARE, "final_norm": "none"}}


def certify_run(folder: Path, *, settings: CertifySettings | None = None) -> Attempt:
    """Returns what came of the search for a proof about a run, and leaves it in the run's folder.

    A search that was made before with the same settings is not made again.

    Args:
        folder: of the run.
        settings: how to look for the proof.
    """
    settings = settings or CertifySettings()
    target, weights = folder / PROOF, tensor_hash(folder / RUN_WEIGHTS)
    known = _read_attempt(target / ATTEMPT, settings)
    if known is not None and (not known.proved or _still_holds(folder, known, settings)):
        return known
    subject = load_subject(folder)
    if subject.task is None or subject.spec is None:
        raise InputError(f"{folder} is no run of a task; there is nothing to prove about it")
    model, seed = subject.zoo_model, subject.spec.run.seed
    shutil.rmtree(target, ignore_errors=True)
    forms = [layer.resolve()[0].exact_gates for layer in model.config.layers]
    cell = len(forms) == 1 and forms[0] is not None and forms[0].bare
    attempt = None
    if (cell or not all(forms)) and not (cell and goal_of(subject.task).merges_classes):
        proof = prove_model(model, subject.task, seed=seed, settings=settings, weights=weights)
        attempt = proof.attempt
        if proof.certificate is not None and proof.network is not None:
            write_folder(target, proof.network, proof.goal.language, proof.certificate)
            save_model(target / MODEL, proof.model)
    if attempt is None or (cell and not attempt.proved):
        config = model.config
        if cell:
            config = exact_config(config.layers[0].name, subject.task)
        trained = train_exact(config, subject.task, seed=seed, settings=settings.exact)
        attempt = _exact_attempt(trained, goal_of(subject.task), seed, before=attempt)
        if trained.verdict is not None and trained.verdict.certificate is not None:
            save_model(target / MODEL, trained.model)
            text = json.dumps(certificate_to_json(trained.verdict.certificate), separators=(",", ":"))
            write_atomically(target / FLOAT_CERTIFICATE, text + "\n")
    content = {"attempt": attempt.to_json(), "settings": to_mapping(settings), "weights": weights}
    write_atomically(target / ATTEMPT, json.dumps(content, ensure_ascii=False, indent=1) + "\n")
    return attempt


def _exact_attempt(trained: ExactProof, goal: Goal, seed: int, *, before: Attempt | None) -> Attempt:
    """The outcome of training through exact gates, a stage for each attempt, after what was tried before."""
    last = {look.attempt: look for look in trained.looks}
    stages, begun = [] if before is None else list(before.stages), 0.0
    for look in last.values():
        stages.append(
            Stage(
                name=f"exact gates, {look.words} words",
                steps=look.step,
                accuracy=look.accuracy,
                proved=look.outcome == "proved",
                cpu_seconds=look.cpu_seconds - begun,
            )
        )
        begun = look.cpu_seconds
    verdict = trained.verdict
    return Attempt(
        proved=verdict is not None,
        language=goal.language.name,
        task=goal.task if verdict is None else verdict.task,
        letters=None,
        eps=None,
        boxes=None,
        float32=verdict is not None,
        reason=trained.reason or None,
        stages=tuple(stages),
        check_cpu_seconds=0.0 if before is None else before.check_cpu_seconds,
        cpu_seconds=trained.cpu_seconds + (0.0 if before is None else before.cpu_seconds),
        seed=seed,
        states=None if verdict is None else verdict.states,
    )


@fixed_bits(1)
def replay_certified(folder: Path, *, budget: Budget | None = None) -> CheckResult:
    """Returns what a replay of the listed float states of a run's proof says; it knows nothing of the search.

    Raises:
        FormatError: if a file is missing or damaged.
        BudgetExceeded: if the time is up.
    """
    if link := find_link(folder):
        return CheckResult(ok=False, claims=(), failure=link)
    target = folder / PROOF
    content = read_json(target / ATTEMPT, max_bytes=1 << 20, hint="`nerode train --certify` writes it")
    if not isinstance(content, dict) or content.get("weights") != tensor_hash(folder / RUN_WEIGHTS):
        failure = Failure(what="the proof was made beside another run", entry=f"{PROOF}/{ATTEMPT}")
        return CheckResult(ok=False, claims=(), failure=failure)
    path = target / FLOAT_CERTIFICATE
    found = read_json(path, max_bytes=1 << 26, hint="`nerode train --certify` writes it")
    certificate = certificate_from_json(found)
    task = build_task(read_run(folder).spec.task)
    module = read_model(target / MODEL).eval()
    failure_found = recheck_module(
        module, task.question(), certificate, decode=decoder(task.reading()), budget=budget
    )
    claims = certificate.claims if failure_found is None else ()
    return CheckResult(ok=failure_found is None, claims=claims, failure=failure_found)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedProof:
    """A certificate that was checked again, and what it is about.

    Attributes:
        result: what the kernel and the comparison with the weights say.
        about: the weights, in words; empty for a network that lies in no run.
        of_run: whether these are the weights of the run in whose folder it lies.
    """

    result: CheckResult
    about: str = ""
    of_run: bool = False


def check_proof(place: Path, *, budget: Budget | None = None) -> CheckedProof:
    """Returns whether the certificate in a folder holds, and of which weights.

    In the folder of a run the network must be the one that the weights of the run mean, number by number, or
    that of the model beside the proof, which is another; what a file says of itself is not believed.

    Args:
        place: of the network and its certificate.
        budget: limits of the check.

    Raises:
        FormatError: for a file that is missing or damaged.
        BudgetExceeded: if the budget ends before the check does.
    """
    result, run = check_folder(place, budget=budget), run_of(place)
    if not result.ok or run is None:
        return CheckedProof(result=result)
    try:
        subject = load_subject(run)
        model = subject.zoo_model
        assert subject.task is not None
        goal = goal_of(subject.task)
        require_distinct(goal)
    except InputError as error:
        return _refused(f"it cannot be compared with the run in {run.name}: {error}")
    stored = read_network(place)
    if language_hash(read_language(place)) != language_hash(goal.language):
        return _refused(f"it is about another language than the task of the run in {run.name}")
    about, of_run = f"the weights of the run {run.name}", _means(model, goal, stored)
    if not of_run:
        if not (place / MODEL).is_dir() or not _means(read_model(place / MODEL), goal, stored):
            return _refused(
                f"its network has neither the weights of the run in {run.name} nor those of "
                f"{place.name}/{MODEL}"
            )
        model = read_model(place / MODEL)
        about = f"{place.name}/{MODEL}, another model than that of the run {run.name}"
    if not all(is_carried(model, claim) for claim in result.claims):
        return _refused("a claim about floats is about one bias, and the cell adds two, one after the other")
    claims = tuple(map(carried_claim, result.claims))
    return CheckedProof(result=replace(result, claims=claims), about=about, of_run=of_run)


def _refused(what: str) -> CheckedProof:
    failure = Failure(what=f"the proof is not about the weights that it lies with: {what}", entry="network")
    return CheckedProof(result=CheckResult(ok=False, claims=(), failure=failure))


def _means(model: Model, goal: Goal, network: Network) -> bool:
    """Whether a network is the one that a model means, wherever it says that it comes from."""
    try:
        meant = trained_network(model, goal)
    except InputError:
        return False
    return replace(meant, origin=network.origin) == network


def _still_holds(folder: Path, attempt: Attempt, settings: CertifySettings) -> bool:
    """Whether the proof of an attempt is there, checks, is about weights beside it, and says as much."""
    budget = Budget(seconds=settings.seconds)
    try:
        if attempt.states is not None:
            result = replay_certified(folder, budget=budget)
        else:
            result = check_proof(folder / PROOF, budget=budget).result
    except (FormatError, BudgetExceeded):
        return False
    lasting = [claim for claim in result.claims if claim.length == "all" and claim.task == attempt.task]
    eps = {None if claim.eps is None else str(claim.eps) for claim in lasting}
    in_floats = any(claim.dtype == "float32" for claim in lasting)
    return result.ok and attempt.eps in eps and (in_floats or not attempt.float32)


def _read_attempt(path: Path, settings: CertifySettings) -> Attempt | None:
    """The attempt of a file, if it was made with the same settings."""
    if not path.exists():
        return None
    content = read_json(path)
    try:
        if content["settings"] != json.loads(json.dumps(to_mapping(settings))):
            return None
        return from_mapping(Attempt, content["attempt"])
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(f"is no attempt at a proof: {error}", path=path) from None


def attempt_lines(attempt: Attempt) -> list[str]:
    """Returns what came of an attempt, in words."""
    stages = "; ".join(
        f"{stage.name}{f' {stage.steps} steps' if stage.steps else ''} ({stage.accuracy:.3f}, "
        f"{stage.cpu_seconds:.1f} s)"
        for stage in attempt.stages
    )
    meant = "  in brackets: share of correct answers on words of 100 letters drawn from the whole alphabet"
    if attempt.stages and attempt.stages[0].accuracy < 1:
        meant += ", most of which no task trains on; the table has the words of the task"
    if not attempt.proved:
        return [
            f"no proof found for {attempt.language} ({attempt.task}, all words): {attempt.reason}",
            f"  tried: {stages}",
            meant,
        ]
    if attempt.states is not None:
        words = "all words" if attempt.task != VALID_PREFIXES else "all prefixes of words of the language"
        return [
            f"✓ proved for {attempt.language} ({words}) at every length, bit for bit in float32, step by "
            f"step: {attempt.states:,} float states",
            f"  of a model of the same kind (proof/model), trained after: {stages}",
            meant,
        ]
    eps = float(Fraction(attempt.eps or 0))
    trained_on = any(stage.steps for stage in attempt.stages)
    which = "the model, trained on until then" if trained_on else "the model as it was trained"
    return [
        f"✓ proved for {attempt.language} ({attempt.task}, all words) at every length, under noise below "
        f"{eps:.2g}: {attempt.boxes} boxes, last {attempt.letters} letters",
        f"  of {which} (proof/model); after: {stages}; the checker took {attempt.check_cpu_seconds:.1f} s",
        meant,
    ]
