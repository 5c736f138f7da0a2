"""Budgets: limits on time, memory and sizes, and the guard that keeps a whole command within them.

Three lines of defence, from kind to blunt:

1. Loops call `Budget.check` or `check_time`; operations on exact numbers, which have no budget in hand, call
   `charge`. The error carries what is known, and a caller may go on with less.
2. `enforce` arms a timer of the process. A loop that does not look is stopped `MARGIN` seconds late.
3. `enforce` bounds the memory of the process, so that an allocation fails before the machine suffers.
"""

from __future__ import annotations

import functools
import math
import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar, overload

from nerode.core.errors import BudgetExceeded, InputError

# Python in a browser has no limits of memory, no processes to wait for and no timer.
with suppress(ModuleNotFoundError):
    import resource
_HAS_LIMITS = "resource" in globals()

MARGIN = 1.0
"""CPU seconds after its budget at which `enforce` stops what has not stopped by itself."""

TABLES = 3
"""A command may take as much memory as this number of the largest tables that the budget allows."""

_BETWEEN_STOPS = 0.25
_BETWEEN_LOOKS = 0.005
"""Seconds between two reads of the CPU clock, which is five times as slow as the other one."""

_cpu_before_fork = 0.0


def cpu_seconds() -> float:
    """Returns the CPU seconds of this process and of the processes it has waited for.

    In a forked copy the count goes on from that of the original.
    """
    if not _HAS_LIMITS:
        return time.process_time()
    waited_for = resource.getrusage(resource.RUSAGE_CHILDREN)
    return _cpu_before_fork + time.process_time() + waited_for.ru_utime + waited_for.ru_stime


def _go_on_in_a_copy() -> None:
    global _cpu_before_fork
    _cpu_before_fork = _cpu_at_fork


def _before_fork() -> None:
    global _cpu_at_fork
    _cpu_at_fork = cpu_seconds()


_cpu_at_fork = 0.0
os.register_at_fork(before=_before_fork, after_in_child=_go_on_in_a_copy)


class _Clock:
    """The part of a budget that changes: when it began, when to look again, what was known last.

    Of a part, `whole` has the seconds of what it is a part of. One that is not `started` belongs to a budget
    that was only made.
    """

    __slots__ = ("began", "known", "next_look", "started", "whole")

    def __init__(self, began: float, whole: float | None = None, *, started: bool = True) -> None:
        self.began = began
        self.whole = whole
        self.started = started
        self.next_look = 0.0
        self.known: Mapping[str, object] = {}


def _new_clock() -> _Clock:
    return _Clock(cpu_seconds(), started=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits that an algorithm may not pass.

    A budget that was only made states limits: every call that is given it has all of its seconds, so that one
    object serves a whole session. After `Budget().start()` its clock runs, and the calls that are given it
    share its seconds. A budget obeys the one that is `running`, too.

    Attributes:
        states: states of one automaton.
        elements: elements of one monoid or group.
        images: images of the state set that one search may visit.
        seconds: CPU seconds of the process, and of those it waited for, from the start.
            Other programs on the machine make no difference.
        bytes: memory that one table may take; under `enforce` the process may take `TABLES` times as much.
    """

    states: int = 20_000
    elements: int = 1_000_000
    images: int = 200_000
    seconds: float = 60.0
    bytes: int = 1 << 30
    _clock: _Clock = field(default_factory=_new_clock, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in _LIMITS:
            if not getattr(self, name) > 0:
                raise InputError(
                    f"a budget of {getattr(self, name)} {name} is not positive; give a number above 0"
                )

    def start(self) -> Budget:
        """Returns the same limits with a clock that begins now."""
        return replace(self, _clock=_Clock(cpu_seconds()))

    def part(self, share: float = 0.5, *, seconds: float = math.inf) -> Budget:
        """Returns a budget for one of several parts, with a share of the seconds that are left.

        Half of them by default: whatever the first parts take, something is left for the last one.

        Args:
            share: of the seconds that are left.
            seconds: the most that the part may have.
        """
        clock = _Clock(cpu_seconds(), self.stated)
        return replace(self, seconds=max(1e-3, min(seconds, share * self.left())), _clock=clock)

    @property
    def stated(self) -> float:
        """The seconds that the user knows of: those of the whole, for a part."""
        return self.seconds if self._clock.whole is None else self._clock.whole

    def check(self, resource: str, used: float, **known_so_far: object) -> None:
        """Raises BudgetExceeded if `used` is above the limit of `resource`, or if time is up.

        Args:
            resource: name of one of the fields.
            used: how much is needed so far.
            known_so_far: facts to hand to the user if this is where it stops.
        """
        limit = getattr(self, resource)
        if used > limit:
            raise BudgetExceeded(resource, limit, known_so_far=known_so_far)
        self.check_time(**known_so_far)

    def check_time(self, **known_so_far: object) -> None:
        """Raises BudgetExceeded if the seconds are used up, of this budget or of the one that is running."""
        clock = self._clock
        if known_so_far:
            clock.known = known_so_far
        now = time.monotonic()
        if now < clock.next_look:
            return
        if self.elapsed() > self.seconds:
            raise BudgetExceeded("seconds", self.stated, known_so_far=clock.known)
        outer = _running.get()
        if outer is not None and outer is not self:
            outer.check_time(**known_so_far)
        clock.next_look = now + min(_BETWEEN_LOOKS, self.seconds / 10)

    def elapsed(self) -> float:
        """CPU seconds since the budget was started."""
        return cpu_seconds() - self._clock.began

    def left(self) -> float:
        """CPU seconds that are left, of this budget and of the one that is running; 0 if there are none."""
        outer = _running.get()
        rest = max(0.0, self.seconds - self.elapsed())
        return rest if outer is None or outer is self else min(rest, outer.left())

    @contextmanager
    def running(self) -> Iterator[Budget]:
        """Makes this the budget that every other one obeys inside, and that `charge` charges."""
        budget = started(self)
        outer = _running.get()
        shortest = budget if outer is None or budget.left() <= outer.left() else outer
        token = _running.set(shortest)
        try:
            yield budget
        finally:
            _running.reset(token)

    def limits(self) -> Mapping[str, float]:
        """The limits by name."""
        return {name: getattr(self, name) for name in _LIMITS}

    def __reduce__(self) -> tuple[Any, ...]:
        """In another process the clock goes on from what was used here."""
        return _renew, (dict(self.limits()), self.elapsed())


_LIMITS = tuple(f.name for f in fields(Budget) if f.name != "_clock")
_running: ContextVar[Budget | None] = ContextVar("budget", default=None)


def _renew(limits: dict[str, Any], used: float) -> Budget:
    return Budget(**limits, _clock=_Clock(cpu_seconds() - used))


def charge(resource: str = "", used: float = 0.0, **known_so_far: object) -> None:
    """Looks at the running budget, if there is one: for operations that are given none.

    Args:
        resource: name of a limit to compare `used` with; only the clock is checked without one.
        used: how much is needed.
        known_so_far: facts to hand to the user if this is where it stops.
    """
    budget = _running.get()
    if budget is None:
        return
    if resource:
        budget.check(resource, used, **known_so_far)
    else:
        budget.check_time(**known_so_far)


def started(budget: Budget | None = None) -> Budget:
    """Returns the budget of one call: itself if its clock runs, else its limits from now on.

    Without one, the usual limits.
    """
    if budget is None:
        budget = Budget()
    return budget if budget._clock.started else budget.start()


T = TypeVar("T")


class budgeted_property(functools.cached_property[T]):  # noqa: N801 - used as a decorator
    """A cached property that is not tried again as long as the budget is running which it did not fit."""

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> budgeted_property[T]: ...
    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T: ...
    def __get__(self, instance: object | None, owner: type[Any] | None = None) -> T | budgeted_property[T]:
        """Returns the value; raises what was raised before under the running budget."""
        if instance is None:
            return self
        failures: dict[str, tuple[BudgetExceeded, Budget | None]]
        failures = instance.__dict__.setdefault("_did_not_fit", {})
        name, running = str(self.attrname), _running.get()
        if name in failures and failures[name][1] is running:
            raise failures[name][0].with_traceback(None)
        try:
            value: T = super().__get__(instance, owner)
        except BudgetExceeded as exceeded:
            failures[name] = (exceeded, running)
            raise
        return value


def is_limited() -> bool:
    """Whether a budget with a limit of seconds is running."""
    budget = _running.get()
    return budget is not None and math.isfinite(budget.seconds)


def charge_for(processes: Iterable[int]) -> None:
    """Looks at the running budget as if processes that are still at work had ended by now."""
    budget = _running.get()
    if budget is None or not math.isfinite(budget.seconds):
        return
    if budget.elapsed() + sum(map(_seconds_of, processes)) > budget.seconds:
        raise BudgetExceeded("seconds", budget.stated, known_so_far=budget._clock.known)


def _seconds_of(process: int) -> float:
    """CPU seconds of another process; 0 where the operating system does not say."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0


@contextmanager
def enforce(budget: Budget) -> Iterator[Budget]:
    """Runs a whole command under a budget, also where its code does not check it.

    What is still at work `MARGIN` CPU seconds after the budget is interrupted between two steps of Python,
    again and again until it ends. A single call of a C library is not interrupted; its size is bounded by
    the memory that the process may take. Outside the main thread only loops that look are stopped.

    Raises:
        BudgetExceeded: if seconds or memory are used up.
    """
    with budget.running() as budget, _bounded_memory(budget) as bounded, _alarm(budget):
        try:
            yield budget
        except (MemoryError, RuntimeError) as error:
            # Torch has no error of its own for this.
            if not bounded or (isinstance(error, RuntimeError) and "allocate memory" not in str(error)):
                raise
            raise BudgetExceeded(
                "bytes",
                TABLES * budget.bytes,
                known_so_far=budget._clock.known,
                remedy="there is not enough memory; ask for something smaller, or raise --max-bytes",
            ) from None


@contextmanager
def _alarm(budget: Budget) -> Iterator[None]:
    """Interrupts the main thread when the budget is long over."""
    unarmed = math.isinf(budget.seconds) or not hasattr(signal, "setitimer")
    if unarmed or threading.current_thread() is not threading.main_thread():
        yield
        return
    armed = True

    def stop(number: int, frame: FrameType | None) -> None:
        # The timer counts by ticks and may be early on a busy machine; it comes again.
        if armed and budget.elapsed() >= budget.seconds:
            raise BudgetExceeded("seconds", budget.seconds, known_so_far=budget._clock.known)

    before = signal.signal(signal.SIGPROF, stop)
    # A clock takes no more than some 10^9 seconds.
    signal.setitimer(signal.ITIMER_PROF, min(budget.left(), 1e9) + MARGIN, _BETWEEN_STOPS)
    try:
        yield
    finally:
        armed = False
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextmanager
def _bounded_memory(budget: Budget) -> Iterator[bool]:
    """Bounds the private memory of this process and of those it starts; says whether it could."""
    taken = _private_memory()
    if not _HAS_LIMITS or not taken:
        yield False
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = taken + TABLES * budget.bytes
    if most >= 1 << 63 or (soft != resource.RLIM_INFINITY and soft <= most):
        yield False
        return
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    try:
        yield True
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _private_memory() -> int:
    """Bytes of private memory, as the operating system counts them for its limit; 0 where it does not say."""
    try:
        if not _HAS_LIMITS:
            return 0
        return int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return 0
