"""Star-free languages as decoders: a cascade of set-reset automata whose registers are heads of attention.

A level of a cascade is overwritten or held at each letter. A head that looks for the latest position that did
not hold returns what was written there: the label. The next level needs the labels before the letter, which
heads that look one position back supply. So a depth of the cascade takes two layers of attention, the tables
of commands being the ReLU units between them.

Softmax needs the score of a match to be exactly 0. Therefore `hold` is a sum of units that are all 0 at a
match: the table of commands has a row for every case in which a level is held.
"""

from __future__ import annotations

from collections.abc import Sequence

from nerode.algebra.cascades import HOLD, Reset, decompose
from nerode.compiler.construction import Construction, Request
from nerode.compiler.constructions.star_free import star_free_letters
from nerode.compiler.forms import DirectionForm, total
from nerode.compiler.level_codings import CommandForms, Indicators, label_name
from nerode.compiler.level_layers import answer_table
from nerode.compiler.level_machine import LevelMachine, tabulate
from nerode.compiler.network_builder import LayerStack
from nerode.compiler.tables import decode_table
from nerode.core import NotCompilable, Reference
from nerode.network import Network
from nerode.verdict import nearest_heads, periodic_vectors, quasi_aperiodic, star_free


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
