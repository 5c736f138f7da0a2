"""Subjects: something that reads letters and gives scores, with what is asked of it.

One is opened from a folder, or made of a module in memory. `settle` and the replays take it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from torch import nn

from nerode.core import FormatError, InputError
from nerode.kernel import LANGUAGE_FILE, NETWORK_FILE
from nerode.languages import (
    Language,
    LanguageQuestion,
    Legal,
    Question,
    question_from_description,
    title_of,
)
from nerode.models import Model, fill_weights, read_model, read_tensors
from nerode.network import Network, network_from_json
from nerode.proofs.reading import SignalModule
from nerode.records import (
    SUBJECT_FILE,
    WEIGHTS_FILE,
    Folder,
    NetworkEntry,
    Reading,
    SubjectRecord,
    TokenLetters,
    untrusted_code,
)

Build = Callable[[SubjectRecord], nn.Module]
"""Makes a module of the user's own, whose code the user trusts."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Subject:
    """A network with its letters, its reading and its question.

    Attributes:
        name: for titles.
        record: what is written of it.
        module: the weights, in evaluation mode; they read letters by number. None for an exact network.
        network: the exact network, or the one that the module was made from; None for other weights.
        question: what it should answer; None if nothing says.
        empty: what it says before the first letter; None if it says nothing there.
        title: the name of what it should do; empty for that of the question.
        language: what claims about an exact network of its cell speak of; None for none.
        answers: what each of its classes says of that language; None if it has no classes.
    """

    name: str
    record: SubjectRecord
    module: nn.Module | None = None
    network: Network | None = None
    question: Question | None = None
    empty: Legal | None = None
    title: str = ""
    language: Language | None = None
    answers: tuple[Legal, ...] | None = None

    @property
    def hash(self) -> str:
        """The SHA-256 of its function and of how it is read, which every claim about it names."""
        return self.record.hash

    @property
    def letters(self) -> TokenLetters:
        """The letters that it reads."""
        return self.record.letters

    @property
    def reading(self) -> Reading | None:
        """The reading of its scores; None for an exact network, which has its own decoder."""
        return self.record.reading

    @property
    def weights(self) -> str:
        """The hash of its tensors; empty for an exact network."""
        return self.record.files.get(WEIGHTS_FILE, "")

    @property
    def bare(self) -> nn.Module | None:
        """The module as it is, where `module` turns letters into a feature for it."""
        return self.module.inner if isinstance(self.module, SignalModule) else self.module

    @property
    def asked(self) -> Question:
        """The question, or InputError if there is none."""
        if self.question is None:
            raise InputError(f"{self.name} has no question: nothing says what is correct")
        return self.question

    @property
    def about(self) -> str:
        """The name of the question; one that a file gives is called so only if it stands for it."""
        if self.title:
            return self.title
        if isinstance(self.question, LanguageQuestion):
            return title_of(self.question.language)
        asked = self.record.question
        return "" if asked is None else f"the classes named {asked.name!r} in its file"


def make_subject(
    name: str,
    *,
    module: nn.Module | None = None,
    network: Network | None = None,
    question: Question | None = None,
    reading: Reading | None = None,
    letters: TokenLetters | None = None,
    empty: Legal | None = None,
    about: str = "",
    language: Language | None = None,
    answers: tuple[Legal, ...] | None = None,
    weights: str = "",
) -> Subject:
    """Returns a subject in memory; the arguments are its attributes.

    Args:
        name: for titles.
        module: in evaluation mode; reads letters by number. None for an exact network alone.
        network: the exact network that it was made from, if any.
        question: what it is asked; None where nothing is asked of single words.
        reading: how its scores become answers; None for the module's own `legal`.
        letters: what it reads, by token; None for the letters of the question.
        empty: its answer before the first letter; None if it says nothing there.
        about: the name of what it should do.
        language: what claims about an exact network of its cell speak of.
        answers: what each of its classes says of that language.
        weights: the SHA-256 of the tensors that a settlement speaks of.
    """
    kind: Literal["exact", "zoo", "module"] = "zoo" if isinstance(module, Model) else "module"
    if letters is None:
        letters = TokenLetters() if question is None else TokenLetters.numbered(question.alphabet.symbols)
    record = SubjectRecord(
        network=NetworkEntry(kind="exact" if module is None else kind),
        letters=letters,
        reading=reading,
        files={WEIGHTS_FILE: weights} if weights else {},
    )
    return Subject(
        name=name,
        record=record,
        module=module,
        network=network,
        question=question,
        empty=empty,
        title=about,
        language=language,
        answers=answers,
    )


def open_subject(folder: Folder | Path | str, *, build: Build | None = None) -> Subject:
    """Returns the subject of a folder: compiled, trained, imported, mended or saved.

    Every file is opened once, and must be the one that `subject.json` names.

    Args:
        folder: where it is.
        build: makes a module of the user's own; None if its code is not trusted.

    Raises:
        FormatError: if a file is missing, a link, damaged, or not the one that is named.
        InputError: for code that is not trusted.
    """
    folder = folder if isinstance(folder, Folder) else Folder(folder)
    record, network = folder.subject, None
    module: nn.Module | None = None
    match record.network.kind:
        case "exact":
            network = _network(folder)
        case "zoo":
            module = read_model(folder)
        case "module":
            if build is None:
                raise untrusted_code(str(record.network.code.get("name")), str(folder.path))
            own, path = build(record), folder.path / WEIGHTS_FILE
            fill_weights(own, read_tensors(folder.weights, path), path)
            module = own
    question = _question(folder)
    folder.require_files()
    _require_letters(folder, module, question)
    if module is not None:
        module = SignalModule(module).eval() if record.letters.feature else module.eval()
    return Subject(
        name=folder.path.name,
        record=record,
        module=module,
        network=network,
        question=question,
        empty=None if network is None else network.decoder.empty,
    )


def _network(folder: Folder) -> Network:
    try:
        return network_from_json(folder.read_json(NETWORK_FILE))
    except FormatError:
        raise
    except InputError as error:
        raise FormatError(str(error), path=folder.path / NETWORK_FILE) from None


def _question(folder: Folder) -> Question | None:
    asked = folder.subject.question
    if asked is None:
        return None
    if LANGUAGE_FILE not in folder.subject.files:
        raise FormatError(f"asks a question, but names no {LANGUAGE_FILE}", path=folder.path / SUBJECT_FILE)
    try:
        described = folder.read_json(LANGUAGE_FILE)
        return question_from_description(described, name=asked.name, asks=asked.asks, words=asked.words)
    except FormatError:
        raise
    except InputError as error:
        raise FormatError(str(error), path=folder.path / LANGUAGE_FILE) from None


def _require_letters(folder: Folder, module: nn.Module | None, question: Question | None) -> None:
    """Raises FormatError unless the letters are those of the question, in its order, and of the module."""
    letters = folder.subject.letters
    if question is not None and letters.alphabet != question.alphabet.symbols:
        raise FormatError(
            f"names the letters {' '.join(letters.alphabet)}; its question is about "
            f"{' '.join(question.alphabet.symbols)}, in this order",
            path=folder.path / SUBJECT_FILE,
        )
    wanted = module.config.letters if isinstance(module, Model) else None
    if letters.alphabet and not letters.feature and wanted not in (None, len(letters.alphabet)):
        raise FormatError(
            f"names {len(letters.alphabet)} letters, the model reads {wanted}",
            path=folder.path / SUBJECT_FILE,
        )
