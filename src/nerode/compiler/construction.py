"""The request to the compiler and the row of the table of constructions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeVar, cast

from nerode.core import Budget, BudgetExceeded, InputError, NotCompilable, Reference
from nerode.languages import Dfa, language_hash
from nerode.network import Network, Origin
from nerode.verdict import Architecture, ClassCondition, Facts, LanguageCondition

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class NgramOptions:
    """User options for networks of n-gram models.

    Attributes:
        eps: the largest L1 distance of a softmax to the model, above 0.
        embedding_width: the dimension of the word embedding; None chooses one.
        normaliser: "softmax", "sparsemax" or "hardmax".
        variant: "structural" (nilpotent by its shape) or "conditioned" (hidden matrix 1).
        unknown_contexts: one more neuron so that contexts outside the model give the end, as Definition 3.4
            of Nandakumar et al. says.
    """

    eps: Fraction = Fraction(1, 1000)
    embedding_width: int | None = None
    normaliser: str = "softmax"
    variant: str = "structural"
    unknown_contexts: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.eps < 2 and self.normaliser == "softmax":
            raise InputError(f"eps = {self.eps} is not between 0 and 2; a softmax needs a distance above 0")
        if self.embedding_width is not None and self.embedding_width < 1:
            raise InputError(f"an embedding of width {self.embedding_width} is not possible; give 1 or more")
        if self.normaliser not in ("softmax", "sparsemax", "hardmax"):
            raise InputError(
                f"unknown normaliser {self.normaliser!r}; allowed are softmax, sparsemax, hardmax"
            )
        if self.variant not in ("structural", "conditioned"):
            raise InputError(f"unknown variant {self.variant!r}; allowed are structural, conditioned")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """User options for a network.

    Attributes:
        exclusive_scan: whether a layer may see its state before the letter; without it cascades use
            retentive overwrites.
        retention: the gate of a retentive overwrite, a power of two of at most 1/4. A smaller one forgets
            sooner, so that a float format has fewer states; the format must hold it beside 1.
        sign_resets: whether one coordinate may have gates of 1, -1 and 0; without it a sign that is also
            overwritten becomes a sign and a register.
        exact_floats: whether reflections whose vectors are whole numbers, so that floats do not round, are
            preferred to fewer of them.
        construction: a construction to use instead of the first that applies.
        predicts: whether prefixes of valid words are enough: constructions for those come first.
        ngrams: options for n-gram models.
        budget: limits.
    """

    exclusive_scan: bool = True
    retention: Fraction = Fraction(1, 4)
    sign_resets: bool = True
    exact_floats: bool = False
    construction: str | None = None
    predicts: bool = False
    ngrams: NgramOptions = field(default_factory=NgramOptions)
    budget: Budget = field(default_factory=Budget)

    def __post_init__(self) -> None:
        if self.retention.numerator != 1 or self.retention.denominator & (self.retention.denominator - 1):
            raise InputError(f"the retention {self.retention} is not a power of two such as 1/4 or 1/16")
        if self.retention > Fraction(1, 4):
            raise InputError(f"the retention {self.retention} is above 1/4; digits would not stay apart")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question to the compiler: this language, for this target, with these options.

    Attributes:
        facts: the language and what the algebra knows about it.
        target: the architecture.
        options: the user's choices.
        construction: name of the row that answers; set by `Construction.compile`.
    """

    facts: Facts
    target: Architecture
    options: Options
    construction: str = "by hand"

    @property
    def automaton(self) -> Dfa:
        """The minimal automaton of the language.

        Raises:
            NotCompilable: if it was too large to build.
        """
        if self.facts.automaton is None:
            raise NotCompilable(self.target.name, ["the automaton has more states than the budget allows"])
        return self.facts.automaton

    def once(self, name: str, make: Callable[[], T]) -> T:
        """Returns the result of `make`, computed once for all targets with these facts.

        Failures by internal limits are cached too: the next target would hit them again.

        Args:
            name: the key of the result; the target must not matter for what has one name.
            make: computes it.
        """
        found = self.facts.found
        if name not in found:
            try:
                found[name] = make()
            except BudgetExceeded as stop:
                if hasattr(self.options.budget, stop.resource):
                    raise
                found[name] = stop
        result = found[name]
        if isinstance(result, BudgetExceeded):
            raise result
        return cast("T", result)

    def origin(self, *, route: str, reference: Reference) -> Origin:
        """Returns the origin of a network made for this request."""
        return Origin(
            language=self.facts.language.name,
            language_hash=language_hash(self.facts.language, self.options.budget),
            construction=self.construction,
            route=route,
            reference=reference,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Construction:
    """A row of the table of constructions: which theorem, for which languages, on which architectures.

    Attributes:
        name: kebab-case.
        title: in a few words.
        theorem: the row of the theorem table whose "yes" it makes true.
        language: the languages that it is for.
        architecture: the classes that can carry the gates and writes that it uses.
        build: makes the network.
        predicts_only: whether its networks are correct on prefixes of valid words only.
        distributions: whether it gives the probabilities of an n-gram model, not just what may follow.
    """

    name: str
    title: str
    theorem: str
    language: LanguageCondition
    architecture: ClassCondition
    build: Callable[[Request], Network]
    distributions: bool = False
    predicts_only: bool = False

    def compile(self, request: Request) -> Network:
        """Returns the network, which names this construction in its origin.

        Raises:
            NotCompilable: with the reasons, if the construction does not apply after all.
        """
        return self.build(replace(request, construction=self.name))
