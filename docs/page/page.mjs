// Reads the files of a folder and hands them to the kernel, which runs in a worker.
const NAMES = ["network.json", "language.json", "certificate.json"];
const result = document.getElementById("result");
const buttons = [...document.querySelectorAll("button")];
const kernel = new Worker("kernel.mjs", { type: "module" });
let waiting = null;

kernel.onmessage = ({ data }) => {
  if (data.ready) {
    document.getElementById("versions").textContent = data.ready;
    return;
  }
  waiting?.(data);
};
kernel.onerror = (event) => waiting?.({ status: "failed", reason: event.message || "the kernel could not be loaded" });

function say(status, title, lines = [], note = "") {
  result.hidden = false;
  result.dataset.status = status;
  const heading = document.createElement("h2");
  heading.textContent = title;
  const list = document.createElement("ul");
  list.append(...lines.map(([claim, covers]) => {
    const item = document.createElement("li");
    const name = document.createElement("strong");
    name.textContent = claim;
    item.append(name, document.createElement("br"), covers);
    return item;
  }));
  const small = document.createElement("p");
  small.className = "muted";
  small.textContent = note;
  result.replaceChildren(heading, list, small);
}

async function check(files, name) {
  const missing = NAMES.filter((file) => !(file in files));
  if (missing.length) {
    say("failed", `${name} is no folder of a compiled network`, [], `It has no ${missing.join(", no ")}.`);
    return;
  }
  say("working", "The kernel checks …");
  buttons.forEach((button) => { button.disabled = true; });
  const data = await new Promise((resolve) => { waiting = resolve; kernel.postMessage(files); });
  waiting = null;
  buttons.forEach((button) => { button.disabled = false; });
  const took = data.seconds === undefined ? "" : `${data.seconds.toFixed(1)} s in this browser.`;
  if (data.status === "holds") {
    const count = data.claims.length === 1 ? "The claim holds" : `All ${data.claims.length} claims hold`;
    say("holds", `${name}: ${count}`, data.claims, took);
  } else {
    const what = { refused: "refused", unreadable: "cannot be read", failed: "not checked" }[data.status];
    say(data.status, `${name}: ${what}`, [], `${data.reason}. ${took}`);
  }
}

async function readAll(list) {
  // Only the files of the folder itself: what lies deeper (model/) is not for the kernel.
  const files = {};
  let name = "the folder";
  for (const file of list) {
    const parts = (file.webkitRelativePath || file.name).split("/");
    if (parts.length > 2 || !NAMES.includes(parts.at(-1))) continue;
    if (parts.length === 2) name = parts[0];
    files[parts.at(-1)] = await file.text();
  }
  return [files, name];
}

async function entriesOf(directory) {
  const reader = directory.createReader(), found = [];
  for (;;) {
    const part = await new Promise((resolve, reject) => { reader.readEntries(resolve, reject); });
    if (!part.length) return found;
    found.push(...part);
  }
}

const fileOf = (entry) => new Promise((resolve, reject) => { entry.file(resolve, reject); });

document.getElementById("folder").addEventListener("change", async (event) => {
  check(...await readAll(event.target.files));
});

const drop = document.getElementById("drop");
drop.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
drop.addEventListener("dragleave", () => drop.classList.remove("over"));
drop.addEventListener("drop", async (event) => {
  event.preventDefault();
  drop.classList.remove("over");
  const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const folder = entries.find((entry) => entry.isDirectory);
  const plain = (folder ? await entriesOf(folder) : entries).filter((entry) => entry.isFile);
  const [files] = await readAll(await Promise.all(plain.map(fileOf)));
  check(files, folder ? folder.name : "the files");
});

async function example(forge) {
  const files = await (await fetch("example.json")).json();
  if (!forge) return check(files.files, files.name);
  return check({ ...files.files, ...files.forged }, `${files.name}, forged`);
}

document.getElementById("example").addEventListener("click", () => example(false));
document.getElementById("forged").addEventListener("click", () => example(true));
