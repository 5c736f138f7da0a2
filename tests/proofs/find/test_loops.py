"""Until when a module is right on a loop: the formula, and the run that confirms it."""

import math

import pytest
import torch

import nerode as nr
from nerode.core import Budget, InputError
from nerode.kernel import DTYPES, PREDICT, VALID_PREFIXES
from nerode.languages import LanguageQuestion, resolve_language
from nerode.models.network_module import load_model
from nerode.proofs.find.loops import (
    LoopWord,
    measure_horizon,
    predict_repetitions,
    read_word,
    search_loops,
)
from nerode.proofs.find.schedule import finished
from nerode.proofs.runner import make_runner
from tests.proofs.floats.languages import HIGH, HOLD, mamba_register, register_language
from tests.proofs.floats.modules import DyckCounter, Register, TanhRegister

LANGUAGE = register_language()
HOLDS = LoopWord(parts=(((HIGH,), False), ((HOLD,), True)))
DYCK = resolve_language("dyck-1")
NESTED = LoopWord(parts=(((0,), True), ((1,), True)))


def hold_horizon(*, gate, start, threshold):
    """Repetitions after which a value that fades by the factor `gate` is at a threshold or below."""
    return math.ceil(math.log(start / threshold) / -math.log(gate))


def measure(module, word=HOLDS, language=LANGUAGE, longest=1 << 14, **options):
    runner = make_runner(module, language)
    return measure_horizon(runner, all_words(language), word, longest=longest, **options)


def all_words(language):
    return LanguageQuestion.of_task(language, PREDICT)


def valid_prefixes(language):
    return LanguageQuestion.of_task(language, VALID_PREFIXES)


def search(module, question, longest):
    runner = make_runner(module, question)
    return finished(search_loops(runner, question, longest=longest, budget=Budget(seconds=60).start()))


@pytest.mark.parametrize(("pre_activation", "ignores"), [(-4, 380), (-6, 2_790), (-8, 20_592)])
def test_the_formula_gives_the_horizons_of_the_specification(pre_activation, ignores):
    gate = math.exp(-math.log1p(math.exp(pre_activation)))
    assert hold_horizon(gate=gate, start=1, threshold=1e-3) == pytest.approx(ignores, rel=3e-3)


def test_counters_are_exact_up_to_the_powers_of_the_specification():
    wanted = {"float64": 2**53, "float32": 2**24, "float16": 2**11, "bfloat16": 2**8}
    assert {dtype: 1 << DTYPES[dtype].bits for dtype in wanted} == wanted
    for dtype in ("float32", "float16", "bfloat16"):
        largest = torch.tensor(2.0 ** DTYPES[dtype].bits, dtype=getattr(torch, dtype))
        assert largest + 1 == largest
        assert (largest - 1) + 1 == largest
        assert largest - 1 != largest


@pytest.mark.parametrize("hold", [0.5, 0.75, 0.9, 0.99])
@pytest.mark.parametrize("threshold", [0.5, 1e-3])
def test_a_leaky_register_fails_where_the_formula_says(hold, threshold):
    found = measure(Register(hold=hold, threshold=threshold))
    formula = hold_horizon(gate=hold, start=1, threshold=threshold)
    assert found.repetitions == formula
    assert found.predicted == formula
    assert found.tested == formula - 1
    assert found.error.at == formula + 1
    assert found.steps


def test_a_mamba_with_gate_three_quarters_fails_where_it_is_predicted():
    found = measure(mamba_register(hold=0.75, threshold=1e-3))
    assert found.predicted == found.repetitions == 25
    assert found.error.expected == ("l", "h", "i", "$")
    assert found.error.got == ("l", "h", "i")


def test_in_half_precision_the_prediction_is_near():
    found = measure(Register(hold=0.99, dtype=torch.bfloat16))
    assert found.repetitions is not None
    assert abs(found.predicted - found.repetitions) <= 0.1 * found.repetitions


def test_what_holds_is_predicted_to_hold():
    for module in (Register(), TanhRegister(), mamba_register(hold=1.0, threshold=0.5)):
        found = measure(module, longest=3_000)
        assert (found.predicted, found.repetitions, found.error) == (None, None, None)
        assert found.tested == 2_048


def test_a_sign_is_read_for_ever_where_denormals_are_kept():
    # 3/4 of the smallest denormal rounds back to itself, so the state never becomes zero.
    found = measure(Register(hold=0.75, threshold=0.0), longest=3_000)
    assert found.predicted is None
    assert found.repetitions is None


@pytest.mark.parametrize(("dtype", "bits"), [(torch.bfloat16, 8), (torch.float16, 11)])
def test_a_counter_fails_after_its_last_exact_number(dtype, bits):
    found = measure(DyckCounter(dtype=dtype), NESTED, DYCK)
    assert found.predicted == found.repetitions == 2**bits + 1
    assert found.error.at == 2 ** (bits + 1) + 1
    assert found.steps == (bits == 8)


def test_a_counter_in_float32_is_predicted_without_a_run():
    runner = make_runner(DyckCounter(), DYCK)
    assert predict_repetitions(runner, all_words(DYCK), NESTED) == 2**24 + 1


def test_without_a_prediction_the_run_finds_the_same():
    for hold in (0.75, 0.99):
        module = Register(hold=hold, threshold=1e-3)
        assert measure(module, predict=False).repetitions == measure(module).repetitions


def test_all_loops_at_once_find_the_one_that_fails():
    report = search(Register(hold=0.9, threshold=1e-3), all_words(LANGUAGE), 1 << 12)
    assert report.horizon.word.show(LANGUAGE.alphabet) == "h i^n"
    assert report.horizon.repetitions == hold_horizon(gate=0.9, start=1, threshold=1e-3)
    assert report.tested < report.horizon.repetitions
    holding = search(Register(), all_words(LANGUAGE), 1 << 10)
    assert holding.horizon is None
    assert holding.tested == 1 << 10
    assert holding.loops >= 6


def test_flip_flop_reads_wrongly_after_many_ignores():
    language = resolve_language("flip-flop")
    letters = {symbol: i for i, symbol in enumerate(language.alphabet)}

    def encode(text):
        return tuple(letters[symbol] for symbol in text.split())

    class Leaky(torch.nn.Module):
        """Knows the last instruction and leaks the last written bit; only a read shows it."""

        def __init__(self):
            super().__init__()
            self.hold = torch.nn.Parameter(torch.tensor(0.9))

        def initial_state(self, batch):
            return {"h": torch.zeros(batch, 3)}

        def step(self, x, state):
            one = torch.nn.functional.one_hot(x, len(letters)).float()
            w, r, bit0, bit1 = (one[:, letters[s]] for s in ("w", "r", "0", "1"))
            data = bit0 + bit1
            writing = state["h"][:, 1] * data
            h = (1 - writing) * self.hold * state["h"][:, 0] + writing * (bit1 - bit0)
            after = torch.stack([h, w, r], dim=1)
            scores = torch.zeros(len(x), len(letters) + 1)
            read = (h > 0.01).float()
            scores[:, letters["0"]] = (1 - data) * (1 - r + r * (1 - read))
            scores[:, letters["1"]] = (1 - data) * (1 - r + r * read)
            for symbol in "wri":
                scores[:, letters[symbol]] = data
            scores[:, -1] = data
            return scores, {"h": after}

    runner = make_runner(Leaky(), language)
    word = LoopWord(parts=((encode("w 1"), False), (encode("i 0"), True), (encode("r"), False)))
    valid = valid_prefixes(language)
    found = measure_horizon(runner, valid, word, longest=1 << 12)
    assert found.predicted == found.repetitions
    n = found.repetitions
    assert read_word(runner, valid, word, n - 1) is None
    assert read_word(runner, valid, word, n).at == word.length(n)
    report = search(runner.module, valid, 1 << 12)
    assert report.horizon.error.at <= word.length(n)
    # Each ignored pair of letters multiplies the bit by 0.81.
    assert n == pytest.approx(math.log(100) / -math.log(0.81), abs=2)


def test_the_compiled_flip_flop_reads_rightly_after_a_million_letters():
    language = resolve_language("flip-flop")
    runner = make_runner(load_model(nr.compile_language(language, to="mamba")), language)
    parts = ((language.alphabet.encode("w1"), False), (language.alphabet.encode("i0"), True))
    word = LoopWord(parts=(*parts, (language.alphabet.encode("r"), False)))
    assert word.length(500_000) > 10**6
    assert read_word(runner, all_words(language), word, 500_000, steps=False) is None


def test_counters_are_foreseen_where_no_run_goes():
    report = search(DyckCounter(), valid_prefixes(DYCK), 512)
    assert report.horizon is None
    assert report.tested == 512
    assert report.foreseen.predicted == 2**24 + 1


def test_loop_words():
    word = LoopWord(parts=(((1,), False), ((2, 0), True), ((0,), False)))
    assert word.show(LANGUAGE.alphabet) == "h (i l)^n l"
    assert word.show(LANGUAGE.alphabet, 7) == "h (i l)^7 l"
    assert [int(a) for chunk in word.chunks(3) for a in chunk] == [1, 2, 0, 2, 0, 2, 0, 0]
    assert sum(map(len, word.chunks(10_000))) == word.length(10_000) == 20_002
    with pytest.raises(InputError, match="repeated"):
        LoopWord(parts=(((1,), False),))


class Overflowing(Register):
    """A register beside a number that grows until it is infinite, and is read no more."""

    def initial_state(self, batch):
        return {**super().initial_state(batch), "k": torch.ones(batch, 1, dtype=self.gates.dtype)}

    def step(self, x, state):
        scores, after = super().step(x, state)
        return scores, {**after, "k": 2.0**64 * state["k"]}


@pytest.mark.parametrize("hold", [1.0, 0.99])
def test_a_number_that_has_overflowed_does_not_disturb_the_prediction(hold):
    alone, beside = (measure(kind(hold=hold, dtype=torch.float64)) for kind in (Register, Overflowing))
    assert (beside.predicted, beside.repetitions) == (alone.predicted, alone.repetitions)


def test_a_register_that_has_overflowed_gives_no_answer():
    """1.5 to the power of 28 is above the largest number of float16; infinity is not read as high."""
    found = measure(Register(hold=1.5, dtype=torch.float16))
    assert found.repetitions == 28
    assert found.error.got == ("no answer",)
