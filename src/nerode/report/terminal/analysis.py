"""The numbers of an analysis as `nerode analyse` prints them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from nerode.core import plural
from nerode.report.notation import visible

Json = Mapping[str, Any]


def analysis_view(found: Json) -> RenderableType:
    """Returns the page of a terminal for an analysis, given as its JSON."""
    parts: list[RenderableType] = [Text(visible(found["name"]), style="bold")]
    if said := conclude_analysis(found):
        parts.append(Text(visible(said)))
    for title, rows in summary(found).items():
        table = Table(box=None, pad_edge=False, show_header=True, header_style="bold", title_justify="left")
        for heading in rows[0]:
            table.add_column(heading, overflow="fold")
        for row in rows[1:]:
            table.add_row(*(visible(cell) for cell in row))
        parts += [Text(""), Text(title, style="bold"), table]
    for what, why in found["left_out"].items():
        parts.append(Text(f"left out: {visible(what)} ({visible(why)})", style="dim"))
    return Group(*parts)


def conclude_analysis(found: Json) -> str:
    """Returns the finding of an analysis in a few sentences: where it fails, and what the state forgets."""
    return " ".join(filter(None, (_settled(found), _tested(found), *_memory(found), _learned(found))))


def _tested(found: Json) -> str:
    rows = found["margins"]["lengths"] if found["margins"] else []
    good = list(itertools.takewhile(lambda row: row["wrong"] == 0, rows))
    if not rows:
        return ""
    if len(good) == len(rows):
        return f"Passes every test, up to length {rows[-1]['length']:,}."
    bad = rows[len(good)]
    start = f"Passes the tests up to length {good[-1]['length']:,}; first" if good else "First"
    return f"{start} wrong answers at {bad['length']:,} ({100 * bad['wrong']:.3g} % of the answers)."


def _settled(found: Json) -> str:
    """The settlement of the run, which a test on some words does not know."""
    settled = found.get("settled") or {}
    match settled.get("status"):
        case "proved":
            return "Proved at every length; `nerode verify` replays the proof."
        case "refuted" if settled["letters"] is not None:
            return f"Refuted by a word of {plural(settled['letters'], 'letter')}."
    return ""


def _memory(found: Json) -> Iterator[str]:
    """For each linear layer whether its strongest memory lasts, with the reach of its gates."""
    for layer in found["spectra"]:
        if not layer["linear"] or not layer["products"]:
            continue
        last = layer["products"][-1]
        if last["largest"] is None:
            continue
        signs = [a for s in layer["spectra"] for a, b in s["eigenvalues"] if abs(b) < 1e-9]
        low = min(signs, default=0.0)
        gates = f"gates reach down to {number(low, 2)}" if low < 0 else "no gate is negative"
        lasts = last["largest"] >= 1 - 1e-3
        told = (
            f"a product of {last['n']:,} transitions keeps norm {number(last['largest'])}"
            if lasts
            else f"the product decays (norm {number(last['largest'])} after {last['n']:,} letters)"
        )
        yield f"Layer {layer['layer']}: {gates}, {'and' if lasts else 'but' if low < 0 else 'and'} {told}."


def _learned(found: Json) -> str:
    automaton = found.get("automaton")
    if not automaton:
        return ""
    states = plural(automaton["states"], "state")
    if automaton["equal"]:
        return f"The automaton that was extracted has {states} and is that of {automaton['target']}."
    return f"The automaton that was extracted has {states} and differs from that of {automaton['target']}."


def summary(found: Json) -> dict[str, list[tuple[str, ...]]]:
    """Returns tables by title, each with its headings first."""
    tables = {
        "Transitions": _spectra(found),
        "Steps of a squashed recurrence": _iterates(found),
        "How far back it looks": _context(found),
        "Hidden states by label": _clusters(found),
        "Margin of the correct answer": _margins(found),
        "How long a bit is remembered": _streams(found),
        "Where one ignored bit leads, repeated": _fixed_points(found),
    }
    return {title: rows for title, rows in tables.items() if len(rows) > 1}


def number(value: float | None, digits: int = 3) -> str:
    """Returns a number as tables show it; – for none."""
    return "–" if value is None else f"{value:.{digits}g}"


def count(value: int | None, none: str = "never") -> str:
    """Returns a whole number with commas, or what stands for none."""
    return none if value is None else f"{value:,}"


def _spectra(found: Json) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [
        ("layer", "transition", "eigenvalues of", "number", "outside", "on circle", "radius", "norm")
    ]
    for layer in found["spectra"]:
        rows += [_spectrum(layer["layer"], transition_words(layer), s) for s in layer["spectra"]]
        if layer["stretch"] is not None and layer["stretch"]["weights"] is not None:
            rows.append(_spectrum(layer["layer"], "recurrent weights", layer["stretch"]["weights"]))
    return rows


_ITERATES = (1, 16, 64)


def _iterates(found: Json) -> list[tuple[str, ...]]:
    """The Lipschitz constant of one step, and the norm that many steps without inputs leave of a state."""
    rows: list[tuple[str, ...]] = [
        ("layer", "stretched by at least", "at most", *(f"(σ∘U)^{n}" for n in _ITERATES))
    ]
    for layer in found["spectra"]:
        if layer["stretch"] is not None and layer["stretch"]["free"]:
            free = layer["stretch"]["free"]
            left = [number(free[n - 1]) if n <= len(free) else "–" for n in _ITERATES]
            ends = number(layer["stretch"]["sampled"]), number(layer["stretch"]["bound"])
            rows.append((str(layer["layer"]), *ends, *left))
    return rows


def _spectrum(layer: int, kind: str, spectrum: Json) -> tuple[str, ...]:
    return (
        str(layer),
        kind,
        spectrum["label"],
        count(spectrum["counted"]),
        count(spectrum["outside"]),
        count(spectrum["on"]),
        number(spectrum["radius"], 5),
        number(spectrum["norm"]),
    )


def transition_words(layer: Json) -> str:
    """Returns in words what kind of transition a layer has."""
    if not layer["linear"]:
        return "derivative"
    words = {"one matrix": "one matrix", "one for each letter": "one per letter", "sample": "by position"}
    return words[layer["source"]]


def _context(found: Json) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("by", "letters", "how")]
    context = found["context"]
    if context is None:
        return rows
    eps = number(context["eps"])
    for layer in context["layers"]:
        name = f", layer {layer['layer']}"
        rate = number(layer["rate"], 5)
        rows += [
            (f"spectrum{name}", count(layer["by_spectrum"], "unbounded"), f"{rate}ⁿ < {eps}"),
            (
                f"norm{name}",
                count(layer["by_norm"], f"> {layer['computed']}"),
                f"product of n transitions < {eps}",
            ),
            (f"nilpotency{name}", count(layer["by_nilpotency"], "unbounded"), "product exactly 0"),
        ]
    longest = context["longest"]
    for key, how in (
        ("by_intervention", f"mean change of the answer ≥ {eps}"),
        ("by_largest", f"largest change ≥ {eps}"),
        ("flips", "some answer becomes another one"),
    ):
        reach = context[key]
        rows.append(("intervention", count(reach) + (" (all)" if reach == longest else ""), how))
    return rows


def _clusters(found: Json) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [
        ("label", "network", "labels", "states", "silhouette", "in the plane", "purity", "same neighbour")
    ]
    for clusters in found["clusters"]:
        for which in ("trained", "untrained"):
            seen = clusters[which]
            if seen is not None:
                values = ("silhouette", "silhouette_plane", "purity", "neighbours")
                rows.append(
                    (
                        clusters["labelled_by"],
                        which,
                        count(clusters["labels"]),
                        count(clusters["states"]),
                        *(number(seen[v], 2) for v in values),
                    )
                )
    return rows


def _margins(found: Json) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("length", "least", "1 %", "median", "wrong")]
    for row in found["margins"]["lengths"] if found["margins"] else ():
        sizes = (number(row[name]) for name in ("least", "low", "median"))
        rows.append((count(row["length"]), *sizes, f"{100 * row['wrong']:.3g} %"))
    return rows


def _streams(found: Json) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("ignored bits", "written", "lost after", "predicted")]
    forgetting = found["forgetting"]
    if forgetting is None:
        return rows
    for row in forgetting["streams"]:
        lost = count(row["fails_at"], f"not within {row['tested']:,}")
        rows.append((row["stream"], str(row["bit"]), lost, count(row["predicted"], "–")))
    return rows


def _fixed_points(found: Json) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [
        ("written", "ignored", "steps", "period", "answer there", "correct all along")
    ]
    verdict = {True: "right", False: "wrong", None: "?"}
    for row in found["forgetting"]["fixed_points"] if found["forgetting"] else ():
        answer = f"{verdict[row['right']]}, margin {number(row['margin'])}"
        always = {True: "yes", False: "no", None: "?"}[row["always"]]
        cells = (count(row["steps"], "not seen"), count(row["period"], "–"), answer, always)
        rows.append((str(row["written"]), str(row["ignored"]), *cells))
    return rows
