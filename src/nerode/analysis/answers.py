"""Answers of a network with weights of another library, word by word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch

from nerode.analysis.extraction.oracle import Machine
from nerode.analysis.extraction.question import NOTHING, NetworkQuestion, is_member, question_of
from nerode.analysis.probes import read_word, symbols_of
from nerode.analysis.subject import LoadedNetwork
from nerode.languages import END

_SHOWN = 5


def answer_words(subject: LoadedNetwork, texts: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yields for each word whether it is accepted and what may follow each prefix.

    Without a language the likeliest letters after the word stand there instead.

    Raises:
        InputError: for a symbol that is no letter.
    """
    question = None if subject.task is None else question_of(subject.task)
    machine = None if question is None else Machine(subject.model, question)
    for text in texts:
        if machine is None or question is None:
            yield _likeliest(subject, text)
        else:
            yield _answer(machine, question, text)


def _answer(machine: Machine, question: NetworkQuestion, text: str) -> dict[str, Any]:
    word = question.alphabet.encode(text)
    (outputs,) = machine.traces([word])
    follows = [[] if output == NOTHING else output.split(" ") for output in outputs]
    return {
        "word": question.alphabet.decode(word),
        "accept": is_member(outputs[-1], question.kind),
        "next": follows if question.kind == "prediction" else [],
    }


@torch.no_grad()
def _likeliest(subject: LoadedNetwork, text: str) -> dict[str, Any]:
    letters = read_word(subject, text)
    shares = subject.model(letters, None)[0][0, -1].double().softmax(-1)
    names = (*symbols_of(subject), END)
    best = shares.argsort(descending=True)[:_SHOWN].tolist()
    found = {names[i] if i < len(names) else str(i): round(float(shares[i]), 6) for i in best}
    return {"word": text, "likeliest": found}
