"""All float states that words lead to."""

import itertools

import numpy as np
import pytest
import torch

from nerode.core import Budget, InputError
from nerode.kernel import PREDICT, RECOGNISE, VALID_PREFIXES
from nerode.languages import LanguageQuestion, Legal, legal_bits, resolve_language
from nerode.proofs.floats.closure import explore
from nerode.proofs.floats.runner import QuestionTable, make_runner, to_rows
from tests.proofs.floats.languages import NOTHING_YET, register_language
from tests.proofs.floats.modules import DyckCounter, Fading, Growing, Register, SignOfZero, TanhRegister

LANGUAGE = register_language()
DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


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
    assert found.length == "all"
    assert found.refutation is None
    assert len(found) == 2
    assert found.moves.tolist() == [[0, 1, 0], [0, 1, 1]]


def test_all_states_are_those_of_brute_force():
    module = Register(hold=1.0, overwrite=0.25, dtype=torch.bfloat16)
    found = run(module)
    assert found.length == "all"
    reached, wrong = brute_force(module, LANGUAGE, 6)
    rows = {row.tobytes() for row in found.states}
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
    assert found.length == "all"
    assert len(found) > 2


def test_zeros_of_both_signs_are_not_taken_for_one_state():
    assert run(SignOfZero()).refutation.word == ("l", "i")


def test_a_search_that_stops_has_read_all_words_up_to_its_length():
    module = Register(hold=1.0, overwrite=0.25, dtype=torch.float64)
    found = run(module, budget=Budget(elements=100))
    assert "100" in found.reason
    assert found.refutation is None
    reached, _ = brute_force(module, LANGUAGE, found.length)
    assert {(row.tobytes()) for row in found.states} == {bits for bits, _ in reached}
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
    assert explore(runner, LANGUAGE, task=RECOGNISE).length == "all"


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
    assert found.length == "all"
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
    assert (followed.states == by_levels.states).all()
    if elements > 50 and task == VALID_PREFIXES:
        assert followed.length == "all"
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
