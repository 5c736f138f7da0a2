"""Bounded Dyck(K, m): the depth, one register of ceil(log2 K) bits for each depth, an error flag.

The last bracket that was opened at depth j is still open whenever the depth is j, so a register for each
depth, overwritten by the bracket that opens there, holds the whole stack. The depth is one integer counter
where gate and write are free of each other. Where one number sets both, the depth is a cascade of set-reset
automata, that of one kind of brackets: m + 1 layers in place of one. Gates of modulus 1 do not overwrite:
there a bracket that closes takes away what the bracket that it closes has added.

Recurrences that could run any automaton, but not one with K^m states, also get the counter: diagonal layers
are a special case of permutation-diagonal and of dense ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nerode.algebra.cascades import decompose
from nerode.compiler.construction import Construction, Request
from nerode.compiler.forms import (
    DirectionForm,
    Relu,
    conjunction,
    constant,
    direction,
    equals,
    is_positive,
    total,
)
from nerode.compiler.layer_builder import LayerBuilder
from nerode.compiler.level_layers import MachineLayers
from nerode.compiler.level_machine import tabulate
from nerode.compiler.network_builder import DEAD, LayerStack
from nerode.core import NotCompilable, Reference
from nerode.languages import Dyck, bounded_dyck_1
from nerode.network import Embedding, Network
from nerode.verdict import (
    LanguageCondition,
    WayOfCounting,
    can_fade,
    can_hold,
    counts_by,
    dense,
    diagonal,
    free_write,
    input_dependent,
    linear,
    of_family,
    permutation_diagonal,
    plain_state,
    unit_gates,
)

OPEN, CLOSE = direction("open"), direction("close")

bounded_dyck = of_family({"bounded-dyck"}, "a bounded Dyck language")

_counting = counts_by(WayOfCounting.FREE, WayOfCounting.SLOW_DECAY)

_several_kinds = LanguageCondition(
    "with several kinds of brackets", lambda facts: facts.language.parameters.get("k", 1) > 1
)


def compile_bounded_dyck(request: Request) -> Network:
    """Returns a depth counter, a layer of m·ceil(log2 K) bits and an error flag; correct on every word.

    With one kind of brackets the layer of bits is empty and left out.

    Implements: [Sarrof2024]
    """
    brackets = Brackets(request)
    brackets.add_counter()
    brackets.add_registers()
    brackets.add_errors()
    return brackets.network(f"a depth counter{brackets.describe()}, a flag for the first error")


def compile_bounded_dyck_predictor(request: Request) -> Network:
    """Returns a depth counter and a layer of m·ceil(log2 K) bits that predict on prefixes of valid words.

    Implements: [Sarrof2024]
    """
    brackets = Brackets(request)
    brackets.add_counter()
    brackets.add_registers()
    return brackets.network(
        f"a depth counter{brackets.describe()}; only for prefixes of valid words",
    )


class Brackets:
    """The layers of one network, added one after the other: the depth, the registers, the errors.

    Attributes:
        num_bits: bits of a register.
    """

    def __init__(self, request: Request) -> None:
        language = request.facts.language
        if not isinstance(language, Dyck) or language.depth is None:
            raise NotCompilable(request.target.name, ["the language is not given as a bounded Dyck language"])
        self._most = language.depth
        self._num_kinds = len(language.pairs)
        self.num_bits = (self._num_kinds - 1).bit_length()
        self._assembly = LayerStack(request, self._embedding(), one_hot=("open", "close"))
        self._alive: DirectionForm = constant(1)

    def _embedding(self) -> Embedding:
        """Opening or closing, and the kind in bits."""
        bits = range(self.num_bits)
        return Embedding(
            directions=("open", "close", *(f"kind.{b}" for b in bits)),
            vectors=tuple(
                (1 - closes, closes, *(kind >> b & 1 for b in bits))
                for kind in range(self._num_kinds)
                for closes in (0, 1)
            ),
        )

    def add_counter(self) -> None:
        """Adds the depth as one integer; after an error it may be anything."""
        builder = self._assembly.layer("depth")
        relu = builder.readout_relu
        counter = builder.coordinate("depth", gate=1, write=OPEN - CLOSE)
        builder.output("empty", equals(counter, 0, relu))
        builder.output("full", equals(counter, self._most, relu))
        outside = is_positive(-counter, relu) + is_positive(counter - self._most, relu)
        builder.output("within", 1 - outside)
        if self.num_bits:
            self._show_depths(builder, counter)
        self._assembly.add(builder)

    def add_cascade(self) -> None:
        """Adds the depth as the labels of a cascade, and a layer that shows their number."""
        single = bounded_dyck_1(self._most).dfa(self._assembly.request.options.budget)
        budget = self._assembly.request.options.budget
        machine = tabulate(decompose(single, budget), single, budget)
        layers = MachineLayers(self._assembly, machine, (OPEN, CLOSE))
        layers.add_all()
        # A level narrows the depths that are left at one of their two ends; the last says that all is well.
        states = [single.run([0] * depth) for depth in range(self._most + 1)]
        for labels, state in machine.states.items():
            if labels[-1] != (state in states) or (
                labels[-1] and state != states[self._most - sum(labels[:-1])]
            ):
                raise AssertionError(f"the labels {labels} of a cascade for the depth are not counted")
        *narrowing, (inside,) = (layers.shows(level, 1) for level in range(len(machine.levels)))
        builder = self._assembly.layer("depth")
        left = self._most - total(form for (form,) in narrowing)
        depth = builder.coordinate("depth", gate=0, write=left - (self._most + 1) * (1 - inside))
        shown = self._show_depths(builder, depth)
        for name, form in (("empty", shown[0]), ("full", shown[-1]), ("within", total(shown))):
            builder.output(name, form)
        self._assembly.add(builder)

    def _show_depths(self, builder: LayerBuilder, depth: DirectionForm) -> list[DirectionForm]:
        """Shows each depth that the number of a layer may be; returns what is shown."""
        found = [equals(depth, value, builder.readout_relu) for value in range(self._most + 1)]
        for value, form in enumerate(found):
            builder.output(f"depth={value}", form)
        return found

    def _depth_is(self, depth: int, guard: Sequence[DirectionForm], relu: Relu) -> DirectionForm:
        """1 where the depth after the letter is this one and all literals of a guard hold."""
        return conjunction([direction(f"depth={depth}"), *guard], relu)

    def add_registers(self, *, ledger: bool = False) -> None:
        """Adds the registers, one for each depth; the layer shows the top before and after the letter.

        Args:
            ledger: whether a register is not overwritten: the bracket that closes takes away what the one
                that it closes has added.
        """
        if not self.num_bits:
            return
        builder = self._assembly.layer("registers")
        relu = builder.readout_relu
        above: list[list[DirectionForm]] = [[] for _ in range(self.num_bits)]
        below: list[list[DirectionForm]] = [[] for _ in range(self.num_bits)]
        for depth in range(1, self._most + 1):
            written = self._depth_is(depth, [OPEN], builder.relu)
            for b in range(self.num_bits):
                write = self._depth_is(depth, [OPEN, direction(f"kind.{b}")], builder.relu)
                gate: DirectionForm | int = 1 - written
                if ledger:
                    gate = 1
                    write -= self._depth_is(depth - 1, [CLOSE, direction(f"kind.{b}")], builder.relu)
                register = builder.coordinate(f"depth {depth} kind.{b}", gate=gate, write=write)
                above[b].append(self._depth_is(depth, [register], relu))
                below[b].append(self._depth_is(depth - 1, [register], relu))
        for b in range(self.num_bits):
            builder.output(f"top.{b}", total(above[b]))
            builder.output(f"closed.{b}", total(below[b]))
        self._assembly.add(builder)

    def add_errors(self) -> None:
        """Adds the flag that remembers a depth outside 0 … m or a closing bracket that does not match."""
        builder = self._assembly.layer("errors")
        within = direction("within")
        bad = 1 - within
        if self.num_bits:
            matching = [
                conjunction([CLOSE, within, *self._bits("kind", k), *self._bits("closed", k)], builder.relu)
                for k in range(self._num_kinds)
            ]
            bad = conjunction([OPEN, 1 - within], builder.relu) + CLOSE - total(matching)
        self._assembly.add_dead_flag(builder, bad)
        self._alive = 1 - direction(DEAD)

    def network(self, route: str) -> Network:
        """Returns the network: opening below the bound, closing what is on top, ending at depth 0."""
        decoder = self._assembly.decoder()
        empty, full = direction("empty"), direction("full")
        may_open = conjunction([self._alive, 1 - full], decoder.relu)
        for kind in range(self._num_kinds):
            decoder.add(2 * kind, may_open)
            closes = conjunction([self._alive, 1 - empty, *self._bits("top", kind)], decoder.relu)
            decoder.add(2 * kind + 1, closes)
        decoder.add(2 * self._num_kinds, conjunction([self._alive, empty], decoder.relu))
        return self._assembly.network(
            decoder.build(self._assembly.empty()),
            route=route,
            reference=Reference("Sarrof2024"),
        )

    def _bits(self, name: str, kind: int) -> list[DirectionForm]:
        """The literals that say that a register holds a kind."""
        bits = [direction(f"{name}.{b}") for b in range(self.num_bits)]
        return [bit if kind >> b & 1 else 1 - bit for b, bit in enumerate(bits)]

    def describe(self) -> str:
        """The registers in words, for the route."""
        return f", {self._most}·{self.num_bits} bits for the kinds by depth" if self.num_bits else ""


BOUNDED_DYCK = Construction(
    name="bounded-dyck",
    title="depth counter, registers by depth and an error flag",
    theorem="bounded-dyck-two-layers",
    language=bounded_dyck,
    architecture=linear & diagonal & input_dependent & can_hold & can_fade & free_write & plain_state,
    build=compile_bounded_dyck,
)


def compile_bounded_depth(request: Request) -> Network:
    """Returns a layer that counts the depth and one that tallies errors, all gates 1; correct on every word.

    Implements: [NerodeTheory]
    """
    most = request.facts.language.parameters["depth"]
    stack = LayerStack(request)
    builder = stack.layer("depth")
    relu = builder.readout_relu
    depth = builder.coordinate("depth", gate=1, write=stack.letter(0) - stack.letter(1))
    some = builder.output("depth>0", is_positive(depth, relu))
    full = builder.output("full", is_positive(depth - (most - 1), relu))
    bad = builder.output("outside", is_positive(-depth, relu) + is_positive(depth - most, relu))
    stack.add(builder)
    builder = stack.layer("errors")
    tally = builder.coordinate(DEAD, gate=1, write=bad)
    alive = 1 - builder.output(DEAD, is_positive(tally, builder.readout_relu))
    stack.add(builder)
    decoder = stack.decoder()
    for output, literal in enumerate((1 - full, some, 1 - some)):
        decoder.add(output, conjunction([literal, alive], decoder.relu))
    return stack.network(
        decoder.build(stack.empty()),
        route=f"the depth is a counter with gate 1, compared with 0 and {most}; layer 2 tallies errors",
        reference=Reference("NerodeTheory"),
    )


BOUNDED_DEPTH = Construction(
    name="bounded-depth",
    title="depth counter and tally of errors, gates of 1",
    theorem="bounded-depth-by-counting",
    language=bounded_dyck & ~_several_kinds,
    architecture=linear & can_hold & counts_by(WayOfCounting.FREE) & plain_state,
    build=compile_bounded_depth,
)

BOUNDED_DYCK_PREDICTOR = Construction(
    name="bounded-dyck-predictor",
    title="depth counter and registers by depth, on valid prefixes",
    theorem="bounded-dyck-two-layers",
    language=bounded_dyck,
    architecture=linear & diagonal & input_dependent & can_hold & can_fade & _counting & plain_state,
    build=compile_bounded_dyck_predictor,
    predicts_only=True,
)


def compile_bounded_dyck_registers(request: Request) -> Network:
    """Returns set-reset layers for the depth, a layer of m·ceil(log2 K) bits and an error flag.

    Implements: [Sarrof2024]
    """
    brackets = Brackets(request)
    brackets.add_cascade()
    brackets.add_registers()
    brackets.add_errors()
    return brackets.network(
        f"the depth as a cascade of set-reset automata{brackets.describe()}, a flag for the first error"
    )


BOUNDED_DYCK_REGISTERS = Construction(
    name="bounded-dyck-registers",
    title="the depth by set-reset layers, registers by depth and an error flag",
    theorem="star-free-selective",
    language=bounded_dyck & _several_kinds,
    architecture=linear & input_dependent & can_hold & can_fade,
    build=compile_bounded_dyck_registers,
)


def compile_bounded_dyck_ledger(request: Request) -> Network:
    """Returns a depth counter and a layer of bits that are added and taken away, every gate being 1.

    Implements: [Sarrof2024]
    """
    brackets = Brackets(request)
    brackets.add_counter()
    brackets.add_registers(ledger=True)
    return brackets.network(
        f"a depth counter{brackets.describe()}, taken away when they close; only for prefixes of valid words"
    )


BOUNDED_DYCK_LEDGER = Construction(
    name="bounded-dyck-ledger",
    title="depth counter and bits by depth with gates of 1, on valid prefixes",
    theorem="bounded-dyck-two-layers",
    language=bounded_dyck,
    architecture=linear & input_dependent & unit_gates,
    build=compile_bounded_dyck_ledger,
    predicts_only=True,
)


BOUNDED_DYCK_PERMUTATION_DIAGONAL = replace(
    BOUNDED_DYCK,
    name="bounded-dyck-permutation-diagonal",
    theorem="regular-by-permutation-diagonal",
    architecture=linear & permutation_diagonal & input_dependent & can_hold & free_write & plain_state,
)

BOUNDED_DYCK_DENSE = replace(
    BOUNDED_DYCK,
    name="bounded-dyck-dense",
    theorem="regular-by-dense-matrices",
    architecture=linear & dense & input_dependent & can_hold & can_fade & free_write & plain_state,
)
