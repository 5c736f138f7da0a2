from fractions import Fraction

from nerode.compiler.forms import direction
from nerode.compiler.layer_builder import DecoderBuilder, LayerBuilder
from nerode.compiler.network_builder import drop_unread
from nerode.languages import Legal

A, B, C = map(direction, "abc")


def layers():
    first = LayerBuilder("first", "abc", exposes_previous=True)
    p = first.coordinate("p", gate=Fraction(1, 4), write=A)
    q = first.coordinate("q", gate=B, write=1 - B)
    first.output("p", first.readout_relu(p - 1))
    first.output("q", q)
    first.output("unused", first.readout_relu(C + q) + first.previous("q"))
    second = LayerBuilder("second", first.stream)
    r = second.coordinate("r", gate=1, write=direction("p"))
    second.output("r", r)
    second.output("also unused", direction("unused"))
    decoder = DecoderBuilder(second.stream, 1)
    decoder.add(0, direction("r"))
    return [first.build(), second.build()], decoder.build(Legal(frozenset(), False))


def test_outputs_units_and_reads_that_serve_nothing_go():
    full, decoder = layers()
    first, second = drop_unread(full, decoder)
    assert second.outputs == ("r",)
    assert second.reads == ("p",)
    assert first.outputs == ("p",)
    assert first.reads == ("a", "b")
    assert first.readout_units.num_outputs == 1
    assert not first.exposes_previous


def test_what_remains_is_the_same():
    full, decoder = layers()
    pruned = drop_unread(full, decoder)
    for before, after in zip(full, pruned, strict=True):
        assert after.state == before.state
        assert after.start == before.start
        point = [Fraction(i + 1, 7) for i in range(len(before.reads))]
        kept = [value for name, value in zip(before.reads, point, strict=True) if name in after.reads]
        assert after.recurrence.write(kept) == before.recurrence.write(point)
        state = [Fraction(5, 3)] * before.width
        inside = point + state * (2 if before.exposes_previous else 1)
        shown = dict(zip(before.outputs, _readout(before, inside), strict=True))
        assert _readout(after, kept + state) == [shown[name] for name in after.outputs]


def _readout(layer, inside):
    return layer.readout(inside + [max(v, 0) for v in layer.readout_units(inside)])


def test_a_layer_that_is_read_stays_as_it_is():
    full, _ = layers()
    decoder = DecoderBuilder((*"abc", "p", "q", "unused", "r", "also unused"), 1)
    decoder.add(0, direction("r") + direction("q") + direction("also unused"))
    assert drop_unread(full, decoder.build(Legal(frozenset(), False))) == full
