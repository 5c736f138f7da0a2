"""The table of constructions: which theorem, for which languages, on which architectures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar, cast

from nerode.core import Budget, BudgetExceeded, InputError, Reference, Registry
from nerode.languages import language_hash
from nerode.network import Network, Origin
from nerode.verdict import Architecture, ClassCondition, Facts, LanguageCondition

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a user may choose about a network.

    Attributes:
        eps: for distributions, the largest L1 distance to the model; above 0 for a softmax.
        embedding_width: for n-gram models, the dimension of the word embedding; None chooses one.
        normaliser: for distributions, "softmax", "sparsemax" or "hardmax".
        variant: for n-gram models, "structural" (nilpotent by its shape) or "conditioned" (hidden matrix 1).
        unknown_contexts: for n-gram models, one more neuron so that contexts outside the model give the
            end, as Definition 3.4 of Nandakumar et al. says.
        exclusive_scan: whether a layer may see its state before the letter; without it cascades use
            retentive overwrites.
        retention: the gate of a retentive overwrite, a power of two of at most 1/4. A smaller one forgets
            sooner, so that a float format has fewer states; the format must hold it beside 1.
        sign_resets: whether one coordinate may have gates of 1, -1 and 0; without it a sign that is also
            overwritten becomes a sign and a register.
        construction: a construction to use instead of the first that applies.
        budget: limits.
    """

    eps: Fraction = Fraction(1, 1000)
    embedding_width: int | None = None
    normaliser: str = "softmax"
    variant: str = "structural"
    unknown_contexts: bool = False
    exclusive_scan: bool = True
    retention: Fraction = Fraction(1, 4)
    sign_resets: bool = True
    construction: str | None = None
    budget: Budget = field(default_factory=Budget)

    def __post_init__(self) -> None:
        if not 0 < self.eps < 2 and self.normaliser == "softmax":
            raise InputError(f"eps = {self.eps} is not between 0 and 2; a softmax needs a distance above 0")
        if self.embedding_width is not None and self.embedding_width < 1:
            raise InputError(f"an embedding of width {self.embedding_width} is not possible; give 1 or more")
        if self.normaliser not in ("softmax", "sparsemax", "hardmax"):
            raise InputError(
                f"unknown normaliser {self.normaliser!r}; allowed are softmax, sparsemax, hardmax"
            )
        if self.retention.numerator != 1 or self.retention.denominator & (self.retention.denominator - 1):
            raise InputError(f"the retention {self.retention} is not a power of two such as 1/4 or 1/16")
        if self.retention > Fraction(1, 4):
            raise InputError(f"the retention {self.retention} is above 1/4; digits would not stay apart")
        if self.variant not in ("structural", "conditioned"):
            raise InputError(f"unknown variant {self.variant!r}; allowed are structural, conditioned")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question to the compiler: this language, for this target, with these options."""

    facts: Facts
    target: Architecture
    options: Options

    def once(self, what: str, make: Callable[[], T]) -> T:
        """Returns what `make` finds out about the language, made once for all targets with these facts.

        A limit that no budget sets is hit again at the next target, so that it is remembered, too.

        Args:
            what: a name for it; the target must not matter for what has one name.
            make: makes it.
        """
        found = self.facts.found
        if what not in found:
            try:
                found[what] = make()
            except BudgetExceeded as stop:
                if hasattr(self.options.budget, stop.resource):
                    raise
                found[what] = stop
        result = found[what]
        if isinstance(result, BudgetExceeded):
            raise result
        return cast("T", result)

    def origin(self, *, construction: str, route: str, reference: Reference) -> Origin:
        """Returns the origin that a network made for this request carries."""
        return Origin(
            language=self.facts.language.name,
            language_hash=language_hash(self.facts.language, self.options.budget),
            construction=construction,
            route=route,
            reference=reference,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Construction:
    """A way to make a network.

    Attributes:
        name: kebab-case.
        title: in a few words.
        theorem: the row of the theorem table whose "yes" it makes true.
        language: which languages it is for.
        architecture: which classes can carry the gates and writes that it uses.
        build: makes the network.
    """

    name: str
    title: str
    theorem: str
    language: LanguageCondition
    architecture: ClassCondition
    build: Callable[[Request], Network]


CONSTRUCTIONS: Registry[Construction] = Registry("construction")


def construction(row: Construction) -> Construction:
    """Adds a row to the table; the pipeline tries rows in the order in which they were added."""
    return CONSTRUCTIONS.add(row.name, row)
