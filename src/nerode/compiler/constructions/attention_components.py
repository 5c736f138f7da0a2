"""Languages that attention does at every length in floats: components that are entered, kept, and left.

The components of the minimal automaton are left once and for all. For each of them a head says whether it has
been entered before the letter, another whether it has been left. Inside a component the state before the
letter follows from letters: from none where each letter leads to one state (letter-constant), from the last
ones otherwise (locally R-trivial), back to the entry if that is nearer. No head has to find the latest of
many matches, so that no length is too long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from nerode.algebra.classes import ComponentTable, fixed_pair
from nerode.compiler.construction import Construction, Request
from nerode.compiler.constructions.star_free import ReadLetters, read_letters
from nerode.compiler.forms import DirectionForm, constant, total
from nerode.compiler.layer_builder import LayerBuilder
from nerode.compiler.network_builder import LayerStack
from nerode.core import NotCompilable, Reference
from nerode.languages import Dfa, Legal, Word
from nerode.network import Network, ScoreDecoder
from nerode.verdict import (
    Positions,
    averaging_heads,
    clocked_local,
    in_class,
    periodic_vectors,
    sloped_heads,
)

Literals = list[DirectionForm]

MOST_COMPONENTS = 16
"""Components that are offered where a cascade of heads is another way."""

MOST_CONTENTS = {False: 64, True: 1024}
"""Contents of a window that are offered, by whether periodic vectors show the position before exactly."""


@dataclass(slots=True)
class _Component:
    """A component while its layers are added.

    Attributes:
        states: its states.
        constant: whether each letter takes all of them to one state.
        events: for each state that is entered, the literals of each way into it.
        after: 1 where it has been entered before the letter.
        entered: `entered[j - 1][t]` is 1 where it was entered in state t, j letters before.
        at: what says that it is left at no earlier letter, and in which state it is before the letter.
    """

    states: list[int]
    constant: bool
    events: dict[int, list[Literals]] = field(default_factory=dict)
    after: DirectionForm = field(default_factory=lambda: constant(1))
    entered: list[dict[int, DirectionForm]] = field(default_factory=list)
    at: dict[int, DirectionForm] = field(default_factory=dict)


def compile_components(request: Request) -> Network:
    """Returns heads that say which component the state is in, and windows that say which state it is.

    Where position vectors say the position modulo m, letters are marked with it.

    Raises:
        NotCompilable: if the components need heads that the target does not have.
    """
    _require_heads(request)
    stack = LayerStack(request)
    letters = read_letters(stack, _has_window, plain=bool(request.facts.locally_r_trivial))
    builder = _Builder(stack, letters)
    builder.build()
    window = f", windows of {builder.window} letters" if builder.window else ""
    return builder.stack.network(
        builder.decoder(),
        route=f"{letters.route}{len(builder.components)} components, each entered and left once{window}",
        reference=Reference("LiCotterell2025"),
    )


def _require_heads(request: Request) -> None:
    """Raises NotCompilable if windows, or marks of positions, are needed and the target has none."""
    facts, properties = request.facts, request.target.properties
    if facts.letter_constant:
        return
    if not sloped_heads(properties):
        raise NotCompilable(request.target.name, [f"windows need {sloped_heads.text}"])
    if not facts.locally_r_trivial and not periodic_vectors(properties):
        raise NotCompilable(request.target.name, [f"marks of positions need {periodic_vectors.text}"])


class _Builder:
    def __init__(self, stack: LayerStack, read: ReadLetters) -> None:
        self.dfa, self.stack, self.letters, self.legal = read.dfa, stack, read.forms, read.legal
        self.rows: list[list[int]] = self.dfa.transitions.tolist()
        table = ComponentTable.of(self.rows)
        self.component = table.component
        members: dict[int, list[int]] = {}
        for q, number in enumerate(table.component):
            members.setdefault(number, []).append(q)
        self.components = {
            number: _Component(states=states, constant=self._is_constant(states))
            for number, states in sorted(members.items(), reverse=True)
        }
        windows = [fixed_pair(_inside(table, c.states)) for c in self.components.values() if not c.constant]
        self.window = max((w for w in windows if isinstance(w, int)), default=0)
        self.letters_back: list[list[DirectionForm]] = []
        self._require_short(stack.request)

    def _require_short(self, request: Request) -> None:
        """Raises NotCompilable for more components, or contents of a window, than a cascade would need."""
        if len(self.components) > MOST_COMPONENTS and sloped_heads(request.target.properties):
            text = f"{len(self.components)} components one after the other take too many blocks"
            raise NotCompilable(request.target.name, [f"{text}; up to {MOST_COMPONENTS} are offered"])
        contents = self.dfa.num_letters**self.window
        most = MOST_CONTENTS[request.target.properties.positions is Positions.PERIODIC_AND_PENALTY]
        if contents > most:
            text = f"a window of {self.window} letters has {contents:,} contents; up to {most:,} are offered"
            raise NotCompilable(request.target.name, [text])

    def _is_constant(self, states: list[int]) -> bool:
        return all(len({self.rows[q][a] for q in states}) == 1 for a in range(self.dfa.num_letters))

    def build(self) -> None:
        """Adds all layers, the component of the start first."""
        self._look_back()
        for number, part in self.components.items():
            name = f"component {len(self.components) - number}"
            if self.dfa.start not in part.states:
                self._enter(part, name)
            else:
                part.entered = self._first_letters(part)
            self._leave(part, name)
            for q, form in part.at.items():
                for letter, target in enumerate(self.rows[q]):
                    if self.component[target] != number:
                        events = self.components[self.component[target]].events
                        events.setdefault(target, []).append([form, self.letters[letter]])

    def _look_back(self) -> None:
        """Adds layers that show the last letters."""
        shown = list(self.letters)
        for back in range(1, self.window + 1):
            names = [f"x{back}={symbol}" for symbol in self.dfa.alphabet]
            shown = self._delayed(f"letter {back} before", names, shown, [0] * len(names))
            self.letters_back.append(shown)

    def _delayed(
        self, layer: str, names: Sequence[str], forms: Sequence[DirectionForm], start: Sequence[int]
    ) -> list[DirectionForm]:
        """Adds a layer that shows bits one letter later."""
        builder = self.stack.layer(layer, exposes_previous=True)
        found = []
        for name, form, first in zip(names, forms, start, strict=True):
            builder.coordinate(name, gate=0, write=form, start=first)
            # A unit makes an exact bit of what a soft head returns.
            found.append(builder.output(name, builder.readout_relu(builder.previous(name))))
        self.stack.append(builder.build(heads=["previous"] * len(names)), builder.stream)
        return found

    def _first_letters(self, part: _Component) -> list[dict[int, DirectionForm]]:
        """The entry into the component of the start, at the mark, as far back as windows look."""
        if part.constant:
            return []
        found: list[dict[int, DirectionForm]] = []
        form, first = constant(0), 1
        for back in range(1, self.window + 1):
            form = self._delayed(f"start {back} before", [f"start{back}"], [form], [first])[0]
            first = 0
            found.append({self.dfa.start: form})
        return found

    def _enter(self, part: _Component, name: str) -> None:
        """Adds the head that says whether a component has been entered before the letter."""
        builder = self.stack.layer(f"{name} entered", exposes_previous=True)
        entries = {
            t: total(_conjoin(builder, literals) for literals in ways) for t, ways in part.events.items()
        }
        whole = total(entries.values())
        builder.coordinate(name, gate=1 - whole, write=whole)
        part.after = builder.output(f"{name} after", builder.previous(name))
        kinds = ["once"]
        if not part.constant:
            shown = {}
            for t, form in entries.items():
                label = f"{name} in {t} 1"
                builder.coordinate(label, gate=0, write=form)
                shown[t] = builder.output(label, builder.readout_relu(builder.previous(label)))
                kinds.append("previous")
            part.entered.append(shown)
        self.stack.append(builder.build(heads=kinds), builder.stream)
        if part.constant:
            return
        for back in range(2, self.window + 1):
            states, forms = zip(*part.entered[-1].items(), strict=True)
            names = [f"{name} in {t} {back}" for t in states]
            later = self._delayed(f"{name} entered {back} before", names, forms, [0] * len(names))
            part.entered.append(dict(zip(states, later, strict=True)))

    def _leave(self, part: _Component, name: str) -> None:
        """Adds the head that says whether a component has been left; fills in `at`."""
        cases = list(self._cases(part))
        number = self.component[part.states[0]]
        builder = self.stack.layer(f"{name} left", exposes_previous=True)
        exits = []
        for q, literals in cases:
            leaving = [a for a, t in enumerate(self.rows[q]) if self.component[t] != number]
            if leaving:
                exits.append(_conjoin(builder, [*literals, total(self.letters[a] for a in leaving)]))
        if not exits and part.constant:
            part.at = {part.states[0]: part.after}
            return
        kept: Literals = []
        if exits:
            whole = total(exits)
            builder.coordinate(name, gate=1 - whole, write=whole)
            kept = [1 - builder.previous(name)]
        inside: dict[int, Literals] = {}
        for q, literals in cases:
            parts = [*literals, *kept]
            unit = builder.readout_relu(total(parts) - (len(parts) - 1))
            inside.setdefault(q, []).append(unit)
        part.at = {q: builder.output(f"{name} at {q}", total(units)) for q, units in inside.items()}
        self.stack.append(builder.build(heads=["once"] * bool(exits)), builder.stream)

    def _cases(self, part: _Component) -> Iterator[tuple[int, Literals]]:
        """Yields states with the literals that say that the component, if it is not left, is in them."""
        if part.constant:
            yield part.states[0], [part.after]
            return
        inside = set(part.states)
        pending: list[tuple[Word, dict[int, int]]] = [((), {q: q for q in part.states})]
        while pending:
            suffix, runs = pending.pop()
            # The letters of the suffix, the last letter first, and where each state of the component is then.
            read = [self.letters_back[j][letter] for j, letter in enumerate(suffix)]
            ends = set(runs.values())
            recent = [form for shown in part.entered[: len(suffix)] for form in shown.values()]
            if len(ends) == 1:
                yield ends.pop(), [part.after, *read, *([1 - total(recent)] if recent else [])]
                continue
            for t, form in part.entered[len(suffix)].items():
                if t in runs:
                    yield runs[t], [form, *read]
            for letter in range(self.dfa.num_letters):
                longer = {q: runs[self.rows[q][letter]] for q in inside if self.rows[q][letter] in runs}
                if longer:
                    pending.append(((*suffix, letter), longer))

    def decoder(self) -> ScoreDecoder:
        """Returns the scores: what is legal after the letter, by the state before it."""
        decoder = self.stack.decoder()
        for part in self.components.values():
            for q, form in part.at.items():
                by_answer: dict[Legal, list[int]] = {}
                for letter, target in enumerate(self.rows[q]):
                    by_answer.setdefault(self.legal[target], []).append(letter)
                for answer, letters in by_answer.items():
                    if answer.symbols or answer.end:
                        literal = total(self.letters[a] for a in letters)
                        decoder.add_legal(answer, decoder.relu(form + literal - 1))
        return decoder.build(self.stack.empty())


def _conjoin(builder: LayerBuilder, literals: Literals) -> DirectionForm:
    return builder.relu(total(literals) - (len(literals) - 1))


def _has_window(dfa: Dfa) -> bool:
    return isinstance(fixed_pair(ComponentTable.of_automaton(dfa)), int)


def _inside(table: ComponentTable, states: list[int]) -> ComponentTable:
    """The table of one component alone."""
    kept = set(states)
    rows = [[t if q in kept and t in kept else -1 for t in row] for q, row in enumerate(table.rows)]
    return ComponentTable.of(rows)


COMPONENT_HEADS = Construction(
    name="component-heads",
    title="heads that say what has happened, windows, and the position modulo m where it is known",
    theorem="soft-periodic",
    language=in_class("letter-constant") | in_class("locally-r-trivial") | clocked_local,
    architecture=averaging_heads,
    build=compile_components,
)
