"""Limits: positive, named, with one clock for all that share a budget."""

from __future__ import annotations

import dataclasses
import math
import os
import pickle
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time

import pytest

from nerode.core import budget as budgets
from nerode.core.budget import (
    Budget,
    budgeted_property,
    charge,
    cpu_seconds,
    enforce,
    started,
)
from nerode.core.errors import BudgetExceeded, InputError


def burn(seconds: float) -> None:
    """Uses CPU seconds."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


LIMITS = ("states", "elements", "images", "seconds", "bytes")


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("value", [0, -1, math.nan])
def test_limits_are_positive(name: str, value: float) -> None:
    with pytest.raises(InputError) as refused:
        Budget(**{name: value})
    assert f"{value} {name}" in str(refused.value)
    assert "above 0" in str(refused.value)


def test_limits_are_listed_without_the_clock() -> None:
    assert set(Budget().limits()) == set(LIMITS)
    assert Budget(states=7).limits()["states"] == 7


def test_budgets_with_the_same_limits_are_equal_whenever_they_were_made() -> None:
    early = Budget(states=7)
    burn(0.001)
    assert early == Budget(states=7)
    assert early != Budget(states=8)


@pytest.mark.parametrize("resource", LIMITS[:3])
def test_the_limit_itself_is_allowed(resource: str) -> None:
    budget = Budget(**{resource: 10})
    budget.check(resource, 10)
    with pytest.raises(BudgetExceeded) as stopped:
        budget.check(resource, 11, states="at least 11", groups="Z2 found")
    assert stopped.value.resource == resource
    assert stopped.value.limit == 10
    assert stopped.value.known_so_far == {"states": "at least 11", "groups": "Z2 found"}


def test_a_resource_that_does_not_exist_is_a_programming_error() -> None:
    with pytest.raises(AttributeError):
        Budget().check("patience", 1)


def test_time_is_checked_together_with_every_resource() -> None:
    budget = Budget(seconds=0.001)
    burn(0.01)
    with pytest.raises(BudgetExceeded) as stopped:
        budget.check("states", 1, states=1)
    assert stopped.value.resource == "seconds"
    assert stopped.value.known_so_far == {"states": 1}
    with pytest.raises(BudgetExceeded):
        budget.check_time()


def test_stages_that_share_a_budget_share_its_clock() -> None:
    budget = Budget(seconds=0.05)
    budget.check_time()

    def stage(shared: Budget) -> None:
        burn(0.03)
        shared.check_time()

    stage(budget)
    with pytest.raises(BudgetExceeded):
        stage(budget)


def test_starting_sets_the_clock_to_zero_and_leaves_the_first_one_running() -> None:
    budget = Budget(seconds=0.02, states=3)
    burn(0.03)
    again = budget.start()
    assert again == budget
    assert again.elapsed() < budget.elapsed()
    again.check_time()
    with pytest.raises(BudgetExceeded):
        budget.check_time()


def test_budgets_do_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Budget().states = 5  # type: ignore[misc]


def test_waiting_costs_nothing() -> None:
    budget = Budget(seconds=0.05)
    time.sleep(0.1)
    budget.check_time()


def test_processes_that_were_waited_for_count() -> None:
    budget = Budget(seconds=0.1)
    subprocess.run(
        [sys.executable, "-S", "-c", "import time\nwhile time.process_time() < 0.2: pass"], check=True
    )
    with pytest.raises(BudgetExceeded):
        budget.check_time()


def test_a_forked_copy_goes_on_counting() -> None:
    budget = Budget(seconds=0.05)
    burn(0.04)
    if (child := os.fork()) == 0:
        burn(0.02)
        os._exit(0 if budget.elapsed() > 0.06 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_budget_that_is_sent_elsewhere_takes_along_what_was_used() -> None:
    budget = Budget(seconds=5, states=9)
    burn(0.02)
    again = pickle.loads(pickle.dumps(budget))  # noqa: S301  (its own bytes)
    assert again == budget
    assert again.elapsed() >= 0.02


def test_the_running_budget_binds_every_other_one() -> None:
    with Budget(seconds=0.02).running():
        inner = Budget(seconds=100.0)
        assert inner.left() <= 0.02
        burn(0.03)
        with pytest.raises(BudgetExceeded) as stopped:
            inner.check("states", 3, states=3)
        assert stopped.value.limit == 0.02
        assert stopped.value.known_so_far == {"states": 3}
        with pytest.raises(BudgetExceeded):
            charge()
    charge()
    inner.check_time()


def test_an_inner_budget_does_not_lift_the_outer_one() -> None:
    with Budget(seconds=0.02).running(), Budget(seconds=100.0).running():
        burn(0.03)
        with pytest.raises(BudgetExceeded):
            charge()


def test_parts_leave_something_for_the_next() -> None:
    whole = Budget(seconds=8.0)
    assert 3.9 < whole.part().seconds <= 4.0
    assert whole.part(1.0, seconds=2.0).seconds == 2.0
    spent = Budget(seconds=0.001)
    burn(0.002)
    part = spent.part()
    burn(0.002)
    with pytest.raises(BudgetExceeded):
        part.check_time()


def loop_for_ever() -> None:
    while True:
        pass


@pytest.fixture
def short_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "MARGIN", 0.1)


@pytest.mark.usefixtures("short_margin")
def test_a_loop_that_does_not_look_is_stopped() -> None:
    before = signal.getsignal(signal.SIGPROF)
    begun = cpu_seconds()
    budget = Budget(seconds=0.2).start()
    budget.check_time(states="17 so far")
    with pytest.raises(BudgetExceeded) as stopped, enforce(budget):
        loop_for_ever()
    assert 0.2 <= cpu_seconds() - begun < 0.6
    assert stopped.value.resource == "seconds"
    assert stopped.value.known_so_far == {"states": "17 so far"}
    assert signal.getsignal(signal.SIGPROF) is before
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


@pytest.mark.usefixtures("short_margin")
def test_a_loop_that_swallows_the_stop_is_stopped_again() -> None:
    stops = 0
    with enforce(Budget(seconds=0.05)):
        while stops < 3:
            try:
                loop_for_ever()
            except BudgetExceeded:
                stops += 1
    assert stops == 3


@pytest.mark.usefixtures("short_margin")
def test_large_integers_are_stopped() -> None:
    with pytest.raises(BudgetExceeded), enforce(Budget(seconds=0.05)):
        _ = 7 ** (10**9)


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of private memory is Linux's")
def test_memory_is_bounded_and_freed_again() -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with pytest.raises(BudgetExceeded) as stopped, enforce(Budget(bytes=1 << 27)):
        # More than a process that ran other tests has free in its heap, which it may use again.
        _ = [bytearray(1 << 26) for _ in range(200)]
    assert stopped.value.resource == "bytes"
    assert "--max-bytes" in str(stopped.value)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


def test_other_threads_are_stopped_where_they_look() -> None:
    found = []

    def work() -> None:
        try:
            with enforce(Budget(seconds=0.02)) as budget:
                burn(0.05)
                budget.check_time()
        except BudgetExceeded as stopped:
            found.append(stopped)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(found) == 1


@pytest.fixture
def wait(monkeypatch: pytest.MonkeyPatch):
    """Lets CPU seconds pass."""
    passed = [0.0]
    real = budgets.cpu_seconds
    monkeypatch.setattr(budgets, "cpu_seconds", lambda: real() + passed[0])
    monkeypatch.setattr(budgets, "_BETWEEN_LOOKS", 0.0)

    def let_pass(seconds: float) -> None:
        passed[0] += seconds

    return let_pass


def test_one_object_serves_a_whole_session(wait) -> None:
    import nerode as nr

    options = nr.Options(budget=Budget(seconds=30))
    for _ in range(3):
        wait(31)
        language = nr.language("(aa)*", budget=options.budget)
        assert nr.profile(language, options.budget).star_free is False
        network = nr.compile_language(language, "diagonal-signed", options)
        assert nr.certify(network, language, budget=options.budget).claims
        assert nr.decide(language, budget=options.budget)["mamba"].status == "no"


def test_calls_share_the_seconds_of_a_started_one(wait) -> None:
    import nerode as nr

    budget = Budget(seconds=30).start()
    options = nr.Options(budget=budget)
    language = nr.language("(aa)*")
    nr.compile_language(language, "diagonal-signed", options)
    wait(31)
    with pytest.raises(BudgetExceeded):
        nr.compile_language(language, "diagonal-signed", options)
    assert started(budget) is budget
    assert started(Budget(seconds=3)).left() > 2


class _Slow:
    tried = 0

    @budgeted_property
    def value(self) -> int:
        """A value that takes 31 s the first two times."""
        self.tried += 1
        if self.tried < 3:
            raise BudgetExceeded("seconds", 31)
        return self.tried


def test_what_did_not_fit_is_tried_again_under_another_budget_only() -> None:
    slow = _Slow()
    for budget in (Budget(), Budget()):
        with budget.running():
            for _ in range(4):
                with pytest.raises(BudgetExceeded):
                    _ = slow.value
    assert slow.tried == 2
    assert [slow.value, slow.value, slow.tried] == [3, 3, 3]
    assert isinstance(_Slow.value, budgeted_property)


def test_commands_work_where_python_has_no_limits_and_no_timers():
    """As in a browser: no module `resource`, no `setitimer`, no clock of a thread."""
    program = """
import signal, sys, time
sys.modules["resource"] = None
del signal.setitimer, time.thread_time
from click.testing import CliRunner
from nerode.cli.check import check
from nerode.cli.compile import compile_command
from nerode.cli.verify import verify
made = ["(aa)*", "--to", "mamba-signed", "-o", "even"]
for command, arguments in ((check, ["(aa)*"]), (compile_command, made),
                           (verify, ["even"])):
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 0, (done.output, done.exception)
"""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
