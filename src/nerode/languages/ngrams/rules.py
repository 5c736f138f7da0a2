"""N-gram models written as rules, one a line: `w1 w2 w3 -> w4 : 1/7`.

The end of the sentence is written `$`, a start mark in a context `<s>`. The probabilities of one context are
exact and sum to 1, or are left out for all its rules, which makes them equally likely. Blank lines and
lines that begin with `#` are skipped.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from nerode.core import FormatError, InputError, read_text
from nerode.languages.alphabet import END, Alphabet
from nerode.languages.ngrams.exact import parse_probability
from nerode.languages.ngrams.model import NgramModel
from nerode.languages.ngrams.next_word import BOS, BOS_NAME, Context

_FORM = "Write: w1 w2 w3 -> w4 : 1/7"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of a file: after `context` comes `word`, with a probability or without."""

    line: int
    context: tuple[str, ...]
    word: str
    probability: Fraction | None


def read_rules(path: Path | str) -> NgramModel:
    """Returns the model of a file of rules."""
    return parse_rules(read_text(Path(path)), path=path)


def parse_rules(text: str, *, path: Path | str = "<rules>") -> NgramModel:
    """Returns the model of rules, one a line.

    Raises:
        FormatError: with the line: a rule of another form, contexts of different lengths, a rule given
            twice, a misplaced start mark, probabilities of a context that do not sum to 1.
    """
    rules = list(_parse_lines(text.split("\n"), path))
    if not rules:
        raise FormatError("there is no rule", path=path, hint=_FORM)
    length = len(rules[0].context)
    by_context: dict[tuple[str, ...], list[Rule]] = {}
    for rule in rules:
        if len(rule.context) != length:
            raise FormatError(
                f"the rule has {len(rule.context)} words before the arrow, but the first rule has {length}",
                path=path,
                line=rule.line,
                hint="All contexts of a model have the same number of words",
            )
        by_context.setdefault(rule.context, []).append(rule)
    vocabulary = _vocabulary(rules, path)
    numbers = {BOS_NAME: BOS, END: len(vocabulary)} | {word: i for i, word in enumerate(vocabulary)}
    table: dict[Context, dict[int, Fraction]] = {}
    for context, group in by_context.items():
        key = tuple(numbers[word] for word in context)
        table[key] = {numbers[word]: p for word, p in _probabilities(group, path).items()}
    pads = max(context.count(BOS_NAME) for context in by_context)
    return NgramModel.from_table(order=length + 1, vocabulary=vocabulary, table=table, pads=pads)


def _parse_lines(lines: Iterable[str], path: Path | str) -> Iterable[Rule]:
    for number, line in enumerate(lines, start=1):
        parts = line.split()
        if not parts or parts[0].startswith("#"):
            continue
        probability: Fraction | None = None
        if len(parts) >= 4 and parts[-4] == "->" and parts[-2] == ":":
            try:
                probability = parse_probability(parts[-1])
            except InputError as error:
                raise FormatError(str(error), path=path, line=number) from None
            parts = parts[:-2]
        if len(parts) < 2 or parts[-2] != "->":
            raise FormatError("this is not a rule", path=path, line=number, hint=_FORM)
        context, word = tuple(parts[:-2]), parts[-1]
        _check_marks(context, word, path, number)
        yield Rule(line=number, context=context, word=word, probability=probability)


def _check_marks(context: tuple[str, ...], word: str, path: Path | str, line: int) -> None:
    if END in context:
        raise FormatError(f"nothing follows the end {END!r}", path=path, line=line)
    if word == BOS_NAME or BOS_NAME in context[context.count(BOS_NAME) :]:
        raise FormatError(
            f"a start mark {BOS_NAME} stands only at the beginning of a context", path=path, line=line
        )


def _vocabulary(rules: list[Rule], path: Path | str) -> Alphabet:
    words = {word for rule in rules for word in (*rule.context, rule.word)} - {BOS_NAME, END}
    try:
        return Alphabet.of(words)
    except InputError as error:
        raise FormatError(str(error), path=path) from None


def _probabilities(group: list[Rule], path: Path | str) -> dict[str, Fraction]:
    """Returns the distribution that the rules of one context give."""
    context = " ".join(group[0].context) or "the empty context"
    found: dict[str, Fraction] = {}
    for rule in group:
        if (rule.probability is None) != (group[0].probability is None):
            raise FormatError(
                f"some rules of {context!r} have a probability and some have none",
                path=path,
                line=rule.line,
                hint="Give all of them one, or none of them to make them equally likely",
            )
        if rule.word in found:
            raise FormatError(
                f"the rule {context!r} -> {rule.word!r} is given twice", path=path, line=rule.line
            )
        found[rule.word] = Fraction(1, len(group)) if rule.probability is None else rule.probability
    total = sum(found.values())
    if total != 1:
        raise FormatError(
            f"the probabilities after {context!r} sum to {total}, not to 1",
            path=path,
            line=group[-1].line,
            hint="Write fractions (1/3, not 0.333) so that they sum exactly",
        )
    return found
