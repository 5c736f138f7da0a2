"""A warmed parent that forks a child for each case, and one child for all plain cases.

`python -m tests.cli.badinput.forker WITHOUT INPUTS ROOT` starts it.

It has imported all commands, so that a case costs what the command costs. Cases come as JSON, one per line,
on standard input; outcomes go out the same way. WITHOUT is "torch" or "extras" for packages that are not
to be found, "" for none.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import json
import os
import pkgutil
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, NoReturn

EXTRAS = ("onnx", "ray", "submitit", "tensorboard", "wandb", "matplotlib", "starlette", "uvicorn")
CPU_SECONDS, WALL_SECONDS = 60, 120
MAX_FILE = 1 << 28


def hide(packages: tuple[str, ...]) -> None:
    """Makes packages impossible to import."""
    for package in packages:
        sys.modules[package] = None  # type: ignore[assignment]


def warm_up() -> None:
    """Imports all commands and what they import late; nothing that needs a missing package."""
    import nerode
    from nerode.cli.main import COMMANDS

    for name in set(COMMANDS.values()):
        importlib.import_module(name)
    for found in pkgutil.walk_packages(nerode.__path__, "nerode."):
        if not found.name.endswith("__main__"):
            with contextlib.suppress(ImportError, ValueError):
                importlib.import_module(found.name)


def main() -> None:
    """Answers cases until there are no more."""
    without, inputs, root = sys.argv[1:]
    hide({"torch": ("torch", "jaxtyping", "safetensors"), "extras": EXTRAS}.get(without, ()))
    warm_up()
    gc.collect()
    gc.freeze()  # A collection in a child would copy every page of its parent.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # What a case leaves in memory must not reach cases that have a process of their own.
    questions, plain = os.pipe(), os.pipe()
    if os.fork() == 0:
        os.close(questions[1])
        _answer(os.fdopen(questions[0], encoding="utf-8"), os.fdopen(plain[1], "w"), Path(inputs), Path(root))
        os._exit(0)
    ask, told = os.fdopen(questions[1], "w", encoding="utf-8"), os.fdopen(plain[0], encoding="utf-8")
    for line in sys.stdin:
        case = json.loads(line)
        if runs_here(case["words"], case["setup"]):
            ask.write(line)
            ask.flush()
            found = told.readline()
        else:
            found = json.dumps(run_case(case, Path(inputs), Path(root))) + "\n"
        answers.write(found)
        answers.flush()
    ask.close()
    os.wait()


def _answer(cases: IO[str], answers: IO[str], inputs: Path, root: Path) -> None:
    """Carries out plain cases one after the other in this process, a child of the one that forks."""
    for line in cases:
        answers.write(json.dumps(run_case(json.loads(line), inputs, root)) + "\n")
        answers.flush()


FORKED_SETUPS = ("@std", "@signal", "@twice", "@without", "@slow")
FORKED_COMMANDS = ("train", "reproduce", "explore", "atlas", "prove", "repair", "polish", "mend")
"""What needs a process of its own: other streams, signals, missing packages, processes; and limits of time,
which answers that are known already would not use up."""


def runs_here(words: Sequence[str], setup: Sequence[str]) -> bool:
    """Whether a case needs no process of its own; its parent is another than that of the others."""
    if any(item.startswith(FORKED_SETUPS) for item in setup):
        return False
    return not any(word in FORKED_COMMANDS or "--max-" in word for word in words)


def run_here(case: dict[str, Any], place: Path, inputs: Path) -> dict[str, Any]:
    """Returns what came of a case that needs no process of its own."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape", write_through=True)
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace", write_through=True)
    before, folder = time.process_time(), Path.cwd()
    signal.alarm(WALL_SECONDS)
    os.chdir(place / "cwd")
    try:
        _set_up(inputs, case["setup"])
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), open(os.devnull) as sys.stdin:
            sys.argv = ["nerode", *case["words"]]
            code = _call(case["words"])
    finally:
        sys.stdin = sys.__stdin__
        os.chdir(folder)
        signal.alarm(0)
    streams = {"out": out, "err": err}
    said = {k: s.buffer.getvalue().decode(errors="replace") for k, s in streams.items()}  # type: ignore[attr-defined]
    return {"codes": [code], **said, "seconds": time.process_time() - before}


def run_case(case: dict[str, Any], inputs: Path, root: Path) -> dict[str, Any]:
    """Returns what came of a case: statuses, both outputs, CPU seconds, what it left behind."""
    place = Path(tempfile.mkdtemp(dir=root))
    (place / "cwd").mkdir()
    (place / "cwd" / "in").symlink_to(inputs)
    setup = case["setup"]
    if runs_here(case["words"], setup):
        found = run_here(case, place, inputs)
        stray = [str(p.relative_to(place / "cwd")) for p in (place / "cwd").rglob(".*.new")]
        shutil.rmtree(place, ignore_errors=True)
        return {**found, "stray": stray}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    count = 2 if "@twice" in setup else 1
    if setup:
        prepared = os.fork()
        if prepared == 0:
            _prepare(place / "cwd", inputs, setup)
        _, status = os.waitpid(prepared, 0)
        if status:
            return {"error": f"the set-up of {case['text']!r} failed"}
    children = [_start(place, number, case["words"], setup) for number in range(count)]
    codes = [_wait(child, setup, place, number) for number, child in enumerate(children)]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = {
        name: "".join(
            (place / f"{name}-{number}").read_bytes().decode(errors="replace") for number in range(count)
        )
        for name in ("out", "err")
    }
    stray = [str(p.relative_to(place / "cwd")) for p in (place / "cwd").rglob(".*.new")]
    seconds = sum(getattr(after, n) - getattr(before, n) for n in ("ru_utime", "ru_stime"))
    shutil.rmtree(place, ignore_errors=True)
    return {"codes": codes, **said, "seconds": seconds, "stray": stray}


def _wait(child: int, setup: list[str], place: Path, number: int) -> int:
    """The status of a child as a shell would say it; it gets its signal, and is ended when it hangs.

    Seconds count from when the child is ready, and a signal waits until the child has had a third of them of
    the processor: on a busy machine it would come before the command does anything. A server, which waits
    itself, gets it once it has said something.
    """
    ready, said = place / f"err-{number}", place / f"out-{number}"
    signals = [item.split(":")[1:] for item in setup if item.startswith("@signal:")]
    begun = time.monotonic()
    while not ready.exists() and time.monotonic() - begun < WALL_SECONDS:
        time.sleep(0.002)
    begun = time.monotonic()
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        now = time.monotonic() - begun
        if signals and _is_due(signals[0][1], child, now, said):
            os.kill(child, getattr(signal, f"SIG{signals.pop(0)[0]}"))
        if now > WALL_SECONDS:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.002)


def _is_due(when: str, child: int, now: float, said: Path) -> bool:
    """Whether a signal is to be sent to a child that has been at work for some seconds."""
    if when == "said":
        return now > 1 and said.stat().st_size > 0
    after = float(when)
    return now > after and (_processor(child) > after / 3 or now > 20 * after)


def _processor(child: int) -> float:
    """CPU seconds that a child has had."""
    try:
        fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _start(place: Path, number: int, words: list[str], setup: list[str]) -> int:
    child = os.fork()
    if child:
        return child
    try:
        _run(place, number, words, setup)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(99)


def _run(place: Path, number: int, words: list[str], setup: list[str]) -> NoReturn:
    """Carries out a command in this process, which ends as Python would."""
    os.chdir(place / "cwd")
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_FILE, MAX_FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    where = {item[1:].partition(":")[0]: item.partition(":")[2] for item in setup if item.startswith("@std")}
    for handle, name, file in ((1, "stdout", "out"), (2, "stderr", "err")):
        # What is asked elsewhere leaves the file empty.
        target = os.open(place / f"{file}-{number}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(_place(where[name]) if where.get(name) not in (None, "closed") else target, handle)
    os.dup2(_place(where.get("stdin", "/dev/null")) if where.get("stdin") != "closed" else 1, 0)
    for handle, name in ((0, "stdin"), (1, "stdout"), (2, "stderr")):
        if where.get(name) == "closed":
            os.close(handle)
            setattr(sys, name, None)
        else:
            errors = "backslashreplace" if handle == 2 else "surrogateescape" if handle == 0 else "strict"
            opened = open(handle, "r" if handle == 0 else "w", encoding="utf-8", errors=errors)  # noqa: SIM115
            setattr(sys, name, opened)
    if "@without:native" in setup:
        from nerode.models.native import library as native

        native._load = lambda level: None
    if "@without:home" in setup:
        os.environ["HOME"] = "/proc/none"
    sys.argv = ["nerode", *words]
    os._exit(_end(_call(words)))


def _call(words: list[str]) -> int:
    from nerode.cli.main import main as command_line

    try:
        command_line(list(words))
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
    except KeyboardInterrupt:
        return 130
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _end(code: int) -> int:
    """Closes the streams as Python does, which reports what cannot be written with status 120."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(Exception):
                print("Traceback: output could not be flushed when the command ended", file=sys.stderr)
            code = 120
    return code


def _place(where: str) -> int:
    """The descriptor of "full", "gone" or a file."""
    if where == "gone":
        reader, writer = os.pipe()
        os.close(reader)
        return writer
    return os.open("/dev/full" if where == "full" else where, os.O_RDWR)


def _prepare(cwd: Path, inputs: Path, setup: list[str]) -> NoReturn:
    os.chdir(cwd)
    try:
        _set_up(inputs, setup)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _set_up(inputs: Path, setup: list[str]) -> None:
    for item in setup:
        kind, _, rest = item[1:].partition(":")
        path, _, value = rest.partition(":")
        if kind.startswith("each-"):
            for found in Path(path).glob(f"*/{value}"):
                _SETUPS[kind.removeprefix("each-")](found, "", inputs)
        elif kind in _SETUPS:
            _SETUPS[kind](Path(path), value, inputs)


def _clear(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)


def _write(path: Path, content: bytes) -> None:
    _clear(path)
    path.write_bytes(content)


def _set_key(path: Path, value: str) -> None:
    key, _, text = value.partition("=")
    data = json.loads(path.read_text())
    place = data
    *above, last = key.split(".")
    for name in above:
        place = place[int(name)] if isinstance(place, list) else place[name]
    place[int(last) if isinstance(place, list) else last] = json.loads(text)
    path.write_text(json.dumps(data))


def _make(path: Path, how: Any) -> None:
    _clear(path)
    how(path)


_SETUPS: dict[str, Any] = {
    "copy": lambda path, value, inputs: (
        shutil.copytree(inputs / path, path.name, symlinks=True)
        if (inputs / path).is_dir()
        else shutil.copy(inputs / path, path.name)
    ),
    "put": lambda path, value, inputs: _write(path, value.encode(errors="surrogateescape")),
    "empty": lambda path, value, inputs: _write(path, b""),
    "noise": lambda path, value, inputs: _write(path, random.Random(0).randbytes(3000)),
    "cut": lambda path, value, inputs: _write(path, path.read_bytes()[: path.stat().st_size // 2]),
    "deep": lambda path, value, inputs: _write(path, b"[" * 100_000 + b"]" * 100_000),
    "rm": lambda path, value, inputs: _clear(path),
    "dir": lambda path, value, inputs: _make(path, Path.mkdir),
    "fifo": lambda path, value, inputs: _make(path, os.mkfifo),
    "loop": lambda path, value, inputs: _make(path, lambda p: p.symlink_to(p.name)),
    "link": lambda path, value, inputs: _make(path, lambda p: p.symlink_to(value)),
    "key": lambda path, value, inputs: _set_key(path, value),
}


if __name__ == "__main__":
    main()
