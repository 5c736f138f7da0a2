"""Extraction of the automaton inside a network, by any method; exactly, for a compiled one."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from nerode.analysis.extraction.clustering import extract_by_clusters
from nerode.analysis.extraction.comparison import (
    Theory,
    acceptor,
    find_difference,
    theory_of,
)
from nerode.analysis.extraction.learning import HypothesisTest, extract_by_queries, find_failures
from nerode.analysis.extraction.oracle import (
    ExtractedMachine,
    Kind,
    Machine,
    Queries,
    question_about,
    subject_about,
)
from nerode.analysis.subject import LoadedNetwork, asked_subject, trained_network
from nerode.core import (
    Budget,
    BudgetExceeded,
    InputError,
    Shown,
    UnknownName,
    plural,
    started,
    stream,
    to_mapping,
)
from nerode.languages import NOTHING, Dfa, Language, Moore, answer_text, legal_text, title_of
from nerode.models import LayerConfig, Model, find_kind
from nerode.network import Interpreter, Network
from nerode.proofs import Refutation
from nerode.proofs.floats import Walk, make_runner
from nerode.proofs.replay import Subject
from nerode.records import REFUTED
from nerode.verdict import ARCHITECTURES

Method = Literal["cluster", "lstar", "exact"]
METHODS: tuple[Method, ...] = ("cluster", "lstar", "exact")

HELD_OUT = HypothesisTest(words=500, longest=200, extra_states=0)
"""The test after extraction, the same for all methods, by words that none of them has seen."""

EXTRACTION_PARTS = ("automaton", "held-out words", "comparison", "theory")
"""The parts of an extraction, in the order in which they are done."""

_MOST_STATES_FOR_THEORY = 150
"""States of an automaton whose algebra is computed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction(Shown):
    """The automaton of a network.

    Attributes:
        name: of the network.
        method: how it was extracted, in words.
        kind: how the outputs are read.
        machine: the automaton, minimal.
        consistent: whether it agreed with the network when extraction ended.
        fails_on: a word on which the network differs from it, found afterwards by new words; None if none.
        tested: how many new words were tried, and how long they were at most.
        network_states: states of the network that were looked at: points of clusters, or all that there are.
        rounds: hypotheses that were tested; 0 for exact extraction.
        queries: what was asked of the network, without the test afterwards.
        target: the name of what it should be.
        difference: the shortest word on which the automaton differs from the target; None if they are equal.
        proved: whether all states of the network were checked, so that what holds of the automaton holds of
            the network.
        refuted: what the tests of its run say against the network, in a sentence; empty if nothing.
        theory: its algebra, and whether the architecture can hold it; None if there are too many
            states, or the budget did not suffice.
        cpu_seconds: of the extraction alone.
    """

    name: str
    method: str
    kind: Kind
    machine: Moore
    consistent: bool
    fails_on: str | None
    tested: tuple[int, int]
    network_states: int
    rounds: int
    queries: Queries
    target: str
    difference: Refutation | None
    proved: bool
    refuted: str
    theory: Theory | None
    cpu_seconds: float

    def shown(self) -> tuple[Sequence[str] | Mapping[str, Any], Shown | None]:
        """Returns how the automaton was found and how it compares, and the automaton."""
        lines = [f"{self.name}: {plural(self.machine.num_states, 'state')} by {self.method}"]
        if self.difference is not None:
            lines.append(f"differs from {self.target} on {self._shown(self.difference)['word']}")
        elif self.target:
            lines.append(f"equal to {self.target}")
        if self.fails_on is not None:
            lines.append(f"the network differs from it on {self.fails_on}")
        return lines, self.acceptor()

    @property
    def equal(self) -> bool:
        """Whether the automaton is that of the target, on every word."""
        return self.difference is None

    def acceptor(self) -> Dfa:
        """Returns the minimal automaton of the words that it accepts; for classes, of one class."""
        return acceptor(self.machine, self.kind)

    def _shown(self, found: Refutation) -> dict[str, str]:
        alphabet = self.machine.alphabet
        word = alphabet.decode(alphabet.encode(found.word))
        return {"word": word, "expected": answer_text(found.expected), "got": answer_text(found.got)}

    def to_json(self) -> dict[str, Any]:
        """Returns plain values."""
        return {
            "name": self.name,
            "method": self.method,
            "kind": self.kind,
            "states": self.machine.num_states,
            "equal": self.equal,
            "difference": None if self.difference is None else self._shown(self.difference),
            "consistent": self.consistent,
            "fails_on": self.fails_on,
            "tested": {"words": self.tested[0], "longest": self.tested[1]},
            "network_states": self.network_states,
            "rounds": self.rounds,
            "queries": to_mapping(self.queries),
            "target": self.target,
            "network": {"proved": self.proved, "refuted": self.refuted},
            "theory": None if self.theory is None else to_mapping(self.theory),
            "cpu_seconds": round(self.cpu_seconds, 3),
            "machine": self.machine.to_json(),
        }


def extract(
    subject: LoadedNetwork | Any,
    *,
    method: Method | None = None,
    target: Language | None = None,
    kind: Kind | None = None,
    black_box: bool = False,
    probe: HypothesisTest | None = None,
    held_out: HypothesisTest = HELD_OUT,
    seed: int = 0,
    budget: Budget | None = None,
    on_part: Callable[[str], None] = lambda part: None,
) -> Extraction:
    """Returns the automaton of a network, compared with what it should be.

    Args:
        subject: the network, or what `nerode.train` returned.
        method: clusters of states, queries (L*), or all states; when None, all
            states of a compiled network, clusters otherwise; queries of words where the state cannot be
            looked at, as in attention.
        target: compare with this language instead of the one that the network was made for; a model that
            is not known to be made for any is asked about this one.
        kind: for such a model, how its scores are read; "prediction" when None.
        black_box: with queries, whether only words may be asked; states are not looked at.
        probe: how hypotheses are tested.
        held_out: how the result is tested.
        seed: of the random words.
        budget: limits the states of hypotheses and the time; a stage may take half of what is left.
        on_part: is called with the name of each part (`EXTRACTION_PARTS`) when it is done.

    Raises:
        InputError: if the method does not fit the network, or nothing says what its scores mean.
        BudgetExceeded: if a compiled network has more states than the budget allows.
    """
    budget, subject = started(budget), trained_network(subject)
    machine = Machine(_asked(subject, target, kind))
    chosen = method or _fitting_method(subject, machine)
    black_box = black_box or (method is None and not machine.sees_states)
    begun = time.process_time()
    how, found = _by_method(
        subject, machine, chosen, black_box, probe or HypothesisTest(), seed, budget.part()
    )
    seconds, queries = time.process_time() - begun, machine.queries
    on_part("automaton")
    failures = find_failures(machine, found.machine, held_out, stream(seed, "held-out", subject.name), most=1)
    on_part("held-out words")
    wanted = machine.question
    if target is not None:
        wanted = question_about(_over(target, machine), _language_kind(machine))
    difference = find_difference(found.machine, wanted, budget.part())
    on_part("comparison")
    theory = _theory(found.machine, machine.kind, architectures_of(subject), budget.part())
    on_part("theory")
    return Extraction(
        name=subject.name,
        method=how,
        kind=machine.kind,
        machine=found.machine,
        consistent=found.consistent,
        fails_on=machine.alphabet.decode(failures[0]) if failures else None,
        tested=(machine.queries.words - queries.words, held_out.longest),
        network_states=found.states,
        rounds=found.rounds,
        queries=queries,
        target=_target_name(subject, target) or wanted.name,
        difference=difference,
        proved=chosen == "exact",
        refuted=_refuted(subject),
        theory=theory,
        cpu_seconds=seconds,
    )


def _fitting_method(subject: LoadedNetwork, machine: Machine) -> Method:
    """The method for a network where none is named."""
    if not machine.sees_states:
        return "lstar"
    return "exact" if subject.network is not None else "cluster"


def _target_name(subject: LoadedNetwork, target: Language | None) -> str:
    """The name of a language that a file beside a network defines, and may call as it likes; else empty."""
    if subject.language is None or subject.task is not None or target is not None:
        return ""
    return title_of(subject.language)


def _asked(subject: LoadedNetwork, target: Language | None, kind: Kind | None) -> Subject:
    """The network with a question: of its task, folder or language, or else of a language that is named.

    Raises:
        InputError: if none is known.
    """
    if (asked := asked_subject(subject)) is not None:
        return asked
    language = subject.language or target
    if language is None:
        raise InputError(
            f"nothing says what the scores of {subject.name} mean; name a language with --target"
        )
    return subject_about(subject.name, subject.model, language, kind or "prediction")


def _over(target: Language, machine: Machine) -> Language:
    """A target that has the letters of a machine, or InputError."""
    if target.alphabet != machine.alphabet:
        raise InputError(
            f"{target.name} has the letters {target.alphabet.describe()}, the network reads "
            f"{machine.alphabet.describe()}; give a language over these, in this order"
        )
    return target


def _language_kind(machine: Machine) -> Kind:
    if machine.kind == "class":
        raise InputError(
            f"the network answers with the classes of {machine.question.name}; these cannot be compared with "
            "the words of a language, leave out --target"
        )
    return machine.kind


def architectures_of(subject: LoadedNetwork) -> tuple[str, ...]:
    """Returns the names of the layers of a network in the table of theory; none if one is not there."""
    if subject.network is not None:
        return (subject.network.target,)
    if subject.record is not None and subject.record.theory:
        return (subject.record.theory,)
    return names_in_theory(subject.model.config.layers) if isinstance(subject.model, Model) else ()


def names_in_theory(layers: Iterable[LayerConfig]) -> tuple[str, ...]:
    """Returns the names of layers of the zoo in the table of theory; none if one is not there."""
    names = []
    for layer in layers:
        known = [n for n in (layer.name.lower(), find_kind(layer.name).name) if n in ARCHITECTURES]
        if not known:
            return ()
        names.append(known[0])
    return tuple(names)


def _by_method(
    subject: LoadedNetwork,
    machine: Machine,
    method: str,
    black_box: bool,
    probe: HypothesisTest,
    seed: int,
    budget: Budget,
) -> tuple[str, ExtractedMachine]:
    """The method in words, and what it finds."""
    if black_box and method != "lstar":
        raise InputError(f"the method {method} looks at states; --black-box goes with lstar")
    match method:
        case "cluster":
            return "clusters of states", extract_by_clusters(machine, probe=probe, seed=seed, budget=budget)
        case "lstar":
            white = not black_box and machine.sees_states
            learned = extract_by_queries(
                machine,
                white_box=white,
                probe=probe,
                seed=seed,
                budget=budget,
            )
            return f"L*, {'white' if white else 'black'} box", learned
        case "exact":
            if subject.network is None:
                raise InputError(
                    f"{subject.name} was trained: its states in floats are too many to list, and their bits "
                    "depend on the batch; exact extraction is for compiled networks, take cluster or lstar"
                )
            if subject.network.exact:
                return "all states, exact arithmetic", close_network(subject.network, budget)
            return "all states in floats, bit for bit", close_floats(machine, budget)
    raise UnknownName("method", method, METHODS)


def _refuted(subject: LoadedNetwork) -> str:
    """The sentence that the tests of a run say against its network; empty if none."""
    claims = () if subject.record is None else subject.record.claims
    return next((claim.says for claim in claims if claim.scope == REFUTED), "")


def _theory(machine: Moore, kind: Kind, architectures: tuple[str, ...], budget: Budget) -> Theory | None:
    if machine.num_states > _MOST_STATES_FOR_THEORY:
        return None
    try:
        return theory_of(machine, kind, architectures, budget)
    except BudgetExceeded:
        return None


def close_network(network: Network, budget: Budget | None = None) -> ExtractedMachine:
    """Returns the machine of all states that a network reaches in exact arithmetic.

    Args:
        network: a compiled network that the interpreter runs without rounding (`Interpreter.exact`).
        budget: limits the states and the time.

    Raises:
        BudgetExceeded: if more states are reached.
    """
    budget = started(budget)
    interpreter = Interpreter(network)
    alphabet = network.alphabet
    end = (None, NOTHING)
    seen: set[Hashable] = set()

    def advance(state: Any, letter: int) -> Hashable:
        configuration, output = state
        if configuration is None or alphabet.symbols[letter] not in output.split(" "):
            return end
        after, answer = interpreter.step(configuration, letter)
        target = (after, legal_text(answer.legal, alphabet))
        if target[1] == NOTHING:
            return end
        seen.add(target)
        budget.check("states", len(seen), states_of_the_network=len(seen))
        return target

    start = (interpreter.start(), legal_text(interpreter.empty_answer().legal, alphabet))
    machine = Moore.explore(alphabet, start, advance, lambda state: state[1])
    return ExtractedMachine(machine=machine.minimise(), states=machine.num_states, consistent=True)


def close_floats(machine: Machine, budget: Budget | None = None) -> ExtractedMachine:
    """Returns the machine of all states that a compiled network reaches in floats, told apart by their bits.

    The bits of a compiled network do not depend on what is computed beside it, so the states are those of
    every run on this machine.

    Args:
        machine: a compiled network.
        budget: limits the states and the time.

    Raises:
        BudgetExceeded: if more states are reached.
    """
    budget, question = started(budget), machine.question
    runner = make_runner(machine.model, question)  # type: ignore[arg-type]
    walk = Walk(runner, None, most=budget.states, every_letter=machine.kind != "prediction")
    end = walk.run(budget)
    machine.count_steps(int((walk.moves >= 0).sum()))
    if end != "closed":
        budget.check_time(states_of_the_network=len(walk))
        raise BudgetExceeded("states", walk.most, known_so_far={"states_of_the_network": len(walk)})
    texts = [question.text(tuple(walk.answer(place) == 1)) for place in walk.places.tolist()]
    dead = len(texts)
    moves = np.where(walk.moves < 0, dead, walk.moves)
    table = np.concatenate([moves, np.full((1, moves.shape[1]), dead)]).astype(np.int32)
    found = Moore(alphabet=machine.alphabet, transitions=table, start=0, outputs=(*texts, NOTHING))
    alive = sum(text != NOTHING for text in texts)
    return ExtractedMachine(
        machine=found.minimise(), states=alive + bool((moves == dead).any()), consistent=True
    )
