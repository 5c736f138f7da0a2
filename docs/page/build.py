"""The page that re-checks a certificate in the browser: `python docs/page/build.py OUT` (`make page`).

Fetches Pyodide once into OUT/pyodide by npm, checks its hash, and assembles OUT/page from the files beside
this one, the kernel, and an example. Nothing else of the tests or of the documentation fetches it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import nerode as nr
from nerode.kernel import check_folder
from nerode.kernel.reader import content_hash
from nerode.proofs import write_folder

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src"
VERSION = "314.0.7"
SHA512 = "0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="
CHANGE = ('"start":[0,0,0]', '"start":[0,1,0]')
"""One number of the example: the state before the first letter."""

FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
PAGE = ("index.html", "page.css", "page.mjs", "kernel.mjs")


def fetch(folder: Path) -> None:
    """Fetches Pyodide into a folder, unless it is there."""
    if all((folder / name).is_file() for name in FILES):
        return
    with tempfile.TemporaryDirectory() as scratch:
        command = ["npm", "pack", "--silent", f"pyodide@{VERSION}"]
        subprocess.run(command, cwd=scratch, check=True, stdout=subprocess.DEVNULL)
        (archive,) = Path(scratch).glob("*.tgz")
        found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if found != SHA512:
            raise SystemExit(f"pyodide {VERSION} has the hash {found}; it has to be {SHA512}")
        folder.mkdir(parents=True, exist_ok=True)
        with tarfile.open(archive) as package:
            for name in FILES:
                source = package.extractfile(f"package/{name}")
                assert source is not None
                (folder / name).write_bytes(source.read())


def assemble(page: Path, pyodide: Path) -> None:
    """Writes the page: its own files, Pyodide, the kernel, and an example with one number to change."""
    page.mkdir(parents=True, exist_ok=True)
    for name in PAGE:
        shutil.copyfile(HERE / name, page / name)
    shutil.copytree(pyodide, page / "pyodide", dirs_exist_ok=True)
    with zipfile.ZipFile(page / "kernel.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        # Only the kernel: it imports nothing else, and an empty door keeps it that way here.
        archive.writestr("nerode/__init__.py", "")
        for path in sorted((SOURCE / "nerode" / "kernel").rglob("*.py")):
            archive.write(path, path.relative_to(SOURCE))
    (page / "example.json").write_text(json.dumps(example()), encoding="utf-8")


def example() -> dict[str, object]:
    """Returns a folder of flip-flop on diagonal layers, and a change of one of its numbers."""
    language = nr.language("flip-flop")
    network = nr.compile_language(language, to="diagonal")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_folder(folder, network, language, nr.certify(network, language))
        files = {
            name: (folder / name).read_text(encoding="utf-8")
            for name in ("network.json", "language.json", "certificate.json")
        }
        assert check_folder(folder).ok
        # Who forges a network gives the certificate its hash, too.
        network = files["network.json"].replace(*CHANGE)
        hashes = (_hash(files["network.json"]), _hash(network))
        forged = {"network.json": network, "certificate.json": files["certificate.json"].replace(*hashes)}
        for name, text in forged.items():
            assert text != files[name]
            (folder / name).write_text(text, encoding="utf-8")
        failure = check_folder(folder).failure
        assert failure is not None
        assert "SHA-256" not in failure.what, failure
    return {"name": "flip-flop", "files": files, "forged": forged}


def _hash(network: str) -> str:
    return content_hash(json.loads(network))


def main() -> None:
    """Fetches what is missing and writes the page."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
    fetch(out / "pyodide")
    assemble(out / "page", out / "pyodide")
    print(f"{out / 'page' / 'index.html'}  (python -m http.server -d {out / 'page'})")


if __name__ == "__main__":
    main()
