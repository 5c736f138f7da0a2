"""Networks for analyses: a trained run, a saved model or a compiled network, with all that is known of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from nerode.core import FormatError, InputError, plural, read_bytes
from nerode.languages import Language
from nerode.models import MAX_WEIGHTS_BYTES, Model, fill_weights, read_model, read_tensors
from nerode.models.compiled import load_model
from nerode.network import Network
from nerode.proofs import LANGUAGE_FILE, NETWORK_FILE, read_language, read_network
from nerode.records import (
    IMPORT_FILE,
    RESULT,
    ImportRecord,
    RunRecord,
    TaskConfig,
    TrainSpec,
    read_import,
    read_run,
    untrusted_code,
)
from nerode.tasks import Task, build_task
from nerode.training import MODEL, WEIGHTS, Build, own_builder, spec_model


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
        imported: where its weights come from, if they come from another library.
    """

    name: str
    model: nn.Module
    record: RunRecord | None = None
    task: Task | None = None
    language: Language | None = None
    network: Network | None = None
    build: Build | None = None
    imported: ImportRecord | None = None

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
    if (folder / LANGUAGE_FILE).exists():
        network, language = read_network(folder), read_language(folder)
        return LoadedNetwork(
            name=folder.name,
            model=load_model(network, dtype=dtype).eval(),
            language=language,
            network=network,
        )
    if (folder / IMPORT_FILE).exists():
        return _imported(folder)
    if (folder / NETWORK_FILE).exists():
        return LoadedNetwork(name=folder.name, model=read_model(folder).eval())
    raise FormatError(
        f"is neither a run ({RESULT}) nor a model ({NETWORK_FILE}); `nerode train`, `nerode compile` and "
        "`nerode import` make such folders",
        path=folder,
    )


def _imported(folder: Path) -> LoadedNetwork:
    """A model of another library; with a language it is asked what a task of this language asks."""
    record, model = read_import(folder), read_model(folder).eval()
    if model.config.letters != len(record.letters):
        raise FormatError(
            f"names {plural(len(record.letters), 'letter')}, the model reads {model.config.letters}",
            path=folder / IMPORT_FILE,
        )
    task = None
    if record.language:
        kind = "language-recognition" if record.recognises else "language-prediction"
        task = build_task(TaskConfig(name=kind, settings={"language": record.language}))
    return LoadedNetwork(
        name=f"{folder.name} of {record.library}",
        model=model,
        task=task,
        language=getattr(task, "language", None),
        imported=record,
    )


def _run(folder: Path, trust_code: bool) -> LoadedNetwork:
    record = read_run(folder)
    if record.divergence is not None:
        raise InputError(f"{folder} diverged at step {record.divergence.step}: it has no model to look at")
    spec = record.spec
    if spec.model.module and not trust_code:
        raise untrusted_code(spec.model.module, str(folder))
    build = own_builder(spec.model, recorded=record.complete.files)
    task = build_task(spec.task)
    name = f"{record.title} on {spec.task.name}, seed {spec.run.seed}"
    model: nn.Module
    if (folder / MODEL / NETWORK_FILE).exists():
        known = read_model(folder / MODEL)
        known.claims = record.claims
        model = known
    else:
        model = spec_model(spec.model, task, seed=spec.run.seed, build=build)
        path = folder / MODEL / WEIGHTS
        fill_weights(model, read_tensors(read_bytes(path, max_bytes=MAX_WEIGHTS_BYTES), path), path)
    return LoadedNetwork(
        name=name,
        model=model.eval(),
        record=record,
        task=task,
        language=getattr(task, "language", None),
        build=build,
    )
