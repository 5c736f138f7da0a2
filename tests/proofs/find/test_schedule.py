"""The scheduler: slices of row-steps, in order, until one strategy finds something."""

from nerode.core import Budget
from nerode.proofs.find.schedule import FIRST_SLICE, GROWTH, Schedule, finished


def working(steps, each, result, log=None, name=""):
    """A strategy that makes so many row-steps, some at a time."""
    made = 0
    while made < steps:
        made += each
        if log is not None:
            log.append(name)
        yield each
    return result


def budget():
    return Budget(seconds=60).start()


def test_the_cheapest_strategy_ends_it_whatever_the_order():
    for order in (("short", "long"), ("long", "short")):
        costs = {"short": 5 * FIRST_SLICE, "long": 10**9}
        schedule = Schedule({name: working(costs[name], 100, name) for name in order})
        assert schedule.run(budget()) == "short"
        assert schedule.steps["long"] <= GROWTH * costs["short"] + FIRST_SLICE + 200


def test_strategies_take_turns_in_slices_that_grow():
    log = []
    each = FIRST_SLICE // 4
    strategies = {name: working(30 * each, each, None, log, name) for name in "ab"}
    assert Schedule(strategies).run(budget()) is None
    turns = [len(list(turn)) for turn in _turns(log)]
    assert turns == [4, 4, 16, 16, 10, 10]


def _turns(log):
    turn = []
    for name in log:
        if turn and turn[-1] != name:
            yield turn
            turn = []
        turn.append(name)
    yield turn


def test_a_strategy_that_finds_nothing_leaves_the_others_to_go_on():
    schedule = Schedule({"empty": working(0, 1, None), "found": working(10**6, 1_000, "word")})
    assert schedule.run(budget()) == "word"
    assert schedule.steps == {"empty": 0, "found": 10**6}


def test_counts_are_the_same_every_time():
    def run():
        strategies = {
            "a": working(10**9, 333, None),
            "b": working(200_000, 777, "b"),
            "c": working(5, 5, None),
        }
        schedule = Schedule(strategies)
        return schedule.run(budget()), schedule.steps

    assert run() == run()


def test_time_ends_it():
    def forever():
        while True:
            yield 1

    assert Schedule({"forever": forever()}).run(Budget(seconds=0.05).start()) is None


def test_a_strategy_alone():
    assert finished(working(100, 10, "done")) == "done"
