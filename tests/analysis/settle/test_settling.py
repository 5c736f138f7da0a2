"""Networks end proved, refuted by a word, or unsettled; a planted wrong one is never proved."""

import itertools
import json
from dataclasses import replace

import pytest
import torch

import nerode as nr
from nerode.analysis.settle import (
    SettleSettings,
    confirmed_settlement,
    replay_settlement,
    settle_folder,
    settle_task,
    settled_or_new,
)
from nerode.analysis.subject import LoadedNetwork, load_subject, to_subject
from nerode.core import Budget, InputError
from nerode.languages import answer_text, resolve_language
from nerode.models import save_model
from nerode.models.lower.assembly import network_to_architecture
from nerode.proofs import certificate_to_json, write_folder
from nerode.proofs.floats import WordReader, certify_module, decode, decoder
from nerode.records import SETTLED, SETTLED_CERTIFICATE, SETTLEMENT_FILE, TaskConfig, read_settlement
from nerode.tasks import build_task
from nerode.training import make_specs, run_all

SMALL = SettleSettings(states=2_000, tests=16, longest=64, holds=3)


def last_bias(model):
    return model.head.bias if isinstance(model.head, torch.nn.Linear) else model.head[-1].bias


def compiled_model(language="tomita-2", architecture="mamba"):
    """A real architecture that does a prediction task, its scores above 0 where a letter may follow."""
    network = nr.compile_language(
        resolve_language(language), to=architecture, options=nr.Options(exclusive_scan=False)
    )
    model = network_to_architecture(network, architecture)
    with torch.no_grad():
        last_bias(model).sub_(0.5)
    task = build_task(TaskConfig(name=f"predict-{language}"))
    return LoadedNetwork(name="a compiled one", model=model, task=task, language=task.language)


def test_a_correct_network_is_proved_bit_for_bit():
    found = settle_task(compiled_model(), settings=SMALL, budget=Budget(seconds=20))
    assert (found.settlement.status, found.settlement.length) == ("proved", "all")
    assert found.settlement.dtype == "float32"
    assert found.certificate is not None
    assert found.settlement.states > 1


def test_a_planted_mistake_is_refuted_by_its_shortest_word():
    subject = compiled_model()
    with torch.no_grad():
        last_bias(subject.model)[-1] += 10.0
    found = settle_task(subject, settings=SMALL, budget=Budget(seconds=20)).settlement
    assert found.status == "refuted"
    assert found.shortest
    assert found.word == ("1",)
    assert "$" in found.got
    assert "$" not in found.expected


def test_a_planted_tie_is_refuted():
    subject = compiled_model()
    with torch.no_grad():
        last_bias(subject.model)[0] -= 0.5
    word = torch.tensor([[1]])
    assert (subject.model(word)[0][..., 0] == 0).any(), "a legal letter has a score of exactly 0"
    found = settle_task(subject, settings=SMALL, budget=Budget(seconds=20)).settlement
    assert found.status == "refuted"


@pytest.mark.parametrize("leak", [2.0**-20, 2.0**-6])
def test_a_leaking_gate_is_never_proved(leak):
    subject = compiled_model("flip-flop")
    layer = next(layer for layer in subject.model.layers if hasattr(layer, "A_log"))
    with torch.no_grad():
        # Softplus of this bias is the leak: the gate is exp(-leak · rate) where it should hold.
        held = layer.dt_proj.bias < 0
        layer.dt_proj.bias[held] = torch.log(torch.expm1(torch.tensor(leak)))
        layer.dt_proj.weight.zero_()
    few = replace(SMALL, states=300)
    found = settle_task(subject, settings=few, budget=Budget(seconds=5)).settlement
    assert found.status in ("refuted", "unsettled")


def essence(found):
    """What is seen again in a folder; how it was found, and at what cost, nobody checks."""
    found = replace(found, method="", known=(), steps=None, states=0, cpu_seconds=0.0)
    return replace(found, tested=0, undecided=None)


def test_a_run_ends_in_its_folder_and_its_proof_names_its_weights(tmp_path):
    spec = make_specs(
        "parity",
        ["elman"],
        seeds=range(1),
        tables={"run": {"steps": 5, "test_lengths": [8]}},
    )
    [(_, record)] = run_all(spec, tmp_path, jobs=1)
    folder = next(p for p in tmp_path.iterdir() if (p / "result.json").exists())
    found = settle_folder(folder, settings=SMALL, budget=Budget(seconds=20))
    assert found.status == "refuted"
    assert read_settlement(folder) == found
    assert found.weights
    assert found.first_wrong_length is not None
    assert found.first_wrong_length <= 8
    with pytest.raises(InputError, match="there is no such file"):
        replay_settlement(folder)
    assert record.divergence is None
    assert essence(settled_or_new(folder, settings=SMALL)) == essence(found)
    # A file that says "proved" is not believed: there is no proof that can be replayed.
    forged = replace(found, status="proved", length="all", word=None, reason="", claims=("all lengths",))
    path = folder / SETTLED / SETTLEMENT_FILE
    path.write_text(json.dumps(forged.to_json()))
    assert read_settlement(folder).status == "proved"
    assert settled_or_new(folder, settings=SMALL, budget=Budget(seconds=20)).status == "refuted"


def test_a_compiled_folder_is_settled_by_its_certificate(tmp_path):
    language = resolve_language("tomita-1")
    network = nr.compile_language(language, to="diagonal")
    write_folder(tmp_path, network, language, nr.certify(network, language))
    found = settle_folder(tmp_path)
    assert (found.status, found.dtype) == ("proved", None)


def test_a_certificate_of_other_weights_is_not_believed(tmp_path):
    language = resolve_language("(aa)*")
    network = nr.compile_language(resolve_language("a*"), to="diagonal-signed")
    certificate = nr.certify(nr.compile_language(language, to="diagonal-signed"), language)
    write_folder(tmp_path, network, language, certificate)
    found = settle_folder(tmp_path)
    assert found.status == "refuted"
    assert found.word == ("a",)


def test_weights_that_are_no_numbers_are_refused():
    subject = compiled_model()
    with torch.no_grad():
        last_bias(subject.model)[0] = float("nan")
    with pytest.raises(InputError, match="not a finite number"):
        settle_task(subject)


def test_tasks_with_classes_are_read_as_answers():
    task = build_task(TaskConfig(name="parity"))
    bits, readable = decode(task.reading(), torch.tensor([[0.0, 1.0], [1.0, 0.0], [torch.nan, 0.0]]))
    language = task.question().language
    assert bits[:2, -1].tolist() == [language.accepts("1"), language.accepts("11")]
    assert readable.tolist() == [True, True, False]


def trained_run(root, steps=5):
    specs = make_specs(
        "parity", ["elman"], seeds=range(1), tables={"run": {"steps": steps, "test_lengths": [8]}}
    )
    list(run_all(specs, root, jobs=1))
    return next(p for p in root.iterdir() if (p / "result.json").exists())


def write_settlement(folder, settlement):
    (folder / SETTLED / SETTLEMENT_FILE).write_text(json.dumps(settlement.to_json()))


def test_a_settlement_that_says_more_than_its_proof_is_refused(tmp_path):
    """The certificate holds, but only up to a length."""
    folder = trained_run(tmp_path)
    found = settle_folder(folder, settings=SMALL, budget=Budget(seconds=20))
    subject = load_subject(folder)
    verdict = certify_module(
        subject.model,
        subject.task.question(),
        decode=decoder(subject.task.reading()),
        budget=Budget(elements=2_000),
    )
    assert verdict.certificate is not None
    bound = replace(verdict.certificate, network=subject.subject.hash)
    text = json.dumps(certificate_to_json(bound))
    (folder / SETTLED / SETTLED_CERTIFICATE).write_text(text)
    [claim] = verdict.certificate.claims
    write_settlement(
        folder,
        replace(found, status="proved", length="all", word=None, method="closure", claims=(claim.covers,)),
    )
    replayed, settlement = replay_settlement(folder)
    assert replayed.claims == (claim,)
    assert settlement is None
    assert confirmed_settlement(folder) is None


@pytest.mark.parametrize("change", [{"word": ("1", "1", "1")}, {"got": "1"}, {"subject": "0" * 64}])
def test_a_failing_word_is_read_again(tmp_path, change):
    folder = trained_run(tmp_path)
    found = settle_folder(folder, settings=SMALL, budget=Budget(seconds=20))
    assert essence(confirmed_settlement(folder)) == essence(found)
    write_settlement(folder, replace(found, **change))
    assert confirmed_settlement(folder) is None
    assert settled_or_new(folder, settings=SMALL, budget=Budget(seconds=20)).word == found.word


def test_that_no_shorter_word_fails_is_seen_again(tmp_path):
    folder = trained_run(tmp_path)
    found = settle_folder(folder, settings=SMALL, budget=Budget(seconds=20))
    assert found.shortest
    subject = load_subject(folder)
    reader = WordReader(to_subject(subject))
    longer = next(
        failing
        for n in range(len(found.word) + 1, 12)
        for word in itertools.product(range(len(reader.question.alphabet)), repeat=n)
        if (failing := reader.first_failure(word)) is not None and len(failing.word) == n
    )
    forged = replace(
        found,
        word=longer.word,
        expected=answer_text(longer.expected),
        got=answer_text(longer.got),
        length=len(longer.word) - 1,
    )
    write_settlement(folder, forged)
    seen = replace(forged, shortest=False, length=len(found.word) - 1)
    assert essence(confirmed_settlement(folder)) == essence(seen)
    write_settlement(folder, replace(found, about="dyck-1"))
    assert confirmed_settlement(folder) is None
    unsettled = replace(
        found,
        status="unsettled",
        word=None,
        shortest=False,
        reason="no time",
        length=10**6,
        expected="",
        got="",
    )
    write_settlement(folder, unsettled)
    assert confirmed_settlement(folder).length == len(found.word) - 1


def test_a_saved_model_is_settled_by_a_named_task(tmp_path):
    subject = compiled_model()
    save_model(tmp_path, subject.model)
    assert settle_folder(tmp_path, settings=SMALL, task=subject.task).status == "proved"
    with pytest.raises(InputError, match="reads 2 letters"):
        settle_folder(tmp_path, task=build_task(TaskConfig(name="predict-set-reset")))
    with pytest.raises(InputError, match="neither a language nor a task"):
        settle_folder(tmp_path)


def test_a_run_trained_as_usual_whose_memory_fades_is_proved_by_boxes_and_replayed(tmp_path):
    tables = {
        "model": {"width": 16, "settings": {"states": 4, "steps": {"smallest": 0.5, "largest": 2.0}}},
        "optimiser": {"rate": 5e-3},
        "run": {"steps": 300, "batch": 32, "evaluate_every": 100, "test_lengths": [64]},
    }
    list(run_all(make_specs("predict-tomita-4", ["mamba"], seeds=range(1), tables=tables), tmp_path, jobs=1))
    folder = next(p for p in tmp_path.iterdir() if (p / "result.json").exists())
    few = replace(SMALL, states=50)
    found = settle_folder(folder, settings=few, budget=Budget(seconds=60))
    assert (found.status, found.method, found.length, found.dtype) == ("proved", "fading", "all", "float32")
    assert found.words == "all prefixes of words of the language"
    assert essence(replay_settlement(folder)[1]) == essence(found)
    # What a file says of the method and of the search is not repeated.
    lies = {"method": "closure", "states": 7, "reading": "scores above 9", "known": ("it is right",)}
    write_settlement(folder, replace(found, **lies))
    assert essence(confirmed_settlement(folder)) == essence(found)
    assert confirmed_settlement(folder).method == "fading"
    assert confirmed_settlement(folder).known == ()
    path = folder / SETTLED / SETTLED_CERTIFICATE
    forged = json.loads(path.read_text())
    forged["evidence"]["fading-boxes"]["high"] = forged["evidence"]["fading-boxes"]["low"]
    path.write_text(json.dumps(forged))
    write_settlement(folder, found)
    assert replay_settlement(folder)[0].failure is not None
