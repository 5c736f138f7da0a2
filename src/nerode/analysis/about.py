"""Which language a name, a task or a polished network is about, and whether two are the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nerode.analysis.extraction.comparison import acceptor
from nerode.analysis.extraction.question import MooreTarget
from nerode.analysis.extraction.task_questions import question_of
from nerode.core import InputError, UnknownName
from nerode.languages import Alphabet, Dfa, Language, RegularLanguage, language_hash, resolve_language
from nerode.proofs import read_proof
from nerode.records import TaskConfig
from nerode.tasks import Task, build_task, find_task


def language_of(name: str) -> Language:
    """Returns the language that a name of a language or of a task stands for."""
    try:
        return resolve_language(name)
    except InputError as no_language:
        try:
            find_task(name)
        except UnknownName:
            raise no_language from None
        return task_language(build_task(TaskConfig(name=name)))


def task_language(task: Task) -> Language:
    """Returns the language that a task is about; for classes, the words of one class."""
    found = getattr(task, "language", None)
    if isinstance(found, Language) and task.name != "dfa-states":
        return found
    question = question_of(task)
    assert isinstance(question.target, MooreTarget)
    dfa = acceptor(question.target.machine, question.kind)
    return RegularLanguage(name=question.target.name, automaton=dfa, convention=question.target.name)


def polished_language(folder: Path) -> Language:
    """Returns the language that a polished network is about: the words whose product is the identity."""
    proof = read_proof(folder)
    group = proof.group
    identity = np.arange(group.order) == group.identity
    dfa = Dfa(
        alphabet=Alphabet(tuple(group.element_names[letter] for letter in proof.letters)),
        transitions=group.times(proof.letters),
        start=group.identity,
        accepting=identity,
    )
    name = f"the word problem of {group.name}"
    return RegularLanguage(name=name, automaton=dfa, convention=name)


def same_language(left: Language, right: Language) -> bool:
    """Returns whether two languages are equal up to the names of letters, or complements.

    What a language is called does not count: a file may call its language as it likes.
    """
    if not (left.regular and right.regular):
        return language_hash(left) == language_hash(right)
    one, two = left.dfa(), right.dfa()
    same_moves = one.start == two.start and bool(np.array_equal(one.transitions, two.transitions))
    return same_moves and (
        bool(np.array_equal(one.accepting, two.accepting))
        or bool(np.array_equal(~one.accepting, two.accepting))
    )
