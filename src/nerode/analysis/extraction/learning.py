"""Active learning of the automaton of a network, with AALpy as the engine."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal

import numpy as np

from nerode.analysis.extraction.moore import Moore
from nerode.analysis.extraction.oracle import Machine
from nerode.analysis.extraction.probing import Probe, find_failures
from nerode.analysis.extraction.product_search import ProductSettings, find_counterexample
from nerode.core import Budget, InputError
from nerode.languages import Word

Algorithm = Literal["lstar", "kv"]

MOST_STATES = 200
"""States of a hypothesis from which on learning ends: more are a sign that there is no automaton."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What was learned by queries.

    Attributes:
        machine: the automaton, minimal.
        rounds: hypotheses that were tested.
        consistent: whether the last test found no difference; otherwise the budget ended.
    """

    machine: Moore
    rounds: int
    consistent: bool


def extract_by_queries(
    machine: Machine,
    *,
    algorithm: Algorithm = "lstar",
    white_box: bool = False,
    probe: Probe | None = None,
    product: ProductSettings | None = None,
    seed: int = 0,
    budget: Budget | None = None,
) -> Learned:
    """Returns the automaton that queries to a network lead to.

    Args:
        machine: the network.
        algorithm: L* with an observation table, or that of Kearns and Vazirani with a tree.
        white_box: whether hypotheses are tested by looking at the states of the network, beside their own;
            otherwise by words alone.
        probe: the words of the test.
        product: how finely states are told apart in a test that looks at them.
        seed: of the random words.
        budget: limits the states of a hypothesis and the time.

    Raises:
        InputError: if AALpy is not installed, or states are to be looked at and cannot be.

    Implements: [Angluin1987], [KearnsVazirani1994]
    """
    aalpy = load_aalpy()
    if white_box:
        machine.initial()
    asked = _asked(aalpy, machine)
    test = _test(
        aalpy,
        machine,
        asked,
        white_box=white_box,
        probe=probe or Probe(),
        product=product or ProductSettings(),
        rng=np.random.default_rng(seed),
        budget=budget or Budget(),
    )
    run = aalpy.run_Lstar if algorithm == "lstar" else aalpy.run_KV
    letters = list(range(len(machine.alphabet)))
    # The machine remembers all words itself, so that AALpy need not.
    learned = run(letters, asked, test, automaton_type="moore", cache_and_non_det_check=False, print_level=0)
    return Learned(
        machine=to_moore(machine, learned).minimise(), rounds=test.rounds, consistent=not test.ended
    )


def load_aalpy() -> ModuleType:
    """Returns AALpy, or raises InputError with how to install it."""
    try:
        import aalpy
    except ImportError:
        raise InputError(
            "learning by queries needs AALpy, which is not installed; "
            "`pip install nerode[extract]` adds it, or take --method cluster"
        ) from None
    return aalpy  # type: ignore[no-any-return]


def to_moore(machine: Machine, learned: Any) -> Moore:
    """Returns a Moore machine of AALpy as one of ours."""
    number = {id(state): i for i, state in enumerate(learned.states)}
    letters = range(len(machine.alphabet))
    return Moore(
        alphabet=machine.alphabet,
        transitions=np.array(
            [[number[id(state.transitions[a])] for a in letters] for state in learned.states], dtype=np.int32
        ),
        start=number[id(learned.initial_state)],
        outputs=tuple(state.output for state in learned.states),
    )


def _asked(aalpy: ModuleType, machine: Machine) -> Any:
    """The network as the system that AALpy asks."""

    class Asked(aalpy.SUL):  # type: ignore[misc, name-defined]
        """Whole words are asked at once; single steps are not needed."""

        def query(self, word: tuple[int, ...]) -> list[str]:
            outputs = machine.traces([tuple(word)])[0]
            return list(outputs[1:]) if word else list(outputs)

        def pre(self) -> None:
            self.word: Word = ()

        def post(self) -> None:
            self.word = ()

        def step(self, letter: int | None) -> str:
            if letter is not None:
                self.word = (*self.word, letter)
            return machine.traces([self.word])[0][-1]

    return Asked()


def _test(
    aalpy: ModuleType,
    machine: Machine,
    asked: Any,
    *,
    white_box: bool,
    probe: Probe,
    product: ProductSettings,
    rng: np.random.Generator,
    budget: Budget,
) -> Any:
    """The equivalence oracle."""

    class Test(aalpy.Oracle):  # type: ignore[misc, name-defined]
        """Looks for a word on which a hypothesis fails; says there is none when the budget has ended."""

        rounds = 0
        ended = False

        def find_cex(self, hypothesis: Any) -> tuple[int, ...] | None:
            self.rounds += 1
            ours = to_moore(machine, hypothesis)
            found = self._find(ours)
            large = ours.num_states > min(MOST_STATES, budget.states)
            if found is not None and (large or budget.elapsed() > budget.seconds):
                self.ended = True
                return None
            return found

        def _find(self, ours: Moore) -> Word | None:
            if white_box:
                return find_counterexample(machine, ours, product)
            failures = find_failures(machine, ours, probe, rng, most=1)
            return failures[0] if failures else None

    return Test(list(range(len(machine.alphabet))), asked)
