"""The one door for models: what each kind becomes, and what is refused."""

from __future__ import annotations

import itertools
import sys

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

import nerode as nr
from nerode.core import Budget, InputError
from nerode.languages import resolve_language
from nerode.models.outside import CarriedModule, TokenModule, WordModule
from nerode.records import Reading

from .tables import Carried, TableModel, Words

DFA = resolve_language("(ab|c)*d").dfa()


def table() -> TableModel:
    return TableModel(DFA)


def test_a_module_with_a_state_is_carried():
    found = nr.model(table(), letters="abcd")
    assert isinstance(found.module, TokenModule)
    assert isinstance(found.module.inner, TableModel)
    assert found.letters.end == 4
    assert found.reading == Reading(kind="softmax", threshold="0.02", columns=(0, 1, 2, 3, 4))
    assert "a state of fixed size" in found.record.origin["seen"]


def test_a_state_that_a_module_returns_is_carried_from_zeros():
    found = nr.model(Carried(table()), letters="abcd")
    assert isinstance(found.module.inner, CarriedModule)
    state = found.module.initial_state(3)
    assert [tuple(part.shape) for part in state.values()] == [(3, 1)]


def test_a_torch_cell_with_layers_and_a_batch_in_the_middle_is_carried():
    class Cell(nn.Module):
        def __init__(self):
            super().__init__()
            self.e, self.r, self.h = nn.Embedding(3, 4), nn.LSTM(4, 6, 2, batch_first=True), nn.Linear(6, 3)

        def forward(self, x, state=None):
            found, state = self.r(self.e(x), state)
            return self.h(found), state

    torch.manual_seed(0)
    cell = Cell().eval()
    found = nr.model(cell, letters="ab")
    assert isinstance(found.module.inner, CarriedModule)
    word = torch.tensor([[0, 1, 1, 0, 1]])
    state, rows = found.module.initial_state(1), []
    for letter in word.T:
        scores, state = found.module.step(letter, state)
        rows.append(scores)
    assert torch.allclose(torch.stack(rows, 1), cell(word)[0], atol=1e-6)
    assert found.module(word)[0].shape == (1, 5, 3)


def test_a_module_of_words_alone_is_a_black_box():
    found = nr.model(Words(table()), letters="abcd")
    assert isinstance(found.module.inner, WordModule)
    assert found.module.grows
    assert "black box" in found.record.origin["seen"]


def test_a_plain_function_is_a_model():
    inner = table()
    found = nr.model(lambda x: inner(x)[0].detach(), letters="abcd")
    assert nr.ask(found, budget=Budget(seconds=1)).learned.expression == "(c|ab)*d"


def test_letters_may_be_any_tokens_with_marks():
    class Shifted(nn.Module):
        """Token 0 begins a word, token 6 ends it, tokens 2 to 5 are letters."""

        def __init__(self):
            super().__init__()
            self.inner = table()

        def forward(self, x):
            scores = torch.full((*x.shape, 7), -9.0)
            inside = self.inner((x[:, 1:] - 2).clamp(0, 3))[0]
            scores[:, 0, 2:] = self.inner.table[self.inner.begin]
            scores[:, 1:, 2:] = inside
            return scores

    letters = {"a": 2, "b": 3, "c": 4, "d": 5}
    found = nr.ask(Shifted(), letters=letters, begin=0, end=6)
    assert found.learned.expression == "(c|ab)*d"
    assert found.learned.remarks == ()
    wrong = nr.ask(Shifted(), "(ab)*d", letters=letters, begin=0, end=6).settlement
    assert (wrong.word, wrong.expected, wrong.got, wrong.shortest) == ((), "a d", "a c d", True)
    assert wrong.method == "tests"
    as_text = nr.model(Shifted(), letters="a=2,b=3,c=4,d=5", begin="0", end="6")
    assert as_text.letters.tokens == (2, 3, 4, 5)


def test_a_state_dict_goes_to_the_module_that_its_builder_makes(tmp_path):
    trained = table()
    with torch.no_grad():
        trained.table += 1.0
    save_file(trained.state_dict(), tmp_path / "weights.safetensors")
    for weights in (trained.state_dict(), tmp_path / "weights.safetensors"):
        found = nr.model(table, letters="abcd", weights=weights)
        assert torch.equal(found.module.inner.table, trained.table)


def test_one_or_two_scores_say_whether_a_word_is_a_member():
    class Ends(nn.Module):
        def __init__(self, scores):
            super().__init__()
            self.inner, self.scores = table(), scores

        def forward(self, x):
            last = self.inner(x)[0][..., -1:]
            return torch.cat([-last, last], -1) if self.scores == 2 else last

    for scores in (1, 2):
        found = nr.ask(Ends(scores), "(ab|c)*d", letters="abcd", budget=Budget(seconds=0.5))
        assert found.settlement.words == "the words that the task asks about"
        assert found.settlement.word is None
        assert found.learned.expression == "(c|ab)*d"


def test_what_training_returns_knows_its_task():
    settings = {"run.steps": 1, "run.test_sequences": 4, "run.test_lengths": [4]}
    ((record, model),) = nr.train("parity", arch="lstm", settings=settings)
    for source in (model, (record, model), [(record, model)]):
        found = nr.model(source)
        assert found.question is not None
        assert found.about in ("parity", "odd-parity") or "parity" in found.about


def test_what_training_returns_goes_into_every_analysis():
    settings = {"run.steps": 1, "run.test_sequences": 4, "run.test_lengths": [4]}
    found = nr.train("parity", arch="lstm", settings=settings)
    ((_, model),) = found
    for source in (model, found):
        assert nr.extract(source, budget=Budget(seconds=2)).target == "parity"
    with pytest.raises(InputError, match=r"nerode.ask"):
        nr.extract(table())


class Bad(nn.Module):
    """A model with one fault."""

    def __init__(self, fault):
        super().__init__()
        self.inner, self.fault = table(), fault
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x):
        scores = self.inner(x)[0]
        match self.fault:
            case "nan":
                scores = torch.where(scores > 0, torch.nan, scores)
            case "random":
                scores = scores + torch.rand(1)
            case "buffers":
                self.seen += 1
            case "ahead":
                scores = scores + x.sum(1)[:, None, None]
            case "batch":
                scores = scores + (x[0, 0] + 1) * torch.arange(len(x))[:, None, None]
            case "last":
                scores = scores[:, -1]
            case "text":
                return "nothing"
            case "raises":
                raise IndexError("index out of range in self")
            case "weights":
                self.inner.table += 0.1
                scores = self.inner(x)[0]
            case "cuda":
                raise RuntimeError("No CUDA GPUs are available")
        return scores


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("nan", "no finite number"),
        ("random", "other scores when it reads the same word again"),
        ("buffers", "changes its weights or buffers"),
        ("ahead", "depend on later letters"),
        ("batch", "beside it in the batch"),
        ("last", r"scores of shape \(1, 5\)|at each position"),
        ("text", "gives a str"),
        ("raises", "cannot read tokens"),
        ("weights", "changes its weights or buffers"),
        ("cuda", r"cannot read tokens.*it has to run on the CPU"),
    ],
)
def test_a_model_with_a_fault_is_refused_in_a_sentence(fault, said):
    with pytest.raises(InputError, match=said):
        nr.model(Bad(fault), letters="abcd")


class Leaving(TableModel):
    """A model that ends the program in one of its calls."""

    left = 0

    def step(self, x, state):
        self.left -= 1
        if not self.left:
            sys.exit("enough")
        return super().step(x, state)


@pytest.mark.parametrize("calls", [1, 9, 60])
@pytest.mark.parametrize("language", [None, "(ab|c)*d"])
@pytest.mark.parametrize("form", ["state", "words"])
def test_a_model_that_ends_the_program_is_refused_in_a_sentence(calls, language, form):
    inner = Leaving(DFA)
    inner.left = calls
    source = inner if form == "state" else Words(inner)
    with pytest.raises(InputError, match="SystemExit: enough"):
        nr.ask(source, language, letters="abcd", budget=Budget(seconds=2))


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({}, "name them"),
        ({"letters": "aab"}, "twice"),
        ({"letters": "abc"}, "name the token of the end"),
        ({"letters": "abcd", "end": 9}, "token 9 has none"),
        ({"letters": "abcd", "reading": "softmax:2"}, "between 0 and 1"),
        ({"letters": "abcd", "reading": "loudest"}, "there are softmax"),
        ({"letters": "abcd", "longest": 0}, "1 or more"),
        ({"letters": "a=x"}, "numbers of tokens"),
    ],
)
def test_what_is_missing_or_wrong_is_named(how, said):
    with pytest.raises(InputError, match=said):
        nr.model(table(), **how)


def test_what_is_no_model_is_refused():
    with pytest.raises(InputError, match="a int is no model"):
        nr.model(3, letters="ab")


def test_a_pickle_is_refused_with_the_line_that_converts_it(tmp_path):
    torch.save({}, tmp_path / "model.pt")
    with pytest.raises(InputError, match="safetensors"):
        nr.model(tmp_path / "model.pt", letters="ab")


def test_nothing_is_read_beyond_the_longest_word():
    inner = table()

    class Short(nn.Module):
        def forward(self, x):
            assert x.shape[1] <= 12
            return inner(x)[0].detach()

    found = nr.ask(Short(), "(ab|c)*d", letters="abcd", longest=12, budget=Budget(seconds=2))
    assert found.settlement.status == "unsettled"
    assert found.settlement.tested == 12
    assert found.learned.tested == 12


@pytest.mark.parametrize("longest", [1, 2, 3, 5])
@pytest.mark.parametrize("language", [None, "(ab|c)*d", "a*"])
def test_a_black_box_is_never_given_more_letters_than_it_may_read(longest, language):
    inner, given, begun = table(), [], []

    def unmarked(tokens):
        given.append(tokens.shape[1])
        return inner(tokens)[0].detach()

    nr.ask(unmarked, language, letters="abcd", longest=longest, budget=Budget(seconds=2))
    assert max(given) == longest

    def box(tokens):
        begun.append(tokens.shape[1])
        first = inner.table[inner.begin].expand(len(tokens), 1, -1)
        return torch.cat([first, inner(tokens[:, 1:])[0]], dim=1).detach()

    how = {"letters": "abcd", "begin": 4, "end": 4, "longest": longest}
    found = nr.ask(box, language, budget=Budget(seconds=2), **how)
    assert max(begun) == 1 + longest  # the mark of the beginning comes first
    assert found.settlement.status == ("refuted" if language == "a*" else "unsettled")
    learned = found.learned.language.dfa()
    for length in range(longest + 1):
        for word in itertools.product(range(4), repeat=length):
            assert learned.accepts(word) == DFA.accepts(word), word


def test_no_proof_reads_beyond_the_longest_word():
    inner, deepest = table(), []

    class Deep(nn.Module):
        """The same model, whose state is never that of another word."""

        def initial_state(self, batch):
            return {**inner.initial_state(batch), "read": torch.zeros(batch, dtype=torch.int64)}

        def step(self, x, state):
            scores, after = inner.step(x, {"at": state["at"]})
            deepest.append(int(state["read"].max()) + 1)
            return scores.detach(), {**after, "read": state["read"] + 1}

        def forward(self, x, state=None):
            state = self.initial_state(len(x)) if state is None else state
            rows = []
            for letters in x.T:
                scores, state = self.step(letters, state)
                rows.append(scores)
            return torch.stack(rows, dim=1), state

    for language in ("(ab|c)*d", None):
        found = nr.ask(Deep(), language, letters="abcd", longest=12, budget=Budget(seconds=3)).settlement
        assert (found.status, found.length) == ("unsettled", 12)
        assert "no longer one may be read" in found.reason
    assert max(deepest) == 12
