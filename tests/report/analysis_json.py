"""An analysis as JSON, written by hand: every part is there, and every text is one that could do harm."""

from __future__ import annotations

from typing import Any

HOSTILE = "</script><img src=x onerror=alert(1)>"


def clustering() -> dict[str, Any]:
    return {
        "silhouette": 0.5,
        "silhouette_plane": 0.4,
        "purity": 1.0,
        "neighbours": 1.0,
        "explained": [0.7, 0.2],
        "points": [[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]],
    }


def spectrum(label: str) -> dict[str, Any]:
    return {
        "label": label,
        "eigenvalues": [[1.2, 0.0], [0.5, 0.5], [0.5, -0.5]],
        "counted": 3,
        "outside": 1,
        "on": 0,
        "radius": 1.2,
        "norm": 1.3,
    }


def layer(number: int, **changes: Any) -> dict[str, Any]:
    products = [{"n": n, "median": 0.9**n, "largest": 1.1**n} for n in range(1, 6)]
    return {
        "layer": number,
        "linear": True,
        "source": "sample",
        "spectra": [spectrum(HOSTILE), spectrum("b")],
        "products": products,
        "nilpotent": None,
        "stretch": None,
        "rate": 0.9,
        **changes,
    }


def stream(kind: str, bit: int) -> dict[str, Any]:
    return {
        "stream": kind,
        "bit": bit,
        "fails_at": 51 if bit else None,
        "tested": 1000,
        "predicted": None if kind == "random" else 51,
        "margins": [[1, 2.0], [10, 1.0], [100, -1.0], [1000, None]],
    }


def analysis_json() -> dict[str, Any]:
    stretch = {"sampled": 1.5, "bound": 2.5, "weights": spectrum("U"), "free": [0.5, 0.25]}
    point = {
        "written": 0,
        "ignored": 1,
        "steps": 77,
        "period": 1,
        "right": False,
        "margin": -0.4,
        "always": False,
    }
    unknown = {**point, "steps": None, "period": None, "right": None, "margin": None, "always": None}
    head = {
        "layer": 0,
        "head": 1,
        "weights": [[1.0, 0.0], [0.5, 0.5]],
        "distance": 0.25,
        "entropy": 0.5,
        "previous": 0.5,
        "first": 0.5,
    }
    return {
        "format": "nerode-analysis-1",
        "name": HOSTILE,
        "about": {"words": {"count": 4, "length": 2}, "parameters": 9, "layers": [HOSTILE], "state": 3},
        "spectra": [layer(0), layer(1, linear=False, stretch=stretch)],
        "context": {
            "eps": 0.01,
            "layers": [
                {
                    "layer": 0,
                    "rate": 0.9,
                    "by_spectrum": 44,
                    "by_norm": None,
                    "by_nilpotency": None,
                    "computed": 5,
                }
            ],
            "changes": [
                {"back": n, "mean": 0.5**n, "largest": 0.9**n, "flips": 0.1, "answers": 4} for n in range(5)
            ],
            "by_intervention": 3,
            "by_largest": 5,
            "flips": 5,
            "longest": 5,
        },
        "clusters": [
            {
                "labelled_by": HOSTILE,
                "layer": 0,
                "labels": 2,
                "states": 3,
                "shown": [HOSTILE, "b", "b"],
                "trained": clustering(),
                "untrained": clustering(),
            }
        ],
        "trace": {
            "word": [HOSTILE, "b"],
            "strips": [
                {
                    "name": HOSTILE,
                    "layer": 0,
                    "kind": "state",
                    "coordinates": [0, 1],
                    "rows": [[0.1, -0.2], [None, 1.0]],
                    "size": 4,
                }
            ],
        },
        "attention": {"word": [HOSTILE, "b"], "heads": [head]},
        "margins": {
            "trained": 10,
            "lengths": [
                {"length": n, "least": -1.0, "low": 0.5, "median": 2.0, "wrong": 0.1} for n in (10, 20)
            ],
        },
        "forgetting": {
            "streams": [stream(kind, bit) for kind in ("opposite", "same", "random") for bit in (0, 1)],
            "fixed_points": [point, unknown],
            "latch": False,
        },
        "left_out": {HOSTILE: HOSTILE},
    }


def bare_json() -> dict[str, Any]:
    """An analysis in which nothing applied."""
    nothing = dict.fromkeys(("context", "trace", "attention", "margins", "forgetting"))
    about = {"words": {"count": 4, "length": 2}, "parameters": 9}
    return {
        "format": "nerode-analysis-1",
        "name": "bare",
        "about": about,
        "spectra": [],
        "clusters": [],
        "left_out": {"spectra": "no layer keeps a state"},
        **nothing,
    }
