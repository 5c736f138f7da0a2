"""Certificates of version 1 as version 2: what `docs/certificates.md` says at its end."""

from __future__ import annotations

from typing import Any

from nerode import kernel

Json = Any


def convert(network: Json, language: Json, old: Json) -> kernel.Certificate:
    """Returns the certificate of version 2 that rests on the evidence of one of version 1.

    The kernel walks every cover anew; claims are those that follow, of which the old ones are some.
    """
    proofs = []
    for method, evidence in old["evidence"].items():
        if method == "integer-exactness":
            continue
        tasks = [claim["task"] for claim in old["claims"] if claim["method"] == method]
        task = evidence.get("task", "predict" if "predict" in tasks else tasks[0])
        bounds = [claim["eps"] for claim in old["claims"] if claim["method"] == method and claim["eps"]]
        eps = kernel.claim_from_json({**old["claims"][0], "eps": bounds[0]}).eps if bounds else None
        proof = kernel.prove(network, language, method, describe(network, method, evidence, task), eps=eps)
        assert proof.failure is None, proof.failure
        proofs.append(proof)
    return kernel.seal(network, language, proofs)


def describe(network: Json, method: str, evidence: Json, task: str) -> Json:
    """Returns the description of a cover from evidence of version 1."""
    match method:
        case "joint-closure":
            return {"task": task}
        case "saturating-closure":
            layers = network["layers"]
            caps = {f"{n + 1}:{layers[n]['state'][i]}": cap for n, i, cap in evidence["caps"]}
            return {"task": task, "caps": caps}
        case "counter-invariant" | "stack-invariant":
            renamed = {("affine" if key == "coordinates" else key): v for key, v in evidence.items()}
            return {"task": task, **renamed}
        case "boxes" | "state-boxes":
            kept = {key: value for key, value in evidence.items() if key not in ("eps", "digest")}
            return {**kept, "noise": evidence["eps"]}
        case "n-gram-contexts":
            return {"task": task}
    return dict(evidence)
