"""Hybrids: registers by recurrent layers, and by heads what is set once and for all.

A recurrence holds a register for ever in every float format, which attention does not. Attention sees
position vectors, which a recurrence with gates in [0,1] cannot make. So the cascade of a language over
letters that are marked with their position modulo m is done by both: levels that are overwritten again and
again are registers of recurrent layers, levels that are set once, and that no other level reads, are heads.
"""

from __future__ import annotations

from nerode.algebra.cascades import HOLD, Reset, decompose
from nerode.compiler.construction import Construction, Request
from nerode.compiler.constructions.attention_counters import registers_and_heads
from nerode.compiler.constructions.star_free import star_free_letters
from nerode.compiler.level_codings import LevelLabels, label_name
from nerode.compiler.level_layers import MachineLayers
from nerode.compiler.level_machine import LevelMachine, tabulate
from nerode.compiler.network_builder import LayerStack
from nerode.core import Reference
from nerode.network import Network
from nerode.verdict import ClassCondition, quasi_aperiodic, star_free

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
