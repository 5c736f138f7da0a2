"""What may be removed from a store."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from nerode.sweeps.index import list_runs
from nerode.sweeps.lock import locked
from nerode.sweeps.store import DAMAGED, WORK, RunStore, run_name


def removable(store: RunStore, *, keep: Collection[str] | None = None) -> list[Path]:
    """Returns the folders that are no finished run: left by runs that were stopped or failed, or damaged.

    Args:
        store: the store.
        keep: keys of the runs to keep; all others are removable as well. None keeps all that are finished.
    """
    found = [store.root / WORK / name for name in store.unfinished()]
    found += sorted((store.root / DAMAGED).glob("*"))
    names = None if keep is None else {run_name(key) for key in keep}
    for run in list_runs(store):
        if run.damage or (names is not None and run.name not in names):
            found.append(store.root / run.name)
    return found


def prune(store: RunStore, folders: Collection[Path]) -> None:
    """Removes folders.

    Raises:
        InputError: if a driver is at work in the store.
    """
    with locked(store.root):
        for folder in folders:
            # Out of the way in one step, so that nobody ever reads half of a run.
            grave = store.root / WORK / f"removed-{folder.name}"
            store.disk.make_folder(grave.parent)
            store.disk.remove(grave)
            store.disk.rename(folder, grave)
            store.disk.remove(grave)
        list_runs(store)
