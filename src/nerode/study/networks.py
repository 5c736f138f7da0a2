"""The networks of one language: compiled for one target or for all, with what is proved of each.

Searches for further facts (context windows, noise, fragile words) write what they find into the certificate
of a network, where the kernel checks it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Literal

from nerode.algebra import Profile
from nerode.compiler import Options, compile_language
from nerode.core import Budget, BudgetExceeded, InputError, NotCompilable, read_json, started
from nerode.languages import Language
from nerode.network import Network
from nerode.proofs import (
    ANY_ORDER,
    CERTIFICATE_FILE,
    DTYPES,
    EXACT,
    FRAGILE,
    RECOGNISE,
    STEP_BY_STEP,
    UNDER_NOISE,
    UP_TO_LENGTH,
    VALID_PREFIXES,
    WINDOW,
    Certificate,
    Claim,
    Refutation,
    Unproved,
    certificate_from_json,
    certify_boxes,
    find_fragile_words,
    find_window,
    prove_network,
    read_language,
    read_network,
    write_certificate,
)
from nerode.records import first_prefixes
from nerode.verdict import ARCHITECTURES, State, VerdictTask, averaging_heads, collect_facts, nearest_heads

TARGETS = (
    "diagonal",
    "diagonal-signed",
    "diagonal-complex",
    "householder",
    "permutation-diagonal",
    "dense",
    "ssm",
    "elman-relu",
    "elman-tanh",
    "lstm",
    "gru",
    "slstm",
)
"""The classes that networks are made for, and one architecture for each kind of nonlinear cell."""


def all_targets() -> dict[str, tuple[str, ...]]:
    """Returns the targets above and one architecture of each other class, with those that share its class.

    Two architectures of one class get the same network, so that it is compiled and certified once. Of
    attention there are the classes that constructions are made for.
    """
    found = {target: ARCHITECTURES[target].properties for target in TARGETS}
    for row in ARCHITECTURES.values():
        properties = row.properties
        attends = averaging_heads(properties) or nearest_heads(properties)
        if properties not in found.values() and (attends or properties.state is not State.CACHE):
            found[row.name] = properties
    # The class of GRU and Elman cells is the same, their constructions are not.
    return {
        target: tuple(
            row.name
            for row in ARCHITECTURES.values()
            if row.properties == properties and row.name != target and row.name not in TARGETS
        )
        for target, properties in found.items()
    }


_COMPILING = 0.3
"""The share of the seconds for each network that compiling it may take."""

_CELLS = 40_000
"""Cells of one proof among many: windows of twenty letters have a million."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkStudy:
    """The network of a language for one target and its proof, or the reasons why there is none.

    Attributes:
        target: the class or architecture.
        also: other classes and architectures that get the same network.
        network: None if none was made.
        result: the certificate, or why there is none; None if there is no network.
        refusals: why no network was made.
    """

    target: str
    network: Network | None
    result: Certificate | Refutation | Unproved | None
    refusals: tuple[str, ...] = ()
    also: tuple[str, ...] = ()

    @property
    def lengths(self) -> dict[str, str]:
        """The lengths at which each float format is proved correct: "all", a number, or ""."""
        found = dict.fromkeys(DTYPES, "")
        if isinstance(self.result, Certificate):
            for claim in self.result.claims:
                if claim.dtype is None or claim.task == WINDOW or found[claim.dtype] == "all":
                    continue
                if claim.scope in (ANY_ORDER, STEP_BY_STEP):
                    found[claim.dtype] = "all"
                elif claim.scope == UP_TO_LENGTH and isinstance(claim.length, int):
                    found[claim.dtype] = f"{claim.length:,}"
        return found

    @property
    def size(self) -> str:
        """Layers, states and parameters in words."""
        if self.network is None:
            return ""
        layers = f"{self.network.depth} layer{'s' if self.network.depth != 1 else ''}"
        return f"{layers}, {self.network.state_size} states, {self.network.num_parameters:,} numbers"

    @property
    def proofs(self) -> list[str]:
        """The claims, in a few words each."""
        if isinstance(self.result, Certificate):
            return summarise(self.result.claims)
        if isinstance(self.result, Unproved):
            return [f"no proof found: {self.result.reason}"]
        return [] if self.result is None else ["refuted"]

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The proved claims; empty without a certificate."""
        return self.result.claims if isinstance(self.result, Certificate) else ()

    @property
    def is_proved(self) -> bool:
        """Whether there is a certificate."""
        return isinstance(self.result, Certificate)


def study_network(language: Language, target: str, *, budget: Budget | None = None) -> NetworkStudy:
    """Returns the network of a language for one target, with its proof or the reason why there is none.

    Args:
        language: the language.
        target: a class or an architecture.
        budget: limits; half of the seconds are for the proof.
    """
    budget = started(budget)
    try:
        network = compile_language(language, target, Options(budget=budget.part()))
    except NotCompilable as refusal:
        return NetworkStudy(target=target, network=None, result=None, refusals=refusal.reasons)
    except BudgetExceeded as stop:
        return NetworkStudy(target=target, network=None, result=None, refusals=(str(stop),))
    return NetworkStudy(target=target, network=network, result=prove_network(network, language, budget))


def study_networks(
    language: Language,
    *,
    targets: Mapping[str, tuple[str, ...]] | None = None,
    profile: Profile | None = None,
    budget: Budget | None = None,
    seconds_each: float = math.inf,
) -> list[NetworkStudy]:
    """Returns a network and its certificate for each target, or the reasons why there is none.

    Targets that get the same network stand together.

    Args:
        language: the language.
        targets: classes or architectures, each with others of its class; all when None.
        profile: the algebra's findings, computed when None.
        budget: limits; each network and each proof may take half of the seconds that are left.
        seconds_each: the most that a proof may take; a part of it for compiling, and where registers fade.
    """
    budget = started(budget)
    facts = collect_facts(language, task=VerdictTask.RECOGNISE, profile=profile, budget=budget)
    found: list[NetworkStudy] = []
    for target, also in (all_targets() if targets is None else targets).items():
        try:
            budget.check_time()
            options = Options(budget=budget.part(seconds=_COMPILING * seconds_each))
            network = compile_language(language, target, options, facts=facts)
        except NotCompilable as refusal:
            reasons = refusal.reasons
            found.append(NetworkStudy(target=target, also=also, network=None, result=None, refusals=reasons))
            continue
        except BudgetExceeded as stop:
            reasons = (str(stop),)
            found.append(NetworkStudy(target=target, also=also, network=None, result=None, refusals=reasons))
            continue
        twin = next((i for i, s in enumerate(found) if s.network and _same(s.network, network)), None)
        if twin is None:
            result = prove_network(network, language, _for_one(budget, seconds_each))
            found.append(NetworkStudy(target=target, also=also, network=network, result=result))
        else:
            found[twin] = replace(found[twin], also=(*found[twin].also, target, *also))
    return found


def _for_one(budget: Budget, seconds: float) -> Budget:
    """The budget of one proof among many, each of which may take so many seconds."""
    if math.isinf(seconds):
        return budget.part()
    return replace(budget.part(seconds=seconds), elements=min(budget.elements, _CELLS))


def _same(one: Network, other: Network) -> bool:
    """Whether two networks differ in their target and origin only: what is proved of one holds for both."""
    return replace(one, target=other.target, origin=other.origin) == other


def _where(claim: Claim) -> str:
    """The words that a claim is about, or the part of an answer, unless it is about all."""
    words = first_prefixes(claim.covers) if claim.method.startswith("n-gram") else ""
    return words + {VALID_PREFIXES: " on valid prefixes", RECOGNISE: ", membership only"}.get(claim.task, "")


def summarise(claims: Iterable[Claim]) -> list[str]:
    """Returns claims in a few words each: formats that are exact at all lengths together in one line."""
    claims = list(claims)
    lines = []
    exact = [c for c in claims if c.scope == EXACT and c.task not in (WINDOW, FRAGILE)]
    if exact:
        where = _where(exact[0])
        eps = "" if exact[0].eps is None else f", L1 below {float(exact[0].eps):.2g}"
        lines.append(f"all lengths, exact{where}{eps}")
    bits = [c for c in claims if c.scope in (ANY_ORDER, STEP_BY_STEP)]
    formats = list(dict.fromkeys(c.dtype for c in bits if c.dtype))
    for where in dict.fromkeys(map(_where, bits)):
        named = dict.fromkeys(str(c.dtype) for c in bits if _where(c) == where)
        lines.append(f"all lengths, bit for bit in {', '.join(named)}{where}")
    for claim in claims:
        if claim.scope == UP_TO_LENGTH and claim.dtype not in formats:
            lines.append(f"{claim.dtype} up to length {claim.length:,}")
        if claim.scope == UNDER_NOISE and claim.eps is not None:
            lines.append(f"all lengths under noise below {float(claim.eps):.3g}")
    return lines


Question = Literal["window", "noise", "fragile"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The outcome of a search for a claim.

    Attributes:
        question: "window", "noise" or "fragile".
        problem: why nothing is proved; empty if something is.
    """

    question: Question
    problem: str = ""

    @property
    def found(self) -> bool:
        """Whether the certificate has a claim of this kind now."""
        return not self.problem


def add_claims(
    folder: Path, questions: Sequence[Question], *, eps: Fraction | None = None, budget: Budget | None = None
) -> list[Search]:
    """Returns what searches found about the network of a folder, whose certificate then has the claims.

    Args:
        folder: with a network, its language and its certificate.
        questions: what to search for: the number of last letters that matter; the largest noise under which
            the network is correct; a word along which a linear layer keeps every error.
        eps: for windows the change that older letters may make; for fragile words a size of noise, whose
            expected time until it is fatal is claimed, too.
        budget: limits; the searches share the seconds.
    """
    budget = started(budget)
    network, language = read_network(folder), read_language(folder)
    searches = []
    for number, question in enumerate(questions):
        share = budget.part(1 / (len(questions) - number))
        outcome = _search(question, network, language, eps, share)
        if isinstance(outcome, Certificate):
            _extend(folder / CERTIFICATE_FILE, outcome)
            searches.append(Search(question=question))
        else:
            problem = outcome.reason if isinstance(outcome, Unproved) else "the network fails on some word"
            searches.append(Search(question=question, problem=problem))
    return searches


def _search(
    question: Question, network: Network, language: Language, eps: Fraction | None, budget: Budget
) -> Certificate | Refutation | Unproved:
    try:
        match question:
            case "window":
                return find_window(network, language, eps=eps, budget=budget)
            case "fragile":
                sizes = () if eps is None else (eps,)
                return find_fragile_words(network, language, sizes=sizes, budget=budget)
            case "noise":
                return _find_noise(network, language, budget)
    except BudgetExceeded as stop:
        return Unproved(reason=str(stop))


def _find_noise(network: Network, language: Language, budget: Budget) -> Certificate | Refutation | Unproved:
    """The certificate with the largest noise that is found."""
    try:
        outcome = certify_boxes(network, language, budget=budget)
    except InputError as error:
        return Unproved(reason=str(error))
    if isinstance(outcome, Certificate) and all(claim.scope != UNDER_NOISE for claim in outcome.claims):
        return Unproved(reason="no positive noise margin was found")
    return outcome


def _extend(path: Path, found: Certificate) -> None:
    """Writes claims and evidence into a certificate; those of the same methods are replaced."""
    known = certificate_from_json(read_json(path))
    kept = [claim for claim in known.claims if claim.method not in found.evidence]
    joined = replace(known, claims=(*kept, *found.claims), evidence={**known.evidence, **found.evidence})
    write_certificate(path, joined)
