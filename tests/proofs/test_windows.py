"""Context windows: found for networks that forget, and no shorter ones accepted."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from nerode.core import InputError
from nerode.kernel import WINDOW, Certificate, certificate_to_json, window_claim
from nerode.languages import Dfa, Language, describe_language
from nerode.languages.bestiary import find_language
from nerode.network import Fixed, Interpreter, Network, network_to_json
from nerode.proofs import Unproved, check, find_window
from tests.proofs import networks
from tests.proofs.test_certification import regular


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


def window(network: Network, language: Language, eps: Fraction | None = None) -> int:
    """The number of letters that is certified; one letter less, or in the claim alone, is refused."""
    found = find_window(network, language, eps=eps)
    assert isinstance(found, Certificate)
    (claim,) = found.claims
    assert (claim.task, claim.eps) == (WINDOW, eps)
    letters = found.evidence[claim.method]["letters"]
    assert is_accepted(network, language, found)
    shorter = window_claim(method=claim.method, letters=letters - 1, eps=eps)
    for stated in (letters - 1, letters):
        wrong = replace(found, claims=(shorter,), evidence={claim.method: {"letters": stated}})
        assert not is_accepted(network, language, wrong)
    return int(letters)


def is_accepted(network: Network, language: Language, certificate: Certificate) -> bool:
    return check(network_to_json(network), describe_language(language), certificate_to_json(certificate)).ok


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
def test_a_delay_line_sees_as_many_letters_as_it_has_places(steps: int) -> None:
    language = last_but(steps)
    network = networks.delay_network(language, steps)
    assert window(network, language) == steps + 1
    # Changing any older letter changes nothing.
    interpreter = Interpreter(network)
    for recent in range(2 ** (steps + 1)):
        letters = [(recent >> i) & 1 for i in range(steps + 1)]
        answers = {interpreter.run([old, *letters])[-1].legal for old in (0, 1)}
        assert len(answers) == 1


def test_a_matrix_that_vanishes_only_by_cancellation_is_nilpotent() -> None:
    language = last_but(1)
    network = networks.delay_network(language, 1)
    assert window(with_matrix(network, (((0, 1), (1, -1)), ((0, 1), (1, -1)))), language) == 2


def test_a_layer_that_holds_has_no_window() -> None:
    parity = find_language("parity")
    assert isinstance(find_window(networks.parity_network(parity), parity), Unproved)
    language = last_but(1)
    holding = with_matrix(networks.delay_network(language, 1), (((0, 1),), ((0, 1),)))
    assert isinstance(find_window(holding, language), Unproved)


def test_old_letters_fade_below_eps() -> None:
    language = last_but(0)
    fading = with_matrix(networks.delay_network(language, 0), (((0, Fraction(1, 4)),),))
    eps = Fraction(1, 1000)
    # States are at most 1/(1 - 1/4), so 2·(4/3)·4⁻ⁿ < 1/1000 first holds for n = 6.
    assert window(fading, language, eps) == 6
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
    assert abs(read("a" * 20 + shorter) - read("b" * 20 + shorter)) > eps


def test_the_contraction_bound_has_conditions() -> None:
    language = last_but(1)
    network = networks.delay_network(language, 1)
    with pytest.raises(InputError, match="eps"):
        find_window(network, language, eps=Fraction(0))
    for made, spoken, reason in (
        (network, language, "< 1"),
        (networks.parity_network(find_language("parity")), find_language("parity"), "letter"),
        (networks.counter_network(find_language("dyck-1")), find_language("dyck-1"), "one layer"),  # type: ignore[arg-type]
    ):
        found = find_window(made, spoken, eps=Fraction(1, 10))
        assert isinstance(found, Unproved)
        assert reason in found.reason
