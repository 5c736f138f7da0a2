// The network of a language: picked, drawn layer by layer, with its weights, and live along a word.
import { languageOrder, remember, state } from "./address.js";
import { byId, element, pill, realPart, shape, show, tint, written } from "./elements.js";
import { ask, isFrozen, isOutdated } from "./server.js";

const MOST_ROWS = 24;
const MOST_CELLS = 96;
const MOST_DRAWN = 12;
// What the compiler most likely has a construction for.
const FAVOURITES = { counter: "diagonal", stack: "diagonal", "n-gram": "ssm" };
const REGULAR = ["mamba", "lstm", "elman-tanh"];

export const network = { answer: null, live: [], nodes: [] };
const networkListeners = [];

export function onNetwork(action) {
  networkListeners.push(action);
}

export function networkQuestion() {
  return ["network", { language: languageOrder(), target: state.target }];
}

export function proofQuestion() {
  return ["proof", { language: languageOrder(), target: state.target }];
}

export function fillTargets({ kind, targets }) {
  const marks = { yes: "✓ ", no: "✗ ", open: "? ", "": "" };
  const families = new Map();
  for (const target of targets) {
    if (!families.has(target.family)) families.set(target.family, element("optgroup", { label: target.family }));
    families.get(target.family).append(element("option", { value: target.name }, `${marks[target.status]}${target.title}`));
  }
  byId("target").replaceChildren(...families.values());
  if (!targets.some((target) => target.name === state.target)) {
    const possible = targets.filter((target) => target.status === "yes").map((target) => target.name);
    remember({ target: FAVOURITES[kind] || REGULAR.find((name) => possible.includes(name)) || possible[0] || "lstm" });
  }
  byId("target").value = state.target;
}

function weightTable(matrix) {
  const head = element("tr", {}, element("th", {}), matrix.columns.map((name) => element("th", { scope: "col" }, name)));
  const rows = matrix.rows.map((name, i) => element("tr", {}, element("th", { scope: "row" }, name), matrix.cells[i].map((cell) => {
    const made = element("td", {}, cell ? cell.replace(/-/g, "−") : "·");
    if (cell) tint(made, Number.isFinite(Number(cell)) ? Math.max(-1, Math.min(1, Number(cell))) : 0.5);
    return made;
  })));
  const title = matrix.letter ? [`${matrix.title}(`, element("code", {}, matrix.letter), ")"] : [matrix.title];
  return element("figure", { class: "weights", "data-letter": matrix.letter || null },
    element("figcaption", {}, title, matrix.left_out ? ` · ${matrix.left_out}` : ""),
    element("table", {}, element("thead", {}, head), element("tbody", {}, rows)));
}

function liveColumns(layer) {
  const columns = [["before", "before"]];
  if (layer.kind === "diagonal") columns.push(["gate", "× gate"], ["write", "+ write"]);
  else if (layer.kind === "time-invariant") columns.push(["write", "+ write"]);
  else if (layer.kind === "attention") columns.push(["gate", "holds"], ["write", "value"], ["looks", "looks at"]);
  else if (layer.kind === "elman") columns.push(["sum", "sum"]);
  else for (const gate of layer.gates) columns.push([gate, gate]);
  columns.push(["after", layer.kind === "elman" ? `= ${layer.activation}` : "after"]);
  return columns;
}

function coordinateTable(layer) {
  const columns = liveColumns(layer);
  const cells = new Map();
  const rows = layer.state.map((name, i) => element("tr", {}, element("th", { scope: "row" }, name), columns.map(([key]) => {
    const made = element("td", { class: `value ${key}` });
    cells.set(`${key} ${i}`, made);
    return made;
  })));
  const head = element("tr", {}, element("th", {}, "coordinate"), columns.map(([, title]) => element("th", { scope: "col" }, title)));
  const table = element("div", { class: "scroll" }, element("table", { class: "live" }, element("thead", {}, head), element("tbody", {}, rows)));
  const update = (values) => {
    for (const [key] of columns) {
      layer.state.forEach((_, i) => {
        const cell = cells.get(`${key} ${i}`);
        const value = values[key]?.[i];
        cell.textContent = value === undefined ? "" : written(value);
        if (value === undefined) cell.classList.remove("tinted");
        else tint(cell, value);
      });
    }
  };
  return { table, update };
}

function coordinateGrid(layer) {
  const cells = layer.state.slice(0, MOST_CELLS * 4).map((name) => element("span", { class: "value after", "data-name": name }));
  const left = layer.state.length - cells.length;
  const table = element("div", {}, element("div", { class: "cells" }, cells), element("p", { class: "muted small" }, `${layer.state.length} coordinates; point at one for its value.`, left > 0 ? ` ${left} are not shown.` : ""));
  const update = (values) => cells.forEach((cell, i) => {
    const value = values.after?.[i];
    cell.title = value === undefined ? cell.dataset.name : `${cell.dataset.name} = ${written(value)}`;
    tint(cell, value ?? 0);
  });
  return { table, update };
}

function layerCard(layer, number) {
  const live = layer.state.length <= MOST_ROWS ? coordinateTable(layer) : coordinateGrid(layer);
  const size = `${layer.state.length} coordinate${layer.state.length === 1 ? "" : "s"}${layer.complex ? ", complex" : ""}`;
  const weights = layer.matrices.map(weightTable);
  const small = layer.matrices.reduce((sum, m) => sum + m.rows.length * m.columns.length, 0) <= 260;
  const card = element("section", { class: "card layer" },
    element("h2", {}, `Layer ${number + 1} `, element("span", { class: "unsized" }, `${layer.name} · ${layer.cell || layer.kind}, ${size}`)),
    element("p", { class: "reads muted small" }, "reads ", layer.reads.slice(0, 24).map((name) => element("code", {}, name)), layer.reads.length > 24 ? ` and ${layer.reads.length - 24} more` : "",
      layer.exposes_previous ? " · its readout also sees the state before the letter" : ""),
    live.table,
    element("details", { class: "more", open: small }, element("summary", {}, "weights"), element("div", { class: "matrices" }, weights)));
  return { card, update: live.update, weights };
}

// Boxes from left to right: the letter, each layer with its state, the answer; lines say who reads whom.
function drawNetwork(answer) {
  const boxes = [{ title: "letter", sub: `${answer.directions.length} directions`, names: answer.directions, gives: answer.directions, reads: [] },
    ...answer.layers.map((layer, i) => ({ title: `layer ${i + 1}`, sub: layer.cell || layer.kind, names: layer.state, gives: layer.outputs, reads: layer.reads })),
    { title: "answer", sub: answer.decoder.kind, names: answer.symbols, gives: [], reads: answer.decoder.reads }];
  const [wide, gap, row] = [128, 52, 22];
  const most = Math.max(...boxes.map((box) => Math.min(box.names.length, MOST_DRAWN) + (box.names.length > MOST_DRAWN ? 1 : 0)));
  const giver = new Map();
  boxes.forEach((box, i) => box.gives.forEach((name) => giver.set(name, i)));
  const reach = Math.max(1, ...boxes.flatMap((box, i) => box.reads.map((name) => i - giver.get(name))));
  const arcs = reach > 1 ? 8 + 9 * Math.min(reach, 6) : 2;
  const height = arcs + 46 + most * row + 12;
  const width = boxes.length * wide + (boxes.length - 1) * gap + 4;
  const drawing = shape("svg", { class: "net", xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${width} ${height}`, width, height, role: "img" }, shape("title", {}, `Network for ${answer.title}`));
  const lines = shape("g", { class: "lines" });
  drawing.append(lines);
  boxes.forEach((box, i) => {
    for (const source of new Set(box.reads.map((name) => giver.get(name)))) {
      const [from, to] = [source * (wide + gap) + wide, i * (wide + gap)];
      const count = box.reads.filter((name) => giver.get(name) === source).length;
      const y = arcs + 22;
      const lift = arcs + 22 - 30 - 12 * Math.min(6, i - source);
      const d = i === source + 1 ? `M${from} ${y}H${to - 5}` : `M${from} ${y - 6}C${from + 26} ${lift} ${to - 26} ${lift} ${to - 5} ${y - 6}`;
      const tip = i === source + 1 ? y : y - 6;
      lines.append(shape("path", { d }, shape("title", {}, `${count} direction${count === 1 ? "" : "s"}`)), shape("path", { class: "head", d: `M${to} ${tip}l-8 -4v8z` }));
    }
  });
  network.nodes = boxes.map((box, i) => {
    const x = i * (wide + gap) + 1;
    const shown = box.names.slice(0, MOST_DRAWN);
    const count = shown.length + (box.names.length > MOST_DRAWN ? 1 : 0);
    drawing.append(shape("rect", { class: "box", x, y: arcs, width: wide, height: 46 + count * row + 6, rx: 9 }),
      shape("text", { class: "title", x: x + 10, y: arcs + 19 }, box.title), shape("text", { class: "sub", x: x + 10, y: arcs + 34 }, box.sub));
    const cells = shown.map((name, k) => {
      const y = arcs + 44 + k * row;
      const cell = shape("rect", { class: "cell", x: x + 8, y, width: wide - 16, height: row - 4, rx: 4 });
      const value = shape("text", { class: "number", x: x + wide - 13, y: y + 13 });
      const label = name.length > 11 ? `${name.slice(0, 10)}…` : name;
      drawing.append(shape("g", {}, shape("title", {}, name), cell, shape("text", { class: "coordinate", x: x + 13, y: y + 13 }, label), value));
      return { cell, value };
    });
    if (box.names.length > MOST_DRAWN) drawing.append(shape("text", { class: "sub", x: x + 13, y: arcs + 44 + shown.length * row + 13 }, `… ${box.names.length - MOST_DRAWN} more`));
    return cells;
  });
  return drawing;
}

function facts(answer) {
  return [
    element("p", { class: "route" }, element("strong", {}, answer.construction), ` — ${answer.route} `, element("span", { class: "cite" }, `[${answer.reference}]`)),
    element("p", { class: "muted small" }, `${answer.title}: `, element("code", {}, answer.update), ` · ${answer.layers.length} layer${answer.layers.length === 1 ? "" : "s"}, ${answer.states} states, ${answer.parameters.toLocaleString("en")} numbers that are not zero · answers: ${answer.decoder.what}`),
    element("p", { id: "proof", class: "proof" }),
  ];
}

async function tellProof() {
  const place = byId("proof");
  try {
    const found = await ask(...proofQuestion());
    if (found.proved) place.replaceChildren(...found.claims.map((claim) => pill("yes", claim)));
    else place.replaceChildren(pill("open", found.reason));
  } catch (error) {
    if (!error.problem && !isOutdated(error)) throw error;
    if (error.problem && error.problem.kind !== "frozen") place.replaceChildren(pill("open", error.message));
  }
}

function refuse(title, reasons) {
  byId("network-verdict").replaceChildren(pill("no", "no network"), ` ${reasons[0]}`);
  byId("network-facts").replaceChildren(element("div", { class: "refused" }, element("p", {}, pill("no", "no network"), ` for ${title}:`), element("ul", {}, reasons.map((reason) => element("li", {}, reason)))));
  show(byId("drawing-card"), false);
  byId("layers").replaceChildren();
  byId("history").replaceChildren();
  network.answer = null;
  network.live = [];
}

export async function loadNetwork(symbols) {
  // Until the new one is here no trace belongs to the network on the page.
  network.answer = null;
  byId("target").value = state.target;
  const problem = byId("network-problem");
  try {
    const found = await ask(...networkQuestion());
    show(problem, false);
    if (found.refused) refuse(found.title, found.refused);
    else {
      const answer = { ...found, symbols: [...symbols, "$"] };
      network.answer = answer;
      byId("network-facts").replaceChildren(...facts(answer));
      byId("drawing").replaceChildren(drawNetwork(answer));
      show(byId("drawing-card"), true);
      network.live = answer.layers.map(layerCard);
      byId("layers").replaceChildren(...network.live.map((part) => part.card));
      tellProof();
    }
    for (const listener of networkListeners) listener();
  } catch (error) {
    if (isOutdated(error)) return;
    if (!error.problem) throw error;
    network.answer = null;
    problem.textContent = error.message;
    show(problem, true);
  }
}

function paint(node, value) {
  if (!node) return;
  node.value.textContent = value === undefined ? "" : written(value);
  tint(node.cell, value ?? 0);
}

// Shows what a network holds after a prefix: `at` letters of a trace.
export function showNetwork(trace, at, symbols) {
  const letter = at > 0 ? symbols[trace.letters[at - 1]] : null;
  network.live.forEach((part, i) => {
    const layer = trace.network.layers[i];
    part.update({ before: at > 0 ? layer.h[at - 1] : undefined, after: layer.h[at], ...layer.drives[at] });
    for (const figure of part.weights) figure.classList.toggle("current", letter !== null && figure.dataset.letter === letter);
    network.nodes[i + 1].forEach((node, k) => paint(node, layer.h[at][k]));
  });
  const vector = at > 0 ? network.answer.embedding[trace.letters[at - 1]] : null;
  network.nodes[0].forEach((node, k) => paint(node, vector?.[k]));
  const said = trace.network.legal.values[trace.network.legal.at[at]];
  network.nodes.at(-1).forEach((node, k) => paint(node, Number(said.includes(network.answer.symbols[k]))));
}

export function historyRows(trace) {
  const rows = [];
  trace.network.layers.forEach((layer, i) => network.answer.layers[i].state.forEach((name, k) => {
    if (rows.length < 16) rows.push({ name: `layer ${i + 1}, ${name}`, values: layer.h.map((h) => realPart(h[k])), series: rows.length });
  }));
  return rows;
}

export function startNetwork() {
  byId("target").disabled = isFrozen;
}
