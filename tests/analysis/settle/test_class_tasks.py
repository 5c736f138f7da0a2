"""Tasks whose answers are classes: flip-flops, cycles, signals, groups, states. Every class counts."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

import nerode as nr
from nerode.analysis.settle import settle_task
from nerode.analysis.settle.settling import failing_examination
from nerode.analysis.subject import LoadedNetwork, to_subject
from nerode.core import Budget, InputError, stream
from nerode.kernel import PREDICT, TRACK, Certificate, Failure, certificate_to_json, language_claim
from nerode.languages import (
    OUTSIDE,
    UNASKED,
    Alphabet,
    LanguageQuestion,
    Moore,
    MooreQuestion,
    answer_text,
    describe_language,
    language_hash,
    resolve_language,
)
from nerode.network import network_to_json
from nerode.proofs import check
from nerode.proofs.find.words import WordReader, long_words
from nerode.proofs.floats import FloatVerdict, certify_module, decoder, finished
from nerode.proofs.replay import recheck_module
from nerode.proofs.replay.listing import fingerprint
from nerode.records import TaskConfig
from nerode.tasks import build_task


class Table(nn.Module):
    """A finite machine as a module: a one-hot state; `leak` shrinks it at each step."""

    def __init__(self, moves: Tensor, scores: Tensor, *, features: bool = False, leak: float = 1.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(scores.float())
        self.moves, self.features, self.leak = moves, features, leak

    def initial_state(self, batch: int) -> dict[str, Tensor]:
        start = torch.zeros(batch, len(self.moves))
        start[:, 0] = 1.0
        return {"h": start}

    def step(self, x: Tensor, state: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        letters = x[:, 0].long() if self.features else x
        rows = torch.arange(len(letters))
        before = state["h"]
        place = self.moves[before.argmax(-1), letters]
        after = torch.zeros_like(before)
        after[rows, place] = before.amax(-1) * self.leak
        # A state that has faded below 1/8 is read as nothing.
        return (after * (after > 0.125)) @ self.weight, {"h": after}

    def forward(self, x: Tensor, state: dict[str, Tensor] | None = None) -> tuple[Tensor, dict[str, Tensor]]:
        state = self.initial_state(len(x)) if state is None else state
        scores = []
        for time in range(x.shape[1]):
            said, state = self.step(x[:, time], state)
            scores.append(said)
        return torch.stack(scores, dim=1), state


def parity_machine() -> Moore:
    return Moore.explore(Alphabet(("0", "1")), 0, lambda state, letter: (state + letter) % 2, str)


def search(subject: LoadedNetwork) -> FloatVerdict:
    """What a search of all float states finds."""
    asked = to_subject(subject)
    return certify_module(asked.module, asked.asked, decode=decoder(asked.reading), budget=Budget(seconds=30))


def replay(subject: LoadedNetwork, certificate: Certificate) -> Failure | None:
    """Why a certificate does not hold for a network, if it does not."""
    asked = to_subject(subject)
    again = {"decode": decoder(asked.reading), "budget": Budget(seconds=30)}
    return recheck_module(asked.module, asked.asked, certificate, **again)


def perfect(name: str, *, leak: float = 1.0, settings: dict[str, object] | None = None) -> LoadedNetwork:
    """A module that is correct on a task, for ever if nothing leaks."""
    # contains-aab is no preset of the task.
    name = "dfa-states" if settings and "language" in settings else name
    task = build_task(TaskConfig(name=name, settings=settings or {}))
    counting = name == "counting"
    question = task.question()
    # Parity is asked as membership; as a machine it has the classes of its labels.
    machine = question.machine if isinstance(question, MooreQuestion) else parity_machine()
    classes = [0 if text in (OUTSIDE, UNASKED) else int(text) for text in machine.outputs]
    if counting:
        scores = torch.tensor([[2.0 * number - 1] for number in classes])
    else:
        scores = torch.nn.functional.one_hot(torch.tensor(classes), task.outputs).float()
        scores[:, 0] += 0.5 * (torch.tensor(classes) != 0)
    moves = torch.tensor(machine.transitions.astype(int))
    model = Table(moves, scores, features=counting, leak=leak)
    return LoadedNetwork(name=name, model=model, task=task, language=None)


@pytest.mark.parametrize("name", ["flip-flop", "even-pairs", "cycle-navigation", "parity-last"])
def test_a_correct_network_is_proved_and_its_proof_replayed(name):
    subject = perfect(name)
    ended = settle_task(subject, budget=Budget(seconds=30))
    assert ended.settlement.status == "proved", ended.settlement.reason
    assert replay(subject, ended.certificate) is None


def test_a_network_that_counts_signals_is_proved_for_every_time_off():
    ended = settle_task(perfect("counting"), budget=Budget(seconds=30))
    assert (ended.settlement.status, ended.settlement.method) == ("proved", "closure")


@pytest.mark.parametrize(
    "name",
    [
        "flip-flop",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("even-pairs", "cycle-navigation")),
    ],
)
def test_a_leak_is_refuted_by_a_word_that_fails_alone(name):
    subject = perfect(name, leak=1 - 2**-10)
    end = settle_task(subject, budget=Budget(seconds=30)).settlement
    assert end.status == "refuted"
    reader = WordReader(to_subject(subject))
    found = reader.first_failure(reader.question.alphabet.encode(end.word))
    assert found is not None
    assert (answer_text(found.expected), answer_text(found.got)) == (end.expected, end.got)


def test_a_planted_wrong_answer_is_never_proved():
    subject = perfect("flip-flop")
    with torch.no_grad():
        worst = int(subject.model.weight.argmax(0)[1])
        subject.model.weight[worst] = torch.tensor([1.0, 0.0])
    assert search(subject).length != "all"


def test_other_weights_are_told_apart():
    one, other = perfect("even-pairs"), perfect("even-pairs")
    ended = settle_task(one, budget=Budget(seconds=30))
    with torch.no_grad():
        other.model.weight.mul_(2)
    assert replay(other, ended.certificate).what == "the certificate is for another network"


def test_the_machine_of_signals_agrees_with_the_masks_and_targets_of_the_task():
    task = build_task(TaskConfig(name="counting"))
    machine = task.question().machine
    batch = task.sample(200, 20, stream(0, "test"))
    for row in range(20):
        place = machine.start
        for bit, target, asked in zip(
            batch.inputs[row, :, 0].int().tolist(),
            batch.targets[row, :, 0].int().tolist(),
            batch.mask[row].tolist(),
            strict=True,
        ):
            place = machine.rows[place][bit]
            assert machine.outputs[place] == (str(target) if asked else UNASKED)


def test_signals_that_the_task_does_not_have_are_outside():
    machine = build_task(TaskConfig(name="counting")).question().machine
    for word in ("1", "0" * 19 + "1", "0" * 20 + "1" * 11, "0" * 20 + "1" * 9 + "0"):
        place = machine.start
        for letter in word:
            place = machine.rows[place][int(letter)]
        assert machine.outputs[place] == OUTSIDE


def test_long_words_find_a_leak_that_short_ones_do_not_show():
    subject = perfect("flip-flop", leak=1 - 2**-11)
    reader, budget = WordReader(to_subject(subject)), Budget(seconds=60).start()
    assert finished(long_words(reader, length=1_024, words=4, budget=budget)) is None
    found = finished(long_words(reader, length=8_192, words=4, budget=budget))
    assert found is not None
    assert len(found.word) > 2_000
    assert found.expected != found.got


def test_a_test_of_phase_alignment_that_fails_is_shown_bit_by_bit():
    subject = perfect("counting")
    test, failed = failing_examination(subject.model, subject.task)
    assert test == "the test double-isi"
    assert failed.expected == (("1" * 9 + "0") * 2,)
    assert failed.got != failed.expected
    assert len(failed.got[0]) == 20


def test_a_task_without_a_machine_has_no_question():
    with pytest.raises(InputError, match="does not ask for the answers of an automaton"):
        build_task(TaskConfig(name="copying")).question()


CLASSES = {
    "s3": {},
    "z3": {},
    "states-contains-aab": {"language": "contains-aab"},
    "states-tomita-3": {"words": "any"},
    "flip-flop": {},
    "even-pairs": {},
    "cycle-navigation": {},
    "counting": {},
}
"""Tasks whose answers are classes, with settings."""


def rename(subject: LoadedNetwork, change) -> None:
    """Changes the class that the network names in each of its states."""
    scores = subject.model.weight.data
    if scores.shape[1] == 1:
        named = (scores[:, 0] > 0).long()
        scores[:, 0] = 2.0 * torch.tensor([change(state, int(name)) for state, name in enumerate(named)]) - 1
        return
    named = [change(state, int(name)) for state, name in enumerate(scores.argmax(-1))]
    scores.copy_(torch.nn.functional.one_hot(torch.tensor(named), scores.shape[1]).float())


def asked_states(subject: LoadedNetwork) -> list[int]:
    outputs = subject.task.question().machine.outputs
    return [state for state, text in enumerate(outputs) if text not in (OUTSIDE, UNASKED)]


def swap_two_names(subject: LoadedNetwork) -> None:
    """Swaps the names of two classes that are asked for."""
    named = {int(subject.task.question().machine.outputs[state]) for state in asked_states(subject)}
    one, other = sorted(named)[-2:]
    rename(subject, lambda state, name: {one: other, other: one}.get(name, name))


def merge_two_classes(subject: LoadedNetwork) -> None:
    """Names one class wherever another is expected."""
    named = {int(subject.task.question().machine.outputs[state]) for state in asked_states(subject)}
    one, other = sorted(named)[-2:]
    rename(subject, lambda state, name: one if name == other else name)


def misname_the_deepest_state(subject: LoadedNetwork) -> None:
    """Names another class in the state that is reached last."""
    last = asked_states(subject)[-1]
    classes = max(2, subject.task.outputs)
    rename(subject, lambda state, name: (name + 1) % classes if state == last else name)


FORGERIES = (swap_two_names, merge_two_classes, misname_the_deepest_state)


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_of_a_correct_network_is_proved(name):
    found = search(perfect(name, settings=CLASSES[name]))
    assert (found.length, found.task) == ("all", TRACK)
    assert "every class counts" in found.certificate.claims[0].covers


@pytest.mark.parametrize("forge", FORGERIES)
@pytest.mark.parametrize("name", CLASSES)
def test_a_wrongly_named_class_is_refuted_and_its_certificate_refused(name, forge):
    """The forged certificate is that of the correct network, bound to the weights of the wrong one."""
    subject, correct = (perfect(name, settings=CLASSES[name]) for _ in range(2))
    forge(subject)
    found = search(subject)
    assert found.refutation is not None
    assert found.refutation.expected != found.refutation.got
    honest = search(correct).certificate
    module = to_subject(subject).module
    evidence = {**honest.evidence["bit-closure"], "module": fingerprint(module)}
    forged = replace(honest, network=fingerprint(module), evidence={"bit-closure": evidence})
    failure = replay(subject, forged)
    assert failure is not None
    assert failure.refutation is not None


@pytest.mark.parametrize("name", ["s3", "states-contains-aab"])
def test_a_proof_about_the_language_is_no_proof_about_the_classes(name):
    """As the language, S3 is "identity or not", and states are what may follow them."""
    subject = perfect(name, settings=CLASSES[name])
    swap_two_names(subject)
    question = subject.task.question()
    language = getattr(subject.task, "language", None) or resolve_language(name)
    about = LanguageQuestion(language, "next", "all")
    merged = torch.tensor([about.expected(language.initial())] * subject.task.outputs)
    claim = language_claim(task=PREDICT, method="bit-closure", dtype="float32", order="rounded")
    honest = search(perfect(name, settings=CLASSES[name])).certificate
    evidence = {**honest.evidence["bit-closure"], "task": PREDICT, "module": fingerprint(subject.model)}
    forged = Certificate(
        network=fingerprint(subject.model),
        language=language_hash(language),
        claims=(claim,),
        evidence={"bit-closure": evidence},
    )
    refused = recheck_module(subject.model, question, forged, decode=lambda s: merged[s.argmax(-1)])
    assert refused.what == "the certificate is for another language"
    renamed = replace(forged, language=question.hash)
    refused = recheck_module(subject.model, question, renamed, decode=lambda s: merged[s.argmax(-1)])
    assert "does not answer what is asked" in refused.what


def test_the_kernel_proves_no_classes():
    """A certificate of the kernel that says "track" is refused, as a claim and as evidence."""
    language = resolve_language("parity")
    network = nr.compile_language(language, to="diagonal-signed")
    certificate = certificate_to_json(nr.certify(network, language))
    files = network_to_json(network), describe_language(language)
    assert check(*files, certificate).ok
    claims = [{**claim, "task": TRACK} for claim in certificate["claims"]]
    refused = check(*files, {**certificate, "claims": claims})
    assert not refused.ok
    evidence = {method: {**found, "task": TRACK} for method, found in certificate["evidence"].items()}
    assert not check(*files, {**certificate, "evidence": evidence}).ok


def test_settling_changes_no_weight():
    subject = perfect("s3")
    before = fingerprint(subject.model)
    settle_task(subject, budget=Budget(seconds=30))
    assert fingerprint(subject.model) == before
