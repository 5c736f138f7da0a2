"""Commands in forked copies of this process, with what they took of processor and memory.

`python -m tests.integration.watchdog SECONDS [NAME …]` prints a table of all cases whose names begin so.
"""

from __future__ import annotations

import importlib
import os
import resource
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nerode.cli.main import COMMANDS, main


@dataclass(frozen=True)
class Usage:
    """What a command took, with the processes that it waited for.

    Attributes:
        code: exit code; minus the signal that killed it.
        seconds: of the processor.
        bytes: the most memory at a time, that of this process included.
        output: what it printed, errors too.
    """

    code: int
    seconds: float
    bytes: int
    output: str


def warm_up() -> None:
    """Imports everything, so that a copy does not count the time of imports."""
    import torch

    # Threads of torch do not live on in a forked copy, which would wait for them for ever.
    torch.set_num_threads(1)
    for module in sorted(set(COMMANDS.values())):
        importlib.import_module(module)
    for module in (
        "nerode.analysis",
        "nerode.analysis.extraction",
        "nerode.analysis.polish",
        "nerode.models.exports.module_graph",
        "nerode.proofs.floats",
        "nerode.reproduce.measuring",
        "nerode.sweeps",
        "nerode.training",
    ):
        importlib.import_module(module)


def measure(command: Sequence[str], folder: Path, *, most: float) -> Usage:
    """Returns what a command took in a folder of its own.

    Args:
        command: its words.
        folder: files and folders; those that the command names are put into its own one.
        most: CPU seconds after which the operating system ends it, so that a test ends.
    """
    with tempfile.TemporaryDirectory() as place, tempfile.TemporaryFile() as output:
        for path in folder.iterdir():
            if path.name not in command:
                continue
            if path.is_dir():
                shutil.copytree(path, Path(place) / path.name)
            else:
                (Path(place) / path.name).symlink_to(path)
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            _run(command, place, output.fileno(), most)
        _, status, used = os.wait4(child, 0)
        output.seek(0)
        return Usage(
            code=os.waitstatus_to_exitcode(status),
            seconds=used.ru_utime + used.ru_stime,
            bytes=used.ru_maxrss * 1024,
            output=output.read().decode(errors="replace"),
        )


def _run(command: Sequence[str], place: str, output: int, most: float) -> None:
    """Carries a command out; never returns."""
    code = 70
    try:
        os.chdir(place)
        for handle in (1, 2):
            os.dup2(output, handle)
        sys.stdout = sys.__stdout__ = os.fdopen(1, "w", closefd=False)
        sys.stderr = sys.__stderr__ = os.fdopen(2, "w", closefd=False)
        resource.setrlimit(resource.RLIMIT_CPU, (int(most) + 1, int(most) + 1))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(int(20 * most) + 60)
        main(list(command))
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _survey(seconds: float, beginnings: Sequence[str]) -> None:
    """Prints what every case takes, and the worst of all."""
    from tests.integration.heavy_inputs import cases, make_corpus

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        make_corpus(folder)
        warm_up()
        chosen = [c for c in cases() if not beginnings or c.name.startswith(tuple(beginnings))]
        taken = []
        for case in chosen:
            used = measure((*case.command, "--max-seconds", str(seconds)), folder, most=seconds + 15)
            taken.append(used)
            print(
                f"{used.seconds:6.2f} s {used.bytes >> 20:5} MiB  exit {used.code:3}  {case.name}", flush=True
            )
    late = max(used.seconds - seconds for used in taken)
    most = max(used.bytes for used in taken)
    print(
        f"{len(taken)} cases of {len({c.command[0] for c in chosen})} commands, "
        f"{sum(used.seconds for used in taken):,.0f} CPU seconds: latest {late:.2f} s after the budget, "
        f"most memory {most / (1 << 30):.2f} GiB"
    )


if __name__ == "__main__":
    _survey(float(sys.argv[1]), sys.argv[2:])
