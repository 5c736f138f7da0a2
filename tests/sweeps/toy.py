"""A kind of run that takes milliseconds and whose result can be worked out by anybody."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from nerode.core import InputError
from nerode.records import RunOutput
from nerode.sweeps.running import RunJob

NAME = "tests.sweeps.toy:TOY"


class Toy:
    """Adds up `seed` times 1, 2, … `steps`, keeping the sum so far in its scratch folder."""

    def key(self, spec: dict[str, Any]) -> str:
        if not isinstance(spec.get("seed"), int):
            raise InputError(f"seed is {spec.get('seed')!r}; it has to be a whole number")
        text = json.dumps({"steps": 5, "pause": 0.0, **spec}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def run(self, spec: dict[str, Any], out: Path, scratch: Path) -> RunOutput:
        if log := spec.get("log"):
            with Path(log).open("a") as file:
                file.write(f"{spec['seed']}\n")
        if spec.get("crash") == "error":
            raise RuntimeError("this run fails")
        if spec.get("crash") == "exit":
            os._exit(9)
        if spec.get("crash") == "once" and not (scratch / "died").exists():
            (scratch / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        print("a run may print what it likes")
        checkpoint = scratch / "checkpoint.json"
        step, total = json.loads(checkpoint.read_text()) if checkpoint.exists() else (0, 0)
        while step < spec.get("steps", 5):
            step += 1
            total += step * spec["seed"]
            time.sleep(spec.get("pause", 0.0))
            new = scratch / f"new-{os.getpid()}"
            new.write_text(json.dumps([step, total]))
            new.rename(checkpoint)
        (out / "model").mkdir()
        (out / "model" / "weights").write_bytes(b"%d" % total * 1000)
        return RunOutput(
            result={"total": total, "seed": spec["seed"]},
            environment={"process": os.getpid()},
            metrics=[{"step": s, "sum": spec["seed"] * s * (s + 1) // 2} for s in range(1, step + 1)],
        )


TOY = Toy()


def job(seed: int, **spec: Any) -> RunJob:
    spec = {"seed": seed, **spec}
    return RunJob(key=TOY.key(spec), spec=spec)


def expected_files(spec: dict[str, Any]) -> dict[str, Any]:
    """What the folder of a finished run has to hold, but for the environment."""
    steps = spec.get("steps", 5)
    total = spec["seed"] * steps * (steps + 1) // 2
    return {
        "result": {"key": TOY.key(spec), "total": total, "seed": spec["seed"]},
        "weights": b"%d" % total * 1000,
        "metrics": steps,
    }


def assert_right(folder: Path) -> None:
    """A folder that counts as finished is right in every file."""
    assert {p.name for p in folder.iterdir()} == {
        "spec.json",
        "environment.json",
        "metrics.jsonl",
        "result.json",
        "model",
    }
    spec = json.loads((folder / "spec.json").read_text())
    wanted = expected_files(spec)
    assert json.loads((folder / "result.json").read_text()) == wanted["result"]
    assert (folder / "model" / "weights").read_bytes() == wanted["weights"]
    assert len((folder / "metrics.jsonl").read_text().splitlines()) == wanted["metrics"]
    assert json.loads((folder / "environment.json").read_text())["process"] > 0
    assert folder.name == wanted["result"]["key"][:16]


def contents(root: Path) -> dict[str, bytes]:
    """All files of finished runs by path, but for what differs from machine to machine."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
        and path.name != "environment.json"
        and not path.relative_to(root).parts[0].startswith(".")
    }
