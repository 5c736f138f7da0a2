"""The automata of the regular languages in the bestiary, each written out from its definition."""

from __future__ import annotations

from collections.abc import Sequence

from nerode.core import Budget, InputError, started
from nerode.languages.dfa import Dfa

MODULUS = 5
"""The modulus of the arithmetic and navigation tasks."""


def star_of(word: str) -> Dfa:
    """Returns w*, for one word w, over the letters of w."""
    step = {i: {letter: (i + 1) % len(word)} for i, letter in enumerate(word)}
    return Dfa.build(sorted(set(word)), step, start=0, accept=[0])


def blocks_in_order(letters: str) -> Dfa:
    """Returns aa*bb*…: one or more of each letter, in this order."""
    step: dict[int, dict[str, int]] = {i: {letter: i + 1} for i, letter in enumerate(letters)}
    step[len(letters)] = {}
    for i, letter in enumerate(letters, start=1):
        step[i][letter] = i
    return Dfa.build(letters, step, start=0, accept=[len(letters)])


def tomita_1() -> Dfa:
    """Returns 1*."""
    return Dfa.build("01", {0: {"1": 0}}, start=0, accept=[0])


def tomita_2() -> Dfa:
    """Returns (10)*."""
    return Dfa.build("01", {0: {"1": 1}, 1: {"0": 0}}, start=0, accept=[0])


def tomita_3() -> Dfa:
    """Returns the words without an odd run of 1s directly followed by an odd run of 0s.

    A state is (the letter of the current run, whether that run is odd, whether the run of 1s before a run
    of 0s was odd). An odd run of 0s may still become even, so it is dead only when a 1 follows.
    """

    def step(state: tuple[str, bool, bool], symbol: str) -> tuple[str, bool, bool] | None:
        letter, odd, odd_ones = state
        if symbol == letter:
            return letter, not odd, odd_ones
        if symbol == "0":
            return "0", True, odd
        return None if odd and odd_ones else ("1", True, False)

    return Dfa.build("01", step, start=("1", False, False), accept=lambda q: q != ("0", True, True))


def tomita_4() -> Dfa:
    """Returns the words without 000."""
    return Dfa.build(
        "01", {i: {"1": 0, "0": i + 1} for i in range(2)} | {2: {"1": 0}}, start=0, accept=range(3)
    )


def tomita_5() -> Dfa:
    """Returns the words with an even number of 0s and an even number of 1s."""
    return Dfa.build(
        "01",
        lambda q, a: (q[0] ^ (a == "0"), q[1] ^ (a == "1")),
        start=(False, False),
        accept=[(False, False)],
    )


def tomita_6() -> Dfa:
    """Returns the words in which #0 - #1 is divisible by 3."""
    return Dfa.build("01", lambda q, a: (q + (1 if a == "0" else -1)) % 3, start=0, accept=[0])


def tomita_7() -> Dfa:
    """Returns 0*1*0*1*."""
    step = {i: {"01"[i % 2]: i, "10"[i % 2]: i + 1} for i in range(3)} | {3: {"1": 3}}
    return Dfa.build("01", step, start=0, accept=range(4))


def parity(*, odd: bool) -> Dfa:
    """Returns the words with an even (or odd) number of 1s."""
    return Dfa.build("01", lambda q, a: q ^ (a == "1"), start=False, accept=[odd])


def one_d() -> Dfa:
    """Returns {a,b}* d {b,c}*."""
    step = {0: {"a": 0, "b": 0, "d": 1}, 1: {"b": 1, "c": 1}}
    return Dfa.build("abcd", step, start=0, accept=[1])


def last_nonzero_tail() -> Dfa:
    """Returns {0,1,2}* 0 2*."""
    return Dfa.build("012", lambda q, a: a == "0" or (a == "2" and q), start=False, accept=[True])


def flip_flop() -> Dfa:
    """Returns the flip-flop language: pairs of an instruction w, r or i and a bit, reads consistent.

    A state is (instruction waiting for its bit or "", the stored bit or "" before the first write).
    """

    def step(state: tuple[str, str], symbol: str) -> tuple[str, str] | None:
        instruction, stored = state
        if not instruction:
            allowed = "wri" if stored else "w"
            # What is stored no longer matters once a write has begun.
            return (symbol, "" if symbol == "w" else stored) if symbol in allowed else None
        if symbol not in "01" or (instruction == "r" and symbol != stored):
            return None
        return "", symbol if instruction == "w" else stored

    return Dfa.build("wri01", step, start=("", ""), accept=lambda q: not q[0])


def undo_flip_flop(writes: int, budget: Budget | None = None) -> Dfa:
    """Returns the flip-flop language with an instruction u that takes back the last write.

    A state is (instruction waiting for its bit or "", the bits of the writes in force, oldest first); with no
    write in force only w may follow, and with as many as allowed no w.
    """
    if writes < 1:
        raise InputError(f"{writes} writes in force leave nothing to read; give 1 or more")
    started(budget).check("states", 5.0 * 2.0 ** min(writes, 1000), states=f"5·2^{writes}")

    def step(state: tuple[str, str], symbol: str) -> tuple[str, str] | None:
        instruction, bits = state
        if not instruction:
            allowed = ("w" if len(bits) < writes else "") + ("riu" if bits else "")
            return (symbol, bits) if symbol in allowed else None
        if symbol not in "01" or (instruction == "r" and symbol != bits[-1]):
            return None
        return "", {"w": bits + symbol, "u": bits[:-1]}.get(instruction, bits)

    return Dfa.build("wriu01", step, start=("", ""), accept=lambda q: not q[0])


def even_pairs() -> Dfa:
    """Returns the words with an even number of changes 01 or 10, that is, first letter = last letter."""
    return Dfa.build("01", lambda q, a: (q[:1] or a) + a, start="", accept=lambda q: not q or q[0] == q[1])


def starts_with_one() -> Dfa:
    """Returns 1{0,1}*."""
    return Dfa.build("01", lambda q, a: 1 if q or a == "1" else None, start=0, accept=[1])


def cycle_navigation(*, announced: bool) -> Dfa:
    """Returns the walks on a circle of 5 places; < is a step back, = none, > a step on.

    Args:
        announced: whether the word ends with the digit of the place that was reached; if not, the walk
            must end where it began.
    """
    moves = {"<": -1, "=": 0, ">": 1}
    if not announced:
        return Dfa.build("<=>", lambda q, a: (q + moves[a]) % MODULUS, start=0, accept=[0])

    def step(place: int | str, symbol: str) -> int | str | None:
        if isinstance(place, str):
            return None
        if symbol in moves:
            return (place + moves[symbol]) % MODULUS
        return "end" if int(symbol) == place else None

    return Dfa.build("<=>01234", step, start=0, accept=["end"])


def modular_arithmetic() -> Dfa:
    """Returns the expressions over 0…4 and + - * with value 0 modulo 5, where * binds tighter.

    A state is (whether a digit comes next, the sum of the finished terms, the term so far).
    """

    def step(state: tuple[bool, int, int], symbol: str) -> tuple[bool, int, int] | None:
        digit_next, total, term = state
        if digit_next != symbol.isdigit():
            return None
        if symbol.isdigit():
            return False, total, term * int(symbol) % MODULUS
        if symbol == "*":
            return True, total, term
        return True, (total + term) % MODULUS, 1 if symbol == "+" else MODULUS - 1

    return Dfa.build(
        "01234+-*", step, start=(True, 0, 1), accept=lambda q: not q[0] and (q[1] + q[2]) % MODULUS == 0
    )


def modular_arithmetic_simple() -> Dfa:
    """Returns the equations "expression=value" over 0…4 modulo 5, evaluated from left to right."""
    operations = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}

    def step(state: tuple[str, int], symbol: str) -> tuple[str, int] | None:
        expects, value = state
        if expects == "operator":
            return (symbol, value) if symbol in operations or symbol == "=" else None
        if not symbol.isdigit() or expects == "nothing":
            return None
        if expects == "=":
            return ("nothing", 0) if int(symbol) == value else None
        return "operator", operations[expects](value, int(symbol)) % MODULUS

    return Dfa.build("01234+-*=", step, start=("+", 0), accept=[("nothing", 0)])


def contains(pattern: str) -> Dfa:
    """Returns the words over the letters of the pattern that contain it as a factor."""

    def step(matched: str, symbol: str) -> str:
        if matched == pattern:
            return matched
        matched += symbol
        while not pattern.startswith(matched):
            matched = matched[1:]
        return matched

    return Dfa.build(sorted(set(pattern)), step, start="", accept=[pattern])


def has_subsequence(pattern: str) -> Dfa:
    """Returns the words over the letters of the pattern that contain it as a scattered subword."""
    n = len(pattern)
    return Dfa.build(sorted(set(pattern)), lambda q, a: q + (q < n and pattern[q] == a), start=0, accept=[n])


def last_letter(symbols: Sequence[str], wanted: str) -> Dfa:
    """Returns the words that end with one letter."""
    return Dfa.build(symbols, lambda q, a: a == wanted, start=False, accept=[True])


def set_reset() -> Dfa:
    """Returns the words over 0, 1 and h whose last letter other than h exists and is 1."""
    return Dfa.build("01h", lambda q, a: q if a == "h" else a == "1", start=False, accept=[True])


def last_but(n: int, budget: Budget | None = None) -> Dfa:
    """Returns the words over a and b whose letter n places before the last is an a."""
    if n < 0:
        raise InputError(f"there is no letter {n} places before the last; give 0 or more")
    started(budget).check("states", 2.0 ** min(n + 1, 1000), states=f"2^{n + 1}")
    mask = 2 ** (n + 1) - 1
    return Dfa.build("ab", lambda q, a: (2 * q + (a == "a")) & mask, start=0, accept=lambda q: q >> n == 1)


def offset_counting(burst: int, budget: Budget | None = None) -> Dfa:
    """Returns the signals in which every run of 1s has exactly this length and follows a 0.

    A state is the number of 1s in the current run, or -1 where a 0 has to come.
    """
    if burst < 1:
        raise InputError(f"a burst of {burst} symbols is not one; give a length of 1 or more")
    started(budget).check("states", burst + 2, states=burst + 2)

    def step(ones: int, symbol: str) -> int | None:
        if symbol == "0":
            return 0 if ones <= 0 else None
        if ones < 0:
            return None
        return ones + 1 if ones + 1 < burst else -1

    return Dfa.build("01", step, start=-1, accept=[-1, 0])
