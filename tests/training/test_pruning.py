"""Gates lose their memory where it costs least, and get it back where it is needed."""

import torch

from nerode.models import LayerConfig, ModelConfig, RoundedMemory, build_model
from nerode.training.gates import ExactModel, GatePruner, PruningState, exact_forms

REMEMBERING = RoundedMemory.remembering


def exact_of(windows):
    own = {"states": 1, "channels": 24, "rank": 16, "learned_start": True}
    layers = tuple(LayerConfig(name="mamba", settings={**own, "convolution": n}) for n in windows)
    config = ModelConfig(layers=layers, letters=5, outputs=6, width=16, final_norm="rms")
    exact = ExactModel(build_model(config, seed=0), exact_forms(config, "rounded"))
    exact.spread(torch.randint(5, (16, 30), generator=torch.Generator().manual_seed(0)))
    return exact


def live_of(exact):
    return [int(gates.live.sum()) for gates in exact.gates]


def test_memory_is_taken_where_it_costs_least_and_given_back():
    exact = exact_of((3, 1))
    gates = exact.gates
    pruner = GatePruner(exact.model, gates, PruningState(share=0.1))

    def loss():
        return float(100 * (REMEMBERING - gates[0].live.sum()))

    pruner.check(0.5, loss, refuted=False)
    assert live_of(exact) == [16, 16]
    pruner.check(1.0, loss, refuted=False)
    assert live_of(exact) == [16, 13]
    pruner.check(1.0, loss, refuted=True)
    assert live_of(exact) == [16, 13], "no memory is taken just after a failing word"
    before = exact.model.head.weight.clone()
    for _ in range(6):
        pruner.check(0.5, loss, refuted=False)
        with torch.no_grad():
            exact.model.head.weight.add_(1.0)
    assert live_of(exact) == [16, 16]
    assert torch.allclose(exact.model.head.weight - 1, before, atol=1e-6)
    pruner.check(1.0, loss, refuted=False)
    assert live_of(exact) == [16, 15], "one at a time, after that"


def test_a_pruner_goes_on_from_its_tensors():
    exact = exact_of((3,))
    pruner = GatePruner(exact.model, exact.gates, PruningState(share=0.2))
    pruner.check(1.0, lambda: 0.0, refuted=False)
    tensors, live = pruner.tensors(), live_of(exact)
    other = exact_of((3,))
    again = GatePruner(other.model, other.gates, pruner.state)
    again.fill(tensors)
    assert live_of(other) == live
    for each in (pruner, again):
        for _ in range(6):
            each.check(0.5, lambda: 0.0, refuted=False)
    assert live_of(exact) == live_of(other) == [16]


def test_a_gate_without_memory_never_writes_or_else_always_does():
    exact = exact_of((3,))
    gates = exact.gates[0]
    pruner = GatePruner(exact.model, exact.gates, PruningState(share=0.1))

    def is_correct():
        return bool(gates.live[0]) and bool(gates.live[1] or gates.idle[1] > 0)

    kept = pruner.memory()
    pruner.prune(is_correct)
    assert gates.live.tolist() == [True] + [False] * 23
    assert gates.idle.tolist() == [-1.0, 1.0] + [-1.0] * 22
    pruner.restore(kept)
    assert live_of(exact) == [16]
