"""The settlement of a network in its folder: found, written with its proof, confirmed.

A compiled network is settled by its certificate, which the kernel checks again, or by a new one.
"""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import replace
from pathlib import Path

from nerode.analysis.settle.settling import settle_task
from nerode.analysis.subject import LoadedNetwork, load_subject, name_of_goal, to_subject
from nerode.core import Budget, BudgetExceeded, FormatError, InputError, started, write_atomically
from nerode.languages import Language, answer_text, asked_of, title_of
from nerode.models import dtype_of, fixed_bits
from nerode.network import Network
from nerode.proofs import check_folder, write_certificate, write_folder
from nerode.proofs.floats import (
    MOST_STATES,
    WORDS,
    Settled,
    SettleSettings,
    WordReader,
    proved_by,
    search_states,
    settle,
)
from nerode.proofs.replay import Replayed, Subject, is_proof, make_subject, replay_settled
from nerode.records import (
    SETTLED,
    SETTLED_CERTIFICATE,
    SETTLEMENT_FILE,
    SUBJECT_FILE,
    WEIGHTS_FILE,
    Folder,
    Settlement,
    read_settlement,
)
from nerode.tasks import Task, automaton_of


def settle_folder(
    folder: Path,
    *,
    settings: SettleSettings | None = None,
    budget: Budget | None = None,
    trust_code: bool = False,
    task: Task | None = None,
) -> Settlement:
    """Returns the end of a run, of a compiled network or of a model, and leaves it in the folder of a run.

    Args:
        folder: of the run, the network or the model.
        settings: how far to search.
        budget: limits the CPU seconds.
        trust_code: whether a module that the run names for its model may run.
        task: what a model should do that was not trained here.

    Raises:
        InputError: if there is no language or task to settle it by, or a weight is not a number.
    """
    subject = load_for_task(folder, task, trust_code=trust_code)
    if subject.network is not None and subject.language is not None:
        return _settle_compiled(folder, subject.network, subject.language, started(budget))
    record = None if subject.subject is None else subject.subject.record
    ended = settle_task(subject, settings=settings, budget=budget)
    if record is not None and record.question is not None and task is None:
        goal = automaton_of(subject.task).language if ended.network is not None and subject.task else None
        return write_settlement(folder, ended, goal)
    return ended.settlement


def load_for_task(folder: Path, task: Task | None, *, trust_code: bool = False) -> LoadedNetwork:
    """Returns the network of a folder, with the task that it is given if it has none of its own.

    Raises:
        InputError: if it has a task already, or reads or answers otherwise than the given one.
    """
    subject = load_subject(folder, trust_code=trust_code)
    if task is None:
        return subject
    if subject.task is not None or subject.network is not None:
        raise InputError(f"{subject.name} says by itself what it should do; leave --task out")
    config = subject.zoo_model.config
    if (config.letters, config.outputs) != (task.letters, task.outputs):
        raise InputError(
            f"{subject.name} reads {config.letters} letters and gives {config.outputs} scores; {task.name} "
            f"has {task.letters} letters and asks for {task.outputs}"
        )
    return replace(subject, task=task, language=getattr(task, "language", None))


def settled_or_new(
    folder: Path,
    *,
    settings: SettleSettings | None = None,
    budget: Budget | None = None,
    trust_code: bool = False,
) -> Settlement:
    """Returns the end of a run that is kept and speaks of its weights, or else a new one.

    A run that is kept as unsettled is settled again: the budget may be larger now. So is one whose end is not
    confirmed by a replay: a file may say what it likes.
    """
    known = None
    if (folder / SUBJECT_FILE).exists():
        known = confirmed_settlement(folder, budget=budget, trust_code=trust_code)
    if known is not None and known.status != "unsettled":
        return known
    return settle_folder(folder, settings=settings, budget=budget, trust_code=trust_code)


def _settle_compiled(folder: Path, network: Network, language: Language, budget: Budget) -> Settlement:
    """The end of a compiled network: its own certificate if the kernel accepts it, or else a new search."""
    begun = time.process_time()
    try:
        checked = check_folder(folder, budget=budget)
    except FormatError:
        checked = None
    claims = checked.claims if checked is not None and checked.ok else ()
    lasting = next((claim for claim in claims if claim.length == "all" and claim.task in WORDS), None)
    if lasting is None:
        name, question = network.origin.language, asked_of(language)
        asked = make_subject(name, about=title_of(language), network=network, question=question)
        return settle(asked, budget=budget).settlement
    return Settlement(
        **{
            **proved_by(claims),
            "dtype": lasting.dtype,
            "noise": None if lasting.eps is None else str(lasting.eps),
        },
        about=title_of(language),
        method=lasting.method,
        length="all",
        states=0,
        cpu_seconds=round(time.process_time() - begun, 3),
    )


@fixed_bits(1)
def confirmed_settlement(
    folder: Path, *, budget: Budget | None = None, trust_code: bool = False
) -> Settlement | None:
    """Returns the kept end of a run if it is about it and a replay confirms it, None otherwise.

    A proof is replayed, and all that is returned follows from the replay. A failing word is read again. That
    all shorter words are answered correctly is searched again: the length that is returned is the one that
    was seen.
    """
    budget = started(budget)
    try:
        known = read_settlement(folder)
        if known is None:
            return None
        if known.status == "proved":
            return replay_settlement(folder, budget=budget, trust_code=trust_code)[1]
        loaded = load_subject(folder, trust_code=trust_code)
        if known.about != name_of_goal(loaded) or known.dtype != dtype_of(loaded.model):
            return None
        if known.status == "refuted" and not fails_again(to_subject(loaded), known):
            return None
        seen = _with_length(loaded, known, budget)
        found = replace(seen, method=READ_AGAIN, known=(), tested=0, steps=None, states=0)
        return replace(found, undecided=None, claims=())
    except InputError:
        return None


READ_AGAIN = "read again"
"""The method of a settlement whose word was read again; how it was found, nobody knows."""


def _with_length(subject: LoadedNetwork, known: Settlement, budget: Budget) -> Settlement:
    """The same settlement with the length up to which a search sees no failing word, if that is less."""
    if known.length == 0 and not known.shortest:
        return known
    assert subject.task is not None
    try:
        few = replace(budget.part(), elements=MOST_STATES)
        verdict = search_states(to_subject(subject), few, valid=True)
        refuted, reached = verdict.refutation, verdict.length
    except (InputError, BudgetExceeded):
        refuted, reached = None, 0
    seen = len(refuted.word) - 1 if refuted is not None else reached
    length = min(int(known.length), seen) if isinstance(seen, int) else int(known.length)
    shortest = known.shortest and known.word is not None and length == len(known.word) - 1
    return replace(known, length=length, shortest=shortest)


def fails_again(subject: Subject, known: Settlement) -> bool:
    """Returns whether a model answers the word of a settlement as incorrectly as it says.

    Raises:
        InputError: if nothing is asked about single words, or the word has another letter.
    """
    reader = WordReader(subject)
    found = reader.first_failure(tuple(reader.question.alphabet.encode(known.word or ())))
    if found is None:
        return False
    answers = answer_text(found.expected), answer_text(found.got)
    return (found.word, *answers) == (known.word, known.expected, known.got)


def replay_settlement(
    folder: Path, *, budget: Budget | None = None, trust_code: bool = False
) -> tuple[Replayed, Settlement | None]:
    """Returns the replay of the kept proof of a run, and the settlement that follows from it alone.

    Args:
        folder: of the run.
        budget: limits the CPU seconds.
        trust_code: whether a module that the run names for its model may run.

    Raises:
        InputError: if there is no proof that reads.
        BudgetExceeded: if the time is up.
    """
    begun = time.process_time()
    subject = load_subject(folder, trust_code=trust_code)
    assert subject.subject is not None
    found, asked = replay_settled(folder, subject.subject, budget=budget), subject.subject.asked
    if found.failure is not None or not is_proof(asked, found):
        return found, None
    # What a file says of method, states or reading is not believed.
    settlement = Settlement(
        **proved_by(found.claims),
        about=name_of_goal(subject),
        method=found.details["method"],
        length="all",
        states=found.details.get("states", 0),
        reading=str(subject.subject.reading),
        weights=subject.subject.record.files[WEIGHTS_FILE],
        subject=subject.subject.hash,
        cpu_seconds=round(time.process_time() - begun, 3),
    )
    return found, settlement


def write_settlement(folder: Path, ended: Settled, language: Language | None = None) -> Settlement:
    """Writes a settlement and its proof, bound to the subject of a folder; returns it. It is written last.

    Args:
        folder: of the subject.
        ended: what is written.
        language: of the exact network that a cell means, if the proof is about one.
    """
    record, target = Folder(folder).subject, folder / SETTLED
    settlement = replace(ended.settlement, weights=record.files[WEIGHTS_FILE], subject=record.hash)
    shutil.rmtree(target, ignore_errors=True)
    if ended.network is not None and language is not None:
        write_folder(target, ended.network, language, ended.certificate)
    elif ended.certificate is not None:
        write_certificate(target / SETTLED_CERTIFICATE, replace(ended.certificate, network=record.hash))
    text = json.dumps(settlement.to_json(), ensure_ascii=False, sort_keys=True)
    write_atomically(target / SETTLEMENT_FILE, text + "\n")
    return settlement
