"""Bracket languages: Dyck-1 and Shuffle-Dyck by counters, Dyck-k and bounded Dyck(k, m) by a stack."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from nerode.core import Budget, InputError, started
from nerode.languages.alphabet import Alphabet, Word
from nerode.languages.counters import CounterLanguage, CounterMachine, CounterRule
from nerode.languages.determinise import minimise
from nerode.languages.dfa import Dfa
from nerode.languages.language import Language, Legal
from nerode.languages.sampling.counters import sample_dyck, sample_shuffle

Pairs = tuple[tuple[str, str], ...]
Stack = tuple[int, ...]

MAX_KINDS = 1000
MAX_DEPTH = 1000
"""Bounds on what a name may ask for: 1000 kinds at depth 1000 is a number of states with 3000 digits."""

MAX_SINGLE_DEPTH = 1_000_000

_SINGLES = (("(", ")"), ("[", "]"), ("{", "}"), ("<", ">"))


def bracket_pairs(k: int) -> Pairs:
    """Returns how k kinds of brackets are written: () [] {} <> up to four, (1 1) (2 2) … beyond."""
    if not 1 <= k <= MAX_KINDS:
        raise InputError(f"{k} kinds of brackets are not offered; give 1 to {MAX_KINDS}")
    return _SINGLES[:k] if k <= len(_SINGLES) else tuple((f"({i}", f"{i})") for i in range(1, k + 1))


def dyck_1() -> CounterLanguage:
    """Returns the balanced words over ( and ).

    Implements: [Bhattamishra2020]
    """
    return _counted_brackets(
        1,
        name="dyck-1",
        family="dyck-1",
        parameters={"k": 1},
        convention=dyck_convention(1),
        distribution="uniform over the balanced words of this length (and depth, if max_depth is given)",
    )


def shuffle_dyck(k: int) -> CounterLanguage:
    """Returns the shuffles of k balanced words, each over its own kind of brackets.

    Implements: [Bhattamishra2020]
    """
    return _counted_brackets(
        k,
        name=f"shuffle-{k}",
        family="shuffle-dyck",
        parameters={"k": k},
        convention=shuffle_convention(k),
        distribution=(
            "uniform over the words of this length (and depth of each kind, if max_depth is given), up to a "
            "relative error of about 1e-10 from float64 logarithms"
        ),
    )


def shuffle_convention(k: int) -> str:
    """Returns in words which words belong to `shuffle_dyck(k)`."""
    return (
        f"words over {_written(bracket_pairs(k))} in which each kind of brackets by itself is balanced; "
        "kinds may cross, and the empty word is in it"
    )


def dyck_convention(k: int, depth: int | None = None, *, pairs: Pairs | None = None) -> str:
    """Returns in words which words belong to `dyck(k, depth)`."""
    bound = "" if depth is None else f" with at most {depth} open at a time"
    crossing = "" if k == 1 else ", kinds not crossing"
    written = f"{pairs[0][0]} (opens) and {pairs[0][1]} (closes)" if pairs else _written(bracket_pairs(k))
    return f"balanced words over {written}{bound}{crossing}; the empty word is in it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dyck(Language):
    """Balanced words of several kinds of brackets, of bounded depth or not.

    A configuration is the stack of open kinds, or None once no word goes on like this. With a bound on
    the depth the language is regular, and its minimal automaton has one state a stack and a dead one.

    Attributes:
        pairs: how the brackets are written; letters are open, close of kind 0, open, close of kind 1, …
        depth: the greatest number of open brackets, None for no bound.
    """

    name: str
    pairs: Pairs
    depth: int | None
    convention: str
    family: str
    parameters: Mapping[str, int] = field(hash=False)
    kind = "stack"
    distribution = "uniform over the words of this length (and depth, if max_depth is given)"

    def __post_init__(self) -> None:
        # Checked here and not where names are read, because a file may ask for any numbers, too.
        k = len(self.pairs)
        if not 1 <= k <= MAX_KINDS or any(len(pair) != 2 for pair in self.pairs):
            raise InputError(f"{k} kinds of brackets are not offered; give 1 to {MAX_KINDS}, each as a pair")
        _alphabet(self.pairs)
        greatest = MAX_SINGLE_DEPTH if k == 1 else MAX_DEPTH
        if self.depth is not None and not (isinstance(self.depth, int) and 1 <= self.depth <= greatest):
            raise InputError(
                f"a bound of {self.depth} on the depth is not offered; give 1 to {greatest:,} "
                f"for {k} kind{'s' if k > 1 else ''} of brackets"
            )

    @property
    def alphabet(self) -> Alphabet:  # type: ignore[override]
        """The brackets, each closing one after its opening one."""
        return _alphabet(self.pairs)

    @property
    def regular(self) -> bool:
        """Whether the depth is bounded."""
        return self.depth is not None

    def num_states(self) -> int | None:
        """Number of stacks of bounded depth, and one for the dead state; None without a bound."""
        if self.depth is None:
            return None
        k = len(self.pairs)
        stacks = self.depth + 1 if k == 1 else (k ** (self.depth + 1) - 1) // (k - 1)
        return stacks + 1

    def dfa(self, budget: Budget | None = None) -> Dfa:
        """Returns the canonical minimal automaton of a bounded Dyck language.

        Raises:
            InputError: if the depth is not bounded.
            BudgetExceeded: if there are too many stacks; the number of states is known all the same.
        """
        states = self.num_states()
        if self.depth is None or states is None:
            raise InputError(
                f"{self.name} is not regular, so it has no finite automaton; "
                f"bound its depth ({self.name}-5, for instance) to get a regular language"
            )
        started(budget).check("states", states, states=states)
        return _stack_automaton(self.pairs, self.depth)

    def initial(self) -> Stack:
        """The empty stack."""
        return ()

    def advance(self, configuration: Stack | None, symbol: int) -> Stack | None:
        """The stack after the bracket, or None if it does not fit."""
        return None if configuration is None else _push_or_pop(configuration, symbol, self.depth)

    def legal(self, configuration: Stack | None) -> Legal:
        """All opening brackets below the bound, the matching closing one, the end at depth 0."""
        if configuration is None:
            return Legal(frozenset(), False)
        symbols = set[int]()
        if self.depth is None or len(configuration) < self.depth:
            symbols.update(range(0, 2 * len(self.pairs), 2))
        if configuration:
            symbols.add(2 * configuration[-1] + 1)
        return Legal(frozenset(symbols), not configuration)

    def sample(self, length: int, rng: np.random.Generator, *, max_depth: int | None = None) -> Word:
        """Returns a uniformly random word of this length.

        Args:
            length: number of brackets.
            rng: the source of randomness.
            max_depth: a bound on the depth, on top of the one of the language.
        """
        bounds = [bound for bound in (self.depth, max_depth) if bound is not None]
        return sample_dyck(len(self.pairs), length, rng, min(bounds, default=None))


def dyck(k: int, depth: int | None = None) -> Dyck:
    """Returns the Dyck language of k kinds of brackets, with at most `depth` open at a time if given.

    Implements: [Hewitt2020]
    """
    return Dyck(
        name=f"dyck-{k}" if depth is None else f"dyck-{k}-{depth}",
        pairs=bracket_pairs(k),
        depth=depth,
        convention=dyck_convention(k, depth),
        family="dyck" if depth is None else "bounded-dyck",
        parameters={"k": k} if depth is None else {"k": k, "depth": depth},
    )


def bounded_dyck_1(depth: int) -> Dyck:
    """Returns D_n: balanced words over a (open) and b (close) with at most n open.

    Implements: [Bhattamishra2020]
    """
    pairs = (("a", "b"),)
    return Dyck(
        name=f"d-{depth}",
        pairs=pairs,
        depth=depth,
        convention=dyck_convention(1, depth, pairs=pairs),
        family="bounded-dyck",
        parameters={"k": 1, "depth": depth},
    )


def _written(pairs: Pairs) -> str:
    shown = [f"{o} {c}" for o, c in pairs]
    return " ".join(shown if len(shown) <= 4 else [*shown[:2], "…", shown[-1]])


def _counted_brackets(
    k: int, *, name: str, family: str, parameters: Mapping[str, int], convention: str, distribution: str
) -> CounterLanguage:
    """Brackets of k kinds with one counter each."""
    pairs = bracket_pairs(k)
    kinds = range(k)
    rules = [
        CounterRule(symbols=frozenset(2 * kind for kind in kinds)),
        *(CounterRule(positive=frozenset({kind}), symbols=frozenset({2 * kind + 1})) for kind in kinds),
        CounterRule(zero=frozenset(kinds), end=True),
    ]
    machine = CounterMachine(
        alphabet=_alphabet(pairs),
        start=(0,) * k,
        increments=tuple(tuple(sign * (c == kind) for c in kinds) for kind in kinds for sign in (1, -1)),
        rules=tuple(rules),
    )
    return CounterLanguage(
        name=name,
        machine=machine,
        convention=convention,
        family=family,
        parameters=parameters,
        sampler=partial(sample_dyck if k == 1 else sample_shuffle, k),
        distribution=distribution,
    )


@functools.lru_cache(maxsize=64)
def _alphabet(pairs: Pairs) -> Alphabet:
    return Alphabet(tuple(symbol for pair in pairs for symbol in pair))


def _push_or_pop(stack: Stack, symbol: int, depth: int | None) -> Stack | None:
    kind, closes = divmod(symbol, 2)
    if closes:
        return stack[:-1] if stack and stack[-1] == kind else None
    return (*stack, kind) if depth is None or len(stack) < depth else None


@functools.lru_cache(maxsize=16)
def _stack_automaton(pairs: Pairs, depth: int) -> Dfa:
    symbols = _alphabet(pairs).symbols
    number = {symbol: i for i, symbol in enumerate(symbols)}

    def step(stack: Stack, symbol: str) -> Stack | None:
        return _push_or_pop(stack, number[symbol], depth)

    return minimise(Dfa.build(symbols, step, start=(), accept=[()]))
