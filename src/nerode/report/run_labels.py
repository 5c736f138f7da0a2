"""Runs that differ in the seed only, put together and named: plain results in, nothing here needs torch."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nerode.report.lettering import shorten

Result = Mapping[str, Any]


def labelled_groups(results: Sequence[Result]) -> list[tuple[str, list[int]]]:
    """Returns the models of runs, each with a name of its own and with the places of its runs, by seed.

    The name is the title of the model; where two models share it, with the settings in which they differ.
    """
    groups: dict[str, list[int]] = {}
    for place, result in enumerate(results):
        groups.setdefault(canonical([result["title"], _without_seed(_settings(result))]), []).append(place)
    labels = _labels([results[places[0]] for places in groups.values()])
    return [
        (label, sorted(places, key=lambda place: seed_of(results[place])))
        for label, places in zip(labels, groups.values(), strict=True)
    ]


def seed_of(result: Result) -> int:
    """Returns the seed of a run."""
    return int(_settings(result)["run"]["seed"])


def canonical(value: Any) -> str:
    """Returns a text that is the same for equal values."""
    return json.dumps(value, sort_keys=True, default=str)


def _settings(result: Result) -> Mapping[str, Any]:
    """The spec with all defaults, where the result has it."""
    found: Mapping[str, Any] = result.get("complete") or result["spec"]
    return found


def _without_seed(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {**spec, "run": {name: value for name, value in spec["run"].items() if name != "seed"}}


def _labels(results: Sequence[Result]) -> list[str]:
    """The titles; where two are the same, with the settings in which their runs differ."""
    titles = [str(result["title"]) for result in results]
    flat = [_flat(_without_seed(_settings(result))) for result in results]
    labels = []
    for title, own in zip(titles, flat, strict=True):
        same = [other for name, other in zip(titles, flat, strict=True) if name == title]
        names = [key for key in own if _differ(same, key)]
        said = ", ".join(dict.fromkeys(f"{name.rpartition('.')[2]} {own[name]}" for name in names))
        labels.append(f"{title} · {shorten(said, 60)}" if said else title)
    return _numbered(labels)


def _flat(table: Any) -> dict[str, Any]:
    """Plain values by dotted name, those of lists by their places."""
    found: dict[str, Any] = {}
    todo = [("", table)]
    while todo:
        place, value = todo.pop()
        if isinstance(value, Mapping):
            todo += [(f"{place}.{name}", inner) for name, inner in reversed([*value.items()])]
        elif isinstance(value, list):
            todo += [(f"{place}.{i}", inner) for i, inner in reversed([*enumerate(value)])]
        else:
            found[place] = value
    return found


def _differ(tables: Iterable[Mapping[str, Any]], key: str) -> bool:
    return len({canonical(table.get(key)) for table in tables}) > 1


def _numbered(labels: Sequence[str]) -> list[str]:
    """The labels, the second of two equal ones with a number."""
    seen: dict[str, int] = {}
    found = []
    for label in labels:
        seen[label] = seen.get(label, 0) + 1
        found.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
    return found
