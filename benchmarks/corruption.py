"""Corrupted certificates with their hashes made to fit: what the checkers accept must be true.

    python -m benchmarks corruption [--count N] [--seed S] [--processes N]

Every method of proof has a small network with a certificate. Entries of network, language and certificate are
changed, the hashes bound again, and the parts handed to the kernel (bit closures to the replay, softmax
decoders and polished networks to their checkers). Sometimes the forger also completes the changed evidence
with the kernel's own `prove`. Each accepted certificate is judged by a simulator in plain fractions, which
runs the network on all short words and on longer ones, chosen to hurt; claims in floats are judged by the
module itself.

    true       accepted, and the simulator finds no fault
    refused    not accepted
    wrong      accepted, but a claim is false
    crash      an error that is no clean refusal, or a check far beyond its budget
"""

from __future__ import annotations

import argparse
import copy
import functools
import hashlib
import itertools
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from safetensors.numpy import load as load_tensors, save as save_tensors

from benchmarks._arpa_training import DecimalOracle
from benchmarks._simulator import FORMATS, Answer, Simulator, Watch, words_to
from nerode import kernel
from nerode.analysis import LoadedNetwork
from nerode.analysis.polish import polish
from nerode.compiler import NgramOptions, Options, compile_language
from nerode.core import Budget, BudgetExceeded, FormatError, InputError
from nerode.kernel import Certificate, Claim, OverBudget, Unreadable, WorkBudget
from nerode.languages import Language, describe_language, language_from_description, resolve_language
from nerode.languages.groups import finite_monoid
from nerode.languages.ngrams import (
    BackoffModel,
    NgramLanguage,
    ngram_language,
    parse_arpa,
)
from nerode.models import LayerConfig, Model, ModelConfig
from nerode.models.lower import network_to_decoder
from nerode.models.network_module import load_model
from nerode.network import Network, network_from_json, network_hash, network_to_json
from nerode.proofs import certify, check_polished, find_fragile_words, find_window
from nerode.proofs.counters import counter_cover, find_integrators, slot_cover
from nerode.proofs.find.cells import certify_state_boxes
from nerode.proofs.find.closure import certify_floats
from nerode.proofs.find.heads import certify_decoder
from nerode.proofs.proving import Prover
from nerode.proofs.replay.attention.checker import replay_heads
from nerode.proofs.replay.attention.records import METHOD as DECODERS
from nerode.proofs.replay.bits import METHOD as BIT_CLOSURE, recheck
from nerode.proofs.replay.listing import fingerprint
from nerode.records import hash_tensors
from nerode.tasks import StateTracking
from nerode.tasks.synthetic.state_tracking import StateTrackingSettings
from tests.languages.ngrams.counted import model_from_sentences

Json = Any
Parts = list[Json]
"""The JSON values of a case: network, language, certificate; for polished networks three files."""

BUDGET = WorkBudget(seconds=2.0, cells=20_000)
MOST_SECONDS = 20.0
"""A check that takes longer has not kept its budget."""

SHORT, LONG, LONG_WORDS = 100, 40, 4
"""Short words that are all read, and letters and number of the longer ones."""


WITH_EPS = ("n-gram-contexts", "window", "identity-word")
"""Methods that take an eps to claim."""


class Case(Protocol):
    """Parts that are corrupted, and what judges them."""

    method: str
    parts: Parts
    share: int

    def accept(self, parts: Parts, choose: random.Random) -> Sequence[Claim]:
        """Returns the claims that are accepted, none for a refusal; errors of the kernel are refusals."""

    def fault(self, parts: Parts, claims: Sequence[Claim]) -> str:
        """Returns why an accepted claim is false, "" if no fault is found."""


@dataclass(kw_only=True)
class KernelCase:
    """A certificate that the kernel checks."""

    method: str
    parts: Parts
    share: int

    def accept(self, parts: Parts, choose: random.Random) -> Sequence[Claim]:
        """Returns the claims that are accepted, sometimes after the forger has completed the evidence."""
        network, language, certificate = parts
        if choose.random() < 0.3:
            certificate = self._completed(network, language, certificate) or certificate
        if isinstance(certificate, dict):
            certificate["network"] = _hash(network)
            certificate["language"] = _hash(_entry(language, "definition"))
        result = kernel.check(network, language, certificate, budget=BUDGET)
        return result.claims if result.ok else ()

    def _completed(self, network: Json, language: Json, certificate: Json) -> Json:
        evidence = _entry(_entry(certificate, "evidence"), self.method)
        if not isinstance(evidence, dict):
            return None
        description = {key: value for key, value in evidence.items() if key not in ("cells", "digest")}
        eps = next((c.eps for c in _claims(certificate) if c.eps is not None), None)
        eps = eps if self.method in WITH_EPS else None
        proof = kernel.prove(network, language, self.method, description, eps=eps, budget=BUDGET)
        return None if proof.failure else kernel.certificate_to_json(kernel.seal(network, language, [proof]))

    def fault(self, parts: Parts, claims: Sequence[Claim]) -> str:
        """Returns the first claim that the simulator finds false."""
        network, language, certificate = parts
        for claim in claims:
            fault = _judge(network, language, claim, certificate)
            if fault:
                return f"{claim.scope}, {claim.task}: {fault}"
        return ""


@functools.lru_cache(maxsize=4_096)
def _facts(network: str, definition: str) -> Facts:
    return Facts(json.loads(network), json.loads(definition))


def _judge(network: Json, language: Json, claim: Claim, certificate: Json) -> str:
    meaning = {key: value for key, value in network.items() if key not in ("origin", "target")}
    names = {"name": "-", "convention": "-", "family": "-", "parameters": {}}
    facts = _facts(_text(meaning), _text({**language, **names}))
    if claim.method == "n-gram-contexts":
        backs_off = isinstance(facts.language.model, BackoffModel)  # type: ignore[attr-defined]
        return facts.wrong_backoff(claim) if backs_off else facts.wrong_distribution(claim)
    if claim.task == kernel.WINDOW:
        letters = certificate["evidence"][claim.method]["letters"]
        return facts.wrong_window(letters, claim.eps)
    if claim.task == kernel.FRAGILE:
        return facts.not_fragile(certificate["evidence"][claim.method])
    if claim.scope == kernel.UNDER_NOISE:
        return facts.wrong(claim.task, noise=claim.eps)
    fault = facts.wrong(claim.task)
    if not fault and claim.dtype is not None and (claim.length == "all" or int(claim.length) >= LONG):
        return facts.inexact(claim.dtype, claim.task)
    return fault


class Facts:
    """Facts about a network and a language, found by the simulator; each question is answered once."""

    def __init__(self, network: Json, language: Json) -> None:
        self.network = network
        self.language: Language = language_from_description(language)
        self.letters = list(self.language.alphabet)
        self.definition = language["definition"]
        self.simulator = Simulator(network)
        self.answers: dict[Any, str] = {}
        self.broken: dict[str, set[str]] = {}

    def wrong(self, task: str, noise: Fraction | None = None) -> str:
        """Returns a word on which the network is wrong, "" if none is found."""
        key = (task, noise)
        if key not in self.answers:
            self.answers[key] = self._find_wrong(task, noise)
        return self.answers[key]

    def _find_wrong(self, task: str, noise: Fraction | None) -> str:
        if not _agrees(task, self._legal(self.language.initial()), self.simulator.empty):
            return "the empty word"
        choose = random.Random(5)
        for word in self.words():
            if noise is None:
                if self._fails(word, task, None, 0.0):
                    return str(word)
                continue
            size = float(noise) if self.simulator.floats else noise
            if len(word) >= 2 and self._fails(word, task, choose, size):
                return f"{word} with noise"
        return ""

    def _fails(self, word: tuple[int, ...], task: str, noise: random.Random | None, eps: Any) -> bool:
        states, configuration = self.simulator.start(), self.language.initial()
        for letter in word:
            if task == kernel.VALID_PREFIXES and letter not in self.language.legal(configuration).symbols:
                return False
            states, reads = self.simulator.step(states, letter, noise, eps)
            configuration = self.language.advance(configuration, letter)
            got = self.simulator.answer(reads)
            if got is None or not _agrees(task, self._legal(configuration), got):
                return True
        return False

    def _legal(self, configuration: Any) -> Answer:
        legal = self.language.legal(configuration)
        return frozenset(self.letters[a] for a in legal.symbols), legal.end

    def words(self) -> Iterator[tuple[int, ...]]:
        """Yields the longest of all short words, and long words: random, repetitive and legal ones."""
        count, longest = len(self.letters), 1
        while longest < 12 and count ** (longest + 1) <= SHORT:
            longest += 1
        yield from (word for word in words_to(longest, count) if len(word) == longest)
        choose = random.Random(7)
        for _ in range(LONG_WORDS):
            yield tuple(choose.randrange(count) for _ in range(LONG))
            yield self._legal_word(choose)
        for a, b in itertools.product(range(min(count, 4)), repeat=2):
            yield (a,) * 14 + (b,) * 14

    def _legal_word(self, choose: random.Random) -> tuple[int, ...]:
        word, configuration = [], self.language.initial()
        for _ in range(LONG):
            legal = sorted(self.language.legal(configuration).symbols)
            if not legal:
                break
            word.append(choose.choice(legal))
            configuration = self.language.advance(configuration, word[-1])
        return tuple(word)

    def inexact(self, dtype: str, task: str) -> str:
        """Returns whether some sum is not a number of a float format, "" if none is found."""
        if task not in self.broken:
            self.broken[task] = self._find_broken(task)
        return f"a sum is not exact in {dtype}" if dtype in self.broken[task] else ""

    def _find_broken(self, task: str) -> set[str]:
        watch = Watch(list(FORMATS), random.Random(3))
        simulator = Simulator(self.network, watch=watch)
        for word in self.words():
            states, configuration = simulator.start(), self.language.initial()
            for letter in word:
                if task == kernel.VALID_PREFIXES and letter not in self.language.legal(configuration).symbols:
                    break
                states, reads = simulator.step(states, letter)
                simulator.answer(reads)
                configuration = self.language.advance(configuration, letter)
        return watch.broken

    def wrong_window(self, letters: int, eps: Fraction | None) -> str:
        """Returns two words with the same last letters that are told apart, "" if none are found."""
        choose, count = random.Random(11), len(self.letters)
        for _ in range(40):
            recent = [choose.randrange(count) for _ in range(min(letters, LONG))]
            reads = []
            for _ in range(2):
                states = self.simulator.start()
                old = [choose.randrange(count) for _ in range(choose.randrange(9))]
                for letter in (*old, *recent):
                    states, seen = self.simulator.step(states, letter)
                reads.append(seen)
            if letters > LONG or not recent:
                continue
            if eps is None and self.simulator.answer(reads[0]) != self.simulator.answer(reads[1]):
                return f"{letters} letters do not decide"
            if eps is not None and any(_is_apart(a, b, eps) for a, b in zip(*reads, strict=True)):
                return f"{letters} letters leave more than {eps}"
        return ""

    def not_fragile(self, evidence: Json) -> str:
        """Returns why a word is no identity on two states of a layer that the language tells apart."""
        number = evidence["layer"] - 1
        number_of = {symbol: i for i, symbol in enumerate(self.letters)}
        words = {k: [number_of[s] for s in evidence[k]] for k in ("first", "second", "identity", "apart")}

        def run(word: Sequence[int], states: Any) -> Any:
            for letter in word:
                states = self.simulator.step(states, letter)[0]
            return states

        ends = [run(words[name], self.simulator.start()) for name in ("first", "second")]
        back = [run(words["identity"], end) for end in ends]
        near = all(
            _is_near(a, b)
            for one, other in zip(ends, back, strict=True)
            for x, y in zip(one[: number + 1], other[: number + 1], strict=True)
            for a, b in zip(x, y, strict=True)
        )
        apart = [
            self.language.legal_along([self.letters[a] for a in (*words[name], *words["apart"])])[-1]
            for name in ("first", "second")
        ]
        return "" if near and apart[0] != apart[1] and words["identity"] else "no identity, or not told apart"

    def wrong_distribution(self, claim: Claim) -> str:
        """Returns a prefix after which the distribution is too far from the model's, "" if none is found."""
        key = ("distribution", claim.task, claim.eps)
        if key not in self.answers:
            self.answers[key] = self._find_wrong_distribution(claim)
        return self.answers[key]

    def wrong_backoff(self, claim: Claim) -> str:
        """Returns a prefix after which the distribution is too far from a back-off model's, "" if none is."""
        key = ("back-off", claim.eps)
        if key not in self.answers:
            self.answers[key] = self._find_wrong_backoff(claim)
        return self.answers[key]

    def _find_wrong_backoff(self, claim: Claim) -> str:
        model = self.definition["model"]
        lines = ["\\data\\"]
        for length, level in enumerate(model["levels"], start=1):
            lines.append(f"\\{length}-grams:")
            lines += [f"{log} {words} {weight}" for words, (log, weight) in level.items()]
        oracle, names = DecimalOracle("\n".join(lines)), (*self.letters, "</s>")
        bound = 1e-9 if claim.eps is None else float(claim.eps) + 1e-9
        for word in [(), *words_to(4, len(self.letters))]:
            states, reads = self.simulator.start(), self.simulator.start_reads()
            for letter in word:
                states, reads = self.simulator.step(states, letter)
            wanted = oracle.distribution([names[w] for w in word], normalise=model["normalised"])
            got = self.simulator.distribution(reads)
            distance = sum(abs(p - float(wanted[name])) for p, name in zip(got, names, strict=True))
            if distance > bound:
                return f"{distance} after {word}"
        return ""

    def _find_wrong_distribution(self, claim: Claim) -> str:
        assert isinstance(self.language, NgramLanguage)
        model, count = self.language.model, len(self.letters)
        choose, rng = random.Random(13), np.random.default_rng(13)
        bound = 1e-9 if claim.eps is None else float(claim.eps) + 1e-9
        for _ in range(60):
            valid = claim.task == kernel.VALID_PREFIXES
            word = model.sample(rng, max_words=30) if valid else [choose.randrange(count) for _ in range(12)]
            states = self.simulator.start()
            for position, letter in enumerate(word, start=1):
                states, reads = self.simulator.step(states, int(letter))
                if position < model.order - 1:
                    continue
                wanted = model.next_distribution([self.letters[a] for a in word[:position]])
                got = self.simulator.distribution(reads)
                distance = sum(abs(p - float(wanted.get(i, 0))) for i, p in enumerate(got))
                if distance > bound:
                    return f"{distance} after {tuple(word[:position])}"
        return ""


@dataclass(kw_only=True)
class FloatCase:
    """A bit closure of a module, which the replay checks."""

    method: str
    parts: Parts
    share: int
    known: dict[str, str] = field(default_factory=dict)

    def accept(self, parts: Parts, choose: random.Random) -> Sequence[Claim]:
        """Returns the claims that the replay accepts; the hash of the weights is bound again."""
        network, language = network_from_json(parts[0]), language_from_description(parts[1])
        module = load_model(network, dtype=torch.float32).eval()
        data = parts[2]
        if isinstance(data, dict):
            data["network"], data["language"] = _hash(parts[0]), _hash(_entry(parts[1], "definition"))
            evidence = _entry(_entry(data, "evidence"), BIT_CLOSURE)
            if isinstance(evidence, dict):
                evidence["module"] = fingerprint(module)
        certificate = kernel.certificate_from_json(data)
        empty = network.decoder.empty
        failure = recheck(module, language, certificate, empty=empty, network=_hash(parts[0]))
        return () if failure else certificate.claims

    def fault(self, parts: Parts, claims: Sequence[Claim]) -> str:
        """Returns a word on which the module itself is wrong."""
        key = _text([parts[0], parts[1], [kernel.claim_to_json(claim) for claim in claims]])
        if key not in self.known:
            self.known[key] = self._find_fault(parts, claims)
        return self.known[key]

    def _find_fault(self, parts: Parts, claims: Sequence[Claim]) -> str:
        network, language = network_from_json(parts[0]), language_from_description(parts[1])
        module = load_model(network, dtype=torch.float32).eval()
        facts = Facts(parts[0], parts[1])
        for claim, word in itertools.product(claims, facts.words()):
            length = len(word) if claim.length == "all" else min(len(word), int(claim.length))
            state, configuration = module.initial_state(1), language.initial()
            for letter in word[:length]:
                if (
                    claim.task == kernel.VALID_PREFIXES
                    and letter not in language.legal(configuration).symbols
                ):
                    break
                with torch.no_grad():
                    scores, state = module.step(torch.tensor([letter]), state)
                configuration = language.advance(configuration, letter)
                flags = module.legal(scores)[0].tolist()
                got = frozenset(a for a, legal in zip(facts.letters, flags, strict=False) if legal), flags[-1]
                if not _agrees(claim.task, facts._legal(configuration), got):
                    return str(word)
        return ""


@dataclass(kw_only=True)
class PolishedCase:
    """A polished network; its parts are subject.json, the weights as lists, and polish.json.

    Attributes:
        language: what the subject is asked about.
    """

    method: str
    parts: Parts
    share: int
    language: Json

    def accept(self, parts: Parts, choose: random.Random) -> Sequence[Claim]:
        """Returns the claims that the checker of polished networks accepts, for a folder of these parts."""
        subject, weights, proof = parts
        tensors = {name: np.array(value, dtype=np.float32) for name, value in weights.items()}
        content = save_tensors(tensors)
        digest = hash_tensors(content)
        if isinstance(proof, dict):
            proof["weights"] = digest
        if isinstance(subject, dict):
            named = {"language.json": kernel.content_hash(self.language)}
            subject["files"] = {"model.safetensors": digest, **named}
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "subject.json").write_text(json.dumps(subject), encoding="utf-8")
            (folder / "polish.json").write_text(json.dumps(proof), encoding="utf-8")
            (folder / "language.json").write_text(json.dumps(self.language), encoding="utf-8")
            (folder / "model.safetensors").write_bytes(content)
            return check_polished(folder).claims

    def fault(self, parts: Parts, claims: Sequence[Claim]) -> str:
        """Returns a word whose product is not the largest score, for the weights and the exact matrices."""
        _, weights, proof = parts
        group = finite_monoid(proof["group"])
        letters = [group.element(name) for name in proof["letters"]]
        named = {name.rpartition("layer.")[2]: np.array(v, dtype=np.float32) for name, v in weights.items()}
        size = len(proof["blocks"][0][0])
        read = named["W.weight"].T.reshape(len(letters), -1, size, size)
        choose = random.Random(17)
        for claim in claims:
            exact = claim.scope == kernel.EXACT
            matrices = np.array(proof["blocks"], dtype=float).swapaxes(0, 1) / 2.0**160 if exact else read
            most = LONG if exact else min(LONG, int(claim.length))
            for _ in range(40):
                state = np.stack([np.eye(size, dtype=matrices.dtype)] * matrices.shape[1])
                product = group.identity
                for _ in range(most):
                    number = choose.randrange(len(letters))
                    state = matrices[number] @ state
                    product = group.product(product, letters[number])
                    scores = named["C.weight"] @ state.reshape(-1) + named["C.bias"]
                    if int(np.argmax(scores)) != product:
                        return f"{'exact' if exact else claim.dtype}: another product"
        return ""


@dataclass(kw_only=True)
class DecoderCase:
    """A softmax decoder in `model/`; its parts are the weights as lists, the language and the certificate."""

    method: str
    parts: Parts
    share: int
    network: Network
    known: dict[str, str] = field(default_factory=dict)

    def model(self, weights: Json) -> Model:
        """Returns the decoder with these weights."""
        model = network_to_decoder(self.network, self.network.target, dtype=torch.float32)
        tensors = {name: torch.tensor(value, dtype=torch.float32) for name, value in weights.items()}
        model.load_state_dict(tensors)
        return model.eval()

    def accept(self, parts: Parts, choose: random.Random) -> Sequence[Claim]:
        """Returns the claims that the checker of decoders accepts; all hashes are bound again."""
        model, language = self.model(parts[0]), language_from_description(parts[1])
        data = parts[2]
        if isinstance(data, dict):
            data["network"], data["language"] = network_hash(self.network), _hash(parts[1]["definition"])
            evidence = _entry(_entry(data, "evidence"), DECODERS)
            if isinstance(evidence, dict):
                evidence["module"] = fingerprint(model)
        certificate = kernel.certificate_from_json(data)
        budget = Budget(seconds=BUDGET.seconds)
        failure = replay_heads(
            model, language, certificate, network=network_hash(self.network), budget=budget
        )
        return () if failure else certificate.claims

    def fault(self, parts: Parts, claims: Sequence[Claim]) -> str:
        """Returns a word on which the decoder itself is wrong, in its own floats."""
        key = _text([parts[0], parts[1], [kernel.claim_to_json(claim) for claim in claims]])
        if key not in self.known:
            self.known[key] = self._find_fault(parts, claims)
        return self.known[key]

    @torch.no_grad()
    def _find_fault(self, parts: Parts, claims: Sequence[Claim]) -> str:
        model, language = self.model(parts[0]), language_from_description(parts[1])
        facts = Facts(json.loads(json.dumps(network_to_json(self.network))), parts[1])
        for claim, word in itertools.product(claims, facts.words()):
            length = len(word) if claim.length == "all" else min(len(word), int(claim.length))
            state, configuration = model.initial_state(1), language.initial()
            for letter in word[:length]:
                scores, state = model.step(torch.tensor([letter]), state)
                configuration = language.advance(configuration, letter)
                flags = (scores[0] > 0.5).tolist()
                got = frozenset(a for a, legal in zip(facts.letters, flags, strict=False) if legal), flags[-1]
                if not _agrees(claim.task, facts._legal(configuration), got):
                    return str(word)
        return ""


def cases() -> list[Case]:
    """Returns a case for each method of proof, with several networks for the commonest ones."""
    found: list[Case] = [
        *(
            _compiled(name, target)
            for name, target in (
                ("parity", "diagonal-signed"),
                ("z3", "diagonal-complex"),
                ("s3", "deltaproduct-signed"),
                ("tomita-3", "permutation-diagonal"),
                ("tomita-1", "dense"),
                ("parity", "elman-relu"),
            )
        ),
        _compiled("(ab)*", "ssm"),
        _fading(),
        _compiled("dyck-1", "diagonal", share=1),
        _compiled("anbn", "diagonal", share=1),
        _compiled("anbn", "deltanet-signed", share=1),
        _compiled("dyck-1", "ttt-linear", share=1),
        _compiled("majority", "gla", share=1),
        _compiled("dyck-1", "elman-relu", share=1),
        _stacks(),
        _compiled("parity", "elman-tanh"),
        _compiled("parity", "gru"),
        _compiled("parity", "lstm"),
        _state_boxes(),
        _ngrams("softmax"),
        _ngrams("sparsemax"),
        _backoff("ssm"),
        _backoff("elman-relu"),
        *_windows(),
        _compiled("tomita-4", "transformer-hard", share=3),
        _compiled("(aa)*", "transformer-hard-periodic", share=3),
        _compiled("majority", "transformer-nope", share=3),
        _compiled("(aa)*", "s4d", share=3),
        _floats(),
        _decoder("majority", "transformer-nope"),
        _decoder("(aa)*", "transformer-periodic"),
        _polished(),
    ]
    return found


def _compiled(name: str, target: str, share: int = 6) -> KernelCase:
    language = resolve_language(name)
    network = compile_language(language, target)
    return _sealed(network, language, certify(network, language), share)


def _sealed(network: Network, language: Language, certificate: Any, share: int) -> KernelCase:
    if not isinstance(certificate, Certificate):
        raise TypeError(f"{language.name}: {certificate}")
    parts = (network_to_json(network), describe_language(language), kernel.certificate_to_json(certificate))
    return KernelCase(method=certificate.claims[0].method, parts=json.loads(json.dumps(parts)), share=share)


def _fading() -> KernelCase:
    """Registers whose overwritten values fade by 1/4 instead of vanishing."""
    language = resolve_language("(ab)*")
    network = compile_language(language, "diagonal", Options(exclusive_scan=False))
    return _sealed(network, language, certify(network, language), 2)


def _stacks() -> KernelCase:
    language = resolve_language("dyck-2-3")
    network = compile_language(language, "diagonal")
    prover = Prover(network, language)
    integrators = find_integrators(network)
    cover = counter_cover(network, language, integrators, prover.budget) or {}
    cover |= slot_cover(network, language) or {}  # type: ignore[arg-type]
    proof = prover.prove("stack-invariant", {"task": kernel.PREDICT, **cover})
    return _sealed(network, language, prover.outcome(proof), 1)


def _state_boxes() -> KernelCase:
    language = resolve_language("parity")
    network = compile_language(language, "elman-tanh")
    return _sealed(network, language, certify_state_boxes(network, language, letters=(1,)), 4)


def _ngrams(normaliser: str) -> KernelCase:
    model = model_from_sentences([tuple("abca"), tuple("bcb"), tuple("aac")], 2)
    language = ngram_language(model, name="abc")
    options = Options(construction="n-gram-ssm", ngrams=NgramOptions(normaliser=normaliser))
    network = compile_language(language, "ssm", options)
    return _sealed(network, language, certify(network, language), 3)


_ARPA = """\\data\\
ngram 1=5
ngram 2=4
ngram 3=2
\\1-grams:
-0.6 <unk>
-99 <s> -0.30103
-0.7 </s>
-0.5 a -0.2
-0.6 b 0.1
\\2-grams:
-0.25 <s> a -0.4
-0.3 a b -0.1
-0.4 b a
-0.9 b </s>
\\3-grams:
-0.05 <s> a b
-0.15 a b a
\\end\\
"""


def _backoff(target: str) -> KernelCase:
    language = NgramLanguage(name="arpa", model=parse_arpa(_ARPA), convention="-").normalised()
    network = compile_language(language, target)
    return _sealed(network, language, certify(network, language), 3)


def _windows() -> list[KernelCase]:
    """A delay line that forgets, a layer that fades, and a sign that repeats errors."""
    language = resolve_language("(a|b)*b")
    network = compile_language(language, "ssm")
    forgets = _sealed(network, language, find_window(network, language), 3)
    data = network_to_json(network)
    layer = data["layers"][0]
    layer["recurrence"]["matrix"] = [[[i, "1/4"]] for i in range(len(layer["state"]))]
    fading = network_from_json(data)
    eps = Fraction(1, 100)
    fades = _sealed(fading, language, find_window(fading, language, eps=eps), 3)
    parity = resolve_language("parity")
    sign = compile_language(parity, "diagonal-signed")
    repeats = _sealed(sign, parity, find_fragile_words(sign, parity, sizes=(Fraction(1, 10),)), 3)
    return [forgets, fades, repeats]


def _floats() -> FloatCase:
    language = resolve_language("parity")
    network = compile_language(language, "diagonal-signed")
    certificate = certify_floats(network, language, dtype="float32").certificate
    assert certificate is not None
    parts = (network_to_json(network), describe_language(language), kernel.certificate_to_json(certificate))
    return FloatCase(method=BIT_CLOSURE, parts=json.loads(json.dumps(parts)), share=2)


def _decoder(name: str, target: str) -> DecoderCase:
    language = resolve_language(name)
    network = compile_language(language, target)
    model = network_to_decoder(network, target, dtype=torch.float32)
    certificate = certify_decoder(model, network, language)
    assert isinstance(certificate, Certificate), certificate
    weights = {name: value.tolist() for name, value in model.state_dict().items()}
    parts = (weights, describe_language(language), kernel.certificate_to_json(certificate))
    return DecoderCase(method=DECODERS, parts=json.loads(json.dumps(parts)), share=2, network=network)


def _polished() -> PolishedCase:
    """Rotations of the plane that track Z3, polished."""
    task = StateTracking(StateTrackingSettings(monoid="Z3", letters="elements"))
    angles = 2 * np.pi * np.arange(3) / 3
    turns = np.array([[np.cos(angles), -np.sin(angles)], [np.sin(angles), np.cos(angles)]]).transpose(2, 0, 1)
    layer = LayerConfig(name="orthogonal", settings={"blocks": 1, "size": 2, "outputs": 3, "form": "matrix"})
    model = Model(ModelConfig(layers=(layer,), letters=3, outputs=3, head="none").complete()).eval()
    noise = np.random.default_rng(0).normal(size=turns.shape) * 0.01
    with torch.no_grad():
        cell: Any = model.layers[0]
        cell.W.weight.copy_(torch.from_numpy((turns + noise).reshape(3, -1).T))
        cell.C.weight.copy_(torch.from_numpy(5 * turns.reshape(3, -1)))
        cell.C.bias.zero_()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "z3"
        polish(LoadedNetwork(name="planted Z3", model=model, task=task), folder)
        files = ("subject.json", "polish.json", "language.json")
        subject, proof, language = (json.loads((folder / name).read_text()) for name in files)
        tensors = load_tensors((folder / "model.safetensors").read_bytes())
    weights = {key: value.tolist() for key, value in tensors.items()}
    parts = [subject, weights, proof]
    return PolishedCase(method="representation", parts=parts, share=2, language=language)


ODD_VALUES: Sequence[Json] = (
    *(None, True, 0, -1, 10**30, 1e300, "", "1/0", "1/" + "9" * 3000),
    *("e(1/4999)", "\ud800", [], {}, [[[[]]]], "all", "float16"),
)
"""Values that entries are replaced with now and then."""


def corrupt(parts: Parts, choose: random.Random) -> Parts:
    """Returns the parts with one to three entries changed."""
    fresh = copy.deepcopy(parts)
    for _ in range(choose.choice((1, 1, 1, 2, 3))):
        which = choose.choices(range(3), weights=(45, 15, 40))[0]
        _change(fresh, which, choose)
    return fresh


def _change(parts: Parts, which: int, choose: random.Random) -> None:
    place: Any = parts
    key: Any = which
    while isinstance(place[key], dict | list) and place[key] and choose.random() < 0.93:
        place = place[key]
        key = choose.choice(list(place)) if isinstance(place, dict) else choose.randrange(len(place))
    value = place[key]
    act = choose.random()
    if isinstance(value, dict | list) and value and act < 0.7:
        _rearrange(value, choose)
    elif act < 0.1:
        place[key] = copy.deepcopy(choose.choice(ODD_VALUES))
    elif act < 0.15 and place is not parts:
        del place[key]
    else:
        place[key] = _other(value, choose)


def _rearrange(value: Any, choose: random.Random) -> None:
    """Swaps, drops or repeats an entry of a list or an object."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    a, b = choose.choice(keys), choose.choice(keys)
    act = choose.random()
    if act < 0.5:
        value[a], value[b] = value[b], value[a]
    elif act < 0.75:
        del value[a]
    elif isinstance(value, list):
        value.insert(a, copy.deepcopy(value[b]))
    else:
        value[f"{a}?"] = value[b]


def _other(value: Any, choose: random.Random) -> Any:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + choose.choice((-2, -1, 1, 2, 7)) if choose.random() < 0.8 else -value
    if isinstance(value, float):
        return value * choose.choice((-1.0, 0.5, 1.0 + 2.0**-20, 1.01, 2.0)) + choose.choice((0.0, 1e-3))
    if isinstance(value, str):
        try:
            number = Fraction(value)
        except (ValueError, ZeroDivisionError):
            letters = list(value) or ["x"]
            letters[choose.randrange(len(letters))] = choose.choice("0123456789abcdef$x")
            return "".join(letters)
        tiny = Fraction(1, 10**9)
        return str(choose.choice((number + tiny, number - tiny, number * 2, -number, number + 1)))
    return copy.deepcopy(choose.choice(ODD_VALUES))


REFUSALS = (Unreadable, OverBudget, FormatError, InputError, BudgetExceeded)
"""The errors that are clean refusals."""


def outcome(case: Case, choose: random.Random) -> str:
    """Returns "true", "refused", "wrong: …" or "crash: …" for one corruption of a case."""
    parts = corrupt(case.parts, choose)
    begun = time.process_time()
    try:
        claims = case.accept(parts, choose)
    except REFUSALS:
        claims = ()
    except Exception as error:  # the point is to find these
        if isinstance(case, FloatCase | PolishedCase | DecoderCase) and _is_unusable(case, parts):
            return "refused"
        return f"crash: {type(error).__name__}: {str(error)[:200]}"
    if time.process_time() - begun > MOST_SECONDS:
        return f"crash: {time.process_time() - begun:.0f} seconds"
    if not claims:
        return "refused"
    try:
        fault = case.fault(parts, claims)
    except ValueError as error:  # the simulator finds no network, language or model in the parts
        fault = str(error)
    return f"wrong: {fault}" if fault else "true"


def _is_unusable(case: Case, parts: Parts) -> bool:
    """Whether the benchmark itself could not make a module or a folder of the corrupted parts."""
    try:
        if isinstance(case, FloatCase):
            load_model(network_from_json(parts[0]), dtype=torch.float32)
            _hash(_entry(parts[1], "definition"))
            _hash(parts[0])
        elif isinstance(case, DecoderCase):
            case.model(parts[0])
            _hash(_entry(parts[1], "definition"))
        else:
            save_tensors({name: np.array(value, dtype=np.float32) for name, value in parts[1].items()})
            json.dumps(parts[0]).encode()
    except Exception:
        return True
    return False


def run(count: int, seed: int, tell: Callable[[str], None] = print, *, processes: int = 1) -> int:
    """Corrupts so many times over all cases; returns the number of wrong acceptances and crashes."""
    shares = [case.share for case in _found_cases()]
    work = [(i, round(count * share / sum(shares)), seed) for i, share in enumerate(shares)]
    table: dict[str, Counter[str]] = {}
    faults, spent = list[str](), 0.0
    with ProcessPoolExecutor(max_workers=processes, mp_context=get_context("spawn")) as pool:
        # The longest first, so that the processes end together.
        most_first = sorted(work, key=lambda item: -item[1])
        for method, counts, bad, seconds in (pool.map if processes > 1 else map)(_corrupt, most_first):
            table.setdefault(method, Counter()).update(counts)
            faults += bad
            spent += seconds
    tell(f"{'method':<22}{'true':>9}{'refused':>9}{'wrong':>9}{'crash':>9}")
    for method, counts in [*sorted(table.items()), ("all", sum(table.values(), Counter()))]:
        row = [f"{counts[name]:>9,}" for name in ("true", "refused", "wrong", "crash")]
        tell(f"{method:<22}{''.join(row)}")
    tell(f"{spent:,.0f} CPU seconds")
    for fault in faults[:20]:
        tell(fault)
    return len(faults)


_found_cases = functools.cache(cases)


def _corrupt(work: tuple[int, int, int]) -> tuple[str, Counter[str], list[str], float]:
    """Returns the method of a case, how its corruptions ended, the faults among them, and the CPU seconds."""
    index, times, seed = work
    case, begun = _found_cases()[index], time.process_time()
    choose = random.Random(f"{seed} {case.method} {_hash(case.parts[0])}")
    counts, faults = Counter[str](), []
    for number in range(times):
        result = outcome(case, choose)
        counts[result.split(":")[0]] += 1
        if result not in ("true", "refused"):
            faults.append(f"{case.method}, number {number}: {result}")
    return case.method, counts, faults, time.process_time() - begun


def _agrees(task: str, expected: Answer, got: Answer) -> bool:
    return expected[1] == got[1] if task == kernel.RECOGNISE else expected == got


def _is_near(a: Any, b: Any) -> bool:
    return not _is_apart(a, b, Fraction(1, 10**20))


def _is_apart(a: Any, b: Any, eps: Fraction) -> bool:
    """Whether one part of a difference is eps or more."""
    difference = a + -b
    parts = [getattr(difference, "re", difference), getattr(difference, "im", 0)]
    return any(abs(part) >= eps for part in parts)


def _claims(certificate: Json) -> list[Claim]:
    try:
        return [kernel.claim_from_json(claim) for claim in certificate["claims"]]
    except (Unreadable, KeyError, TypeError):
        return []


def _entry(data: Json, key: str) -> Json:
    return data.get(key) if isinstance(data, dict) else None


def _text(data: Json) -> str:
    return json.dumps(data, sort_keys=True)


def _hash(data: Json) -> str:
    text = json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def main(arguments: Sequence[str] = ()) -> None:
    """Prints the numbers of true, refused, wrongly accepted and crashed; exit 1 for the last two."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks corruption")
    parser.add_argument("--count", type=int, default=100_000, help="corruptions over all methods (100,000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the corruptions")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="at the same time")
    given = parser.parse_args(arguments)
    if run(given.count, given.seed, processes=given.processes):
        sys.exit(1)
