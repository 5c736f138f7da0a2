"""Heads of attention as registers: star-free languages, counter languages, and hybrids with recurrences.

Star-free languages are decoders made of a cascade of set-reset automata. A level of a cascade is overwritten
or held at each letter. A head that looks for the latest position that did not hold returns what was written
there: the label. The next level needs the labels before the letter, which heads that look one position back
supply. So a depth of the cascade takes two layers of attention, the tables of commands being the ReLU units
between them.

Softmax needs the score of a match to be exactly 0. Therefore `hold` is a sum of units that are all 0 at a
match: the table of commands has a row for every case in which a level is held.

The network of a counter language is that of the recurrent counters, with each register read as a head: a
counter is a sum of which softmax gives the mean, the flag of the first error is a bit that has ever been 1, a
register that is overwritten at every letter is looked up one position back. Bounded Dyck languages with more
stacks than an automaton can list have registers besides, one per depth: heads that find the latest bracket
opened there.

In hybrids a recurrence holds a register for ever in every float format, which attention does not. Attention
sees position vectors, which a recurrence with gates in [0,1] cannot make. So the cascade of a language over
letters that are marked with their position modulo m is done by both: levels that are overwritten again and
again are registers of recurrent layers, levels that are set once, and that no other level reads, are heads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nerode.algebra.cascades import HOLD, Reset, decompose
from nerode.compiler.construction import Construction, Request
from nerode.compiler.constructions.bounded_dyck import bounded_dyck, compile_bounded_dyck
from nerode.compiler.constructions.counters import compile_counters, given_by_counters
from nerode.compiler.constructions.star_free import star_free_letters
from nerode.compiler.forms import DirectionForm, total
from nerode.compiler.level_codings import CommandForms, Indicators, LevelLabels, label_name
from nerode.compiler.level_layers import MachineLayers, answer_table
from nerode.compiler.level_machine import LevelMachine, tabulate
from nerode.compiler.network_builder import DEAD, LayerStack
from nerode.compiler.tables import decode_table
from nerode.core import NotCompilable, Reference
from nerode.network import AttentionHeads, Layer, Network
from nerode.verdict import (
    ClassCondition,
    LanguageCondition,
    Positions,
    averaging_heads,
    nearest_heads,
    periodic_vectors,
    quasi_aperiodic,
    sloped_heads,
    star_free,
)


def compile_attention_star_free(request: Request) -> Network:
    """Returns layers of heads that look for the latest write, and one position back.

    Implements: [YangChiangAngluin2024]
    """
    stack, budget = LayerStack(request), request.options.budget
    letters = star_free_letters(stack)
    dfa, m = letters.dfa, letters.m
    cascade = request.once(f"star-free cascade {m}", lambda: decompose(dfa, budget))
    machine = request.once(f"star-free machine {m}", lambda: tabulate(cascade, dfa, budget))
    labels = add_machine(stack, machine, letters.forms)
    decoder = stack.decoder()
    answers = answer_table(machine, letters.legal, budget)
    decode_table(decoder, answers, lambda level, label: [labels[level][label]])
    return stack.network(
        decoder.build(stack.empty()),
        route=f"{letters.route}{cascade.route}: depth {cascade.depth}, one head per register, "
        "heads that look one position back between depths",
        reference=Reference("YangChiangAngluin2024"),
    )


def add_machine(
    stack: LayerStack, machine: LevelMachine, letters: Sequence[DirectionForm]
) -> dict[int, Indicators]:
    """Adds the layers of a machine of set-reset levels; returns the labels after the letter."""
    budget = stack.request.options.budget
    after: dict[int, Indicators] = {}
    before: dict[int, Indicators] = {}
    for depth in range(1, machine.depth + 1):
        numbers = machine.at(depth)
        builder = stack.layer(f"labels of depth {depth}")
        for number in numbers:
            level = machine.levels[number]
            parents = [before[parent] for parent in level.parents]
            resets = [command for command in level.table.values() if command != HOLD]
            if not resets:
                raise NotCompilable(stack.request.target.name, ["a level of the cascade is never written"])
            most = max(dict.fromkeys(resets), key=resets.count)
            commands = CommandForms(level, letters, parents, builder.relu, budget, otherwise=most)
            now = []
            for label in range(1, level.num_labels):
                value = commands.is_given(Reset(label))
                state = builder.coordinate(
                    label_name(number, label, level),
                    gate=commands.is_given(HOLD),
                    write=value,
                    start=int(label == level.start),
                )
                now.append(builder.output(label_name(number, label, level), state))
            after[number] = [1 - total(now), *now]
        kinds = ["last"] * sum(machine.levels[number].num_labels - 1 for number in numbers)
        stack.append(builder.build(heads=kinds), builder.stream)
        read = [number for number in numbers if machine.is_read(number)]
        if read:
            before |= _add_previous(stack, machine, read, after, depth)
    return after


def _add_previous(
    stack: LayerStack, machine: LevelMachine, numbers: Sequence[int], after: dict[int, Indicators], depth: int
) -> dict[int, Indicators]:
    """Adds the layer that shows labels one position later."""
    builder = stack.layer(f"labels of depth {depth} before the letter", exposes_previous=True)
    found: dict[int, Indicators] = {}
    count = 0
    for number in numbers:
        level = machine.levels[number]
        old = []
        for label in range(1, level.num_labels):
            name = f"{label_name(number, label, level)}'"
            builder.coordinate(name, gate=0, write=after[number][label], start=int(label == level.start))
            old.append(builder.output(name, builder.previous(name)))
            count += 1
        found[number] = [1 - total(old), *old]
    stack.append(builder.build(heads=["previous"] * count), builder.stream)
    return found


STAR_FREE_HEADS = Construction(
    name="star-free-heads",
    title="a cascade of heads that find the latest write",
    theorem="hard-attention-star-free",
    language=star_free,
    architecture=nearest_heads,
    build=compile_attention_star_free,
)

CLOCKED_STAR_FREE_HEADS = Construction(
    name="clocked-star-free-heads",
    title="a cascade of heads that find the latest write, over letters marked with positions",
    theorem="hard-attention-positions",
    language=quasi_aperiodic,
    architecture=nearest_heads & periodic_vectors,
    build=compile_attention_star_free,
)


registers_and_heads = ClassCondition(
    "diagonal layers and softmax attention",
    lambda c: (
        len(c.parts) == 2 and c.parts[0] in ("diagonal", "mamba") and c.parts[1].startswith("transformer")
    ),
)
_many_stacks = LanguageCondition("of too many stacks for an automaton", lambda f: f.automaton is None)


def compile_attention_counters(request: Request) -> Network:
    """Returns the network of recurrent counters with heads in place of registers.

    Implements: [YangChiang2024]
    """
    network = compile_counters(request)
    layers = tuple(_with_heads(layer, request) for layer in network.layers)
    return replace(network, layers=layers)


def compile_attention_brackets(request: Request) -> Network:
    """Returns the network of a depth counter and registers by depth, with heads in place of both.

    Implements: [Sarrof2024]
    """
    network = compile_bounded_dyck(request)
    return replace(network, layers=tuple(_with_heads(layer, request) for layer in network.layers))


def _with_heads(layer: Layer, request: Request) -> Layer:
    """A diagonal layer whose registers are heads.

    Raises:
        NotCompilable: if a register is no head that the target has.
    """
    gated = layer.recurrence.as_gated()
    if gated is None:
        raise NotCompilable(request.target.name, [f"layer {layer.name} has registers that are no heads"])
    kinds = []
    hold_bias, hold_rows = list(gated.gate.bias), list(gated.gate.rows)
    for i in range(layer.width):
        bias, row = gated.gate.bias[i], gated.gate.rows[i]
        if not row and bias in (0, 1):
            kinds.append("mean" if bias else "previous")
        elif layer.state[i] == DEAD:
            kinds.append("once")
            # A flag is held where nothing is written; its gate may say so in other words.
            hold_bias[i] = 1 - gated.write.bias[i]
            hold_rows[i] = tuple((j, -c) for j, c in gated.write.rows[i])
        elif sloped_heads(request.target.properties):
            kinds.append("last")
        else:
            reason = f"the register {layer.state[i]} of layer {layer.name} is no head without a horizon"
            raise NotCompilable(request.target.name, [reason])
    if "previous" in kinds and request.target.properties.positions is Positions.NONE:
        raise NotCompilable(request.target.name, ["the letter before is read, which needs positions"])
    hold = replace(gated.gate, bias=tuple(hold_bias), rows=tuple(hold_rows))
    heads = AttentionHeads(heads=tuple(kinds), hold=hold, values=gated.write)
    return replace(layer, recurrence=heads)


COUNTER_HEADS = Construction(
    name="counter-heads",
    title="heads that count",
    theorem="attention-counts",
    language=given_by_counters,
    architecture=averaging_heads | registers_and_heads,
    build=compile_attention_counters,
)

BRACKET_HEADS = Construction(
    name="bracket-heads",
    title="heads that count the depth and find the latest bracket of each depth",
    theorem="soft-counts-regular",
    language=bounded_dyck & _many_stacks,
    architecture=sloped_heads,
    build=compile_attention_brackets,
)


_clocked = ClassCondition(
    "attention layers with periodic position vectors", lambda c: c.parts[1:] == ("transformer-periodic",)
)


def compile_hybrid(request: Request) -> Network:
    """Returns recurrent layers with registers, then a layer of heads.

    Implements: [NerodeTheory]
    """
    stack, budget = LayerStack(request), request.options.budget
    letters = star_free_letters(stack)
    cascade = decompose(letters.dfa, budget)
    machine = tabulate(cascade, letters.dfa, budget)
    layers = MachineLayers(stack, machine, letters.forms)
    flags = [number for number in range(len(machine.levels)) if _is_flag(machine, number)]
    layers.add_all([number for number in range(len(machine.levels)) if number not in flags])
    if flags:
        _add_flags(stack, layers, flags)
    else:
        _add_idle_head(stack)
    heads = f"{len(flags)} that are set once by heads" if flags else "attention passes the stream on"
    return stack.network(
        layers.decoder(letters.legal),
        route=f"{letters.route}{cascade.route}: {len(machine.levels)} levels, {heads}",
        reference=Reference("NerodeTheory"),
    )


def _is_flag(machine: LevelMachine, number: int) -> bool:
    """Whether a level is set once and for all, and no other level reads it."""
    level = machine.levels[number]
    resets = {command for command in level.table.values() if command != HOLD}
    return (
        level.kind == "reset"
        and level.num_labels == 2
        and resets == {Reset(1 - level.start)}
        and not machine.is_read(number)
    )


def _add_flags(stack: LayerStack, layers: MachineLayers, flags: list[int]) -> None:
    """Adds the layer of heads that say whether each level has been set."""
    builder = stack.layer("levels that are set once")
    for number in flags:
        level = layers.machine.levels[number]
        commands = layers.commands(number, builder, otherwise=HOLD)
        event = commands.is_given(Reset(1 - level.start))
        name = label_name(number, 1 - level.start, level)
        state = builder.coordinate(name, gate=1 - event, write=event)
        there = builder.output(name, state)
        labels = [1 - there, there] if level.start == 0 else [there, 1 - there]
        layers.labels[number] = LevelLabels(new=labels, old=[])
    stack.append(builder.build(heads=["once"] * len(flags)), builder.stream)


def _add_idle_head(stack: LayerStack) -> None:
    """Adds a layer of attention that passes the stream on: its head never has anything to say."""
    builder = stack.layer("attention that passes the stream on")
    builder.coordinate("idle", gate=1, write=0)
    stack.append(builder.build(heads=["once"]), builder.stream)


HYBRID_REGISTERS = Construction(
    name="hybrid-registers",
    title="registers by recurrent layers, flags by heads",
    theorem="star-free-selective",
    language=star_free,
    architecture=registers_and_heads,
    build=compile_hybrid,
)

HYBRID_CLOCKED_REGISTERS = Construction(
    name="hybrid-clocked-registers",
    title="registers by recurrent layers, flags by heads, over letters marked with positions",
    theorem="hybrid-clocked-registers",
    language=quasi_aperiodic,
    architecture=registers_and_heads & _clocked,
    build=compile_hybrid,
)
