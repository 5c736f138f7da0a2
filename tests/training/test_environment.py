"""The environment says which commit ran, or why that is not known."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from nerode.training.environment import checked_out_commit, describe_environment, keep_freed_memory

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def _repository(root: Path, head: str) -> Path:
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "HEAD").write_text(head)
    return root


def test_a_branch_a_packed_branch_and_a_detached_head(tmp_path: Path) -> None:
    loose = _repository(tmp_path / "loose", "ref: refs/heads/main\n")
    (loose / ".git/refs/heads").mkdir(parents=True)
    (loose / ".git/refs/heads/main").write_text(COMMIT + "\n")
    assert checked_out_commit(loose) == COMMIT
    packed = _repository(tmp_path / "packed", "ref: refs/heads/main\n")
    (packed / ".git/packed-refs").write_text(
        f"# pack-refs\n{COMMIT[::-1]} refs/heads/other\n{COMMIT} refs/heads/main\n"
    )
    assert checked_out_commit(packed) == COMMIT
    assert checked_out_commit(_repository(tmp_path / "detached", COMMIT)) == COMMIT


def test_a_worktree(tmp_path: Path) -> None:
    home = _repository(tmp_path / "home", "ref: refs/heads/main\n")
    (home / ".git/packed-refs").write_text(f"{COMMIT} refs/heads/side\n")
    inside = home / ".git/worktrees/side"
    inside.mkdir(parents=True)
    (inside / "HEAD").write_text("ref: refs/heads/side\n")
    (inside / "commondir").write_text("../..\n")
    (tmp_path / "side").mkdir()
    (tmp_path / "side/.git").write_text(f"gitdir: {inside}\n")
    assert checked_out_commit(tmp_path / "side") == COMMIT


@pytest.mark.parametrize("head", ["", "ref: refs/heads/none", "not a hash"])
def test_what_is_not_known_is_said_in_words(tmp_path: Path, head: str) -> None:
    assert checked_out_commit(_repository(tmp_path / "x", head)).startswith("unknown: ")
    assert checked_out_commit(tmp_path).startswith("unknown: there is no ")


def test_the_environment_never_has_null() -> None:
    assert None not in describe_environment().values()


def test_freed_memory_is_kept_by_the_gnu_library() -> None:
    assert keep_freed_memory() is (platform.libc_ver()[0] == "glibc")
