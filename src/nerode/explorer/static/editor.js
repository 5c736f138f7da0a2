// An automaton drawn by hand: states are placed with the mouse, and every change is asked about at once.
import { remember, state } from "./address.js";
import { byId, element, later, shape, show } from "./elements.js";
import { language, loadLanguage, refreshQuestion } from "./language.js";
import { isFrozen } from "./server.js";

const FILE = "drawn.jff";
const RADIUS = 22;
const MOST_STATES = 40;

const drawn = { states: [], start: 0, arrows: [], chosen: null, dragged: null };

const sameArrow = (a, from, to) => a.from === from && a.to === to;
const lettersOf = (arrow) => arrow.letters.split(/[\s,]+/).filter(Boolean);
const escapedXml = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

// The drawing as a JFLAP file, which keeps places and can be opened again.
export function toJff() {
  const states = drawn.states.map((q, i) => `<state id="${i}" name="q${i}"><x>${q.x.toFixed(0)}</x><y>${q.y.toFixed(0)}</y>${i === drawn.start ? "<initial/>" : ""}${q.accepting ? "<final/>" : ""}</state>`);
  const moves = drawn.arrows.flatMap((arrow) => lettersOf(arrow).map((letter) => `<transition><from>${arrow.from}</from><to>${arrow.to}</to><read>${letter === "ε" ? "" : escapedXml(letter)}</read></transition>`));
  return `<?xml version="1.0" encoding="UTF-8"?>\n<structure><type>fa</type><automaton>\n${[...states, ...moves].join("\n")}\n</automaton></structure>\n`;
}

const tellDrawing = later(250, () => {
  if (!drawn.states.length || !drawn.arrows.some((arrow) => lettersOf(arrow).length)) return;
  remember({ text: FILE, file: toJff(), mode: "auto", alphabet: "" });
  refreshQuestion();
  loadLanguage();
});

function drawingChanged() {
  drawEditor();
  tellDrawing();
}

function placeOf(event) {
  const box = byId("edit-canvas").getBoundingClientRect();
  return { x: Math.max(RADIUS, Math.min(box.width - RADIUS, event.clientX - box.left)), y: Math.max(RADIUS, Math.min(box.height - RADIUS, event.clientY - box.top)) };
}

function chooseDrawn(chosen) {
  drawn.chosen = chosen;
  if (chosen?.kind === "arrow") byId("edit-letters").value = drawn.arrows[chosen.number].letters;
  drawEditor();
}

function connectStates(from, to) {
  const known = drawn.arrows.findIndex((arrow) => sameArrow(arrow, from, to));
  if (known < 0) drawn.arrows.push({ from, to, letters: byId("edit-letters").value.trim() || "a" });
  chooseDrawn({ kind: "arrow", number: known < 0 ? drawn.arrows.length - 1 : known });
  drawingChanged();
}

function removeChosen() {
  const { chosen } = drawn;
  if (!chosen) return;
  if (chosen.kind === "arrow") drawn.arrows.splice(chosen.number, 1);
  else {
    const gone = chosen.number;
    const moved = (i) => (i > gone ? i - 1 : i);
    drawn.states.splice(gone, 1);
    drawn.arrows = drawn.arrows.filter((arrow) => arrow.from !== gone && arrow.to !== gone).map((arrow) => ({ ...arrow, from: moved(arrow.from), to: moved(arrow.to) }));
    drawn.start = drawn.start === gone ? 0 : moved(drawn.start);
  }
  drawn.chosen = null;
  drawingChanged();
}

function curveOf(arrow) {
  const [from, to] = [drawn.states[arrow.from], drawn.states[arrow.to]];
  if (arrow.from === arrow.to) {
    const { x, y } = from;
    return { d: `M${x - 9} ${y - RADIUS + 2}C${x - 26} ${y - 62} ${x + 26} ${y - 62} ${x + 9} ${y - RADIUS + 2}`, label: [x, y - 56], tip: [x + 9, y - RADIUS + 2, 1.9] };
  }
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const long = Math.hypot(dx, dy) || 1;
  const [ux, uy] = [dx / long, dy / long];
  // A line through a third state bends around it; two opposite arrows keep apart.
  const crosses = drawn.states.some((q, i) => {
    const along = (q.x - from.x) * ux + (q.y - from.y) * uy;
    const aside = Math.abs((q.x - from.x) * uy - (q.y - from.y) * ux);
    return i !== arrow.from && i !== arrow.to && along > 0 && along < long && aside < RADIUS + 4;
  });
  const bend = crosses ? 96 : drawn.arrows.some((other) => sameArrow(other, arrow.to, arrow.from)) ? 22 : 0;
  const middle = [(from.x + to.x) / 2 - uy * bend, (from.y + to.y) / 2 + ux * bend];
  const turn = Math.atan2(to.y - middle[1], to.x - middle[0]);
  const end = [to.x - Math.cos(turn) * (RADIUS + 2), to.y - Math.sin(turn) * (RADIUS + 2)];
  const away = Math.atan2(middle[1] - from.y, middle[0] - from.x);
  const begin = [from.x + Math.cos(away) * RADIUS, from.y + Math.sin(away) * RADIUS];
  return { d: `M${begin}Q${middle} ${end}`, label: [middle[0] - uy * 11, middle[1] + ux * 11 + 4], tip: [...end, turn] };
}

function drawEditor() {
  const { chosen } = drawn;
  const isChosen = (kind, number) => chosen?.kind === kind && chosen.number === number;
  const arrows = drawn.arrows.map((arrow, i) => {
    const { d, label, tip: [x, y, turn] } = curveOf(arrow);
    const head = [[-9, -4.5], [-9, 4.5]].map(([a, b]) => `${x + a * Math.cos(turn) - b * Math.sin(turn)} ${y + a * Math.sin(turn) + b * Math.cos(turn)}`);
    return shape("g", { class: `edge${isChosen("arrow", i) ? " chosen" : ""}`, "data-arrow": i }, shape("path", { class: "reach", d }), shape("path", { d }),
      shape("path", { class: "head", d: `M${x} ${y}L${head.join("L")}Z` }), shape("text", { class: "letters", x: label[0], y: label[1] }, arrow.letters));
  });
  const states = drawn.states.map((q, i) => shape("g", { class: `state${q.accepting ? " accepting" : ""}${isChosen("state", i) ? " chosen" : ""}`, "data-state": i },
    i === drawn.start ? shape("path", { class: "start", d: `M${q.x - RADIUS - 24} ${q.y}H${q.x - RADIUS - 3}m-7 -4l7 4l-7 4` }) : null,
    shape("circle", { cx: q.x, cy: q.y, r: RADIUS }), q.accepting ? shape("circle", { cx: q.x, cy: q.y, r: RADIUS - 4 }) : null, shape("text", { x: q.x, y: q.y + 4.5 }, `q${i}`)));
  byId("edit-canvas").replaceChildren(...arrows, ...states);
  for (const id of ["edit-accepting", "edit-start"]) byId(id).disabled = chosen?.kind !== "state";
  byId("edit-delete").disabled = !chosen;
}

function listenToCanvas() {
  const canvas = byId("edit-canvas");
  canvas.addEventListener("dblclick", (event) => {
    if (event.target.closest("[data-state], [data-arrow]") || drawn.states.length >= MOST_STATES) return;
    drawn.states.push({ ...placeOf(event), accepting: false });
    chooseDrawn({ kind: "state", number: drawn.states.length - 1 });
    drawingChanged();
  });
  canvas.addEventListener("pointerdown", (event) => {
    const number = event.target.closest("[data-state]")?.dataset.state;
    if (number === undefined) return;
    drawn.dragged = { number: Number(number), from: placeOf(event), moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drawn.dragged) return;
    const at = placeOf(event);
    if (Math.hypot(at.x - drawn.dragged.from.x, at.y - drawn.dragged.from.y) > 4) drawn.dragged.moved = true;
    if (!drawn.dragged.moved) return;
    Object.assign(drawn.states[drawn.dragged.number], at);
    drawEditor();
  });
  canvas.addEventListener("pointerup", () => {
    const { dragged, chosen } = drawn;
    drawn.dragged = null;
    if (!dragged || dragged.moved) return;
    if (chosen?.kind === "state") connectStates(chosen.number, dragged.number);
    else chooseDrawn({ kind: "state", number: dragged.number });
  });
  canvas.addEventListener("click", (event) => {
    if (event.target.closest("[data-state]")) return;
    const arrow = event.target.closest("[data-arrow]")?.dataset.arrow;
    if (arrow !== undefined) chooseDrawn({ kind: "arrow", number: Number(arrow) });
    else if (event.target === canvas) chooseDrawn(null);
  });
  canvas.addEventListener("keydown", (event) => {
    if (event.key === "Delete" || event.key === "Backspace") removeChosen();
    else if (event.key === "Escape") chooseDrawn(null);
    else return;
    event.preventDefault();
  });
}

// The automaton that is shown becomes the drawing, with its states where they are in the picture.
function takeAutomaton(answer) {
  Object.assign(drawn, { states: [], start: 0, arrows: [], chosen: null });
  const given = answer?.editable;
  if (!given) return;
  const numbers = new Map(given.states.map((q, i) => [q, i]));
  drawn.states = given.states.map((q, i) => {
    const circle = language.states.get(q)?.querySelector("circle");
    const at = circle ? { x: Number(circle.getAttribute("cx")), y: Number(circle.getAttribute("cy")) } : { x: 60 + 90 * i, y: 120 };
    return { ...at, accepting: given.accepting.includes(q) };
  });
  const shift = { x: Math.min(...drawn.states.map((q) => q.x)) - 70, y: Math.min(...drawn.states.map((q) => q.y)) - 90 };
  const canvas = byId("edit-canvas").getBoundingClientRect();
  const reach = (name) => Math.max(...drawn.states.map((q) => q[name] - shift[name])) + 2 * RADIUS;
  const fit = Math.min(1, canvas.width / reach("x"), canvas.height / reach("y"));
  for (const q of drawn.states) Object.assign(q, { x: fit * (q.x - shift.x), y: fit * (q.y - shift.y) });
  drawn.start = numbers.get(given.start) ?? 0;
  drawn.arrows = given.arrows.map(([from, to, letters]) => ({ from: numbers.get(from), to: numbers.get(to), letters: letters.join(" ") }));
}

function openEditor(answer) {
  show(byId("editor"), true);
  takeAutomaton(answer);
  drawEditor();
  byId("edit-canvas").focus();
}

export function startEditor() {
  if (isFrozen) {
    for (const id of ["draw-one", "edit-automaton"]) show(byId(id), false);
    return;
  }
  byId("draw-one").addEventListener("click", () => openEditor(null));
  byId("edit-automaton").addEventListener("click", () => openEditor(language.answer));
  byId("edit-close").addEventListener("click", () => show(byId("editor"), false));
  byId("edit-delete").addEventListener("click", removeChosen);
  byId("edit-accepting").addEventListener("click", () => {
    const q = drawn.states[drawn.chosen.number];
    q.accepting = !q.accepting;
    drawingChanged();
  });
  byId("edit-start").addEventListener("click", () => {
    drawn.start = drawn.chosen.number;
    drawingChanged();
  });
  byId("edit-letters").addEventListener("input", () => {
    if (drawn.chosen?.kind !== "arrow") return;
    drawn.arrows[drawn.chosen.number].letters = byId("edit-letters").value;
    drawingChanged();
  });
  byId("edit-save").addEventListener("click", () => {
    const address = URL.createObjectURL(new Blob([toJff()], { type: "application/xml" }));
    element("a", { href: address, download: state.text.endsWith(".jff") ? state.text : FILE }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  });
  listenToCanvas();
}
