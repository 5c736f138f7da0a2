"""Lemmas about softmax decoders: proofs to 2^24, planted errors, and failures where they are predicted."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from benchmarks._forged_modules import with_slopes
from nerode.algebra import find_counter
from nerode.algebra.classes.table import decide_membership
from nerode.compiler import Options, compile_language
from nerode.core import Budget, BudgetExceeded
from nerode.kernel import Certificate, Claim, Failure
from nerode.languages import RegularLanguage
from nerode.languages.bestiary import find_language
from nerode.models.folder import read_model, save_model
from nerode.models.lower.heads import network_to_decoder
from nerode.proofs import certify
from nerode.proofs.find.heads import certify_decoder, run_decoder
from nerode.proofs.replay.attention.checker import audit, check_decoder, replay_heads
from nerode.proofs.replay.attention.records import METHOD, NotProved
from nerode.proofs.replay.listing import fingerprint
from tests.algebra.semigroups import random_dfa
from tests.cli.runner import run

NAMES = ["tomita-1", "tomita-2", "tomita-4", "tomita-7", "flip-flop", "dyck-2-3", "012-star-02-star"]


def decoder(name, target="transformer-alibi", dtype=torch.float32):
    return network_to_decoder(compile_language(find_language(name), target), target, dtype=dtype)


def cascade(name, target="transformer-alibi", dtype=torch.float32):
    options = Options(construction="star-free-heads")
    return network_to_decoder(compile_language(find_language(name), target, options), target, dtype=dtype)


@pytest.mark.parametrize("name", NAMES)
def test_star_free_decoders_are_proved_to_the_horizon_of_the_format(name):
    found = check_decoder(cascade(name), find_language(name).dfa())
    assert found.length == 1 << 24
    assert found.margin > 0.5
    assert found.claim().length == 1 << 24


@pytest.mark.parametrize(
    ("dtype", "target", "length"),
    [
        (torch.float64, "transformer-alibi", 1 << 53),
        (torch.float64, "transformer-periodic", 1 << 53),
        (torch.bfloat16, "transformer-periodic", 1 << 24),
        (torch.float16, "transformer-periodic", 1_046_527),
    ],
)
@pytest.mark.parametrize("name", ["tomita-4", "flip-flop"])
def test_other_formats(name, dtype, target, length):
    assert check_decoder(cascade(name, target, dtype), find_language(name).dfa()).length == length


@pytest.mark.parametrize("name", ["tomita-1", "tomita-7", "aabbccddee", "even-pairs", "last-letter"])
def test_letter_constant_languages_are_proved_at_every_length_without_positions(name):
    found = check_decoder(decoder(name, "transformer-nope"), find_language(name).dfa())
    assert found.length == "all"
    assert found.claim().scope.startswith("all lengths")


@pytest.mark.parametrize("name", ["tomita-2", "tomita-4", "aab-star"])
@pytest.mark.parametrize("target", ["transformer-alibi", "transformer-periodic"])
def test_locally_r_trivial_languages_are_proved_at_every_length(name, target):
    found = check_decoder(decoder(name, target), find_language(name).dfa())
    assert found.length == "all"
    assert {head.kind for head in found.heads} <= {"once", "soft", "parity"}


@pytest.mark.parametrize("count", [5, pytest.param(200, marks=pytest.mark.slow)])
def test_random_locally_r_trivial_automata_are_proved_at_every_length(count):
    rng = np.random.default_rng(18)
    done = 0
    while done < count:
        dfa = random_dfa(rng, most_states=5)
        if dfa.num_states < 3 or not decide_membership("locally-r-trivial", dfa).holds:
            continue
        language = RegularLanguage(name="random", automaton=dfa, convention="")
        network = compile_language(language, "transformer-alibi")
        assert network.origin.construction == "component-heads"
        assert isinstance(certify(network, language), Certificate)
        assert check_decoder(network_to_decoder(network, "transformer-alibi"), language.dfa()).length == "all"
        done += 1


def test_soft_previous_heads_are_refused_in_short_formats():
    with pytest.raises(NotProved):
        check_decoder(cascade("tomita-4", dtype=torch.bfloat16), find_language("tomita-4").dfa())


def test_exp_on_this_machine_is_as_assumed():
    assert audit(decoder("tomita-1")) is None


CORRUPTIONS = {
    "a slope that is no power of two": lambda m: with_slopes(m, lambda s: 100.0 if s == 128 else s),
    "a slope below the underflow": lambda m: with_slopes(m, lambda s: 64.0 if s == 128 else s),
    "published slopes": lambda m: with_slopes(m, lambda s: 0.5),
}


@pytest.mark.parametrize("what", CORRUPTIONS)
def test_other_slopes_are_refused(what):
    with pytest.raises(NotProved):
        check_decoder(CORRUPTIONS[what](decoder("flip-flop")), find_language("flip-flop").dfa())


def test_a_smaller_gap_has_a_smaller_horizon():
    model = decoder("012-star-02-star")
    read = model.layers[0].read.weight
    read[read.abs() == 2**32] = -(2.0**20)
    assert check_decoder(model, find_language("012-star-02-star").dfa()).length == (2**20 - 104) // 128
    read[read.abs() == 2**20] = -100.0
    with pytest.raises(NotProved, match="gap"):
        check_decoder(model, find_language("012-star-02-star").dfa())


@pytest.mark.parametrize(
    ("name", "count"), [("012-star-02-star", 1), pytest.param("flip-flop", 20, marks=pytest.mark.slow)]
)
def test_no_changed_weight_is_proved_unless_answers_stay(name, count):
    """Weights are doubled, negated or removed in turn; what is proved must also run correctly."""
    dfa, language = find_language(name).dfa(), find_language(name)
    model = decoder(name)
    rng = np.random.default_rng(5)
    refused = proved = 0
    for tensor in model.state_dict().values():
        flat = tensor.view(-1)
        places = flat.nonzero()[:, 0].tolist()
        for place in rng.permutation(places)[:count]:
            old = float(flat[place])
            for new in (0.0, -old, 2 * old):
                flat[place] = new
                try:
                    check_decoder(model, dfa)
                    proved += 1
                    assert isinstance(run_decoder(model, language, words=2, length=30), Claim)
                except NotProved:
                    refused += 1
                flat[place] = old
    assert refused > proved > 0


def test_the_mark_carries_the_start():
    model = cascade("tomita-2")
    model.embedding.weight[-1] = 0
    with pytest.raises(NotProved):
        check_decoder(model, find_language("tomita-2").dfa())


def test_joint_states_are_budgeted():
    with pytest.raises(BudgetExceeded):
        check_decoder(decoder("dyck-2-3"), find_language("dyck-2-3").dfa(), budget=Budget(elements=20))


def test_certificates_are_checked_again_and_say_no_more_than_they_may():
    language = find_language("flip-flop")
    network = compile_language(language, "transformer-alibi")
    model = network_to_decoder(network, "transformer-alibi")
    found = certify_decoder(model, network, language)
    assert isinstance(found, Certificate)
    sha = fingerprint(model)
    assert replay_heads(model, language, found, network=sha) is None
    longer = replace(found, claims=(replace(found.claims[0], length=(1 << 24) + 1),))
    assert isinstance(replay_heads(model, language, longer, network=sha), Failure)
    wider = replace(found.claims[0], covers=found.claims[0].covers.replace("divided last", "in any order"))
    assert isinstance(
        replay_heads(
            model, language, network=fingerprint(model), certificate=replace(found, claims=(wider,))
        ),
        Failure,
    )
    for key, value in (("joint_states", 1), ("scores", "float64"), ("heads", [])):
        evidence = {METHOD: {**found.evidence[METHOD], key: value}}
        assert isinstance(
            replay_heads(
                model, language, network=fingerprint(model), certificate=replace(found, evidence=evidence)
            ),
            Failure,
        )
    other = with_slopes(model, lambda s: 256.0 if s == 128 else s)
    other.head.weight[0] *= 2
    assert "another decoder" in replay_heads(other, language, found, network=found.network).what
    wrong = find_language("tomita-2")
    assert isinstance(certify_decoder(model, network, wrong), Failure)


@pytest.mark.parametrize("count", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_random_star_free_automata_are_compiled_and_proved(count):
    rng = np.random.default_rng(17)
    done = 0
    while done < count:
        dfa = random_dfa(rng, most_states=6)
        if dfa.num_states < 2 or find_counter(dfa) is not None:
            continue
        language = RegularLanguage(name="random", automaton=dfa, convention="")
        options = Options(construction="star-free-heads")
        network = compile_language(language, "transformer-alibi", options)
        assert isinstance(certify(network, language), Certificate)
        model = network_to_decoder(network, "transformer-alibi")
        assert check_decoder(model, language.dfa()).length in (1 << 24, "all")
        if done % 20 == 0:
            assert isinstance(run_decoder(model, language, words=2, length=40), Claim)
        done += 1


class TestPredictedFailures:
    """Heads by hand, outside the lemmas: they fail where the lemmas say."""

    def soft_register(self, slope, gap=2.0**32):
        """The decoder of {0,1,2}*02*, whose only head finds the latest letter that is not 2."""
        model = with_slopes(decoder("012-star-02-star"), lambda s: slope)
        read = model.layers[0].read.weight
        read[read.abs() == 2**32] *= gap / 2**32
        return model

    def errors(self, model, word):
        dfa = find_language("012-star-02-star").dfa()
        q, expected = dfa.start, []
        for letter in word:
            q = int(dfa.transitions[q, letter])
            expected.append(bool(dfa.accepting[q]))
        got = (model(torch.tensor([word]))[0][0, :, -1] > 0.5).tolist()
        return [i for i, (a, b) in enumerate(zip(got, expected, strict=True)) if a != b]

    def test_a_slope_fails_below_the_logarithm_of_two(self):
        """A value keeps more than half of the weight against all older ones exactly if exp(-slope) < 1/2."""
        word = [1] * 60 + [0] + [0] * 60 + [1]
        edge = math.log(2)
        assert not self.errors(self.soft_register(edge + 0.01), word)
        assert self.errors(self.soft_register(edge - 0.01), word)

    @pytest.mark.parametrize("gap", [100.0, 200.0, 400.0])
    def test_a_gap_fails_after_the_predicted_hold(self, gap):
        """With slope 2, letters that hold outweigh the write once 2 · distance passes the gap."""
        model = self.soft_register(2.0, gap)
        failures = self.errors(model, [0] + [2] * 260)
        share = 1 / (1 - math.exp(-2))
        # Position of first failure: exp(-2 d) ≤ exp(-gap) · Σ exp(-2 j) over the letters that hold.
        predicted = math.ceil((gap - math.log(share)) / 2)
        assert abs(failures[0] - predicted) <= 1


def test_the_command_line_compiles_proves_and_verifies(tmp_path):
    folder = tmp_path / "register"
    compiled = run("compile", "012-star-02-star", "--to", "transformer-alibi", "-o", str(folder))
    assert compiled.code == 0
    assert "correct up to length 16,777,216 in float32" in compiled.out
    verified = run("verify", str(folder), "--dtype", "float32", "--json")
    assert verified.code == 0
    found = json.loads(verified.out)
    assert [c["length"] for c in found["claims"] if c["method"] == METHOD] == [1 << 24]
    # A decoder with other slopes in the folder: its certificate is not about it.
    model = with_slopes(read_model(folder / "model"), lambda s: 1.0 if s == 128 else s)
    save_model(folder / "model", model)
    refused = run("verify", str(folder), "--dtype", "float32")
    assert refused.code == 1
    assert "another decoder" in refused.err or "slope" in refused.err
