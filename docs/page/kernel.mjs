// The kernel of nerode in a worker: Python in WebAssembly, and the files of nerode.kernel.
import { loadPyodide } from "./pyodide/pyodide.mjs";

const PROGRAM = `
import json, sys
from pathlib import Path
from nerode.kernel.__main__ import _headline, _reason
from nerode.kernel.check import check_folder
from nerode.kernel.work import OverBudget, Unreadable, WorkBudget

def check(folder):
    try:
        result = check_folder(folder, budget=WorkBudget(seconds=120.0, cells=1_000_000))
    except Unreadable as error:
        return json.dumps({"status": "unreadable", "reason": str(error)})
    except OverBudget as error:
        return json.dumps({"status": "failed", "reason": str(error)})
    if result.failure is not None:
        return json.dumps({"status": "refused", "reason": _reason(result.failure)})
    return json.dumps({"status": "holds", "claims": [[_headline(c), c.covers] for c in result.claims]})
`;

async function load() {
  const python = await loadPyodide();
  const archive = await (await fetch("kernel.zip")).arrayBuffer();
  python.unpackArchive(archive, "zip", { extractDir: "/nerode" });
  python.runPython(`import sys; sys.path.insert(0, "/nerode")`);
  python.runPython(PROGRAM);
  const version = python.runPython("sys.version.split()[0]");
  self.postMessage({ ready: `Python ${version} in WebAssembly (Pyodide ${python.version}).` });
  return python;
}

const loading = load();
let number = 0;

self.onmessage = async ({ data }) => {
  try {
    const python = await loading;
    const folder = `/folder-${number += 1}`;
    python.FS.mkdir(folder);
    for (const [name, text] of Object.entries(data)) python.FS.writeFile(`${folder}/${name}`, text);
    const begun = performance.now();
    const check = python.globals.get("check");
    const told = JSON.parse(check(folder));
    check.destroy();
    self.postMessage({ ...told, seconds: (performance.now() - begun) / 1000 });
  } catch (error) {
    self.postMessage({ status: "failed", reason: String(error.message || error).trim().split("\n").at(-1) });
  }
};
