"""All float states that words lead to."""

import itertools

import numpy as np
import pytest
import torch

import nerode as nr
from nerode.core import Budget, InputError
from nerode.kernel import PREDICT, RECOGNISE, VALID_PREFIXES
from nerode.languages import LanguageQuestion, Legal, asked_of, legal_bits, resolve_language
from nerode.models.network_module import load_model
from nerode.proofs.find.walk import MOST_STATES, Walk, grid_marks
from nerode.proofs.runner import QuestionTable, make_runner, to_rows
from tests.proofs.floats.languages import NOTHING_YET, register_language
from tests.proofs.floats.modules import DyckCounter, Fading, Growing, Register, SignOfZero, TanhRegister

LANGUAGE = register_language()
DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


def explore(runner, asked, *, task=None, batch=None, budget=None, slices=None, **options):
    """A walk to its end, in one go or in slices of some row-steps."""
    budget = (budget or Budget()).start()
    walk = Walk(runner, asked_of(asked, task), batch=batch, most=budget.elements, **options)
    if slices is None:
        walk.run(budget)
    while slices and walk.end is None:
        walk.advance(slices, budget)
    return walk


def run(module, task=PREDICT, language=LANGUAGE, **options):
    return explore(make_runner(module, language, empty=NOTHING_YET), language, task=task, **options)


def brute_force(module, language, length):
    """All states that words up to a length lead to, one word at a time, and the shortest wrong word."""
    runner = make_runner(module, language)
    found, wrong = set(), None
    for n in range(length + 1):
        for word in itertools.product(range(len(language.alphabet)), repeat=n):
            state, configuration, answers = runner.start(), language.initial(), None
            for letter in word:
                answers, state = runner.step(np.array([letter]), state)
                configuration = language.advance(configuration, letter)
            expected = np.array([legal_bits(language.legal(configuration), len(language.alphabet))])
            if answers is not None and wrong is None and (answers != expected).any():
                wrong = word
            found.add((to_rows(state, 1).tobytes(), configuration))
    return found, wrong


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_register_that_holds_closes_with_two_states(dtype):
    found = run(Register(dtype=dtype))
    assert found.end == "closed"
    assert found.refutation is None
    assert len(found) == 2
    assert found.moves.tolist() == [[0, 1, 0], [0, 1, 1]]


def test_all_states_are_those_of_brute_force():
    module = Register(hold=1.0, overwrite=0.25, dtype=torch.bfloat16)
    found = run(module)
    assert found.end == "closed"
    reached, wrong = brute_force(module, LANGUAGE, 6)
    rows = {row.tobytes() for row in found.rows}
    assert wrong is None
    assert {bits for bits, _ in reached} <= rows
    assert len({bits for bits, _ in reached}) > 30


def test_the_shortest_wrong_word_is_that_of_brute_force():
    module = Register(hold=0.75)
    found = run(module)
    _, wrong = brute_force(module, LANGUAGE, 4)
    assert LANGUAGE.alphabet.encode(found.refutation.word) == wrong
    assert found.refutation.word == ("h", "i", "i", "i")
    assert found.length == 3
    assert found.refutation.expected == ("l", "h", "i", "$")
    assert found.refutation.got == ("l", "h", "i")


def test_a_saturating_register_closes_though_it_rounds():
    found = run(TanhRegister())
    assert found.end == "closed"
    assert len(found) > 2


def test_zeros_of_both_signs_are_not_taken_for_one_state():
    assert run(SignOfZero()).refutation.word == ("l", "i")


def test_a_search_that_stops_has_read_all_words_up_to_its_length():
    module = Register(hold=1.0, overwrite=0.25, dtype=torch.float64)
    found = run(module, budget=Budget(elements=100))
    assert "100" in found.reason
    assert found.refutation is None
    reached, _ = brute_force(module, LANGUAGE, found.length)
    assert {(row.tobytes()) for row in found.rows} == {bits for bits, _ in reached}
    assert (found.moves[-1] == -1).all()


def test_time_ends_a_search():
    found = run(Register(overwrite=0.25, dtype=torch.float64), budget=Budget(seconds=1e-9))
    assert found.length == 0
    assert "seconds" in found.reason


def test_a_wrong_answer_before_the_first_letter():
    runner = make_runner(Register(), LANGUAGE, empty=Legal(frozenset({0}), False))
    found = explore(runner, LANGUAGE, task=PREDICT)
    assert found.refutation.word == ()
    assert found.length == -1
    assert explore(runner, LANGUAGE, task=RECOGNISE).end == "closed"


def test_a_state_that_grows_is_refused():
    with pytest.raises(InputError, match="grows"):
        run(Growing())


def test_a_score_that_is_no_number_is_no_answer():
    module = Register()
    with torch.no_grad():
        module.writes[0] = float("nan")
    found = run(module)
    assert (found.refutation.word, found.refutation.got) == (("l",), ("no answer",))


def test_a_nan_in_the_state_ends_the_search():
    class Beside(Register):
        """A register with a number beside it that nothing reads, and that is lost at once."""

        def initial_state(self, batch):
            return {**super().initial_state(batch), "beside": torch.zeros(batch, 1)}

        def step(self, x, state):
            scores, after = super().step(x, {k: v for k, v in state.items() if k != "beside"})
            return scores, {**after, "beside": torch.full((len(x), 1), torch.nan)}

    found = run(Beside())
    assert found.length == 0
    assert found.reason == "after l the state of the module holds a NaN"


def test_on_valid_prefixes_other_letters_are_not_read():
    language = resolve_language("dyck-1-3")
    module = DyckCounter()

    class Bounded(DyckCounter):
        def step(self, x, state):
            scores, after = super().step(x, state)
            scores[:, 0] = scores[:, 0] * (after["c"][:, 0] < 3)
            return scores, after

    everywhere = explore(make_runner(Bounded(), language), language, task=PREDICT)
    assert everywhere.refutation is not None
    found = explore(make_runner(Bounded(), language), language, task=VALID_PREFIXES)
    assert found.end == "closed"
    assert len(found) == 4
    assert (found.moves[0] == [1, -1]).all()
    assert explore(make_runner(module, language), language, task=VALID_PREFIXES).refutation is not None


def test_a_counter_fails_where_its_floats_run_out():
    language = resolve_language("dyck-1")
    runner = make_runner(DyckCounter(dtype=torch.bfloat16), language)
    found = explore(runner, language, task=VALID_PREFIXES, budget=Budget(seconds=300))
    # 257 openings are counted as 256, so after 256 closings the module thinks that all are closed.
    assert found.length == 512
    assert found.refutation.word == ("(",) * 257 + (")",) * 256


def test_configurations_are_numbered_as_they_are_met():
    language = resolve_language("dyck-1")
    known = QuestionTable(LanguageQuestion(language))
    numbers = np.zeros(1, dtype=np.int64)
    for depth in range(1, 40):
        numbers = known.advance(numbers, np.zeros(1, dtype=np.int64))
        assert numbers.tolist() == [depth]
        assert known.expected(numbers).tolist() == [[True, True, False]]
    assert known.after(39, 1) == 38
    assert len(known) == 40


@pytest.mark.parametrize("task", [PREDICT, VALID_PREFIXES])
@pytest.mark.parametrize("elements", [10_000, 50])
def test_a_chain_that_is_followed_has_the_states_of_the_search_by_levels(task, elements):
    language = resolve_language("tomita-1")
    runner = make_runner(Fading(0.97, 0.75), language)
    limits = Budget(elements=elements)
    followed = explore(runner, language, task=task, batch=1, budget=limits)
    by_levels = explore(runner, language, task=task, batch=None, budget=limits)
    assert followed.length == by_levels.length
    assert followed.reason == by_levels.reason
    assert followed.moves.tolist() == by_levels.moves.tolist()
    assert (followed.rows == by_levels.rows).all()
    if elements > 50 and task == VALID_PREFIXES:
        assert followed.end == "closed"
        assert len(followed) > 100


def test_a_chain_that_fails_late_is_refuted_by_its_shortest_word():
    language = resolve_language("tomita-1")
    runner = make_runner(Fading(0.999, 0.4), language)
    found = explore(runner, language, task=VALID_PREFIXES, batch=1)
    assert found.refutation is not None
    assert found.refutation.word == ("1",) * len(found.refutation.word)
    state = runner.start()
    for number in range(1, len(found.refutation.word) + 1):
        answers, state = runner.step(np.array([1]), state)
        assert bool(answers[0, 1]) == (number < len(found.refutation.word))


class Tiny(torch.nn.Module):
    """A table of few states with a leak that is rounded, and a score for each letter and the end."""

    def __init__(self, seed, *, states=4, letters=2, leak=1.0, values=3):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.moves = torch.from_numpy(rng.integers(0, states, (states, letters)))
        self.scores = torch.nn.Parameter(torch.from_numpy(rng.integers(0, 2, (states, letters + 1))).float())
        self.leak, self.values = leak, values

    def initial_state(self, batch):
        return {"h": torch.ones(batch, 1), "q": torch.zeros(batch, 1, dtype=torch.int64)}

    def step(self, x, state):
        q = self.moves[state["q"][:, 0], x]
        h = (state["h"] * self.leak * 8).round() / 8 * (1 - 2 * (q[:, None] % 2))
        return self.scores[q] * h.abs().clamp(min=0.125) * 4, {"h": h, "q": q[:, None]}


def tiny_language(seed):
    """A language that a tiny module often does: its own answers, or those with one changed."""
    rng = np.random.default_rng(seed)
    return resolve_language(("(a|b)*", "(ab)*", "a*b*", "(a|b)*a", "(aa|b)*")[int(rng.integers(5))])


def seen(walk):
    return (
        walk.end,
        walk.covers,
        walk.reason,
        walk.refutation,
        walk.moves.tolist(),
        walk.rows.tolist(),
        [walk.word(node) for node in range(len(walk))],
    )


@pytest.mark.parametrize("batch", [None, 1, 3])
@pytest.mark.parametrize("seed", range(12))
def test_a_walk_in_slices_is_the_walk_in_one_go(seed, batch):
    language = tiny_language(seed)
    runner = make_runner(Tiny(seed, leak=(1.0, 0.9, 0.5)[seed % 3]), language)
    for task in (PREDICT, VALID_PREFIXES, RECOGNISE):
        for elements in (5, MOST_STATES):
            limits = {"task": task, "batch": batch, "budget": Budget(elements=elements)}
            whole = seen(explore(runner, language, **limits))
            for slices in (1, 7, 1_000):
                assert seen(explore(runner, language, slices=slices, **limits)) == whole


@pytest.mark.parametrize("seed", range(20))
def test_a_walk_finds_what_brute_force_finds(seed):
    language, module = tiny_language(seed), Tiny(seed, leak=(1.0, 0.9)[seed % 2])
    found = explore(make_runner(module, language), language, task=PREDICT)
    reached, wrong = brute_force(module, language, 5)
    if wrong is not None:
        assert len(found.refutation.word) == len(wrong)
    else:
        assert found.refutation is None or len(found.refutation.word) > 5
        if found.end == "closed" and found.length < 5:
            assert len(found) == len(reached)


def test_without_a_question_the_own_answers_are_followed():
    """The module says that a and b alternate; its other states are not reached by what it allows."""
    language = resolve_language("(ab)*")
    module = load_model(nr.compile_language(language, to="diagonal"), dtype=torch.float32)
    walk = Walk(make_runner(module, language), None)
    assert walk.run(Budget(seconds=30).start()) == "closed"
    answers = [tuple(walk.answer(place).tolist()) for place in walk.places]
    assert set(answers) == {(1, 0, 1), (0, 1, 0)}
    for node, answer in enumerate(answers):
        assert [to >= 0 for to in walk.moves[node]] == [bool(bit) for bit in answer[:-1]]
    with pytest.raises(InputError, match="empty word"):
        Walk(make_runner(Register(), LANGUAGE), None)


def test_coarse_marks_go_deeper_with_fewer_states():
    language = resolve_language("tomita-1")
    runner = make_runner(Fading(0.999, 0.4), language)
    exact = explore(runner, language, task=VALID_PREFIXES, budget=Budget(elements=40))
    assert exact.end == "full"
    spread = exact.values.std(axis=0)
    coarse = explore(
        runner,
        language,
        task=VALID_PREFIXES,
        marks=grid_marks(4.0, np.where(spread > 0, spread, 1), exact.layout),
    )
    assert len(coarse) < len(exact)


def test_row_steps_are_counted():
    walk = explore(make_runner(Register(), LANGUAGE), LANGUAGE, task=PREDICT, batch=1)
    calls = int((walk.moves >= 0).sum())
    assert walk.steps == calls * 201
