"""The search for rounded counters finds the staircase of the delta rule, and refuses what does not count."""

from __future__ import annotations

import numpy as np

from benchmarks.rounding import closed_counter, delta_rule, real_gate


def test_the_control_is_found() -> None:
    random = np.random.default_rng(20261119)
    assert any(closed_counter(*delta_rule(random)[:2], 2) for _ in range(400))


def test_a_monotone_step_does_not_count() -> None:
    random = np.random.default_rng(1)
    with np.errstate(all="ignore"):
        steps = [real_gate(random) for _ in range(60)]
        assert not any(
            closed_counter(step, start, 2) for step, start, about in steps if "gate -" not in about
        )


def test_a_clock_is_no_counter_and_a_turn_is() -> None:
    assert closed_counter(lambda state, letter: (-state[0],), (1.0,), 2) == 0
    assert closed_counter(lambda state, letter: (-state[0] if letter else state[0],), (1.0,), 2) == 2
