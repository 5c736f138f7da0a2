"""False certificates made by hand, by somebody who has read the checkers: none may be accepted.

    python -m benchmarks forgeries [--limit N] [--seed S] [--methods METHOD ...]

A family is one idea of a forger: start values, signs, complex parts, swapped letters, stronger words than
evidence, roundings that cancel. It is tried on the case of every method of proof that it can speak of
(`benchmarks.corruption` has the cases and the judge). Each forgery is handed in twice: with its hashes bound
again, and with evidence that the kernel itself completes. `_forged_modules` has models that were built to be
wrong where a replay in floats does not look.

    refused    not accepted
    true       accepted, and the judge finds no fault: what was changed does not matter
    false      accepted, and a claim is false
"""

from __future__ import annotations

import argparse
import copy
import functools
import itertools
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from benchmarks._forged_modules import MODULES
from benchmarks.corruption import REFUSALS, Case, KernelCase, Parts, PolishedCase, cases
from nerode import kernel
from nerode.compiler import compile_language
from nerode.languages import describe_language, resolve_language
from nerode.network import network_to_json

Json = Any
Forger = Callable[[Case], Iterator[Parts]]


@dataclass(frozen=True, kw_only=True)
class Family:
    """One idea of a forger.

    Attributes:
        name: of the idea.
        forge: yields the forged parts of a case; none where it has nothing to say.
        kernel_only: whether it needs network, language and certificate as the kernel reads them.
        never: whether no forgery of it can be true, so that the judge is not asked.
    """

    name: str
    forge: Forger
    kernel_only: bool = True
    never: bool = False


_WORDS = 60
"""Changes of one claim."""


class _Choice(random.Random):
    """Says whether the forger completes the evidence."""

    def __init__(self, completes: bool) -> None:
        super().__init__(0)
        self._value = 0.0 if completes else 1.0

    def random(self) -> float:
        """Returns 0 or 1."""
        return self._value


def _copy(case: Case) -> Parts:
    return copy.deepcopy(case.parts)


def _places(data: Json, key: str = "") -> Iterator[tuple[Json, Any]]:
    """Yields (holder, key) of every number of a network; columns, indices and sizes are none."""
    if isinstance(data, dict):
        for name, value in data.items():
            if name not in ("origin", "version", "inputs", "images", "reads", "alphabet", "empty", "answers"):
                yield from _places(value, name)
        return
    if not isinstance(data, list):
        return
    for i, value in enumerate(data):
        is_entry = key in ("rows", "matrix", "matrices") and len(data) == 2 and isinstance(data[0], int)
        if isinstance(value, list | dict):
            yield from _places(value, key)
        elif _is_number(value) and not (is_entry and i == 0):
            yield data, i


def _is_number(value: Json) -> bool:
    return type(value) is int or (isinstance(value, str) and value[:1] in "-0123456789e" and value != "e")


def _changed(case: Case, change: Callable[[Json], Json], part: str = "") -> Iterator[Parts]:
    """Yields the case with one number of its network changed, each in turn."""

    def within(parts: Parts) -> Json:
        return [layer[part] for layer in parts[0]["layers"]] if part else parts[0]

    for i in range(len(list(_places(within(case.parts), "start")))):
        parts = _copy(case)
        holder, key = list(_places(within(parts), "start"))[i]
        changed = change(holder[key])
        if changed != holder[key]:
            holder[key] = changed
            yield parts


def _starts(case: Case) -> Iterator[Parts]:
    """Every coordinate starts elsewhere."""
    for value in (0, "1/2", 1, -1, 2):
        yield from _changed(case, lambda _, value=value: value, "start")


def _signs(case: Case) -> Iterator[Parts]:
    """Every number of the network with the other sign."""
    yield from _changed(case, lambda value: f"-{value}" if str(value)[0] != "-" else str(value)[1:])


def _complex_parts(case: Case) -> Iterator[Parts]:
    """Every number of the network times i, in layers that are real and in complex ones."""
    for parts in _changed(case, lambda value: f"{value}*e(1/4)" if "e" not in str(value) else value):
        yield copy.deepcopy(parts)
        for layer in parts[0]["layers"]:
            layer["complex_state"] = not layer["complex_state"]
        yield parts


def _huge(case: Case) -> Iterator[Parts]:
    """Every number of the network beyond the range of float32."""
    yield from _changed(case, lambda value: str(1 << 140))


def _cancelling(case: Case) -> Iterator[Parts]:
    """A score gets two large terms that cancel: the network is the same, and no float computes it."""
    decoder = case.parts[0]["decoder"]
    if decoder["kind"] != "scores":
        return
    # The judge of networks with tanh or exp computes in floats itself.
    kinds = {layer["recurrence"]["kind"] for layer in case.parts[0]["layers"]}
    powers = (
        (9, 12, 25) if case.method in ("boxes", "state-boxes") or "gated-cell" in kinds else (9, 12, 25, 54)
    )
    for power, output in itertools.product(powers, range(len(decoder["scores"]["bias"]))):
        parts = _copy(case)
        decoder = parts[0]["decoder"]
        units, scores = decoder["units"], decoder["scores"]
        for sign in (1, -1):
            units["rows"].append([])
            units["bias"].append(1 << power)
            scores["rows"][output].append([scores["inputs"], sign])
            scores["inputs"] += 1
        yield parts


def _empty_answers(case: Case) -> Iterator[Parts]:
    """Another answer before the first letter."""
    for symbol in ("$", *case.parts[0]["alphabet"]):
        parts = _copy(case)
        said = parts[0]["decoder"]["empty"]
        said.remove(symbol) if symbol in said else said.append(symbol)
        yield parts


def _tied_points(case: Case) -> Iterator[Parts]:
    """A point of the decoder gets the answer of another, or a twin with it."""
    decoder = case.parts[0]["decoder"]
    if decoder["kind"] != "points":
        return
    for i, j in itertools.permutations(range(len(decoder["points"])), 2):
        for twin in (False, True):
            parts = _copy(case)
            table = parts[0]["decoder"]
            if twin:
                table["points"].append(table["points"][i])
                table["answers"].append(table["answers"][j])
            else:
                table["answers"][i] = table["answers"][j]
            yield parts


def _letters(case: Case) -> Iterator[Parts]:
    """Two letters for each other: in the network, in the language, and in both."""
    symbols = case.parts[0]["alphabet"]
    for a, b in itertools.combinations(range(len(symbols)), 2):
        for network, language in ((True, False), (False, True), (True, True)):
            parts = _copy(case)
            definition = parts[1]["definition"]
            if network:
                listed = parts[0]["alphabet"]
                listed[a], listed[b] = listed[b], listed[a]
            if language and "alphabet" in definition:
                listed = definition["alphabet"]
                listed[a], listed[b] = listed[b], listed[a]
            elif language and "pairs" in definition:
                (p, i), (q, j) = divmod(a, 2), divmod(b, 2)
                pairs = definition["pairs"]
                pairs[p][i], pairs[q][j] = pairs[q][j], pairs[p][i]
            yield parts


def _languages(case: Case) -> Iterator[Parts]:
    """A language that differs in one end, one move, one rule, one depth or one probability."""
    definition = case.parts[1]["definition"]

    def forged(change: Callable[[Json], Any]) -> Parts:
        parts = _copy(case)
        change(parts[1]["definition"])
        return parts

    match definition["form"]:
        case "dfa":
            for state in range(len(definition["transitions"])):
                flipped = sorted({*definition["accepting"]} ^ {state})
                yield forged(lambda d, flipped=flipped: d.update(accepting=flipped))
                yield forged(lambda d, state=state: d.update(start=state))
                for letter in range(len(definition["alphabet"])):
                    for target in range(len(definition["transitions"])):
                        if target != definition["transitions"][state][letter]:
                            yield forged(
                                lambda d, s=state, a=letter, t=target: d["transitions"][s].__setitem__(a, t)
                            )
        case "brackets":
            for depth in (1, 2, 4, 9, None):
                if depth != definition["depth"]:
                    yield forged(lambda d, depth=depth: d.update(depth=depth))
        case "counters":
            for number in range(len(definition["rules"])):
                yield forged(lambda d, number=number: d["rules"].pop(number))
                yield forged(lambda d, n=number: d["rules"][n].update(end=not d["rules"][n]["end"]))
                for key in ("zero", "positive"):
                    yield forged(lambda d, n=number, key=key: d["rules"][n].update({key: []}))
            for letter in range(len(definition["increments"])):
                yield forged(
                    lambda d, a=letter: d["increments"].__setitem__(a, [2 * v for v in d["increments"][a]])
                )


def _evidence(case: Case) -> Iterator[Parts]:
    """Every number of the evidence a little larger, a little smaller, negated and 0; every list reversed."""
    evidence = _stated(case.parts)
    count = len(list(_leaves(evidence)))
    for i, act in itertools.product(range(count), range(4)):
        parts = _copy(case)
        holder, key = list(_leaves(_stated(parts)))[i]
        value = Fraction(holder[key])
        new = (value + 1, value - 1, -value, Fraction(0))[act]
        holder[key] = int(new) if type(holder[key]) is int else str(new)
        yield parts
    for i in range(len(list(_lists(evidence)))):
        for act in range(3):
            parts = _copy(case)
            found = list(_lists(_stated(parts)))[i]
            found.reverse() if act == 0 else found.pop() if act == 1 else found.append(found[0])
            yield parts


def _stated(parts: Parts) -> Json:
    """The evidence of a certificate; of a polished network its group, letters and blocks."""
    data = parts[2]
    return data["evidence"] if "evidence" in data else {key: data[key] for key in ("letters", "blocks")}


def _leaves(data: Json) -> Iterator[tuple[Json, Any]]:
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        if isinstance(value, dict | list):
            yield from _leaves(value)
        elif type(value) is int or (
            isinstance(value, str) and value.lstrip("-")[:1].isdigit() and len(value) < 30
        ):
            try:
                Fraction(value)
            except ValueError:
                continue
            yield data, key


def _lists(data: Json) -> Iterator[list[Json]]:
    if isinstance(data, list) and data:
        yield data
    for value in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from _lists(value)


def _stronger_words(case: Case) -> Iterator[Parts]:
    """Claims that say more than what was shown, on the same evidence."""
    if "claims" not in case.parts[2]:
        for change in ({"length": 10**9}, {"dtype": "float64"}, {"claim": "Correct."}):
            parts = _copy(case)
            parts[2].update(change)
            yield parts
        return
    honest = case.parts[2]["claims"]
    known = [kernel.claim_from_json(claim) for claim in honest]
    scopes = [scope for scope in kernel.SCOPES if scope != kernel.TESTED]
    choices: dict[str, Sequence[Json]] = {
        "scope": scopes,
        "dtype": [*kernel.DTYPES, None],
        "length": ["all", 10**9],
        "eps": ["1/1000000", "1", "100", None],
        "task": kernel.TASKS,
        "method": kernel.METHODS,
        "covers": ["Correct.", *(claim["covers"] for claim in honest)],
    }
    single = [(key, value) for key, values in choices.items() for value in values]
    pairs = [*((p, p) for p in single), *itertools.combinations(single, 2)]
    choose = random.Random(case.method)
    for claim in honest:
        for first, second in choose.sample(pairs, min(len(pairs), _WORDS)):
            stated = {**claim, first[0]: first[1], second[0]: second[1]}
            try:
                if any(_says_no_more(kernel.claim_from_json(stated), shown) for shown in known):
                    continue
            except kernel.Unreadable:
                continue
            parts = _copy(case)
            parts[2]["claims"] = [*honest, stated]
            yield parts


def _numbers_in_words(case: Case) -> Iterator[Parts]:
    """Every number of every sentence one larger and one smaller; also where it was computed from roots."""
    if "claims" not in case.parts[2]:
        return
    given = [case.parts, *([_turned()] if case.method == "identity-word" else [])]
    for known in given:
        for i, claim in enumerate(known[2]["claims"]):
            words = claim["covers"].split(" ")
            for at, by in itertools.product(range(len(words)), (1, -1, 3)):
                if not words[at].isdecimal():
                    continue
                parts = copy.deepcopy(known)
                changed = [*words[:at], str(int(words[at]) + by), *words[at + 1 :]]
                parts[2]["claims"][i]["covers"] = " ".join(changed)
                yield parts


def _says_no_more(stated: kernel.Claim, shown: kernel.Claim) -> bool:
    """Whether a claim follows from one that was shown: a larger error of a window or of a model does."""
    if stated.method == shown.method in ("window", "n-gram-contexts") and stated.eps and shown.eps:
        stated = replace(stated, eps=min(stated.eps, shown.eps))
    return shown.implies(stated)


@functools.cache
def _turned() -> Parts:
    """A layer that turns by a fifth; noise just above half the gap |1 - e(1/5)| needs one reading."""
    language = resolve_language("cycle-navigation")
    network = network_to_json(compile_language(language, "diagonal-complex"))
    described = describe_language(language)
    words = {"layer": 1, "first": [], "second": [">"], "identity": [">"] * 5, "apart": []}
    parts = json.loads(json.dumps([network, described]))
    proof = kernel.prove(*parts, "identity-word", words, eps=Fraction("0.5877852523"))
    return [*parts, json.loads(json.dumps(kernel.certificate_to_json(kernel.seal(*parts, [proof]))))]


def _other_evidence(case: Case) -> Iterator[Parts]:
    """The evidence under the name of another method, with its claims."""
    for method in kernel.METHODS:
        if method in case.parts[2]["evidence"]:
            continue
        parts = _copy(case)
        evidence, claims = parts[2]["evidence"], parts[2]["claims"]
        evidence[method] = evidence.pop(case.method)
        for claim in claims:
            claim["method"] = method if claim["method"] == case.method else claim["method"]
        yield parts
        parts = _copy(case)
        parts[2]["evidence"]["integer-exactness"] = {"proof": method}
        yield parts


def _held_coordinate(case: Case) -> Iterator[Parts]:
    """A coordinate that holds 1, and a cover that says it holds 2 or 3, wherever a slot starts.

    The score of the first letter gets 10·relu(value - x - 10·(1 - full)), which is 0 while x is `value`.
    """
    if case.method != "stack-invariant":
        return
    slots = len(case.parts[2]["evidence"][case.method]["slots"])
    for value, slot, first in itertools.product((2, 3), range(slots), ("0", "1/2", "1/3")):
        parts = _copy(case)
        network, evidence = parts[0], parts[2]["evidence"][case.method]
        if not hold_coordinate(network, str(value)):
            return
        at, _, name = evidence["slots"][slot][0].partition(":")
        layer = network["layers"][int(at) - 1]
        layer["start"][layer["state"].index(name)] = first
        evidence["affine"]["1:x"] = [value, [0] * len(evidence["counters"])]
        yield parts


def hold_coordinate(network: Json, value: str) -> bool:
    """Adds a coordinate that holds 1 to the first layer; the first letter is legal while it is `value`.

    Returns whether the network has the form that this is for.
    """
    layer, decoder = network["layers"][0], network["decoder"]
    if layer["recurrence"]["kind"] != "diagonal" or "full" not in decoder["reads"]:
        return False
    width = len(layer["state"])
    layer["state"].append("x")
    layer["start"].append("1")
    for part, bias in (("gate", "1"), ("write", "0")):
        layer["recurrence"][part]["rows"].append([])
        layer["recurrence"][part]["bias"].append(bias)
    place = len(layer["reads"]) + width
    for part in ("readout_units", "readout"):
        inserted = [place, place + 1 + width] if layer["exposes_previous"] else [place]
        for at in inserted:
            for row in layer[part]["rows"]:
                for entry in row:
                    entry[0] += entry[0] >= at
            layer[part]["inputs"] += 1
    layer["outputs"].append("x")
    layer["readout"]["bias"].append("0")
    layer["readout"]["rows"].append([[place, "1"]])
    full, last = decoder["reads"].index("full"), len(decoder["reads"])
    decoder["reads"].append("x")
    decoder["units"]["inputs"] += 1
    decoder["units"]["rows"].append([[full, "10"], [last, "-1"]])
    decoder["units"]["bias"].append(str(Fraction(value) - 10))
    for row in decoder["scores"]["rows"]:
        for entry in row:
            entry[0] += entry[0] >= last
    decoder["scores"]["inputs"] += 2
    decoder["scores"]["rows"][0].append([decoder["scores"]["inputs"] - 1, "10"])
    return True


def _head_kinds(case: Case) -> Iterator[Parts]:
    """Heads of attention under the name of another kind."""
    for number, layer in enumerate(case.parts[0]["layers"]):
        if layer["recurrence"]["kind"] != "attention":
            continue
        for i, kind in itertools.product(range(len(layer["state"])), ("last", "once", "previous", "mean")):
            parts = _copy(case)
            parts[0]["layers"][number]["recurrence"]["heads"][i] = kind
            yield parts


def _weights(case: Case) -> Iterator[Parts]:
    """Weights of a module moved by one place: rows for each other, signs, a ramp without its edge."""
    for which, part in enumerate(case.parts[:2]):
        if not isinstance(part, dict) or not all(isinstance(value, list) for value in part.values()):
            continue
        for name, value in part.items():
            if not value or not isinstance(value[0], list):
                continue
            for act in range(3):
                parts = _copy(case)
                table = parts[which][name]
                if act == 0:
                    table.append(table.pop(0))
                elif act == 1:
                    table[0] = [-v for v in table[0]]
                else:
                    table[-1] = list(table[0])
                yield parts


def _products_of_others(case: Case) -> Iterator[Parts]:
    """A polished network that multiplies as its certificate says, and not as its question asks."""
    if not isinstance(case, PolishedCase):
        return
    letters = range(len(case.parts[2]["letters"]))
    for a, b in itertools.combinations(letters, 2):
        parts = _copy(case)
        _, weights, proof = parts
        read = next(value for name, value in weights.items() if name.endswith("W.weight"))
        for listed in (*read, proof["letters"], *proof["blocks"]):
            listed[a], listed[b] = listed[b], listed[a]
        yield parts


FAMILIES = (
    Family(name="start values", forge=_starts),
    Family(name="signs", forge=_signs),
    Family(name="complex parts", forge=_complex_parts),
    Family(name="beyond the range", forge=_huge),
    Family(name="sums that cancel", forge=_cancelling),
    Family(name="the empty word", forge=_empty_answers),
    Family(name="tied points", forge=_tied_points),
    Family(name="relabelled letters", forge=_letters),
    Family(name="another language", forge=_languages),
    Family(name="held coordinates", forge=_held_coordinate),
    Family(name="kinds of heads", forge=_head_kinds),
    Family(name="evidence", forge=_evidence, kernel_only=False),
    Family(name="stronger words", forge=_stronger_words, kernel_only=False, never=True),
    Family(name="numbers in sentences", forge=_numbers_in_words, never=True),
    Family(name="another method", forge=_other_evidence),
    Family(name="swapped weights", forge=_weights, kernel_only=False),
    Family(name="products of others", forge=_products_of_others, kernel_only=False, never=True),
)


def attempts(case: Case, family: Family, limit: int, seed: int) -> Iterator[str]:
    """Yields "refused", "true" or "false: …" for a sample of the forgeries of a case."""
    if family.kernel_only and not isinstance(case, KernelCase):
        return
    forged = list(family.forge(case))
    choose = random.Random(f"{seed} {case.method} {family.name}")
    for parts in choose.sample(forged, min(limit, len(forged))):
        for completes in (False, True) if isinstance(case, KernelCase) and not family.never else (False,):
            yield _outcome(case, family, copy.deepcopy(parts), completes)


def _outcome(case: Case, family: Family, parts: Parts, completes: bool) -> str:
    try:
        claims = case.accept(parts, _Choice(completes))
    except (*REFUSALS, RuntimeError, KeyError, IndexError) as error:
        if isinstance(case, KernelCase) and not isinstance(error, REFUSALS):
            raise
        return "refused"
    if not claims:
        return "refused"
    if family.never:
        return f"false: {case.method}, {family.name}: {claims[-1]}"
    try:
        fault = case.fault(parts, claims)
    except ValueError as error:  # the simulator finds no network or language in the parts
        fault = str(error)
    return f"false: {case.method}, {family.name}: {fault}" if fault else "true"


def run(
    limit: int, seed: int, methods: Sequence[str] = (), tell: Callable[[str], None] = print
) -> dict[tuple[str, str], Counter[str]]:
    """Returns how the forgeries of each family and method ended, and prints a line for each family."""
    found: dict[tuple[str, str], Counter[str]] = {}
    begun = time.process_time()
    known = [case for case in cases() if not methods or case.method in methods]
    for family in FAMILIES:
        for case in known:
            for outcome in attempts(case, family, limit, seed):
                found.setdefault((family.name, case.method), Counter())[outcome] += 1
        _tell_family(family.name, found, tell)
    for module_family, forgeries in MODULES.items():
        if methods and not any(forgery.method in methods for forgery in forgeries):
            continue
        for forgery in forgeries:
            outcome = "false: accepted" if forgery.is_accepted() else "refused"
            found.setdefault((module_family, forgery.method), Counter())[outcome] += 1
        _tell_family(module_family, found, tell)
    tell(f"{time.process_time() - begun:,.0f} CPU seconds")
    return found


def _tell_family(name: str, found: dict[tuple[str, str], Counter[str]], tell: Callable[[str], None]) -> None:
    rows = {method: counts for (family, method), counts in found.items() if family == name}
    total = sum(rows.values(), Counter[str]())
    false = [outcome for outcome in total if outcome.startswith("false")]
    count = sum(total[outcome] for outcome in false)
    tell(
        f"{name:<22}{len(rows):>3} methods{total['refused']:>8,} refused{total['true']:>7,} true"
        f"{count:>5,} false"
    )
    for outcome in false[:5]:
        tell(f"  {outcome[:300]}")


def main(arguments: Sequence[str] = ()) -> int:
    """Prints the families; the exit code is 1 if a false certificate was accepted."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks forgeries")
    parser.add_argument("--limit", type=int, default=40, help="forgeries of a family on one case (40)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample")
    parser.add_argument("--methods", nargs="*", metavar="METHOD", default=[], help="only these methods")
    given = parser.parse_args(arguments)
    found = run(given.limit, given.seed, given.methods)
    wrong = sum(n for counts in found.values() for outcome, n in counts.items() if outcome[:5] == "false")
    families = {family for family, _ in found}
    print(f"{len(families)} families over {len({method for _, method in found})} methods: {wrong} accepted")
    if wrong:
        sys.exit(1)
    return 0
