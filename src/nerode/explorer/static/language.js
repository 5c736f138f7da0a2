// The language: what was typed, what is known about it, and its pictures.
import { languageOrder, remember, state } from "./address.js";
import { byId, element, later, markup, show } from "./elements.js";
import { ask, isFrozen, isOutdated } from "./server.js";

const EXAMPLES = [
  ["(ab)*", "auto", "a regular expression"],
  ["(aa)*", "auto", "even length: a group of order two is hidden in it"],
  ["flip-flop", "auto", "memory of one bit: break a linear latch with noise"],
  ["tomita-3", "auto", "one of the seven classics of grammar induction"],
  ["dyck-2-3", "auto", "brackets of two kinds, three deep at most"],
  ["S3", "auto", "the word problem of the permutations of three points"],
  ["Z60", "auto", "sums modulo 60"],
  ["anbn", "auto", "not regular: a counter"],
  ["H (b -> Y O a)", "ltl", "past temporal logic: before each b there was an a"],
];

export const language = { answer: null, states: new Map(), arrows: new Map(), cells: [] };
const listeners = [];

export function onLanguage(action) {
  listeners.push(action);
}

export function languageQuestion() {
  return ["language", { language: languageOrder(), task: state.task, sense: state.sense }];
}

function tellProblem(problem) {
  const place = byId("problem");
  const input = byId("text");
  input.setAttribute("aria-invalid", problem ? "true" : "false");
  show(place, Boolean(problem));
  if (!problem) return;
  const parts = [element("p", {}, problem.message)];
  if (problem.column) {
    const [before, at, after] = [state.text.slice(0, problem.column - 1), state.text.slice(problem.column - 1, problem.column), state.text.slice(problem.column)];
    parts.push(element("pre", { class: "place" }, before, element("mark", {}, at || " "), after));
  }
  if (problem.nearest?.length) {
    parts.push(element("p", {}, "did you mean ", problem.nearest.map((name) => element("button", { type: "button", class: "link", onclick: () => choose(name, "auto") }, name))));
  }
  if (problem.hint) parts.push(element("p", { class: "muted" }, problem.hint));
  place.replaceChildren(...parts);
}

function drawEggs(answer) {
  language.cells = answer.eggs.map((box) => box.cells.map(() => []));
  const levels = new Map();
  // A chain is joined by lines; elsewhere each box names the ones directly above it.
  const chain = answer.eggs.every((box, number) => box.level === number);
  answer.eggs.forEach((box, number) => {
    const caption = [...(chain ? [] : [String(number + 1)]), `${box.elements} element${box.elements === 1 ? "" : "s"}`];
    if (box.rows * box.columns > 1) caption.push(`${box.rows}×${box.columns}`);
    if (box.group) caption.push(`group ${box.group}`);
    if (!box.regular) caption.push("no idempotent");
    if (box.note) caption.push(`shown: ${box.note}`);
    if (!chain && box.above.length) caption.push(`below ${box.above.map((place) => place + 1).join(", ")}`);
    const rows = box.cells.map((row, i) => element("tr", {}, row.map((cell) => {
      const words = cell.words.map((word, k) => element("span", { class: k === cell.idempotent ? "idem" : null, title: k === cell.idempotent ? "idempotent" : null }, word));
      const spaced = words.flatMap((word, k) => (k ? [", ", word] : [word]));
      if (cell.left_out) spaced.push(`${words.length ? ", " : ""}… +${cell.left_out}`);
      const made = element("td", { class: cell.group ? "group" : null }, spaced);
      language.cells[number][i].push(made);
      return made;
    })));
    const egg = element("div", { class: "egg" }, element("div", { class: "caption" }, caption.join(" · ")), element("table", {}, element("tbody", {}, rows)));
    if (!levels.has(box.level)) levels.set(box.level, element("div", { class: "level" }));
    levels.get(box.level).append(egg);
  });
  show(byId("eggs-card"), answer.eggs.length > 0);
  const note = element("p", { class: "muted small" }, "One box for each 𝒟-class, the class of ε on top, each class below those that it can be reached from. Rows are ℛ-classes, columns are ℒ-classes; a cell shows the shortest word of each element. * marks an idempotent; a tinted cell is a group.");
  if (answer.eggs_left_out > 0) note.append(` ${answer.eggs_left_out} more are not shown.`);
  byId("eggs").replaceChildren(element("div", { class: chain ? "eggs chain" : "eggs" }, ...levels.values()), note);
}

function drawAutomaton(answer) {
  show(byId("automaton-card"), Boolean(answer.automaton));
  byId("automaton").replaceChildren(...markup(answer.automaton));
  language.states.clear();
  language.arrows.clear();
  for (const group of byId("automaton").querySelectorAll("g.state")) {
    const number = /^state (\d+)/.exec(group.querySelector("title").textContent);
    if (number) language.states.set(Number(number[1]), group);
  }
  const edges = [...byId("automaton").querySelectorAll("g.edge")].slice(1);
  answer.arrows.forEach(([source, target], i) => edges[i] && language.arrows.set(`${source} ${target}`, edges[i]));
}

function drawWords(answer) {
  const list = (title, words, kind) => element("div", {}, element("h3", {}, title), element("div", { class: "list" },
    words.length ? words.map((word) => element("button", { type: "button", class: `word ${kind}`, "data-word": word, title: "step through it" }, word)) : element("span", { class: "muted" }, "none found")));
  byId("words").replaceChildren(element("div", { class: "words" }, list("in the language", answer.accepted, "in"), list("not in it", answer.rejected, "out")));
}

// In a row of verdicts a name leads to its network.
function linkVerdicts(answer) {
  const names = new Map(answer.targets.map((target) => [target.title, target.name]));
  for (const shown of byId("verdicts").querySelectorAll(".names span")) {
    const name = names.get(shown.textContent) || (shown.title || "").split(":")[0];
    if (!answer.targets.some((target) => target.name === name)) continue;
    const link = element("button", { type: "button", class: "link", "data-target": name, title: `${shown.title} — open its network` }, shown.textContent);
    shown.replaceChildren(link);
    // A button that breaks into lines is a block: a comma after it would stand at its right edge.
    const after = shown.nextSibling;
    if (after?.nodeType === Node.TEXT_NODE && after.data.startsWith(",")) {
      after.data = after.data.slice(1);
      link.append(element("span", { "aria-hidden": "true" }, ","));
    }
    shown.classList.add("linked");
  }
}

function drawLanguage(answer) {
  language.answer = answer;
  byId("name").textContent = answer.name;
  byId("lead").replaceChildren(...markup(answer.fragments.lead));
  byId("convention").textContent = answer.convention;
  document.title = `${answer.name} · nerode explore`;
  drawAutomaton(answer);
  drawEggs(answer);
  byId("why").replaceChildren(...markup(answer.fragments.why));
  byId("chips").replaceChildren(...markup(answer.fragments.chips));
  byId("verdicts").replaceChildren(...markup(answer.fragments.verdicts));
  byId("works").replaceChildren(...markup(answer.fragments.works));
  linkVerdicts(answer);
  drawWords(answer);
  byId("language").classList.toggle("wide-automaton", answer.wide);
  show(byId("language"), true);
  show(byId("examples"), false);
}

export async function loadLanguage() {
  if (!state.text.trim()) {
    tellProblem(null);
    show(byId("language"), false);
    show(byId("examples"), !isFrozen);
    return;
  }
  document.body.classList.add("busy");
  try {
    const answer = await ask(...languageQuestion());
    tellProblem(null);
    drawLanguage(answer);
    for (const listener of listeners) listener(answer);
  } catch (error) {
    if (isOutdated(error)) return;
    if (!error.problem) throw error;
    byId("language").classList.add("stale");
    tellProblem(error.problem);
    return;
  } finally {
    document.body.classList.remove("busy");
  }
  byId("language").classList.remove("stale");
}

function fillQuestion() {
  byId("text").value = state.text;
  byId("alphabet").value = state.alphabet;
  byId("task").value = state.task;
  byId("sense").value = state.sense;
  for (const choice of document.getElementsByName("mode")) choice.checked = choice.value === state.mode;
}

function choose(text, mode) {
  remember({ text, mode, file: "", alphabet: mode === "ltl" && text.includes("a") ? "ab" : "" });
  fillQuestion();
  loadLanguage();
}

async function readFile(file) {
  if (!file) return;
  if (file.size > 2_000_000) {
    tellProblem({ message: `${file.name} has ${file.size.toLocaleString("en")} bytes; the page reads files of up to 2,000,000` });
    return;
  }
  remember({ text: file.name, file: await file.text(), mode: "auto", alphabet: "" });
  fillQuestion();
  loadLanguage();
}

function listenToFiles() {
  byId("file").addEventListener("change", () => readFile(byId("file").files[0]));
  byId("file").parentNode.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") byId("file").click();
  });
  const over = (event, on) => {
    event.preventDefault();
    document.body.classList.toggle("dropping", on);
  };
  addEventListener("dragover", (event) => over(event, true));
  addEventListener("dragleave", (event) => over(event, false));
  addEventListener("drop", (event) => {
    over(event, false);
    readFile(event.dataTransfer.files[0]);
  });
}

export function startLanguage(names) {
  byId("names").replaceChildren(...names.map((row) => element("option", { value: row.name }, row.convention)));
  byId("examples").replaceChildren(...EXAMPLES.map(([text, mode, about]) => element("button", { type: "button", class: "card", onclick: () => choose(text, mode) }, element("code", {}, text), element("span", { class: "muted" }, about))));
  fillQuestion();
  const typed = later(220, loadLanguage);
  byId("text").addEventListener("input", () => {
    remember({ text: byId("text").value, file: "" });
    typed();
  });
  byId("alphabet").addEventListener("input", () => {
    remember({ alphabet: byId("alphabet").value });
    typed();
  });
  byId("question").addEventListener("submit", (event) => {
    event.preventDefault();
    loadLanguage();
  });
  byId("mode").addEventListener("change", (event) => {
    remember({ mode: event.target.value });
    loadLanguage();
  });
  for (const name of ["task", "sense"]) {
    byId(name).addEventListener("change", () => {
      remember({ [name]: byId(name).value });
      loadLanguage();
    });
  }
  listenToFiles();
  if (isFrozen) {
    for (const input of document.querySelectorAll("#question input, #task, #sense")) input.disabled = true;
    show(byId("examples"), false);
  }
}

export function refreshQuestion() {
  fillQuestion();
}

// A long automaton scrolls inside its card, never the page.
function keepInView(drawn) {
  const frame = drawn.closest("figure");
  const [inner, outer] = [drawn.getBoundingClientRect(), frame.getBoundingClientRect()];
  if (inner.left < outer.left || inner.right > outer.right) frame.scrollLeft += inner.left - outer.left - outer.width / 2;
}

// Marks where a word has led: the state, the arrow that was taken, and the element of the monoid.
export function markPlace(now, before, place) {
  for (const old of document.querySelectorAll(".lit")) old.classList.remove("lit");
  const lit = language.states.get(now);
  if (lit) {
    lit.classList.add("lit");
    keepInView(lit);
  }
  if (before !== undefined) language.arrows.get(`${before} ${now}`)?.classList.add("lit");
  if (!place) return;
  const cell = language.cells[place.box]?.[place.row]?.[place.column];
  if (!cell) return;
  cell.classList.add("lit");
  for (const word of cell.querySelectorAll("span")) if (word.textContent === place.word) word.classList.add("lit");
}
