"""Networks for analyses: a trained run, a saved model or a compiled network, with all that is known of it.

Of models that were not made here: the scores of an imported one, a check of own ones before their training.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from nerode.core import FormatError, InputError, to_mapping
from nerode.kernel import LANGUAGE_FILE
from nerode.languages import Language, Question, title_of
from nerode.models import Model, is_stateful
from nerode.models.network_module import load_model
from nerode.network import Network
from nerode.proofs import read_language, read_network
from nerode.proofs.floats import SignalModule
from nerode.proofs.replay import Subject, make_subject, open_subject
from nerode.records import (
    RESULT,
    SUBJECT_FILE,
    CompleteSpec,
    Folder,
    ImportOrigin,
    ModelSpec,
    OptimiserSpec,
    Reading,
    RunRecord,
    RunSpec,
    TaskConfig,
    TokenLetters,
    TrainSpec,
    extrapolates_to,
    first_failing_length,
    read_run,
    untrusted_code,
)
from nerode.tasks import Prediction, Recognition, Task, automaton_of, build_task, complete_task
from nerode.training import (
    Build,
    declared_theory,
    describe_environment,
    evaluate,
    measure_own,
    own_builder,
    require_question,
    run_builder,
    spec_model,
    task_of_run,
    tested_lengths,
)
from nerode.verdict import contradiction, find_architecture


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedNetwork:
    """A network, and what is known about where it comes from.

    Attributes:
        name: for titles.
        model: in evaluation mode.
        record: what its training found; None if it was not trained here.
        task: what it was trained to do; None if unknown.
        language: the language that it is about; None if the task is about none.
        network: the exact network, if it was compiled.
        build: makes a model of the user's own, whose code the user trusts.
        subject: the same as it is written in a folder; None for one that is not.
    """

    name: str
    model: nn.Module
    record: RunRecord | None = None
    task: Task | None = None
    language: Language | None = None
    network: Network | None = None
    build: Build | None = None
    subject: Subject | None = None

    @property
    def imported(self) -> ImportOrigin | None:
        """The origin of its weights, if they come from another library."""
        return None if self.subject is None else self.subject.record.imported

    @property
    def spec(self) -> TrainSpec | None:
        """The spec of its training, None if it was not trained here."""
        return None if self.record is None else self.record.spec

    @property
    def zoo_model(self) -> Model:
        """The model as one of the zoo, or InputError if it is another kind of module."""
        if not isinstance(self.model, Model):
            raise InputError(
                f"{self.name} is a {type(self.model).__name__}; this analysis needs a model of the zoo"
            )
        return self.model

    def untrained(self) -> nn.Module:
        """Returns the model as it was before its training: the baseline of every picture.

        Raises:
            InputError: if it was not trained here.
        """
        spec = self.spec
        if spec is None or self.task is None:
            raise InputError(f"{self.name} was not trained here; there is no untrained one to compare with")
        return spec_model(spec.model, self.task, seed=spec.run.seed, build=self.build).eval()


def name_of_goal(subject: LoadedNetwork) -> str:
    """Returns the name of what a network should do; one that a file gives only if it stands for it."""
    if subject.language is not None:
        return title_of(subject.language)
    if subject.task is not None:
        return subject.task.name
    assert subject.subject is not None
    return subject.subject.about


def to_subject(subject: LoadedNetwork, *, weights: str = "") -> Subject:
    """Returns a network with the question of its task.

    Args:
        subject: the network with its task.
        weights: the SHA-256 of its tensors; by default that of its folder.
    """
    assert subject.task is not None
    stored = subject.subject
    asked = subject_of_task(
        subject.model,
        subject.task,
        weights=weights or ("" if stored is None else stored.weights),
        longest=None if stored is None else stored.letters.longest,
    )
    return replace(asked, name=subject.name, title=name_of_goal(subject))


def subject_of_task(
    model: nn.Module, task: Task, *, weights: str = "", longest: int | None = None
) -> Subject:
    """Returns a module with the question of a task; none where a task asks nothing about single words.

    Args:
        model: in evaluation mode; a feature is read as the letters 0 and 1.
        task: what it should do.
        weights: the SHA-256 of its tensors.
        longest: the largest number of letters that may be read; None for any.
    """
    question: Question | None = None
    reading: Reading | None = None
    language, answers, letters = None, None, TokenLetters()
    with contextlib.suppress(InputError):
        question, reading = task.question(), task.reading()
        letters = replace(TokenLetters.numbered(question.alphabet.symbols), longest=longest)
        automaton = automaton_of(task)
        language, answers = automaton.language, automaton.answers
    return make_subject(
        task.name,
        about=task.name,
        module=model if task.features is None else SignalModule(model),
        question=question,
        reading=reading,
        letters=letters,
        language=language,
        answers=answers,
        weights=weights,
    )


def asked_subject(subject: LoadedNetwork) -> Subject | None:
    """Returns a network with the question of its task, or else of its folder; None if nothing is asked of it.

    Raises:
        InputError: if its task asks nothing about single words.
    """
    if subject.task is not None:
        _ = subject.task.question()
        return to_subject(subject)
    stored = subject.subject
    asked = stored is not None and stored.question is not None and stored.reading is not None
    return stored if asked else None


def trained_network(source: Any) -> LoadedNetwork:
    """Returns what `nerode.train` returned as a network with its task: a model, a pair, or a list of one.

    Raises:
        InputError: for what training did not return; `nerode.ask` takes any model.
    """
    if isinstance(source, LoadedNetwork):
        return source
    found = source[0] if isinstance(source, list) and len(source) == 1 else source
    record, model = found if isinstance(found, tuple) and len(found) == 2 else (None, found)
    spec = getattr(model, "training_spec", None)
    if not isinstance(model, nn.Module) or not isinstance(spec, TrainSpec):
        raise InputError(
            f"a {type(found).__name__} says nothing of a task; give what `nerode.train` returned, or the "
            "folder of a run to `nerode.load_subject`. `nerode.ask` takes any model"
        )
    task = build_task(spec.task)
    return LoadedNetwork(
        name=type(getattr(model, "inner", None) or model).__name__ if record is None else record.title,
        model=model.eval(),
        record=record,
        task=task,
        language=getattr(task, "language", None),
    )


def load_subject(
    folder: Path | str, *, dtype: torch.dtype = torch.float32, trust_code: bool = False
) -> LoadedNetwork:
    """Returns the network of a folder: a run, a saved model of the zoo, or a compiled network.

    Args:
        folder: where it is.
        dtype: type of the weights of a compiled network; a trained one keeps its own.
        trust_code: whether the module that a run names for its model may be imported, which runs its code.

    Raises:
        FormatError: if the folder is none of these, or damaged.
        InputError: if the run diverged, so that there is no model; if it names a module whose code is not
            trusted, or is not the code that it was trained with.
    """
    folder = Path(folder)
    if (folder / RESULT).exists():
        return _run(folder, trust_code)
    if not (folder / SUBJECT_FILE).exists():
        raise FormatError(
            f"is neither a run ({RESULT}) nor a model ({SUBJECT_FILE}); `nerode train`, `nerode compile` and "
            "`nerode import` make such folders; `nerode ask` also takes those of transformers",
            path=folder,
        )
    if Folder(folder).subject.network.kind == "exact":
        network, language = read_network(folder), read_language(folder)
        return LoadedNetwork(
            name=folder.name,
            model=load_model(network, dtype=dtype).eval(),
            language=language,
            network=network,
        )
    return _saved(open_subject(folder), folder)


def _saved(subject: Subject, folder: Path) -> LoadedNetwork:
    """A saved model with its language, and with a task where this reads scores as the folder does."""
    assert subject.bare is not None
    origin, asked, task, language = subject.record.imported, subject.record.question, None, None
    if asked is not None and asked.asks != "class":
        about = str(folder / LANGUAGE_FILE) if origin is None else origin.language
        task = build_task(language_task(about, recognises=asked.asks == "end"))
        read = subject.reading
        if isinstance(task, Prediction) and read is not None and read.kind == "softmax" and not read.columns:
            task = task.read_by(read)
        language = getattr(task, "language", None)
        require_question(task, subject.question, reading := task.reading())
        if subject.reading != reading:
            task = None  # its evaluations would read the scores otherwise than its claims do
    return LoadedNetwork(
        name=subject.name if origin is None else f"{subject.name} of {origin.library}",
        model=subject.bare,
        task=task,
        language=language,
        subject=subject,
    )


def imported_task(origin: ImportOrigin, *, recognises: bool) -> TaskConfig:
    """Returns the task that an imported model is asked, of the language that it was imported with."""
    return language_task(origin.language, recognises=recognises)


def language_task(language: str, *, recognises: bool) -> TaskConfig:
    """Returns the task of a language, as `nerode check` takes it: membership, or what may follow."""
    kind = "language-recognition" if recognises else "language-prediction"
    return TaskConfig(name=kind, settings={"language": language})


def _run(folder: Path, trust_code: bool) -> LoadedNetwork:
    record = read_run(folder)
    if record.divergence is not None:
        raise InputError(f"{folder} diverged at step {record.divergence.step}: it has no model to look at")
    spec = record.spec
    if spec.model.module and not trust_code:
        raise untrusted_code(spec.model.module, str(folder))
    build = own_builder(spec.model, recorded=record.complete.files)
    subject = open_subject(folder, build=run_builder(record, build))
    task = task_of_run(record, subject.question, subject.reading, subject.bare)
    if subject.bare is None:
        raise FormatError("holds an exact network beside the result of a run", path=folder)
    if isinstance(subject.bare, Model):
        subject.bare.claims = record.claims
    return LoadedNetwork(
        name=f"{record.title} on {spec.task.name}, seed {spec.run.seed}",
        model=subject.bare,
        record=record,
        task=task,
        language=getattr(task, "language", None),
        build=build,
        subject=subject,
    )


_SEQUENCES = 64
"""Words of each length that an imported model is tested on."""


def score_import(folder: Path) -> RunRecord:
    """Returns the record of an imported model: its scores by length on the task of its language, no training.

    Raises:
        InputError: if it was imported without a language.
    """
    begun = time.process_time()
    subject = load_subject(folder)
    record, model = subject.imported, subject.model
    if subject.task is None or record is None or not isinstance(model, Model):
        raise InputError(
            f"{folder} was imported without --language; nothing says what is correct, so there is no score"
        )
    task = imported_task(record, recognises=isinstance(subject.task, Recognition))
    layers = ",".join(layer.name for layer in model.config.layers)
    run = RunSpec(steps=1, test_sequences=_SEQUENCES)
    spec = TrainSpec(task=task, model=ModelSpec(layers=layers), optimiser=OptimiserSpec(), run=run)
    lengths = tested_lengths(spec)
    scores = evaluate(model, subject.task, lengths, sequences=_SEQUENCES)
    complete = CompleteSpec(
        task=complete_task(task),
        model=to_mapping(model.config.complete()),
        optimiser=spec.optimiser,
        run=replace(run, test_lengths=lengths),
    )
    measure, threshold = run.measure, run.test_threshold
    return RunRecord(
        key=complete.key,
        title=f"{folder.name} ({record.library})",
        spec=spec,
        complete=complete,
        parameters=model.num_parameters,
        steps=0,
        samples=0,
        stopped="steps",
        divergence=None,
        history=(),
        measure=measure,
        threshold=threshold,
        first_failing_length=first_failing_length(scores, measure=measure, threshold=threshold),
        extrapolates_to=extrapolates_to(scores, measure=measure, threshold=threshold),
        evaluations=scores,
        axes=(),
        examination={},
        environment=describe_environment(),
        cpu_seconds=0.0,
        evaluation_cpu_seconds=time.process_time() - begun,
    )


def require_own_models(specs: Iterable[TrainSpec], *, certify: bool = False) -> None:
    """Raises InputError for a model of the user's own that what is asked for would refuse after its training.

    Each module is built once, which runs the user's code, and its first weights are measured.

    Args:
        specs: the runs that are asked for; models of the zoo pass.
        certify: whether the runs are to be trained on until they can be proved, which own models cannot.

    Raises:
        InputError: if a module is not to be built, takes no state, has no `step` where one is needed, or has
            weights that contradict its declared class; UnknownName for an unknown class.
    """
    seen = set()
    for spec in specs:
        if not spec.model.module or (spec.model.module, spec.task.name) in seen:
            continue
        seen.add((spec.model.module, spec.task.name))
        if certify:
            raise InputError(
                f"{spec.model.module} is a model of your own; --certify trains layers of the zoo until they "
                "can be proved. Train it without, and settle the run with `nerode prove RUN --trust-code`"
            )
        task = build_task(spec.task)
        model = spec_model(spec.model, task, seed=spec.run.seed, build=own_builder(spec.model)).eval()
        declared = declared_theory(spec.model, model)
        if not declared:
            continue
        row = find_architecture(declared)
        if not is_stateful(model):
            raise InputError(
                f"{spec.model.module} is declared as {row.name}, but has no `step` and `initial_state` by "
                "which its transitions could be measured; add them, or leave the declaration out"
            )
        if trouble := contradiction(row, measure_own(model, task)):
            raise InputError(f"{spec.model.module} contradicts its declaration: {trouble}")
