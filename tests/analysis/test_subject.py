from __future__ import annotations

from pathlib import Path

import pytest
import torch

import nerode as nr
from nerode.analysis.subject import load_subject
from nerode.core import FormatError, InputError
from nerode.models import save_model
from nerode.proofs import write_folder
from nerode.records import TrainSpec, run_name
from nerode.training import run_key
from nerode.training.runs import run_in

TINY = {
    "task": {"name": "parity"},
    "model": {"layers": "lstm", "width": 4, "settings": {"hidden": 4}},
    "run": {"steps": 3, "evaluate_every": 3, "validation": 8, "test_lengths": [8], "test_sequences": 4},
}


def test_a_run_has_its_model_its_task_and_the_model_before_training(tmp_path: Path) -> None:
    spec = TrainSpec.from_mapping(TINY)
    record = run_in(tmp_path, spec)
    subject = load_subject(tmp_path / run_name(run_key(spec)))
    assert subject.record == record
    assert subject.task is not None
    assert subject.task.name == "parity"
    before, after = subject.untrained().state_dict(), subject.zoo_model.state_dict()
    assert before.keys() == after.keys()
    assert any(not torch.equal(before[name], after[name]) for name in before)


def test_a_compiled_folder_has_its_language_and_network(tmp_path: Path) -> None:
    language = nr.language("parity")
    network = nr.compile_language(language, to="diagonal-signed")
    write_folder(tmp_path / "parity", network=network, language=language, certificate=None)
    subject = load_subject(tmp_path / "parity")
    assert subject.network == network
    assert subject.language is not None
    with pytest.raises(InputError, match="was not trained here"):
        subject.untrained()
    with pytest.raises(InputError, match="needs a model of the zoo"):
        _ = subject.zoo_model


def test_a_saved_model_is_known_by_its_weights_only(tmp_path: Path) -> None:
    save_model(
        tmp_path / "gru", nr.build_model(nr.model_config("gru", letters=2, outputs=2, width=4), seed=0)
    )
    assert load_subject(tmp_path / "gru").zoo_model.config.letters == 2


def test_another_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="neither a run"):
        load_subject(tmp_path)
