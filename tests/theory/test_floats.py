"""Gates and norms in float formats. See docs/theory/corrections.md."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from nerode.languages import resolve_language
from nerode.verdict.theorems.floats import staircase_turns

Floats = npt.NDArray[np.floating]


def to_bfloat16(x: float) -> float:
    """The nearest bfloat16, ties to even."""
    bits = int(np.float32(x).view(np.uint32))
    bits += 0x7FFF + (bits >> 16 & 1)
    return float(np.uint32(bits & 0xFFFF0000).view(np.float32))


def to_float32(x: float) -> float:
    return float(np.float32(x))


def to_float16(x: float) -> float:
    return float(np.float16(x))


def mamba_gate(p: float, rate: float = 1.0) -> float:
    """exp(-softplus(p) e^a) in double precision, to be rounded once."""
    return math.exp(-math.log1p(math.exp(p)) * rate)


@pytest.mark.parametrize(
    ("rounding", "rate", "last_one"),
    [(to_float32, 1, -18), (to_float32, 16, -21), (to_bfloat16, 1, -7), (to_float16, 1, -9)],
)
def test_gates_of_mamba_reach_exactly_one(
    rounding: Callable[[float], float], rate: float, last_one: int
) -> None:
    for p in range(-30, last_one + 1):
        assert mamba_gate(p, rate) < 1
        assert rounding(mamba_gate(p, rate)) == 1.0
    assert rounding(mamba_gate(last_one + 1, rate)) < 1.0


def test_gates_of_mamba_reach_exactly_zero() -> None:
    gate = mamba_gate(10, 16)
    assert gate > 0
    assert [rounding(gate) for rounding in (to_float32, to_bfloat16, to_float16)] == [0.0, 0.0, 0.0]


def test_bfloat16_is_rounded_as_it_should_be() -> None:
    # 8 bits: between 1 and 2 the step is 1/128, and ties go to the even neighbour.
    assert to_bfloat16(1 + 1 / 256) == 1.0
    assert to_bfloat16(1 + 3 / 256) == 1 + 2 / 128
    assert to_bfloat16(1 + 1 / 256 + 2**-20) == 1 + 1 / 128
    assert to_bfloat16(257) == 256


def test_a_float_mamba_holds_a_bit_where_a_real_one_forgets() -> None:
    """Theorem 7 on Mamba is about real gates: a gate that rounds to 1 is the identity."""
    write, hold = np.float32(mamba_gate(10, 16)), np.float32(mamba_gate(-25))
    h = np.float32(0.25)
    h = write * h + np.float32(1)
    for _ in range(100_000):
        h = hold * h
    assert h == 1.0
    # With a pre-activation of -4, a trained value, a bit falls below 1/1000 after 381 letters.
    assert math.ceil(math.log(1e-3) / math.log(mamba_gate(-4))) == 381


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_fading_state_never_loses_its_sign_in_floats(dtype: type[np.floating]) -> None:
    """Rounding stops a gate of 3/4 short of zero; what fails is a readout with a scale, not the state."""
    h = dtype(1)
    seen = set()
    while float(h) not in seen:
        seen.add(float(h))
        h = dtype(0.75) * h
    assert h > 0
    normalised = float(h) / math.sqrt(float(h) ** 2 + 1e-5)
    assert normalised < 1e-3


def rms_norm(values: Floats) -> Floats:
    return values / np.sqrt(np.mean(values * values))


def test_a_small_counter_beside_a_large_one_vanishes_in_a_joint_norm() -> None:
    shown = rms_norm(np.array([1.0, 4000.0]))
    assert shown[0] == pytest.approx(3.5e-4, rel=0.02)
    # Eight fractional bits cannot tell it from zero, which thresholds before the norm can.
    assert round(shown[0] * 256) == 0
    clipped = np.minimum(np.array([1.0, 4000.0]), 1.0)
    assert rms_norm(clipped).tolist() == [1.0, 1.0]


def test_norms_in_float16_overflow_at_256() -> None:
    def positive(count: int, dtype: type[np.floating]) -> bool:
        with np.errstate(over="ignore"):
            return bool(rms_norm(np.array([count, 1], dtype=dtype))[0] > 0.5)

    assert positive(0, np.float16) is False
    assert all(positive(count, np.float16) for count in range(1, 256))
    assert not positive(256, np.float16)
    assert all(positive(2**k, np.float32) for k in range(24))


def test_bounded_sums_outlast_their_denominator() -> None:
    """soft-in-order-counts for d-3 in float32: one head, equal scores, past the 2^24 where lengths stop."""
    rng = np.random.default_rng(11)
    walks = [np.array(w, dtype=np.int8) for w in ((1, -1, 1, -1), (1, 1, -1, -1), (1, 1, 1, -1, -1, -1))]
    steps = np.concatenate([walks[i] for i in rng.integers(0, 3, 4_000_000)])
    depth = np.cumsum(steps, dtype=np.int64)
    assert len(steps) > 1 << 24
    numerator = np.add.accumulate(steps.astype(np.float32))
    assert (numerator == depth).all()
    denominator = np.minimum(np.arange(2, len(steps) + 2), 1 << 24).astype(np.float32)
    assert np.float32(1 << 24) + np.float32(1) == np.float32(1 << 24)
    far = slice(-1_000_000, None)
    y, z = numerator[far] / denominator[far], np.float32(1) / denominator[far]
    for k in (1, 2, 3):
        above = np.maximum(y - np.float32(k - 0.5) * z, np.float32(0))
        bit = np.minimum(np.float32(2.0**63) * (np.float32(2.0**64) * above), np.float32(1))
        assert (bit == (depth[far] >= k)).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_sum_in_order_is_a_register(dtype: type[np.floating]) -> None:
    """soft-in-order-registers: +C, -C, v at the letters after an isolated write, the window before that."""
    rng = np.random.default_rng(12)
    large = dtype(2.0 ** (np.finfo(dtype).nmant + 2))
    for share in (0.02, 0.2, 0.6):
        writes: list[int | None] = [None] * 8
        total = dtype(0)
        for _ in range(6_000):
            writes.append(int(rng.integers(0, 2)) if rng.random() < share else None)
            value = dtype(0)
            for delay, act in ((4, "absorb"), (5, "clear"), (6, "write")):
                v = writes[-1 - delay]
                if v is not None and all(w is None for w in writes[-delay : len(writes) - delay + 3]):
                    value = {"absorb": large, "clear": -large, "write": dtype(v)}[act]
            total = dtype(total + value)
            recent = [w for w in writes[-7:] if w is not None]
            last = next((w for w in reversed(writes) if w is not None), 0)
            assert (recent[-1] if recent else total) == last


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_absorption_gives_isometries_the_letter_before(dtype: type[np.floating]) -> None:
    """float-absorbing-registers: four coordinates with gate 1, by the position modulo 4."""
    rng = np.random.default_rng(13)
    large = dtype(2.0 ** (np.finfo(dtype).nmant + 2))
    held, before = [dtype(0)] * 4, None
    for position in range(4_000):
        if before is not None:
            assert held[(position - 1) % 4] == before
        letter = dtype(rng.integers(0, 4) / 4)
        writes = {position % 4: letter}
        if position >= 2:
            writes[(position - 2) % 4] = large
        if position >= 3:
            writes[(position - 3) % 4] = -large
        held = [dtype(h + writes.get(r, dtype(0))) for r, h in enumerate(held)]
        before = letter


@pytest.mark.parametrize(("dtype", "name"), [(np.float16, "float16"), (np.float32, "float32")])
def test_stairs_count_in_numpy_floats(dtype: type[np.floating], name: str) -> None:
    """float-staircase-turns: the delta rule with one contraction per letter, in numpy's own rounding."""
    rng = np.random.default_rng(14)
    for m in (2, 3, 5, 7, 23):
        assert staircase_turns(m, name)
        closing = [n / 64 for n in range(1, 64) if counts_by_stairs(m, n / 64, dtype, [1] * (6 * m))]
        assert counts_by_stairs(m, closing[0], dtype, rng.integers(0, 2, 3_000).tolist())


def counts_by_stairs(m: int, size: float, dtype: type[np.floating], word: list[int]) -> bool:
    """Whether a head with the key (1, 1, 1, 1)/2 counts the ones of a word modulo m."""
    half, large = dtype(0.5), dtype(2.0 ** (np.finfo(dtype).nmant + 1))
    rise = dtype(size / m)
    write = dtype(dtype(2) * rise / dtype(size))
    labels = [float(1 + rise / 2 - (m - 1 - j) * rise) for j in range(m)]
    state, count = [large, dtype(labels[0]), dtype(labels[0]), -large], 0
    for letter in word:
        if letter:
            read = dtype(0)
            for value in state:
                read = dtype(read + half * value)
            change = dtype(dtype(size) * dtype(write - read))
            state = [dtype(value + half * change) for value in state]
        count = (count + letter) % m
        if min(range(m), key=lambda j: abs(labels[j] - float(state[1]))) != count:
            return False
    return True


class FixedMatrix:
    """One layer h = A h + B x in a float format, A h added in order of the coordinates, then B x.

    Args:
        transitions: of an automaton (states, letters).
        dtype: of all numbers.
        bits: of its significands.
        unit: that all numbers are multiplied by.
    """

    def __init__(self, transitions: npt.NDArray[np.int64], dtype: type, bits: int, unit: float = 1.0) -> None:
        self.letters, self.unit = transitions.shape[1], unit
        size = transitions.size + 1
        step = 1 << (2 * size - 1).bit_length()
        assert 2 * step <= 1 << bits
        wanted = np.array([1, *(1 + self.letters * transitions.reshape(-1))])
        weights = np.diff(wanted - np.arange(size), prepend=0)
        matrix = np.zeros((size + 4, size + 4))
        matrix[: size + 1, 0] = 1
        matrix[: size + 1, 1 : size + 1] = weights / step
        matrix[1 : size + 1, size + 1] = step / 2 - np.arange(size) + 0.5
        matrix[1 : size + 1, size + 2], matrix[1 : size + 1, size + 3] = 1, -1
        matrix[size + 1 :, size + 1 :] = np.eye(3)
        self.matrix, self.dtype = matrix.astype(dtype), dtype
        assert (self.matrix == matrix).all()
        start = np.zeros(size + 4)
        large = 1.5 * 2 ** (bits - 1) * step
        start[size + 1 :] = unit, large * unit, large * unit
        self.state = start.astype(dtype)
        assert np.isfinite(self.state).all()

    def step(self, letter: int) -> float:
        """Returns the number M q + a + 1 after a letter, q being the state before it."""
        total = self.dtype(0) * self.state
        for column in range(len(self.state)):
            total = (total + self.matrix[:, column] * self.state[column]).astype(self.dtype)
        total[0] = self.dtype(total[0] + self.dtype(letter * self.unit))
        self.state = total
        size = len(self.state) - 4
        seen = self.state[: size + 1].astype(np.float64)
        return float((seen * self.matrix[0, : size + 1].astype(np.float64)).sum()) / self.unit


@pytest.mark.parametrize(
    ("name", "dtype", "bits", "unit"),
    [
        ("s5-generators", np.float32, 24, 1.0),
        ("parity", np.float16, 11, 2.0**-12),
        ("z3", np.float64, 53, 1.0),
        ("random", np.float32, 24, 1.0),
    ],
)
def test_a_fixed_matrix_runs_every_automaton(name: str, dtype: type, bits: int, unit: float) -> None:
    random = np.random.default_rng(20261119)
    for _ in range(6 if name == "random" else 1):
        transitions = random.integers(0, 5, (5, 3))
        state = 0
        if name != "random":
            dfa = resolve_language(name).dfa()
            transitions, state = dfa.transitions, dfa.start
        # The number before the first letter is 0, from which the layer goes on as from state 0: the start.
        order = np.argsort([q != state for q in range(len(transitions))], kind="stable")
        layer = FixedMatrix(np.argsort(order)[transitions[order]], dtype, bits, unit)
        for letter in random.integers(0, transitions.shape[1], 500).tolist():
            place = int(np.argsort(order)[state])
            assert layer.step(letter) == layer.letters * place + letter + 1
            state = int(transitions[state, letter])


def slow_gate() -> tuple[float, float]:
    """RetNet's slowest fade with a slow turn, rounded."""
    theta = 10000.0 ** (-31 / 32)
    return to_float32(31 / 32 * math.cos(theta)), to_float32(31 / 32 * math.sin(theta))


def test_a_slow_turn_keeps_its_sign() -> None:
    """All subnormal points that can be reached, in whole units; and words in numpy's own float32."""
    c, s = slow_gate()
    x, y = (part.ravel().astype(float) for part in np.meshgrid(np.arange(1027), np.arange(-200, 1027)))
    size, angle = np.hypot(x, y), np.arctan2(y, x)
    reached = (size >= 985) & (size <= 1026) & (angle >= -0.1) & (angle <= 0.75)
    assert reached.sum() == 35_044
    x, y = x[reached], y[reached]
    for _ in range(127):
        x, y = np.rint(c * x) - np.rint(s * y), np.rint(s * x) + np.rint(c * y)
        assert x.min() >= 16
    assert (x == np.rint(c * x) - np.rint(s * y)).all()
    assert (y == np.rint(s * x) + np.rint(c * y)).all()
    random = np.random.default_rng(4)
    c, s, one = np.float32(c), np.float32(s), np.float32(1)
    for _ in range(3):
        re, im, last, since, wait = np.float32(0), np.float32(0), 0, 0, 0
        for _ in range(20_000):
            re, im = c * re - s * im, s * re + c * im
            if since >= wait:
                last, since, wait = (
                    int(random.choice([-1, 1])),
                    0,
                    int(random.choice([128, 140, 3_500, 9_000])),
                )
                re += last * one
            since += 1
            assert np.sign(re) == last


def test_signs_behind_a_write_stay() -> None:
    """States of all angles behind a write end at one point; writes that are 127 letters apart never fail."""
    random = np.random.default_rng(20261120)
    c, s = (np.float32(part) for part in slow_gate())
    angle, size = random.uniform(-0.0176, 0.0176, 5_000), random.uniform(0.98, 1.02, 5_000)
    re, im = (size * np.cos(angle)).astype(np.float32), (size * np.sin(angle)).astype(np.float32)
    for _ in range(3_400):
        re, im = c * re - s * im, s * re + c * im
        assert re.min() > 0
    assert len({*zip(re.tolist(), im.tolist(), strict=True)}) == 1
    re, im, last = np.zeros(400, np.float32), np.zeros(400, np.float32), np.zeros(400)
    wait = random.choice([0, 50], 400)
    for _ in range(9_000):
        re, im = c * re - s * im, s * re + c * im
        writes, value = wait == 0, random.choice([-1, 1], 400)
        re = np.where(writes, re + value.astype(np.float32), re)
        last = np.where(writes, value, last)
        wait = (
            np.where(writes, random.choice([127, 128, 200, 700, 2_753, 2_900, 3_060, 4_000], 400), wait) - 1
        )
        assert (np.sign(re) == last).all()


def counted_depth(
    word: npt.NDArray[np.int64], most: int, dtype: type[np.floating]
) -> tuple[list[bool], list[bool]]:
    """Whether each prefix is in d-most, by a counter and a tally in floats, and by the language."""
    depth, tally, right, alive, found, expected = dtype(0), dtype(0), 0, True, [], []
    zero, one = dtype(0), dtype(1)
    for step in word:
        depth = dtype(depth + dtype(step))
        below, above = dtype(-depth), dtype(depth - dtype(most))
        outside = max(below, zero) - max(dtype(below - one), zero)
        outside = dtype(outside + dtype(max(above, zero) - max(dtype(above - one), zero)))
        tally = dtype(tally + outside)
        right += int(step)
        alive = alive and 0 <= right <= most
        found.append(bool(tally == 0 and depth == 0))
        expected.append(alive and right == 0)
    return found, expected


def test_a_counted_depth_and_a_tally_that_stops() -> None:
    """float-bounded-depth in float16, where sums stop at 2,048: errors at all places, and the last depth."""
    rng = np.random.default_rng(15)
    for most in (1, 3, 200):
        for place in (0, 7, 2_100):
            valid = np.where(np.arange(place + place % 2) % 2, -1, 1)
            error = np.array([[-1], [1] * (most + 1)][rng.integers(0, 2)]) if place else np.array([-1])
            drift = np.where(rng.random(6_000) < rng.choice([0.1, 0.5, 0.9]), 1, -1)
            found, expected = counted_depth(np.concatenate([valid, error, drift]), most, np.float16)
            assert found == expected
            assert any(expected) == bool(place)
    # Depth 2,049 is no float16: the first depth for which a counter of one number does not do.
    for most, exact in ((2_047, True), (2_048, False)):
        found, expected = counted_depth(np.repeat([1, -1], most + 1), most, np.float16)
        assert (found == expected) == exact


def once_flags(table: npt.NDArray[np.int64], word: npt.NDArray[np.int64], dtype: type[np.floating]) -> int:
    """The state of a partially ordered automaton, by sums with gate 1: "entered" and "left", level by level.

    States are numbered so that moves go up. A sum before the letter is the sum less its write.
    """
    one = dtype(1)
    entered, left = [dtype(i == 0) for i in range(len(table))], [dtype(0)] * len(table)
    for letter in word:
        inside: list[bool] = []
        for state in range(len(table)):
            comes = any(inside[p] and table[p, letter] == state for p in range(state))
            entered[state] = dtype(entered[state] + dtype(comes))
            was_entered = entered[state] - dtype(comes) > 0
            # The write of "left" is settled by the letter and by "entered": it comes again, and does no harm.
            leaves = bool(was_entered and table[state, letter] != state)
            left[state] = dtype(left[state] + dtype(leaves))
            inside.append(bool(was_entered and not left[state] - dtype(leaves) > 0))
    assert max(*entered, *left) <= 2 ** (np.finfo(dtype).nmant + 1)
    assert all(e in (0, one) for e in entered)
    return next(s for s in range(len(table)) if entered[s] > 0 and not left[s] > 0)


def test_sums_that_stop_tell_once() -> None:
    """isometries-tell-once on random partially ordered automata, beyond the 2,048 where sums stop."""
    rng = np.random.default_rng(16)
    for _ in range(4):
        states, letters = int(rng.integers(3, 6)), int(rng.integers(2, 4))
        table = np.array([[rng.integers(q, states) for _ in range(letters)] for q in range(states)])
        for length in (3, 10, 2_600):
            word, state = rng.integers(0, letters, length), 0
            for letter in word:
                state = int(table[state, letter])
            assert once_flags(table, word, np.float16) == state


def step_of(kind: str, gate: Floats, value: Floats) -> tuple[Floats, Floats]:
    """Gate and write of a diagonal layer for one letter."""
    a = (1 / (1 + np.exp(-gate))).astype(np.float16)
    writes = {"gla": value, "mingru": (1 - a) * value, "griffin": np.sqrt(1 - a * a) * value}
    if kind == "signed":
        return (2 * a - 1).astype(np.float16), value
    return a, writes[kind].astype(np.float16)


def period_of(kinds: list[str], seed: int) -> int:
    """The period in which the float states of a random stack come back on the powers of a word."""
    rng = np.random.default_rng(seed)
    size = 3
    letters = rng.normal(size=(2, size)).astype(np.float16)
    maps = [rng.normal(size=(3, size, size)).astype(np.float16) for _ in kinds]
    scale = [np.float16(rng.choice([1, 4, 20])) for _ in kinds]
    states = [rng.normal(size=size).astype(np.float16) for _ in kinds]
    word, seen = rng.integers(0, 2, rng.integers(1, 4)), dict[bytes, int]()
    for turn in range(40_000):
        for letter in word:
            x = letters[letter]
            for i, kind in enumerate(kinds):
                a, write = step_of(kind, scale[i] * (maps[i][0] @ x), maps[i][1] @ x)
                states[i] = (a * states[i]).astype(np.float16) + write
                y = np.maximum(maps[i][2] @ states[i], np.float16(0))
                x = x + y / (np.float16(1) + np.abs(y).max())
        key = b"".join(h.tobytes() for h in states)
        if key in seen:
            return turn - seen[key]
        seen[key] = turn
    raise AssertionError("the states did not come back")


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_stacks_of_several_recurrences_settle() -> None:
    """hybrid-floats-no-periods without attention; with a signed gate in the stack some alternate."""
    kinds = ("gla", "mingru", "griffin")
    for seed in range(12):
        chosen = [kinds[i] for i in np.random.default_rng(seed).permutation(3)]
        assert period_of(chosen, seed) == 1
    assert any(period_of(["gla", "signed", "griffin"], seed) > 1 for seed in range(40))
