"""Networks with distributions: right after every context of an n-gram model, hence on its whole language.

The network must forget after n-1 words. Then it is compared with the model after each window of n-1 words
that the model has a row for or that a sentence passes through. Where each unit fires on one window or on
all, the windows that are left give one distribution, and the comparison covers every word over the alphabet.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from nerode.core import InputError
from nerode.languages import END, Word
from nerode.languages.ngrams import NgramLanguage, NgramModel
from nerode.proofs.certificate import EXACT, PREDICT, VALID_PREFIXES, Claim, Refutation
from nerode.proofs.checker_contexts import lone_windows, outputs_after
from nerode.proofs.checker_distributions import Distribution, OutputLayer
from nerode.proofs.checker_problem import Evidence, Failure, Problem, refuse_unless_implied
from nerode.proofs.checker_windows import nilpotent_window

METHOD = "n-gram-contexts"

_MOST_SHOWN = 8

Window = tuple[int, ...]

_PREFIXES = {
    VALID_PREFIXES: "After every prefix of at least {words} words of a sentence of the model",
    PREDICT: "After every prefix of at least {words} words, whether a sentence has it or not,",
}


@dataclass(frozen=True, slots=True)
class Worst:
    """Where a network is farthest from a model.

    Attributes:
        distance: the L1 distance there.
        window: the last words.
        got: what the network says there.
    """

    distance: Fraction
    window: Window
    got: Distribution


def ngram_claim(*, task: str, words: int, eps: Fraction | None) -> Claim:
    """Returns the claim that a network gives the distributions of an n-gram model.

    Args:
        task: VALID_PREFIXES, or PREDICT for all prefixes.
        words: the least number of words of a prefix.
        eps: the L1 distance stays below it; None for no distance at all.
    """
    beyond = "" if task == PREDICT else " and of prefixes that no sentence has"
    how = "exactly the model's" if eps is None else "the model's up to an L1 distance below eps"
    return Claim(
        scope=EXACT,
        method=METHOD,
        task=task,
        covers=(
            f"{_PREFIXES[task].format(words=words)} the network's distribution over the next word and the "
            f"end is {how}, computed in exact arithmetic; of shorter prefixes{beyond} nothing is said."
        ),
        eps=eps,
    )


def verify_ngrams(problem: Problem, evidence: Evidence, claims: Sequence[Claim]) -> Failure | None:
    """Checks claims about the distributions of an n-gram model."""
    entry = f"evidence.{METHOD}"
    if set(evidence) != {"words"} or type(evidence["words"]) is not int:
        return Failure(what="the evidence is not the number of words of a context", entry=entry)
    language, model = ngram_model(problem)
    words = model.order - 1
    if evidence["words"] != words:
        return Failure(what=f"contexts have {words} words, not {evidence['words']}", entry=f"{entry}.words")
    window = nilpotent_window(problem.network)
    if window > words:
        return Failure(what=f"the network looks at {window} words, the model at {words}", entry="network")
    shown = []
    for task in sorted({claim.task for claim in claims}.intersection(_PREFIXES)):
        worst = worst_distance(problem, everywhere=task == PREDICT)
        for eps in {claim.eps for claim in claims if claim.task == task}:
            if worst.distance if eps is None else worst.distance >= eps:
                return refute_distribution(language, model, worst, eps)
            shown.append(ngram_claim(task=task, words=words, eps=eps))
    return refuse_unless_implied(claims, shown)


def ngram_model(problem: Problem) -> tuple[NgramLanguage, NgramModel]:
    """Returns the language and its model.

    Raises:
        InputError: if it is not the language of an exact model of order 2 or more.
    """
    language = problem.language
    if not isinstance(language, NgramLanguage) or not isinstance(language.model, NgramModel):
        raise InputError("the language is not an exact n-gram model")
    if language.model.order < 2 or not language.windows:
        raise InputError("the model has no context to check")
    return language, language.model


def worst_distance(problem: Problem, *, everywhere: bool = False, enough: Fraction | None = None) -> Worst:
    """Returns the largest L1 distance between network and model over windows, and where it is.

    Args:
        problem: a network that forgets after n-1 words, and an exact model.
        everywhere: whether to look at all windows, not only those of the model and of its sentences.
        enough: a distance at which to stop looking for a larger one.

    Raises:
        InputError: if the network is of another kind, or, for all windows, has units that fire on several.
    """
    _, model = ngram_model(problem)
    layer = OutputLayer(problem.network)
    worst: Worst | None = None
    for window, got in _distributions(problem, layer, everywhere):
        distance = got.distance(model.distribution(window), layer.num_outputs)
        if worst is None or distance > worst.distance:
            worst = Worst(distance, window, got)
        if enough is not None and distance >= enough:
            break
        problem.budget.check_time(worst_so_far=float(worst.distance))
    assert worst is not None
    return worst


def _distributions(
    problem: Problem, layer: OutputLayer, everywhere: bool
) -> Iterator[tuple[Window, Distribution]]:
    """Yields what the network says after each window; one stands for all on which no lone unit fires."""
    language, model = ngram_model(problem)
    windows = language.windows
    if everywhere:
        firing, always = lone_windows(problem, model.order - 1)
        windows = tuple(sorted({*windows, *firing}))
        other = _first_window_beyond(windows, model.end)
        if other is not None:
            yield other, layer.distribution(always)
    for window, active in outputs_after(problem, windows):
        yield window, layer.distribution(active)


def _first_window_beyond(windows: Sequence[Window], num_words: int) -> Window | None:
    """The first window that is not among these (sorted), None if they are all there are."""
    length = len(windows[0])
    for number, window in enumerate(windows):
        expected = _window(number, num_words, length)
        if window != expected:
            return expected
    return _window(len(windows), num_words, length) if len(windows) < num_words**length else None


def _window(number: int, num_words: int, length: int) -> Window:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, num_words)
        digits.append(digit)
    return tuple(reversed(digits))


def refute_distribution(
    language: NgramLanguage, model: NgramModel, worst: Worst, eps: Fraction | None
) -> Failure:
    """Returns the failure of a network after a window, with a shortest prefix that ends in it."""
    word = _prefix_to(language, worst.window)
    wanted = model.distribution(worst.window)
    likely = sorted(worst.got.named, key=lambda v: (-worst.got.named[v], v))[:_MOST_SHOWN]
    symbols = (*language.alphabet.symbols, END)
    refutation = Refutation(
        word=tuple(symbols[w] for w in word),
        at=len(word),
        expected=_shown(wanted, sorted(wanted), symbols),
        got=_shown(worst.got.named, likely, symbols),
    )
    wanted_distance = "0" if eps is None else f"below {_decimal(eps)}"
    return Failure(
        what=(
            f"after {language.alphabet.decode(word)} the distribution is {_decimal(worst.distance)} away "
            f"from the model's, not {wanted_distance}"
        ),
        refutation=refutation,
    )


def _shown(
    amounts: Mapping[int, Fraction], outputs: Sequence[int], symbols: Sequence[str]
) -> tuple[str, ...]:
    return tuple(f"{symbols[v]}: {_decimal(amounts[v])}" for v in outputs)


def _decimal(value: Fraction) -> str:
    return f"{value.numerator / value.denominator:.6g}" if abs(math.log2(value.denominator)) < 1000 else "0"


def _prefix_to(language: NgramLanguage, window: Window) -> Word:
    """A shortest sentence prefix that ends in a window; the window itself if no sentence has it."""
    graph = language.graph
    if window not in graph.contexts:
        return window
    came: dict[int, tuple[int, int]] = {0: (0, 0)}
    queue = deque([0])
    while queue:
        state = queue.popleft()
        if graph.contexts[state] == window:
            break
        for word, target in graph.moves[state].items():
            if target not in came:
                came[target] = (state, word)
                queue.append(target)
    words = []
    while state:
        state, word = came[state]
        words.append(word)
    return tuple(reversed(words))
