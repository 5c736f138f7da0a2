"""Star-free languages as softmax decoders: size, proof, CPU seconds, and answers on words of 10,000 letters.

Options: `--words N` sets the length of the words (0 for none), `--random N` the number of random automata,
and `--NAME` restricts the table to a language. Words are random ones and adversarial ones, in which letters
that change no state come in long runs. Each is read at once (the fused kernel), the adversarial ones also
letter by letter.

A line of JSON per language and length goes to experiments/attention/words.jsonl. Languages whose line is
there, for the same weights and words, are not read again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nerode.algebra import find_counter
from nerode.algebra.cascades import decompose
from nerode.compiler import Options, compile_language
from nerode.core import Budget, BudgetExceeded, NotCompilable
from nerode.languages import Alphabet, Dfa, Dyck, Language, RegularLanguage, minimise
from nerode.languages.bestiary import BESTIARY, find_language
from nerode.models import Model
from nerode.models.lower import network_to_decoder
from nerode.proofs import Certificate, certify
from nerode.proofs.replay.attention.checker import check_decoder
from nerode.proofs.replay.listing import fingerprint
from nerode.verdict import ARCHITECTURES, decide

TARGET = "transformer-alibi"
COUNTERS = ("majority", "dyck-1", "anbn", "anbncn", "shuffle-2", "shuffle-4", "boolean-3", "boolean-5")
LENGTH = 10_000
KEPT = Path("experiments/attention/words.jsonl")


def words_of(language: Language, length: int) -> list[list[int]]:
    """Returns a word of random legal letters, and one with long runs of letters that change nothing."""
    rng = np.random.default_rng(0)
    found, letters = [], list(range(len(language.alphabet)))
    for hold in (0.0, 0.995):
        word, place = list[int](), language.initial()
        while len(word) < length:
            idle = [a for a in letters if language.advance(place, a) == place]
            legal = sorted(language.legal(place).symbols) or letters
            letter = int(rng.choice(idle if idle and rng.random() < hold else legal))
            word.append(letter)
            place = language.advance(place, letter)
        found.append(word)
    return found


def words_read(name: str, model: Model, language: Language, length: int) -> dict[str, Any]:
    """Returns how the words of a language were read; kept from an earlier run if nothing has changed."""
    asked = {"language": name, "length": length, "model": fingerprint(model)}
    for line in KEPT.read_text().splitlines() if KEPT.exists() else ():
        known = json.loads(line)
        if asked.items() <= known.items():
            return dict(known)
    started = time.process_time()
    at_once, stepped = count_wrong(model, language, length)
    found = {**asked, "wrong": at_once, "stepped_wrong": stepped}
    found["cpu_seconds"] = round(time.process_time() - started, 1)
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    with KEPT.open("a") as file:
        file.write(json.dumps(found) + "\n")
    return found


@torch.no_grad()
def count_wrong(model: Model, language: Language, length: int) -> tuple[int, int]:
    """Returns the number of wrong positions, read at once and letter by letter."""
    at_once = stepped = 0
    for adversarial, word in enumerate(words_of(language, length)):
        place, expected = language.initial(), []
        for letter in word:
            place = language.advance(place, letter)
            legal = language.legal(place)
            expected.append([*(a in legal.symbols for a in range(len(language.alphabet))), legal.end])
        wanted = torch.tensor(expected)
        at_once += int(((model(torch.tensor([word]))[0][0] > 0.5) != wanted).any(-1).sum())
        if not adversarial:
            continue
        state, rows = model.initial_state(1), []
        for letter in word:
            row, state = model.step(torch.tensor([letter]), state)
            rows.append(row[0])
        scores = torch.stack(rows)
        stepped += int(((scores > 0.5) != wanted).any(-1).sum())
    return at_once, stepped


def star_free(names: Sequence[str]) -> list[tuple[str, Language, Dfa | None]]:
    """Returns the star-free languages, with their automata unless these are too large to be built."""
    found: list[tuple[str, Language, Dfa | None]] = []
    for name in names or BESTIARY:
        language = find_language(name)
        if not language.regular:
            continue
        try:
            dfa = language.dfa()
        except BudgetExceeded:
            # Bounded brackets are star-free, however many stacks there are.
            if isinstance(language, Dyck):
                found.append((name, language, None))
            continue
        if find_counter(dfa) is None:
            found.append((name, language, dfa))
    return found


def report_star_free(names: Sequence[str], length: int) -> None:
    """Prints the table of star-free languages."""
    print(
        f"{'language':<22} {'construction':<18} {'blocks':>6} {'k':>3} {'cascade':>7} {'2k+1':>5} "
        f"{'heads':>5} {'joint':>6} {'letters':>10} {'margin':>6} {'kernel':>6} "
        f"{'CPU s':>6} {'wrong':>6} {'stepped':>7}"
    )
    total, every = 0.0, 0
    for name, language, dfa in star_free(names):
        started = time.process_time()
        try:
            network = compile_language(language, TARGET)
            exact = isinstance(certify(network, language), Certificate)
            model = network_to_decoder(network, TARGET)
            proof = check_decoder(model, language)
        except (NotCompilable, BudgetExceeded) as refusal:
            print(f"{name:<22} {refusal}")
            continue
        spent = time.process_time() - started
        total, every = total + spent, every + (proof.length == "all")
        depth, blocks, most = "-", "-", "-"
        if dfa is not None:
            levels = decompose(dfa, Budget()).depth
            cascade = compile_language(language, TARGET, Options(construction="star-free-heads"))
            depth, most = str(levels), str(2 * levels + 1)
            blocks = str(len(network_to_decoder(cascade, TARGET).blocks))
        read = words_read(name, model, language, length) if length else {}
        print(
            f"{name:<22} {network.origin.construction:<18} {len(model.blocks):>6} {depth:>3} {blocks:>7} "
            f"{most:>5} {len(proof.heads):>5} {proof.joint_states:>6} {proof.length:>10} "
            f"{proof.margin:>6.2f} {'yes' if exact else 'NO':>6} {spent:>6.1f} {read.get('wrong', '-'):>6} "
            f"{read.get('stepped_wrong', '-'):>7}",
            flush=True,
        )
    print(f"compiled and proved in {total:.1f} CPU s; {every} at every length")


def report_counters() -> None:
    """Prints counter languages with their horizons."""
    for name in COUNTERS:
        language: Language = find_language(name)
        target = "transformer-nope" if not name.startswith("an") else TARGET
        started = time.process_time()
        network = compile_language(language, target)
        exact = isinstance(certify(network, language), Certificate)
        proof = check_decoder(network_to_decoder(network, target), language)
        spent = time.process_time() - started
        print(f"{name:<22} {target:<18} kernel {exact}, float32 up to {proof.length:,}, {spent:.1f} CPU s")


def report_random(count: int) -> None:
    """Compiles and proves random star-free automata."""
    rng, done, started = np.random.default_rng(16), 0, time.process_time()
    while done < count:
        states = int(rng.integers(2, 7))
        table = rng.integers(states, size=(states, 2))
        dfa = minimise(
            Dfa(
                alphabet=Alphabet(("a", "b")),
                transitions=table,
                start=0,
                accepting=rng.random(states) < 0.5,
            )
        )
        if dfa.num_states < 2 or find_counter(dfa) is not None:
            continue
        language = RegularLanguage(name="random", automaton=dfa, convention="")
        network = compile_language(language, TARGET, Options(construction="star-free-heads"))
        assert isinstance(certify(network, language), Certificate)
        assert check_decoder(network_to_decoder(network, TARGET), language).length in (1 << 24, "all")
        done += 1
    print(
        f"{done} random star-free automata compiled and proved in {time.process_time() - started:.1f} CPU s"
    )


def report_open() -> None:
    """Prints the number of open cells in the columns of attention."""
    names = [
        name
        for name, row in ARCHITECTURES.items()
        if "transformer" in " ".join((name, *row.properties.parts))
    ]
    senses = ("exact", "finite-precision", "ieee")
    for task in ("recognise", "predict"):
        open_cells = dict.fromkeys(senses, 0)
        for language in BESTIARY:
            table = decide(find_language(language), architectures=names, task=task)
            for sense in senses:
                open_cells[sense] += sum(table[name, sense].status.value == "open" for name in names)
        print(f"open cells of {len(names)} columns, to {task}: {open_cells}")


def main(options: Sequence[str] = ()) -> None:
    """Prints all tables, or the first one for the languages that are named."""
    given = list(options)
    length, count = LENGTH, 200
    if "--words" in given:
        i = given.index("--words")
        length = int(given[i + 1])
        del given[i : i + 2]
    if "--random" in given:
        i = given.index("--random")
        count = int(given[i + 1])
        del given[i : i + 2]
    report_star_free([name.lstrip("-") for name in given], length)
    if not given:
        report_counters()
        report_random(count)
        report_open()
