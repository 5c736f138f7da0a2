from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from nerode.core import InputError
from nerode.languages import Dfa, Language, describe_language
from nerode.languages.bestiary import find_language
from nerode.network import Fixed, Interpreter, Network, network_to_json
from nerode.proofs.certificate import PREDICT, Certificate, certificate_to_json, extend
from nerode.proofs.checker import check
from nerode.proofs.exact import certify_exact
from nerode.proofs.windows import context_window, contraction_window, nilpotency_order
from tests.proofs import networks
from tests.proofs.test_exact import regular


def last_but(steps: int) -> Language:
    """Words whose letter `steps` before the last is b."""
    size = 2 ** (steps + 1)
    dfa = Dfa.build("ab", lambda q, s: (2 * q + (s == "b")) % size, start=0, accept=lambda q: q >= size // 2)
    return regular(dfa)


def with_matrix(network: Network, matrix: tuple[tuple[tuple[int, Fraction | int], ...], ...]) -> Network:
    layer = network.layers[0]
    assert isinstance(layer.recurrence, Fixed)
    changed = replace(layer, recurrence=replace(layer.recurrence, matrix=matrix))
    return replace(network, layers=(changed,))


def checked(network: Network, language: Language, certificate: Certificate) -> bool:
    return check(network_to_json(network), describe_language(language), certificate_to_json(certificate)).ok


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
def test_a_delay_line_sees_as_many_letters_as_it_has_places(steps: int) -> None:
    language = last_but(steps)
    network = networks.delay_network(language, steps)
    window = context_window(network)
    assert window is not None
    assert window.letters == steps + 1
    assert window.eps is None
    # Changing any older letter changes nothing, and some window needs all its letters.
    interpreter = Interpreter(network)
    for recent in range(2 ** (steps + 1)):
        letters = [(recent >> i) & 1 for i in range(steps + 1)]
        answers = {interpreter.run([old, *letters])[-1].legal for old in (0, 1)}
        assert len(answers) == 1
    certificate = certify_exact(network, language, task=PREDICT)
    assert isinstance(certificate, Certificate)
    more = extend(certificate, [window.claim], window.method, window.evidence)
    assert checked(network, language, more)
    if steps:
        shorter = replace(window, letters=steps)
        wrong = extend(certificate, [shorter.claim], shorter.method, shorter.evidence)
        assert not checked(network, language, wrong)
    mismatch = extend(certificate, [replace(window, letters=9).claim], window.method, window.evidence)
    assert not checked(network, language, mismatch)


def test_a_matrix_that_vanishes_only_by_cancellation_is_nilpotent() -> None:
    network = networks.delay_network(last_but(1), 1)
    cancelling = with_matrix(network, (((0, 1), (1, -1)), ((0, 1), (1, -1))))
    assert nilpotency_order(cancelling.layers[0]) == 2
    window = context_window(cancelling)
    assert window is not None
    assert window.letters == 2


def test_a_layer_that_holds_has_no_window() -> None:
    assert context_window(networks.parity_network(find_language("parity"))) is None
    network = networks.delay_network(last_but(1), 1)
    assert context_window(with_matrix(network, (((0, 1),), ((0, 1),)))) is None


def test_old_letters_fade_below_eps() -> None:
    language = last_but(0)
    network = networks.delay_network(language, 0)
    fading = with_matrix(network, (((0, Fraction(1, 4)),),))
    eps = Fraction(1, 1000)
    window = contraction_window(fading, eps)
    # States are at most 1/(1 - 1/4), so 2·(4/3)·4⁻ⁿ < 1/1000 first holds for n = 6.
    assert window.letters == 6
    interpreter = Interpreter(fading)

    def read(word: str) -> Fraction:
        states = interpreter.start()
        for letter in language.alphabet.encode(word):
            states, _ = interpreter.step(states, letter)
        return Fraction(states[0][0])

    recent = "abbaba"
    worst = max(abs(read(a * 20 + recent) - read(b * 20 + recent)) for a in "ab" for b in "ab")
    assert worst < eps
    shorter = recent[1:]
    assert max(abs(read("a" * 20 + shorter) - read("b" * 20 + shorter)) for _ in "a") > eps


def test_fading_windows_are_checked() -> None:
    language = last_but(0)
    fading = with_matrix(networks.delay_network(language, 0), (((0, Fraction(1, 8)),),))
    certificate = certify_exact(fading, language)
    assert isinstance(certificate, Certificate)
    window = contraction_window(fading, Fraction(1, 100))
    assert checked(fading, language, extend(certificate, [window.claim], window.method, window.evidence))
    shorter = replace(window, letters=window.letters - 1)
    assert not checked(
        fading, language, extend(certificate, [shorter.claim], shorter.method, shorter.evidence)
    )


def test_the_contraction_bound_has_conditions() -> None:
    network = networks.delay_network(last_but(1), 1)
    with pytest.raises(InputError, match="eps"):
        contraction_window(network, Fraction(0))
    with pytest.raises(InputError, match="< 1"):
        contraction_window(network, Fraction(1, 10))
    with pytest.raises(InputError, match="letter"):
        contraction_window(networks.parity_network(find_language("parity")), Fraction(1, 10))
    with pytest.raises(InputError, match="one layer"):
        contraction_window(networks.counter_network(find_language("dyck-1")), Fraction(1, 10))  # type: ignore[arg-type]
