"""`python -m nerode` is the command `nerode`."""

from __future__ import annotations

from nerode.cli.main import main

if __name__ == "__main__":
    main()
