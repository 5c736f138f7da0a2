"""Recurrences that count, and some that do not: run as they are, without the compiler or the verdict."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import torch
from hypothesis import given, strategies as st

from nerode.models.architectures.deltanet import DeltaNet, DeltaNetSettings
from nerode.models.architectures.mamba import Mamba, MambaSettings
from nerode.models.architectures.mingru import MinGru, MinGruSettings
from nerode.models.architectures.rwkv7 import Rwkv7, Rwkv7Settings


def brackets(length: int, seed: int) -> list[int]:
    """A walk of ±1 that never goes below 0."""
    rng, depth, steps = np.random.default_rng(seed), 0, []
    for _ in range(length):
        step = 1 if depth == 0 or rng.random() < 0.5 else -1
        depth += step
        steps.append(step)
    return steps


def test_mamba_counts_with_a_decay_of_zero() -> None:
    settings = MambaSettings(
        channels=2, states=1, rank=1, convolution=0, activation=False, gate=False, skip=False
    )
    layer = Mamba(4, settings)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.zero_()
        layer.A_log.fill_(-30.0)
        layer.dt_proj.bias.fill_(math.log(math.e - 1))
        layer.in_proj.weight[0] = torch.tensor([1.0, -1, 0, 0])
        layer.in_proj.weight[1] = 1.0
        layer.x_proj.weight[1, 1] = layer.x_proj.weight[2, 1] = 1.0
        layer.out_proj.weight[0, 0] = 1.0
        steps = brackets(20_000, seed=1)
        letters = torch.tensor([[1.0, 0, 0, 0] if s > 0 else [0.0, 1, 0, 0] for s in steps])
        outputs, _ = layer(letters[None])
    expected = np.cumsum(steps)
    # Δ = 1 up to rounding, so that the count is read to the nearest integer, with a margin.
    assert np.abs(outputs[0, :, 0].numpy() - expected).max() < 0.25
    assert expected.max() > 100


def score_with_a_write_of_one() -> tuple[float, float]:
    """A score near -48 and a value such that σ(score)·value is exactly 1.0, however torch computes σ."""
    for score in np.arange(-48, -40, 0.125):
        sigmas = {float(v) for v in torch.sigmoid(torch.full((4099,), float(score)))}
        sigmas.add(float(torch.sigmoid(torch.tensor(float(score)))))
        value = np.nextafter(np.float32(1 / max(sigmas)), np.float32(0))
        for _ in range(9):
            value = np.nextafter(value, np.float32(np.inf))
            if all(np.float32(np.float32(s) * value) == 1 for s in sigmas):
                return float(score), float(value)
    raise AssertionError("no such score")


def test_tied_writes_count_in_the_layers_of_the_zoo() -> None:
    """counters-tied-writes: gate 1.0 beside a write of ±1.0, in minGRU and in DeltaNet with β in [0,1]."""
    score, value = score_with_a_write_of_one()
    steps = brackets(100_000, seed=4)
    depth = np.cumsum(steps)
    letters = torch.tensor([[1.0, 0.0] if s > 0 else [0.0, 1.0] for s in steps])[None]
    mingru = MinGru(2, MinGruSettings(hidden=1))
    settings = DeltaNetSettings(
        heads=1,
        key_width=1,
        value_width=1,
        convolution=0,
        activation="none",
        query_norm="none",
        output_norm="none",
        scale=1.0,
        bias=True,
    )
    delta = DeltaNet(2, settings)
    with torch.no_grad():
        for parameter in [*mingru.parameters(), *delta.parameters()]:
            parameter.zero_()
        mingru.gate.bias.fill_(score)
        mingru.candidate.weight[0] = torch.tensor([value, -value])
        delta.query.bias.fill_(1.0)
        delta.key.bias.fill_(1.0)
        delta.beta.bias.fill_(score)
        delta.value.weight[0] = torch.tensor([value, -value])
        delta.output.weight[0, 0] = 1.0
        for layer in (mingru, delta):
            outputs, _ = layer.run(letters, layer.initial_state(1))
            assert (outputs[0, :, 0].numpy() == depth).all()
            state = layer.initial_state(1)
            for t in range(2_000):
                output, state = layer.step(letters[:, t], state)
                assert float(output[0, 0]) == depth[t]
    assert depth.max() > 200


def test_reflections_add() -> None:
    h, count = np.float32(0), 0
    for t, step in enumerate(brackets(30_000, seed=2)):
        v = np.float32(0.5 * step * (-1) ** (t + 1))
        h = np.float32(-h + np.float32(2) * v)
        count += step
        assert h * (-1) ** (t + 1) == count


def test_averages_and_contractions_stay_bounded() -> None:
    """With weights that are fixed and of moderate size."""
    rng = np.random.default_rng(3)
    gates = [0.0, 0.5, 0.9, 1.0]
    average = griffin = 0.0
    state = np.zeros(3)
    keys = rng.normal(size=(4, 3))
    keys /= np.linalg.norm(keys, axis=1, keepdims=True)
    largest = 0.0
    for _ in range(20_000):
        g = rng.choice(gates)
        average = g * average + (1 - g)
        griffin = g * griffin + math.sqrt(1 - g * g)
        k, beta = keys[rng.integers(4)], rng.choice([0.3, 1.0])
        state = state - beta * k * (k @ state - 1.0)
        largest = max(largest, average, griffin / math.sqrt(1.9 / 0.1), np.linalg.norm(state) / 100)
    assert largest <= 1 + 1e-9


def test_a_fading_sign_is_the_last_write_over_the_reals_and_in_floats() -> None:
    rng = np.random.default_rng(6)
    h, kept, last, before = Fraction(1), np.float32(0), 1, 0
    gate = np.float32(0.625)
    for _ in range(3_000):
        write = int(rng.choice([-1, 0, 1], p=[0.02, 0.96, 0.02]))
        last = write or last
        if h.denominator < 1 << 2000:
            h = h / 3 + write
            assert (h > 0) == (last > 0)
        # Written one step later, and only by a letter that does not write itself: writes are apart.
        kept = np.float32(gate * kept + np.float32(before if write == 0 else 0))
        if write == 0 and kept != 0:
            assert (kept > 0) == (last > 0)
        before = write
    for _ in range(3_000):
        kept = np.float32(gate * kept)
    assert kept == np.sign(last) * np.float32(1e-45)


def test_swaps_of_doubled_coordinates_are_exact_in_floats() -> None:
    rng = np.random.default_rng(7)
    n = 5
    state = torch.zeros(2 * n, dtype=torch.float32)
    state[0] = state[n] = 1.0
    where = 0
    beta = 2 * torch.sigmoid(torch.tensor(48.0))
    for _ in range(2_000):
        i, j = (int(q) for q in rng.choice(n, 2, replace=False))
        key = torch.zeros(2 * n)
        key[[i, n + i]], key[[j, n + j]] = 1.0, -1.0
        key = torch.nn.functional.normalize(key, dim=0)
        state = state - beta * key * (key @ state)
        where = {i: j, j: i}.get(where, where)
    wanted = torch.zeros(2 * n)
    wanted[where] = wanted[n + where] = 1.0
    assert torch.equal(state, wanted)


def test_the_spectrum_of_rwkv7_stays_above_minus_one_half() -> None:
    generator = torch.Generator().manual_seed(8)
    for _ in range(20):
        layer = Rwkv7(8, Rwkv7Settings(heads=2)).double()
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.copy_(2 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
        moves = layer.transition(torch.randn(4, 9, 8, generator=generator, dtype=torch.float64))
        values = moves.eigenvalues()
        assert values.imag.abs().max() < 1e-6
        assert values.real.min() > -0.5
        assert values.real.max() <= 1 + 1e-9


@given(st.lists(st.sampled_from([-1, 0, 1]), min_size=1, max_size=60))
def test_a_growing_sum_has_the_sign_of_the_last_write(writes):
    total, last = 0, 0
    for t, v in enumerate(writes, start=1):
        total, last = total + v * 3**t, v or last
        assert (total > 0) - (total < 0) == last


@given(st.lists(st.sampled_from([1, 2, -1]), max_size=60))
def test_weights_by_depth_show_the_top_of_a_stack(moves):
    stack, total = [], 0
    for d in moves:
        if d > 0:
            stack.append(d)
            total += d * 4 ** len(stack)
        elif stack:
            total -= stack[-1] * 4 ** len(stack)
            stack.pop()
        top = total // 4 ** len(stack) if stack else 0
        assert top == (stack[-1] if stack else 0)


def rwkv_gate(value: Fraction) -> Fraction:
    """A gate w - a of RWKV-7 with the removal doubled: w in [0.5454, 1], a in [0, 2]."""
    assert Fraction(5454, 10_000) - 2 <= value <= 1
    return value


def net_effect(depth: int, letters: list[int]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The levels that letters ±1, ±2 pop for good and push for good, each with its digit, from a depth on."""
    popped, pushed = [], []
    for letter in letters:
        digit = 1 if abs(letter) == 1 else -1
        if letter > 0:
            pushed.append((depth + len(pushed) - len(popped) + 1, digit))
        elif pushed:
            pushed.pop()
        else:
            popped.append((depth - len(popped), digit))
    return popped, pushed


def test_a_stack_in_digits() -> None:
    """stack-in-digits, on words of both kinds of brackets; a letter is the kind, negative to close."""
    rng, gate = np.random.default_rng(9), Fraction(7, 5)
    base, least = gate**4, Fraction(1)
    for share in (0.5, 0.6, 0.7):
        numbers, stack, blocks = [Fraction(0)] * 9, list[int](), [(0, list[int]()), (0, list[int]())]
        for position in range(600):
            if position % 4 == 0:
                blocks = [blocks[1], (len(stack), [])]
            popped, pushed = (dict(levels) for levels in net_effect(*blocks[0]))
            for j in range(9):
                pop = next((d for n, d in popped.items() if n % 9 == j), 0)
                push = next((d for n, d in pushed.items() if n % 9 == j), 0)
                step = Fraction(1) if bool(pop) == bool(push) else -gate if pop else 1 / gate
                write = Fraction(push, 1) / base - (pop / base if push else pop) if position % 4 == 3 else 0
                numbers[j] = rwkv_gate(step) * numbers[j] + write
            if not stack or (rng.random() < share and position < 400):
                stack.append(int(rng.integers(1, 3)))
                blocks[1][1].append(stack[-1])
            else:
                blocks[1][1].append(-stack.pop())
            letters = blocks[0][1] + blocks[1][1]
            shown = [d for n, d in net_effect(blocks[0][0], letters)[1] if n == len(stack)]
            number = numbers[len(stack) % 9]
            if not shown and stack:
                least = min(least, abs(number))
            top = shown[0] if shown else (number > 0) - (number < 0)
            assert top == ({1: 1, 2: -1}[stack[-1]] if stack else 0), position
    assert least >= (1 - 1 / (base - 1)) / base > Fraction(168, 1000)


def test_two_steps_of_rwkv7_bring_states_apart() -> None:
    product = np.eye(2)
    for angle, removal in ((156, (0, 1)), (114, (1, 0))):
        key = np.array([math.cos(math.radians(angle)), math.sin(math.radians(angle))])
        step = np.eye(2) - np.outer(np.array(removal) * key, key)
        assert abs(np.linalg.eigvals(step)).max() <= 1 + 1e-9
        product = step @ product
    assert abs(np.linalg.eigvals(product)).max() > 1.249


def test_products_of_contractions_fix_or_fade() -> None:
    """delta-rule-nonnegative: lengths are kept on fixed vectors alone, and shrink beside them."""
    random = np.random.default_rng(20261120)
    for _ in range(200):
        size = int(random.integers(2, 6))
        product, unit = np.eye(size), np.eye(size)
        for _ in range(int(random.integers(1, 6))):
            key = random.integers(-1, 2, size)
            if key.any():
                beta = random.choice([0.0, 0.3, 0.9, 1.0])
                product = (unit - beta * np.outer(key, key) / (key @ key)) @ product
        _, singular, vectors = np.linalg.svd(product - unit)
        fixed = vectors[singular < 1e-9]
        beside = unit - fixed.T @ fixed
        assert np.allclose(product @ beside, beside @ product @ beside)
        assert np.linalg.norm(product @ beside, 2) < 1 - 1e-4


def test_pairs_of_integers_are_stacks_of_several_kinds() -> None:
    """stack-of-two-integers: a pair for each bit of the kind; a number of at most 0 is an error, at once."""
    random = np.random.default_rng(20261120)
    errors = 0
    for _ in range(2_000):
        kinds = int(random.integers(2, 5))
        pairs = [[1, 1] for _ in range((kinds - 1).bit_length())]
        stack: list[int] = []
        for _ in range(40):
            opens = random.random() < 0.5
            kind = int(random.integers(kinds))
            if not opens and stack and random.random() < 0.9:
                kind = stack[-1]
            for bit, pair in enumerate(pairs):
                to, of = (1, 0) if kind >> bit & 1 == 0 else (0, 1)
                pair[to] += pair[of] if opens else -pair[of]
            wrong = not opens and stack[-1:] != [kind]
            assert wrong == any(min(pair) <= 0 for pair in pairs)
            if wrong:
                errors += 1
                break
            stack = [*stack, kind] if opens else stack[:-1]
            assert all(x == y for x, y in pairs) == (not stack)
    assert errors > 500
