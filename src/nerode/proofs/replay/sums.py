"""Replaying a certificate of weights that compute what an exact network computes, without rounding a sum.

The evidence has the exact network with its own certificate, which the kernel checks, and says of each number
of the module's state whether it is affine in the numbers of the network's state, or free. Numbers of the
network are whole: in ranges, or counters, to which a letter adds at most so much. Both are stepped on forms
(`forms`): for every letter, on boxes that are cut until every sign is known, the module's scores are on the
side of 1/2 where the network's are, and its state is again what the evidence says of the network's.

So the module answers as the network does, in any order of summation: at every length if all numbers stay in
boxes, up to a length if counters grow by at most so much. Of prefixes of words in a bounded Dyck language a
counter of its brackets stays between 0 and the depth.
"""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from nerode.core import Budget, FormatError, InputError, started
from nerode.kernel import (
    DTYPES,
    EXACT,
    PREDICT,
    VALID_PREFIXES,
    Certificate,
    Claim,
    Failure,
    first_not_implied,
    language_claim,
)
from nerode.languages import Dyck, Language, describe_language
from nerode.models import Model, State
from nerode.network import Network, NetworkStep, ScoreDecoder, network_from_json
from nerode.proofs.folder import check
from nerode.proofs.replay.bits import NOT_EMPTY, find_foreign
from nerode.proofs.replay.forms import (
    Bools,
    Floats,
    FormNumbers,
    Forms,
    LetterForms,
    Room,
    array,
    concatenated,
    linear,
    number_of,
)
from nerode.proofs.replay.listing import fingerprint
from nerode.proofs.replay.words import find_contradiction

Json = Any

METHOD = "exact-sums"

KEYS = ("certificate", "counters", "dtype", "joint", "length", "module", "network", "ranges", "state", "task")

_AT_ONCE = 128
"""Boxes that are stepped together."""

_LOOSE = 2.0**40
"""Bound of numbers of the state that are free; they are seen by no score."""

_CORNERS = 16
"""Corners of boxes from which the module itself steps, after the proof."""

_TAKEN = (
    " Of exp, log and the logistic function it is taken for granted that they give 0, 1 or their argument "
    "where they are within 2^-30 of it, or below the least number of the format. Numbers on which no score "
    "depends may be rounded."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evidence:
    """The evidence, read.

    Attributes:
        network: the exact one.
        task: PREDICT or VALID_PREFIXES.
        length: up to which it is claimed; None for all.
        low, high: of each number of the network's state; of counters up to the length.
        steps: the most that a letter adds to each number that is a counter, -1 for others.
        joint: all values that the others take together, a row each; None for all within their ranges.
        tied: which numbers of the module's state are affine in those of the network's; the others are free.
        factors, constants: of those (numbers, numbers of the network) and (numbers,).
    """

    network: Network
    task: str
    length: int | None
    low: Floats
    high: Floats
    steps: Floats
    joint: Floats | None
    tied: Bools
    factors: Floats
    constants: Floats


def replay_sums(
    model: Model,
    language: Language,
    certificate: Certificate,
    *,
    network: str,
    budget: Budget | None = None,
) -> Failure | None:
    """Returns why a certificate does not hold for a model, None if it holds.

    Args:
        model: its scores are above 1/2 for what may follow.
        language: what it should do.
        certificate: claims with the evidence of this method only.
        network: the SHA-256 that it has to name: of the subject, or of the weights.
        budget: limits the time.
    """
    if foreign := find_foreign(certificate, METHOD, language, network):
        return foreign
    listed, budget = certificate.evidence[METHOD], started(budget)
    try:
        found = _read(listed, model, language)
        failure = _unproved(listed, found, language, budget) or _first_difference(
            model, found, language, str(listed["dtype"]), budget
        )
    except (InputError, FormatError) as error:
        return Failure(what=str(error), entry=f"evidence.{METHOD}")
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError) as error:
        what = f"the evidence makes no sense, or the model does what no lemma speaks of: {error}"
        return Failure(what=what, entry=f"evidence.{METHOD}")
    return (
        failure
        or first_not_implied(certificate.claims, [sums_claim(found.task, str(listed["dtype"]), found.length)])
        or _contradiction(model, found, language, str(listed["dtype"]))
        or find_contradiction(model, language, found.length or "all", valid=found.task != PREDICT)
    )


def sums_claim(task: str, dtype: str, length: int | None) -> Claim:
    """Returns the claim that such evidence shows."""
    reach = "all" if length is None else length
    claim = language_claim(task=task, method=METHOD, dtype=dtype, order="step", length=reach)
    return replace(claim, covers=claim.covers + _TAKEN + NOT_EMPTY)


def _read(listed: Json, model: Model, language: Language) -> _Evidence:
    """The evidence, if it is about this model and well-formed."""
    if not isinstance(listed, dict) or tuple(sorted(listed)) != KEYS:
        raise InputError(f"the evidence does not have the entries {', '.join(KEYS)}")
    if listed["module"] != fingerprint(model):
        raise InputError("the certificate is for another module")
    dtypes = {str(p.dtype).removeprefix("torch.") for p in model.parameters()}
    if dtypes != {listed["dtype"]} or listed["dtype"] not in ("float32", "bfloat16"):
        raise InputError("the weights are not in the format of the evidence, float32 or bfloat16")
    network = network_from_json(listed["network"])
    if tuple(network.alphabet) != tuple(language.alphabet) or not isinstance(network.decoder, ScoreDecoder):
        raise InputError("the network has another alphabet, or no scores")
    if model.config.outputs != len(language.alphabet) + 1:
        raise InputError("the model has not one score for each letter and one for the end")
    task, length = listed["task"], listed["length"]
    if task not in (PREDICT, VALID_PREFIXES) or not (length is None or (type(length) is int and length > 0)):
        raise InputError("the task or the length of the evidence is none")
    width = sum(layer.width for layer in network.layers)
    ranges, state = np.array(listed["ranges"], dtype=np.float64), listed["state"]
    if ranges.shape != (width, 2) or not (ranges == np.floor(ranges)).all():
        raise InputError(f"the evidence does not have {width} ranges of whole numbers")
    steps = np.full(width, -1.0)
    for k, most in listed["counters"].items():
        steps[int(k)] = int(most)
    starts = _start(network)
    counted = steps >= 0
    low, high = ranges.T.copy()
    if counted.any() and length is not None:
        low = np.where(counted, starts - steps * length, low)
        high = np.where(counted, starts + steps * length, high)
    elif counted.any():
        depth = _bracket_depth(language, task)
        low, high = np.where(counted, starts, low), np.where(counted, starts + steps * depth, high)
    if (starts < low).any() or (starts > high).any() or (np.abs([low, high]) > 2.0**52).any():
        raise InputError("the start of the network is outside of its ranges, or they are too large")
    joint = None if listed["joint"] is None else array(listed["joint"])
    if joint is not None and (joint.shape[1:] != ((~counted).sum(),) or not (joint == np.floor(joint)).all()):
        raise InputError("the values that numbers take together are not whole, or of other numbers")
    size = sum(value[0].numel() for value in model.initial_state(1).values())
    if len(state) != size:
        raise InputError(f"the evidence does not speak of the {size} numbers of the state")
    factors, constants = np.zeros((size, width)), np.zeros(size)
    for i, row in enumerate(state):
        constants[i] = 0 if row is None else float(row[0])
        for k, factor in () if row is None else row[1]:
            if type(k) is not int or not 0 <= k < width:
                raise InputError("the evidence speaks of numbers that the network does not have")
            factors[i, k] = float(factor)
    if not (np.isfinite(factors).all() and np.isfinite(constants).all()):
        raise InputError("the evidence has a number that is not finite")
    return _Evidence(
        network=network,
        task=task,
        length=length,
        low=low,
        high=high,
        steps=steps,
        joint=joint,
        tied=np.array([row is not None for row in state], dtype=bool),
        factors=factors,
        constants=constants,
    )


def _bracket_depth(language: Language, task: str) -> int:
    if task != VALID_PREFIXES or not isinstance(language, Dyck) or language.depth is None:
        raise InputError("counters stay bounded on prefixes of words in bounded Dyck languages only")
    return language.depth


def _unproved(listed: Json, found: _Evidence, language: Language, budget: Budget) -> Failure | None:
    """The failure of the exact network's proof at every length, None if the kernel accepts it."""
    result = check(listed["network"], describe_language(language), listed["certificate"], budget=budget)
    if result.failure is not None:
        return result.failure
    tasks = {PREDICT} | {found.task}
    if not any(c.scope == EXACT and c.task in tasks for c in result.claims):
        return Failure(what="nothing is proved of the exact network at every length", entry="certificate")
    return None


def _first_difference(
    model: Model, found: _Evidence, language: Language, dtype: str, budget: Budget
) -> Failure | None:
    """The first difference between the steps of module and network, None if there is none on all boxes."""
    start = _flat(model.initial_state(1))
    first = _start(found.network)
    tied, meant = found.tied, found.factors @ first + found.constants
    if (start[tied] != meant[tied]).any() or (np.abs(start[~tied]) > _LOOSE).any():
        return Failure(what="the module starts in another state", entry=f"evidence.{METHOD}.state")
    others = first[found.steps < 0]
    if found.joint is not None and not (found.joint == others).all(1).any():
        return Failure(what="the start of the network is not listed", entry=f"evidence.{METHOD}.joint")
    work: list[tuple[int, Floats, Floats]] = list(_letters(found, language))
    done = 0
    while work:
        budget.check("elements", done + len(work), boxes=done)
        budget.check_time(boxes=done)
        some, work = work[-_AT_ONCE:], work[:-_AT_ONCE]
        letters = np.array([letter for letter, _, _ in some])
        low, high = (np.array([ends[i] for ends in some]) for i in (1, 2))
        room = Room.of(low, high, DTYPES[dtype].bits)
        problem = _compare(model, found, room, letters)
        for row in np.flatnonzero(room.symbol >= 0).tolist():
            k, cut = int(room.symbol[row]), room.cut[row]
            for part in ((low[row], _with(high[row], k, cut)), (_with(low[row], k, cut + 1), high[row])):
                work.append((int(letters[row]), *part))
        kept = room.symbol < 0
        for row in np.flatnonzero(kept & (problem != "")).tolist():
            name = language.alphabet.symbols[int(letters[row])]
            return Failure(what=f"on {name!r} {problem[row]}", entry=f"evidence.{METHOD}.state")
        done += int(kept.sum())
    return None


def _with(values: Floats, k: int, value: float) -> Floats:
    changed = values.copy()
    changed[k] = value
    return changed


def _letters(found: _Evidence, language: Language) -> Iterator[tuple[int, Floats, Floats]]:
    """Each letter with the box before it."""
    for letter in range(len(language.alphabet)):
        low, high = found.low.copy(), found.high.copy()
        if found.length is None:
            assert isinstance(language, Dyck) or not (found.steps >= 0).any()
            closes = letter % 2
            # A counter of brackets is at c · depth: below the bound before an opening one, else above 0.
            for k in np.flatnonzero(found.steps >= 0):
                if closes:
                    low[k] += found.steps[k]
                else:
                    high[k] -= found.steps[k]
        for row in [None] if found.joint is None else found.joint:
            if row is not None:
                low, high = low.copy(), high.copy()
                low[found.steps < 0] = high[found.steps < 0] = row
            if (low <= high).all():
                yield letter, low, high


def _compare(model: Model, found: _Evidence, room: Room, letters: Any) -> Any:
    """The fault of each row that is not split; empty where there is none."""
    rows, width = len(letters), len(found.low)
    # Of a box without width in a number that is a number and no choice.
    fixed = room.low == room.high
    numbers = Forms.constant(room, np.where(fixed, room.low, 0.0))
    numbers.coef[:, np.arange(width), 1 + np.arange(width)] = ~fixed
    read: Any = LetterForms(room, letters)
    before: Any = _state(model, found, numbers)
    scores: Any
    after: Any
    scores, after = model.advance(read, before)
    exact = room.exact()
    inside = Forms(exact, numbers.coef, numbers.loose)
    wanted, then = _network_step(found.network, inside, letters)
    wrong = np.full(rows, "", dtype=object)
    for forms in (scores, wanted):
        low, high = forms.ends()
        if forms.loose.any():
            wrong[(forms.loose).any(1)] = "a score is rounded"
        room.ask(_shifted(forms.coef), ~((low > 0.5) | (high <= 0.5)) & ~forms.loose)
    wrong[((scores.ends()[0] > 0.5) != (wanted.ends()[0] > 0.5)).any(1)] = "the scores differ"
    got = _joined(after)
    tied, meant = found.tied, _meant(found, then)
    differs = (got.coef != meant.coef).any(-1) | got.loose | meant.loose
    wrong[(differs & tied).any(1)] = "the states differ"
    free = got.size()
    wrong[((free > _LOOSE) & ~tied).any(1)] = "a free number may grow without bound"
    wrong[_leaves(found, inside, then, letters)] = "a number of the network leaves its range"
    wrong[room.wild] = "a number may overflow"
    return wrong


def _shifted(coef: Floats) -> Floats:
    shifted = coef.copy()
    shifted[..., 0] -= 0.5
    return shifted


def _leaves(found: _Evidence, before: Forms, then: Forms, letters: Any) -> Any:
    """The rows in which a number leaves its range or is not whole, or a counter adds something else."""
    low, high = then.ends()
    whole = (then.last_bit() >= 0) & ~then.loose
    change = then.coef - before.coef
    alone, added = ~(change[..., 1:] != 0).any(-1), change[..., 0]
    if found.length is None:
        # Of brackets: an opening one adds as much as a closing one takes away.
        counts = alone & (added == np.where(letters % 2, -1.0, 1.0)[:, None] * found.steps)
    else:
        counts = alone & (np.abs(added) <= found.steps)
    counted = found.steps >= 0
    kept = (low >= found.low) & (high <= found.high)
    if found.joint is not None:
        others = low[:, None, ~counted] == found.joint
        kept = ((low == high) & others.all(2).any(1)[:, None]) if others.size else low == high
    return (~whole | np.where(counted, ~counts, ~kept)).any(1)


def _network_step(network: Network, numbers: Forms, letters: Any) -> tuple[Forms, Forms]:
    """The scores of the network after a letter, and its state."""
    arithmetic = FormNumbers(numbers.room)
    step = NetworkStep(network, arithmetic)
    edges = np.cumsum([0, *(layer.width for layer in network.layers)])
    states = [numbers[:, slice(a, b)] for a, b in itertools.pairwise(edges.tolist())]
    after, stream = step.step(states, letters)
    decoder = network.decoder
    assert isinstance(decoder, ScoreDecoder)
    reads = arithmetic.with_units(decoder.units, "units")(step.decoded(stream))
    return arithmetic.map(decoder.scores, "scores")(reads), arithmetic.join(after) if after else numbers


def _state(model: Model, found: _Evidence, numbers: Forms) -> dict[str, Forms]:
    """The state of the module where the network's has these numbers."""
    meant = _meant(found, numbers)
    if (meant.loose & found.tied).any():
        raise InputError("the evidence names numbers of the state with more bits than float64 holds")
    free = np.broadcast_to(~found.tied, meant.loose.shape)
    bound: Floats = np.where(free, _LOOSE, 0.0)
    whole = Forms(numbers.room, meant.coef, free, bound * -1.0, bound)
    state, first = {}, 0
    for name, value in sorted(model.initial_state(1).items()):
        last = first + value[0].numel()
        shape = (-1, *value.shape[1:])
        state[name] = whole[:, slice(first, last)].reshaped(functools.partial(np.reshape, shape=shape))
        first = last
    return state


def _meant(found: _Evidence, numbers: Forms) -> Forms:
    """The numbers of the module's state that the evidence names, from those of the network's, exactly."""
    return linear(Forms(numbers.room.exact(), numbers.coef), found.factors, found.constants)


def _joined(state: dict[str, Any]) -> Forms:
    """The numbers of a state, its tensors in the order of their names."""
    return concatenated([state[name].reshaped(lambda p: p.reshape(len(p), -1)) for name in sorted(state)], 1)


def _start(network: Network) -> Floats:
    return np.array([number_of(value) for layer in network.layers for value in layer.start], dtype=np.float64)


def _flat(state: State) -> Floats:
    return np.concatenate([array(state[name]).reshape(-1) for name in sorted(state)])


@torch.no_grad()
def _contradiction(model: Model, found: _Evidence, language: Language, dtype: str) -> Failure | None:
    """A guard: why the module itself does not step as its network from a corner of a box.

    Corners have the numbers of the longest words; what the format does not hold is passed over. This is no
    part of the proof.
    """
    choose = random.Random(fingerprint(model))
    boxes = list(_letters(found, language))
    for letter, *ends in choose.sample(boxes, min(_CORNERS, len(boxes))):
        corner = np.array([[choose.choice(pair) for pair in zip(*ends, strict=True)]])
        room = Room.of(corner, corner, DTYPES[dtype].bits).exact()
        before = Forms.constant(room, corner)
        wanted, then = _network_step(found.network, before, np.array([letter]))
        state, flat = model.initial_state(1), np.where(found.tied, _meant(found, before).ends()[0][0], 0.0)
        sizes = [state[name].numel() for name in sorted(state)]
        for name, part in zip(sorted(state), np.split(flat, np.cumsum(sizes)[:-1]), strict=True):
            state[name] = torch.from_numpy(part).reshape(state[name].shape).to(state[name].dtype)
        if (_flat(state) != flat).any():
            continue
        scores, after = model.step(torch.tensor([letter]), state)
        agrees = np.array_equal(array(scores) > 0.5, wanted.ends()[0] > 0.5) and bool(scores.isfinite().all())
        if not agrees or (_flat(after) != _meant(found, then).ends()[0][0])[found.tied].any():
            name = language.alphabet.symbols[letter]
            what = f"at a corner of a box the module contradicts its network on {name!r}"
            return Failure(what=what, entry=f"evidence.{METHOD}.ranges")
    return None
