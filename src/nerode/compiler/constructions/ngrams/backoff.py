"""Networks of back-off models: one unit per context of any length, correct from the first word on.

The probability of a word is decided by the longest context that the model has an n-gram for, times the
back-off weights of the longer ones. A softmax does not see what all words have in common, so back-off
weights need no place: the score of a word after a context is its score after the shorter context, plus a
correction where the model has an n-gram. The unit of a context fires on every prefix that ends in it, and its
column holds these corrections; there are as many weights as n-grams, whatever the size of the vocabulary.

Words are codes of `weight` ones among `width` zeros and ones. Two words share at most `weight` - 1 ones, so a
unit that counts matches fires on its own context alone. The state before the first word is the one after the
start mark, so the first words of a sentence are predicted as the model does.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

from nerode.compiler.construction import Request
from nerode.compiler.constructions.ngrams.networks import (
    Rows,
    affine,
    logit_network,
    sparse_rows,
    state_layer,
)
from nerode.core import NotCompilable, Reference
from nerode.languages.ngrams import BOS, BackoffModel, check_normalisation
from nerode.network import Embedding, Fixed, Layer, Network, Squashed, zero_map

Context = tuple[int, ...]
Corrections = dict[int, Fraction]
"""What a unit adds to the decimal logarithms of words."""

_TEN = Fraction(10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Codes:
    """Words and the start mark as zeros and ones, all with the same number of ones.

    Attributes:
        width: number of digits.
        weight: number of ones.
        ones: for each word, and last for the start mark, the places of its ones.
    """

    width: int
    weight: int
    ones: tuple[tuple[int, ...], ...]

    def digits(self, word: int) -> tuple[int, ...]:
        """Returns the code of a word."""
        return tuple(int(c in self.ones[word]) for c in range(self.width))

    def places(self, context: Context) -> list[int]:
        """Returns the ones of a context, the digits of the newest word first."""
        words = enumerate(reversed(context))
        return [age * self.width + c for age, word in words for c in self.ones[word]]


def make_codes(num_words: int, width: int | None, target: str) -> Codes:
    """Returns the codes of some words and the start mark, as narrow as possible unless a width is given."""
    least = next(m for m in itertools.count(2) if math.comb(m, m // 2) > num_words)
    if width is not None and width < least:
        raise NotCompilable(target, [f"{num_words:,} words need an embedding of width {least}, not {width}"])
    width = width or least
    places = itertools.combinations(range(width), width // 2)
    return Codes(width=width, weight=width // 2, ones=tuple(itertools.islice(places, num_words + 1)))


def backoff_ssm(request: Request, model: BackoffModel) -> Network:
    """Returns the SSM of a back-off model: h = A h + B x is a delay line, y = C relu(M h + b).

    Implements: [Nandakumar2024, Theorem 4.1], for contexts of all lengths, with the start of a sentence.
    """
    plan = _plan(request, model)
    codes, length = plan.codes, plan.length
    names = [f"word {age}.{c}" for age in range(length) for c in range(codes.width)]
    reads, state = codes.width, len(names)
    units: Rows = [{reads + place: 1 for place in codes.places(context)} for context in plan.contexts]
    layer = state_layer(
        plan.embedding,
        names,
        Fixed(
            matrix=sparse_rows([{i - codes.width: 1} if i >= codes.width else {} for i in range(state)]),
            write=affine(reads, [{i: 1} if i < codes.width else {} for i in range(state)]),
        ),
        readout_units=affine(reads + state, units, plan.thresholds),
        outputs=plan.outputs,
        readout=affine(reads + state + len(units), [{reads + state + j: 1} for j in range(len(units))]),
        start=(*codes.digits(BOS), *[0] * (state - codes.width)),
    )
    return plan.network(request, layer, Reference("Nandakumar2024", "Theorem 4.1"))


def backoff_rnn(request: Request, model: BackoffModel) -> Network:
    """Returns the ReLU network of a back-off model: h = relu(B x + A h + b) is both delay line and units.

    Zeros and ones pass a ReLU unchanged, so that the delay line needs no offset.

    Implements: [Nandakumar2024], Appendix A.4 as corrected in docs/theory/ngrams.md.
    """
    plan = _plan(request, model)
    codes, reads = plan.codes, plan.codes.width
    delays = (plan.length - 1) * codes.width
    rows: Rows = [{i: 1} for i in range(delays)]
    # The newest word is read, the others are kept by the delay line, one age younger.
    rows += [dict.fromkeys(codes.places(context), 1) for context in plan.contexts]
    first = codes.digits(BOS) if delays else ()
    seen = reads + len(rows)
    kept = [f"word {age}.{c}" for age in range(plan.length - 1) for c in range(codes.width)]
    layer = state_layer(
        plan.embedding,
        [*kept, *plan.outputs],
        Squashed(activation="relu", update=affine(seen, rows, [*[0] * delays, *plan.thresholds])),
        readout_units=zero_map(seen),
        outputs=[f"unit {name}" for name in plan.outputs],
        readout=affine(seen, [{reads + delays + j: 1} for j in range(len(plan.contexts))]),
        start=(*first, *[0] * (delays - len(first)), *(int(c in ((), (BOS,))) for c in plan.contexts)),
    )
    return plan.network(request, layer, Reference("Nandakumar2024"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """Parts that the networks of a model have in common.

    Attributes:
        codes: the words.
        length: number of words that are looked at.
        contexts: the contexts that have a unit; the empty one comes first.
        corrections: for each context what its unit adds to the logarithms.
    """

    codes: Codes
    length: int
    contexts: tuple[Context, ...]
    corrections: tuple[Corrections, ...]
    outputs: tuple[str, ...]
    num_words: int

    @property
    def embedding(self) -> Embedding:
        return Embedding(
            directions=tuple(f"e{c}" for c in range(self.codes.width)),
            vectors=tuple(self.codes.digits(word) for word in range(self.num_words)),
        )

    @property
    def thresholds(self) -> list[int]:
        """A unit is 1 where all ones of its words match, and 0 where at least one does not."""
        return [1 - len(context) * self.codes.weight for context in self.contexts]

    def network(self, request: Request, layer: Layer, reference: Reference) -> Network:
        return logit_network(
            request,
            embedding=self.embedding,
            layer=layer,
            columns=[
                {word: ((amount, _TEN),) for word, amount in corrections.items()}
                for corrections in self.corrections
            ],
            num_outputs=self.num_words + 1,
            normaliser="softmax",
            route=(
                f"words as {self.codes.weight} ones among {self.codes.width} digits, a delay line of the "
                f"last {self.length}, and one ReLU unit for each of the {len(self.contexts):,} contexts "
                "with n-grams of its own, which corrects the logarithms of the shorter context; the "
                "state starts as after <s>, so every prefix counts"
            ),
            reference=reference,
        )


def _plan(request: Request, model: BackoffModel) -> _Plan:
    _check_options(request, model)
    found = {context: _corrections(model, context) for context in model.contexts}
    # What may follow gets a score above 0, which a softmax does not see and readers of the network do.
    shift = 1 - math.floor(_least_score(model))
    found[()] = {word: amount + shift for word, amount in found[()].items()}
    contexts = [context for context, corrections in found.items() if corrections]
    return _Plan(
        codes=make_codes(model.end, request.options.ngrams.embedding_width, request.target.name),
        length=max(1, model.order - 1),
        contexts=tuple(contexts),
        corrections=tuple(found[context] for context in contexts),
        outputs=tuple(f"after {model.show(context)}" if context else "always" for context in contexts),
        num_words=model.end,
    )


def _corrections(model: BackoffModel, context: Context) -> Corrections:
    """The change of each logarithm by a context, but for its back-off weight, which all words share."""
    words = [word for word in model.own_words(context) if word != BOS]
    if not context:
        return {word: model.exact_log10((), word) for word in words}
    weight = model.exact_backoff(context)
    changes = {
        word: model.exact_log10(context, word) - weight - model.exact_log10(context[1:], word)
        for word in words
    }
    return {word: change for word, change in changes.items() if change}


def _least_score(model: BackoffModel) -> float:
    """The smallest logarithm of a possible word, the back-off weights of its context left out."""
    least = 0.0
    for context in model.contexts:
        weights = sum(float(model.exact_backoff(context[i:])) for i in range(len(context)))
        possible = (log for word, log in model.own_words(context).items() if word != BOS and log > -math.inf)
        least = min([least, *(log - weights for log in possible)])
    return least


def _check_options(request: Request, model: BackoffModel) -> None:
    """Refuses options of exact models, and a model whose sums are farther from 1 than eps.

    Raises:
        NotCompilable: with the reasons.
    """
    options = request.options.ngrams
    asked = {
        f"normaliser {options.normaliser}": options.normaliser != "softmax",
        f"variant {options.variant}": options.variant != "structural",
        "neuron for unknown contexts": options.unknown_contexts,
    }
    reasons = [f"the {what} is for models without back-off; leave it out" for what in asked if asked[what]]
    report = check_normalisation(model, tolerance=float(options.eps))
    if not model.normalised and not report.ok:
        reasons.append(
            f"{report.describe(model)}, off by {abs(report.worst_sum - 1):.3g}, but a softmax sums to 1; "
            "divide by the sums (--normalise), mend the file, or allow a larger --eps"
        )
    if reasons:
        raise NotCompilable(request.target.name, reasons)
