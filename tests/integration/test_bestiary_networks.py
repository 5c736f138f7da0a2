"""Every named language, every class: compiled, run, certified, and checked by the other program."""

import functools
import itertools
import json

import pytest

from nerode.algebra import Profile, profile
from nerode.compiler import Options, compile_language
from nerode.core import Budget, BudgetExceeded, InputError, NotCompilable, stream
from nerode.languages import Language, describe_language
from nerode.languages.bestiary import BESTIARY
from nerode.network import Interpreter, LogitDecoder, network_from_json, network_to_json
from nerode.proofs import VALID_PREFIXES, Certificate, certificate_to_json, certify, check
from nerode.study import TARGETS
from nerode.verdict import VerdictTask, collect_facts

EXACT_TARGETS = [t for t in TARGETS if t not in ("elman-tanh", "lstm", "gru", "slstm")]
MOST_SHORT_WORDS = 500
WIDE = 1_000  # coordinates; wider networks read fewer words
SECONDS = 60
# Networks whose proof may take longer than the time above; each with the reason.
UNPROVED = {
    ("dyck-8-10", "householder"): "13 layers of registers over 10^9 stacks: the search is too large",
    ("contains-fibonacci-22", "ssm"): "a window of 21 letters has 2^21 states",
    **{
        (group, "elman-relu"): "a unit for each pair of elements: 216,000 steps of 70,000 numbers, or more"
        for group in ("z60", "a4xz5", "a5", "s5")
    },
}


LARGE = """a4xz5 a5 anbncndn boolean-5 dyck-2-5 dyck-8-10 last-but-8 modular-arithmetic ngram-seed s5
shuffle-4 shuffle-6 z60""".split()
LARGE_UNITS = """a5-generators anbncn boolean-3 s4""".split()
LARGE_STREAMS = {"dyck-2-3", "subsequence-abcdefgh"}
"""Languages whose networks take seconds each: all of them, those of ReLU units, those of fixed gates.

Smaller ones of their families stay in `make test`: dyck-2-3 and d-4, shuffle-2, anbncn, boolean-3, s3, z3,
a5-generators, modular-arithmetic-simple, last-letter, contains-abaab, the n-gram models of the compiler's
tests, and the other targets of the languages themselves.
"""


@functools.cache
def profiled(name: str) -> tuple[Language, Profile]:
    """A language with its algebra, as far as its networks ask for it."""
    language = BESTIARY[name].language()
    return language, profile(language, on_demand=True)


@pytest.fixture(scope="module")
def networks():
    made = {}

    def make(name, target):
        if (name, target) not in made:
            language, algebra = profiled(name)
            facts = collect_facts(language, task=VerdictTask.RECOGNISE, profile=algebra)
            budget = Budget(seconds=SECONDS)
            made[name, target] = compile_language(language, target, Options(budget=budget), facts=facts)
        return made[name, target]

    return make


def is_large(name, target):
    if target == "elman-relu" and name in LARGE_UNITS:
        return True
    return name in LARGE or (name, target) in UNPROVED or (target == "ssm" and name in LARGE_STREAMS)


def pairs():
    return [
        pytest.param(name, target, marks=[pytest.mark.slow] if is_large(name, target) else [])
        for name, target in itertools.product(BESTIARY, EXACT_TARGETS)
    ]


def claimed_task(network, language):
    result = certify(network, language, budget=Budget(seconds=SECONDS))
    return result.claims[0].task if isinstance(result, Certificate) else None


def short_words(num_letters, network):
    most = MOST_SHORT_WORDS if network.state_size < WIDE else num_letters
    length, count = 0, 1
    while length < 8 and count * num_letters <= most:
        length += 1
        count *= num_letters
    for n in range(length + 1):
        yield from itertools.product(range(num_letters), repeat=n)


def assert_agrees(interpreter, language, word, *, valid_only):
    """Compares along a word; a network for valid prefixes only until the first error."""
    configuration, state = interpreter.start(), language.initial()
    for position, letter in enumerate(word):
        if valid_only and letter not in language.legal(state).symbols:
            return
        configuration, answer = interpreter.step(configuration, letter)
        state = language.advance(state, letter)
        assert answer.legal == language.legal(state), (word[: position + 1], answer.legal)


@pytest.mark.parametrize(("name", "target"), pairs(), ids=lambda v: str(v))
def test_network(name, target, networks):
    language, _ = profiled(name)
    try:
        network = networks(name, target)
    except NotCompilable:
        return
    data = json.loads(json.dumps(network_to_json(network)))
    assert network_from_json(data) == network
    try:
        result = certify(network, language, budget=Budget(seconds=SECONDS))
    except BudgetExceeded:
        result = None
    if (name, target) not in UNPROVED or isinstance(result, Certificate):
        assert isinstance(result, Certificate), result
        checked = check(
            data,
            json.loads(json.dumps(describe_language(language))),
            json.loads(json.dumps(certificate_to_json(result))),
            budget=Budget(seconds=4 * SECONDS),
        )
        assert checked.ok, checked.failure
    if isinstance(network.decoder, LogitDecoder):
        return
    valid_only = not isinstance(result, Certificate) or result.claims[0].task == VALID_PREFIXES
    interpreter = Interpreter(network)
    assert interpreter.empty_answer().legal == language.legal(language.initial())
    for word in short_words(len(language.alphabet), network):
        assert_agrees(interpreter, language, word, valid_only=valid_only)
    for length in (17, 100, 400):
        for word in long_words(language, length, target):
            assert_agrees(interpreter, language, word, valid_only=valid_only)


def long_words(language, length, purpose):
    """A random word, and a word of the language of about this length."""
    rng = stream(7, language.name, purpose, length)
    yield tuple(rng.integers(0, len(language.alphabet), size=length).tolist())
    for near in range(length, length + 12):
        try:
            yield language.sample(near, rng)
            return
        except InputError:
            continue


@pytest.mark.slow
@pytest.mark.parametrize(("name", "target"), pairs(), ids=lambda v: str(v))
def test_network_on_words_of_length_ten_thousand(name, target, networks):
    language, _ = profiled(name)
    try:
        network = networks(name, target)
    except NotCompilable:
        return
    if isinstance(network.decoder, LogitDecoder):
        return
    task = claimed_task(network, language) if (name, target) not in UNPROVED else VALID_PREFIXES
    for word in long_words(language, 10_000, target):
        assert_agrees(Interpreter(network), language, word, valid_only=task in (VALID_PREFIXES, None))
