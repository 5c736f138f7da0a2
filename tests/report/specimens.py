"""Automata of many shapes for the tests of drawings and pages."""

from __future__ import annotations

import itertools

from nerode.languages import Dfa, minimise


def parity() -> Dfa:
    return Dfa.build("01", lambda q, c: q ^ (c == "1"), start=0, accept=[0])


def counter(n: int) -> Dfa:
    return Dfa.build("ab", lambda q, c: (q + 1) % n if c == "a" else q, start=0, accept=[0])


def both_ways(n: int) -> Dfa:
    return Dfa.build("+-0", lambda q, c: (q + {"+": 1, "-": -1, "0": 0}[c]) % n, start=0, accept=[0])


def bounded_brackets(depth: int) -> Dfa:
    def step(stack: str, c: str) -> str | None:
        if c in "([":
            return stack + {"(": ")", "[": "]"}[c] if len(stack) < depth else None
        return stack[:-1] if stack.endswith(c) and stack else None

    return Dfa.build("()[]", step, start="", accept=[""])


def ladder(n: int) -> Dfa:
    def step(q: int, c: str) -> int | None:
        target = q + 1 if c == "a" else q - 1
        return target if 0 <= target <= n else None

    return Dfa.build("ab", step, start=0, accept=[0])


def contains(pattern: str, symbols: str) -> Dfa:
    def step(q: int, c: str) -> int:
        if q == len(pattern):
            return q
        seen = pattern[:q] + c
        return max(k for k in range(len(seen) + 1) if pattern.startswith(seen[len(seen) - k :]))

    return Dfa.build(symbols, step, start=0, accept=[len(pattern)])


def permutations(degree: int, generators: dict[str, tuple[int, ...]]) -> Dfa:
    one = tuple(range(degree))
    return Dfa.build(generators, lambda p, c: tuple(p[i] for i in generators[c]), start=one, accept=[one])


def all_permutations_of_three() -> Dfa:
    return permutations(3, dict(zip("abcdef", itertools.permutations(range(3)), strict=True)))


def last_but(k: int) -> Dfa:
    return minimise(
        Dfa.build("ab", lambda s, c: (s + c)[-k - 1 :], start="b" * (k + 1), accept=lambda s: s[0] == "a")
    )


def long_symbols() -> Dfa:
    table = {
        0: {"read": 1, "<script>": 0},
        1: {"write": 0, '"x"&': 2, "read": 1},
        2: {"read": 0, "write": 2, "<script>": 2, '"x"&': 2},
    }
    return Dfa.build(["read", "write", "<script>", '"x"&'], table, start=0, accept=[0, 2])


SPECIMENS: dict[str, Dfa] = {
    "parity": parity(),
    "no word": Dfa.build("ab", lambda q, c: q, start=0, accept=[]),
    "every word": Dfa.build("ab", lambda q, c: q, start=0, accept=[0]),
    "(ab)*": Dfa.build("ab", {0: {"a": 1}, 1: {"b": 0}}, start=0, accept=[0]),
    "tomita-5": Dfa.build(
        "01", lambda q, c: (q[0] ^ (c == "0"), q[1] ^ (c == "1")), start=(0, 0), accept=[(0, 0)]
    ),
    "tomita-6": Dfa.build("01", lambda q, c: (q + (1 if c == "1" else -1)) % 3, start=0, accept=[0]),
    "counter 5": counter(5),
    "counter 12": counter(12),
    "both ways 12": both_ways(12),
    "ladder 3": ladder(3),
    "ladder 38": ladder(38),
    "brackets 2": bounded_brackets(2),
    "brackets 3": bounded_brackets(3),
    "contains abaab": contains("abaab", "ab"),
    "contains abcabcd": contains("abcabcd", "abcd"),
    "contains a Fibonacci word": contains("abaababaabaababaababa", "ab"),
    "S3": permutations(3, {"a": (1, 2, 0), "b": (1, 0, 2)}),
    "S3, all letters": all_permutations_of_three(),
    "S4": permutations(4, {"a": (1, 2, 3, 0), "b": (1, 0, 2, 3)}),
    "last but 3": last_but(3),
    "long symbols": long_symbols(),
}
