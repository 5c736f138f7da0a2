"""The analysis of one network: what applies is computed, what does not is left out with the reason."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from nerode.analysis.aspects import clusters as labelled
from nerode.analysis.aspects.clusters import Labels, clusters
from nerode.analysis.aspects.context import EPS, context
from nerode.analysis.aspects.forgetting import forgetting
from nerode.analysis.aspects.spectra import spectra
from nerode.analysis.aspects.traces import attention_maps, trace_word
from nerode.analysis.probes import ProbeWords, draw_probe, margins, read_word, symbols_of
from nerode.analysis.subject import LoadedNetwork, trained_network
from nerode.core import Budget, BudgetExceeded, InputError, started
from nerode.models import Model, as_layered
from nerode.records import Analysis, Forgetting, StateClusters
from nerode.tasks import FlipFlop, NgramText

_FEW = 16
_MANY = 64
"""Words for spectra, whose matrices take room, and for all else."""

_MOST_STATES = 200
"""An automaton with more states does not label hidden states: there would be a few of each."""

_SENTENCES = 100
"""Sentences of each template whose states are looked at."""

T = TypeVar("T")
Label = Callable[[ProbeWords], Labels]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisOptions:
    """Options of an analysis.

    Attributes:
        length: of the words; None for the longest of training, up to 64.
        word: the word along which states, gates and attention are shown; None for the first that is drawn.
        ngram: hidden states are labelled by so many last letters; 0 to choose by the task.
        eps: what counts as forgotten.
        longest: ignored bits at the end of the streams of flip-flops.
        seed: of the words.
    """

    length: int | None = None
    word: str | None = None
    ngram: int = 0
    eps: float = EPS
    longest: int = 100_000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.length is not None and self.length < 1:
            raise InputError(f"the length is {self.length}; words have 1 letter or more")
        if self.ngram < 0:
            raise InputError(f"labels by {self.ngram} letters were asked for; give 1 or more, or 0 to choose")
        if not 0 < self.eps < 1:
            raise InputError(f"eps is {self.eps}; what counts as forgotten is a share between 0 and 1")


ANALYSIS_PARTS = ("spectra", "context", "clusters", "trace", "attention", "margins", "forgetting")
"""The parts of an analysis, in their order."""


def analyse(
    subject: LoadedNetwork | Any,
    options: AnalysisOptions | None = None,
    *,
    budget: Budget | None = None,
    on_part: Callable[[str], None] | None = None,
    parts: Sequence[str] = ANALYSIS_PARTS,
) -> Analysis:
    """Returns the analysis of a network, as far as each part applies to it.

    Args:
        subject: the network, or what `nerode.train` returned.
        options: what to look at.
        budget: limits the time of searches.
        on_part: is called with the name of each part (`ANALYSIS_PARTS`) when it is done.
        parts: those that are wanted beside the spectra.

    Raises:
        InputError: if the word has a letter that the network does not read, or there is none of the length.
    """
    return _Examination(trained_network(subject), options or AnalysisOptions(), started(budget), on_part).run(
        parts
    )


class _Examination:
    """One network on its way through all analyses."""

    def __init__(
        self,
        subject: LoadedNetwork,
        options: AnalysisOptions,
        budget: Budget,
        on_part: Callable[[str], None] | None,
    ) -> None:
        self._on_part = on_part
        self.subject = subject
        self.options = options
        self.budget = budget
        self.left_out: dict[str, str] = {}

    def run(self, wanted: Sequence[str]) -> Analysis:
        probe = draw_probe(self.subject, count=_MANY, length=self.options.length, seed=self.options.seed)
        word = self._word(probe)
        model = self.subject.model
        found = self._try("spectra", lambda: spectra(as_layered(model), _first(probe, _FEW))) or ()
        if not found:
            self.left_out.setdefault("spectra", "no layer keeps a state of fixed size")
        self._tell("spectra")
        seed = self.options.seed
        makers: dict[str, Callable[[], Any]] = {
            "context": lambda: self._try(
                "context", lambda: context(self.subject, probe, found, eps=self.options.eps, seed=seed)
            ),
            "clusters": lambda: self._clusters(probe),
            "trace": lambda: self._try("trace", lambda: trace_word(self.subject, word)),
            "attention": lambda: self._try(
                "attention", lambda: attention_maps(model, word) if isinstance(model, Model) else None
            ),
            "margins": lambda: self._try("margins", lambda: margins(self.subject, seed=seed)),
            "forgetting": self._forgetting,
        }
        parts = {}
        for name, make in makers.items():
            if name in wanted:
                parts[name] = make()
                self._tell(name)
        about = _about(self.subject, probe)
        return Analysis(name=self.subject.name, about=about, spectra=found, left_out=self.left_out, **parts)

    def _tell(self, part: str) -> None:
        if self._on_part is not None:
            self._on_part(part)

    def _word(self, probe: ProbeWords) -> ProbeWords:
        if self.options.word is None:
            return _first(probe, 1)
        return ProbeWords(inputs=read_word(self.subject, self.options.word), symbols=symbols_of(self.subject))

    def _clusters(self, probe: ProbeWords) -> tuple[StateClusters, ...]:
        """The states by last letters, by automaton state or by answer, whichever there are."""
        n, task = self.options.ngram, self.subject.task
        text = isinstance(task, NgramText)
        ways: dict[str, Label] = {}
        if n or text:
            n = n or 3
            ways["last symbol" if n == 1 else f"last {n} symbols"] = lambda p: labelled.ngram_labels(p, n)
        if self.subject.language is not None and not text:
            ways["automaton state"] = self._states
        elif not text:
            ways["answer"] = labelled.target_labels
        probes = [probe]
        if isinstance(task, NgramText) and self.options.length is None:
            draw = {"count": _SENTENCES, "seed": self.options.seed}
            probes = [draw_probe(self.subject, length=length, **draw) for length in task.test_lengths]

        def make(by: str, label: Label) -> StateClusters:
            return clusters(self.subject, [(p, label(p)) for p in probes], labelled_by=by)

        made = [self._try(f"clusters by {by}", functools.partial(make, by, ways[by])) for by in ways]
        return tuple(c for c in made if c is not None)

    def _states(self, probe: ProbeWords) -> Labels:
        language = self.subject.language
        assert language is not None
        dfa = language.dfa()
        if dfa.num_states > _MOST_STATES:
            raise InputError(
                f"the automaton has {dfa.num_states} states; up to {_MOST_STATES} are used as labels"
            )
        return labelled.state_labels(probe, language)

    def _forgetting(self) -> Forgetting | None:
        if not isinstance(self.subject.task, FlipFlop):
            return None
        return self._try(
            "forgetting",
            lambda: forgetting(
                self.subject, longest=self.options.longest, seed=self.options.seed, budget=self.budget
            ),
        )

    def _try(self, what: str, make: Callable[[], T]) -> T | None:
        try:
            self.budget.check_time()
            return make()
        except (InputError, BudgetExceeded) as error:
            late = isinstance(error, BudgetExceeded) and error.resource == "seconds"
            self.left_out[what] = "the time was up; raise --max-seconds" if late else str(error)
            return None


def _first(probe: ProbeWords, count: int) -> ProbeWords:
    batch = None if probe.batch is None else probe.batch.rows(range(min(count, len(probe.inputs))))
    return ProbeWords(inputs=probe.inputs[:count], symbols=probe.symbols, batch=batch)


def _about(subject: LoadedNetwork, probe: ProbeWords) -> dict[str, Any]:
    about: dict[str, Any] = {
        "words": {"count": len(probe.inputs), "length": probe.length},
        "parameters": sum(p.numel() for p in subject.model.parameters()),
    }
    if isinstance(subject.model, Model):
        about["layers"] = [layer.name for layer in subject.model.config.layers]
        about["state"] = subject.model.state_size
    if subject.record is not None:
        about["key"] = subject.record.key
        about["spec"] = subject.record.spec.to_mapping()
        about["examination"] = {
            k: v for k, v in subject.record.examination.items() if isinstance(v, int | float)
        }
    if subject.network is not None:
        about["construction"] = subject.network.origin.construction
    return about
