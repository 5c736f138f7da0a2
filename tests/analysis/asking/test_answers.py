"""What models compute: automata that are proved, refuted or tested, and the same end as `prove`."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

import nerode as nr
from nerode.analysis.asking import settle_about, with_language
from nerode.analysis.asking.answers import known_name
from nerode.core import Budget, InputError
from nerode.languages import Alphabet, Dfa, is_equivalent, minimise, resolve_language
from nerode.proofs.floats import SettleSettings

from .tables import TableModel, Words

LANGUAGE = "(ab|c)*d"
DFA = resolve_language(LANGUAGE).dfa()


def asked(module, language=None, **how):
    return nr.ask(module, language, letters="abcd", budget=Budget(seconds=how.pop("seconds", 20)), **how)


def test_a_module_with_a_state_is_proved_for_what_it_computes():
    found = asked(TableModel(DFA))
    assert found.settlement.status == "proved"
    assert found.learned.proved
    assert is_equivalent(found.learned.language.dfa(), DFA)
    assert found.learned.star_free
    assert found.reading == "probability at least 0.02"
    least, most = found.gap
    assert 0.2 < least < 1
    assert 0 < most < 0.01


def test_a_black_box_is_learned_and_never_proved():
    found = asked(Words(TableModel(DFA)), seconds=2)
    assert found.settlement.status == "unsettled"
    assert not found.learned.proved
    assert is_equivalent(found.learned.language.dfa(), DFA)
    assert found.settlement.tested >= 1_024


def test_a_model_that_forgets_is_shown_with_the_shortest_word():
    class Tires(Words):
        """From the ninth letter on everything may follow."""

        def forward(self, x):
            scores = super().forward(x)
            late = torch.arange(x.shape[1]) >= 8
            return torch.where(late[None, :, None], torch.zeros_like(scores), scores)

    found = asked(Tires(TableModel(DFA)), LANGUAGE)
    assert found.settlement.status == "refuted"
    assert len(found.settlement.word) == 9
    assert found.places[-1].says == ("a", "b", "c", "d", "$")
    assert found.places[-1].expected != found.places[-1].says


def test_a_long_failure_is_a_result_and_leaves_the_small_automaton():
    class Counts(TableModel):
        """The same automaton, with a count of letters that ends at 60."""

        def initial_state(self, batch):
            return {**super().initial_state(batch), "count": torch.zeros(batch, dtype=torch.int64)}

        def step(self, x, state):
            scores, after = super().step(x, state)
            count = (state["count"] + 1).clamp(max=60)
            scores = torch.where((count >= 60)[:, None], torch.zeros_like(scores), scores)
            return scores, {**after, "count": count}

    found = asked(Counts(DFA))
    assert found.learned.states == 4
    assert is_equivalent(found.learned.language.dfa(), DFA)
    assert (found.settlement.status, len(found.settlement.word)) == ("refuted", 60)
    assert found.settlement.shortest
    assert "at least 57 states" in " ".join(found.learned.remarks)


@pytest.mark.parametrize("reading", ["softmax:0.02", "largest"])
def test_no_answer_changes_when_a_number_is_added_to_all_scores(reading):
    one = resolve_language("(abc)*", alphabet="abcd") if reading == "largest" else resolve_language(LANGUAGE)
    dfa = minimise(one.dfa())
    found = [
        asked(TableModel(dfa, shift=shift), language, reading=reading)
        for shift in (0.0, 6.0)
        for language in (None, LANGUAGE, "(ab)*d")
    ]
    for plain, shifted in zip(found[:3], found[3:], strict=True):
        assert plain.settlement.status == shifted.settlement.status
        assert plain.settlement.word == shifted.settlement.word
        assert plain.learned.expression == shifted.learned.expression
    assert found[0].settlement.status == "proved"
    by_sign = [asked(TableModel(dfa, shift=shift), LANGUAGE, reading="above:0") for shift in (0.0, 9.0)]
    assert by_sign[0].settlement.word != by_sign[1].settlement.word


def test_asking_about_a_language_ends_as_proving_it_does():
    for language in (LANGUAGE, "(ab)*d", "(ab|c)*"):
        found = asked(TableModel(DFA), language).settlement
        subject = with_language(
            nr.model(TableModel(DFA), letters="abcd"), nr.language(language, alphabet="abcd")
        )
        proved = settle_about(subject, SettleSettings(), Budget(seconds=20).start())
        for name in ("status", "about", "words", "word", "expected", "got", "claims", "length", "reading"):
            assert getattr(found, name) == getattr(proved, name), name


def test_a_language_over_other_letters_is_refused():
    with pytest.raises(InputError, match="the model reads a b c d"):
        asked(TableModel(DFA), "(xy)*")


def test_a_language_over_fewer_letters_forbids_the_others():
    found = asked(TableModel(minimise(resolve_language("(ab)*d", alphabet="abcd").dfa())), "(ab)*d")
    assert found.settlement.status == "proved"


def test_a_compiled_network_is_asked_as_it_is():
    language = nr.language("parity")
    found = nr.ask(nr.compile_language(language, to="diagonal-signed"), "parity")
    assert found.settlement.status == "proved"
    assert found.learned.known == "parity"


def test_a_known_language_is_named_with_its_letters():
    assert known_name(minimise(resolve_language("parity").dfa())) == "parity"
    renamed = minimise(resolve_language("parity").dfa())
    other = Dfa(
        alphabet=Alphabet(("x", "y")),
        transitions=renamed.transitions,
        start=renamed.start,
        accepting=renamed.accepting,
    )
    assert known_name(other).startswith("parity with x for 0")
    assert known_name(minimise(resolve_language("(aab|ba)*ab").dfa())) == ""


@given(st.data())
@settings(max_examples=4, deadline=None)
def test_random_automata_are_learned_and_proved(data):
    states, letters = data.draw(st.integers(2, 6)), 2
    moves = data.draw(
        st.lists(
            st.lists(st.integers(0, states - 1), min_size=letters, max_size=letters),
            min_size=states,
            max_size=states,
        )
    )
    ends = data.draw(st.lists(st.booleans(), min_size=states, max_size=states))
    dfa = minimise(
        Dfa(
            alphabet=Alphabet(("a", "b")),
            transitions=np.array(moves, dtype=np.int32),
            start=0,
            accepting=np.array(ends),
        )
    )
    if not dfa.live[dfa.start] or not dfa.live[dfa.transitions[dfa.start]].any():
        return
    model = TableModel(dfa)

    class Begun(torch.nn.Module):
        """Token 3 is the mark of the beginning."""

        def forward(self, x):
            first = model.table[model.begin][None, None].expand(len(x), 1, 3)
            inside = model(x[:, 1:].clamp(max=1))[0] if x.shape[1] > 1 else first[:, :0]
            return torch.cat([first, inside], 1).detach()

    found = nr.ask(
        Begun(),
        letters="ab",
        begin=3,
        end=2,
        budget=Budget(seconds=1),
        settings=SettleSettings(searched=0, loops=0),
    )
    assert is_equivalent(found.learned.language.dfa(), dfa)
