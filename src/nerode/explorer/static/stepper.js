// A word, letter by letter: the automaton, the monoid and the network move together.
import { languageOrder, remember, state } from "./address.js";
import { byId, element, later, pill, show } from "./elements.js";
import { language, markPlace } from "./language.js";
import { historyRows, network, showNetwork } from "./network.js";
import { ask, frozenWords, isFrozen, isOutdated } from "./server.js";
import { historyChart } from "./svg.js";

const NOISES = [0, 0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1];
const DELAYS = [1600, 1000, 650, 400, 200, 90, 30];

const stepper = { trace: null, at: 0, timer: 0, chart: null, letters: [] };

export function traceQuestion() {
  const order = { language: languageOrder(), word: state.word };
  if (network.answer) {
    Object.assign(order, { target: state.target, arithmetic: state.arithmetic, noise: Number(state.noise), seed: Number(state.seed) });
  }
  return ["trace", order];
}

const valueAt = (numbering, at) => numbering.values[numbering.at[at]];

function symbolList(names, { clickable = false } = {}) {
  if (!names.length) return [element("span", { class: "muted" }, clickable ? "nothing: no word begins like this" : "nothing")];
  const shown = names.slice(0, 40).map((name) => {
    if (name === "$") return element("span", { class: "symbol end", title: "the word may end here" }, "end");
    if (clickable && (!isFrozen || frozenWords)) return element("button", { type: "button", class: "symbol", title: `add ${name} to the word`, onclick: () => addLetter(name) }, name);
    return element("span", { class: "symbol" }, name);
  });
  return names.length > 40 ? [...shown, element("span", { class: "muted" }, `and ${names.length - 40} more`)] : shown;
}

function addLetter(name) {
  const symbols = language.answer.alphabet;
  const kept = stepper.trace.letters.slice(0, stepper.at).map((i) => symbols[i]);
  setWord([...kept, name].join(language.answer.spaced ? " " : ""), kept.length + 1);
}

// What the network on the page does along a trace; nothing if the trace was asked for before it was opened.
const networkOf = (trace) => (network.answer && trace.asked === network.answer ? trace.network : undefined);

function tellNetwork(trace, at) {
  const answer = networkOf(trace);
  show(byId("now-network"), Boolean(answer));
  if (!answer) return;
  const expected = valueAt(trace.legal, at);
  const said = valueAt(answer.legal, at);
  const agrees = expected.join("\n") === said.join("\n");
  byId("now-network-title").textContent = `${network.answer.title} says`;
  const mark = agrees ? pill("yes", "agrees") : answer.wrong.includes(at) ? pill("no", "wrong") : pill("open", "not compared: no word begins like this");
  byId("now-answer").replaceChildren(...symbolList(said), mark);
  byId("now-answer").dataset.agrees = String(agrees);
}

function tellTape(at) {
  stepper.letters.forEach((letter, i) => {
    letter.setAttribute("aria-selected", String(i === at - 1));
    letter.classList.toggle("read", i < at);
    letter.tabIndex = i === Math.max(0, at - 1) ? 0 : -1;
  });
  const current = stepper.letters[at - 1];
  const tape = byId("tape");
  if (current) tape.scrollTop = Math.max(0, current.offsetTop - tape.offsetTop - tape.clientHeight / 2 + 12);
  else tape.scrollTop = 0;
}

export function goTo(at) {
  const { trace } = stepper;
  if (!trace) return;
  stepper.at = Math.max(0, Math.min(trace.letters.length, at));
  const here = stepper.at;
  const now = valueAt(trace.states, here);
  const before = here > 0 ? valueAt(trace.states, here - 1) : undefined;
  const place = trace.elements && valueAt(trace.elements, here);
  byId("scrub").value = here;
  byId("position").textContent = `${here} / ${trace.letters.length}`;
  byId("now-state").textContent = String(now);
  byId("now-element").textContent = place ? place.word : "–";
  byId("now-legal").replaceChildren(...symbolList(valueAt(trace.legal, here), { clickable: true }));
  markPlace(now, before, place);
  tellTape(here);
  tellNetwork(trace, here);
  if (networkOf(trace)) showNetwork(trace, here, language.answer.alphabet);
  stepper.chart?.move(here);
  remember({ at: String(here) });
}

function drawTape(trace) {
  const symbols = language.answer.alphabet;
  const wrong = new Set(networkOf(trace)?.wrong ?? []);
  const [first] = wrong;
  stepper.letters = trace.letters.map((letter, i) => element("button", {
    type: "button", role: "option", class: `letter${wrong.has(i + 1) ? " wrong" : ""}${first === i + 1 ? " first-wrong" : ""}`,
    title: `${i + 1}: ${symbols[letter]}${wrong.has(i + 1) ? " — the network is wrong here" : ""}`, onclick: () => goTo(i + 1),
  }, symbols[letter]));
  byId("tape").replaceChildren(...(stepper.letters.length ? stepper.letters : [element("span", { class: "muted" }, "ε, the empty word")]));
  byId("scrub").max = trace.letters.length;
}

function tellVerdict(trace) {
  const place = byId("network-verdict");
  stepper.chart = null;
  byId("history").replaceChildren();
  const found = networkOf(trace);
  if (!found) {
    place.replaceChildren();
    return;
  }
  const { wrong, compared } = found;
  const others = trace.letters.length + 1 - compared;
  const rest = others ? `; the other ${others} begin no word of the language and are not compared` : "";
  const setting = `${state.arithmetic}${Number(state.noise) ? `, noise ±${state.noise}` : ""}`;
  place.replaceChildren(wrong.length
    ? pill("no", `${setting}: first wrong after ${wrong[0]} of ${trace.letters.length} letters, ${wrong.length} of ${compared} answers wrong${rest}`)
    : pill("yes", `${setting}: as the language after ${others ? `${compared} prefixes` : `all ${compared} prefixes`} of this word${rest}`));
  place.dataset.firstWrong = wrong.length ? String(wrong[0]) : "none";
  if (!trace.letters.length) return;
  const chart = historyChart(historyRows(trace), { wrong: wrong[0], length: trace.letters.length });
  chart.drawing.addEventListener("click", (event) => goTo(chart.positionOf(event)));
  stepper.chart = chart;
  byId("history").replaceChildren(element("h3", {}, "the state over the word"), chart.drawing);
}

function tellWordProblem(message) {
  byId("word-problem").textContent = message;
  show(byId("word-problem"), Boolean(message));
  byId("word").setAttribute("aria-invalid", message ? "true" : "false");
}

function tellComputing(arithmetic) {
  const place = byId("network-verdict");
  delete place.dataset.firstWrong;
  place.replaceChildren(element("span", { class: "muted" }, `computing, ${arithmetic}…`));
}

function drawTrace(trace) {
  tellWordProblem("");
  stepper.trace = trace;
  drawTape(trace);
  tellVerdict(trace);
  goTo(Math.min(Number(state.at) || 0, trace.letters.length));
}

export async function loadTrace() {
  if (!language.answer) return;
  const [job, order] = traceQuestion();
  const asked = network.answer;
  try {
    // Floats may take seconds when they are asked for first; the automaton does not wait for them.
    if (!stepper.trace && order.target && order.arithmetic !== "exact" && !isFrozen) {
      drawTrace(await ask(job, { language: order.language, word: order.word }));
    }
    if (order.target) tellComputing(order.arithmetic);
    drawTrace({ ...(await ask(job, order)), asked });
  } catch (error) {
    if (isOutdated(error)) return;
    if (!error.problem) throw error;
    byId("network-verdict").replaceChildren();
    tellWordProblem(error.message);
  }
}

export function setWord(word, at = 0) {
  byId("word").value = word;
  remember({ word, at: String(at) });
  return loadTrace();
}

function pause() {
  clearInterval(stepper.timer);
  stepper.timer = 0;
  byId("play").classList.remove("playing");
  byId("play").setAttribute("aria-label", "play");
}

function play() {
  if (stepper.timer) return pause();
  if (!stepper.trace || !stepper.trace.letters.length) return undefined;
  if (stepper.at === stepper.trace.letters.length) goTo(0);
  const tick = () => {
    goTo(stepper.at + 1);
    if (stepper.at === stepper.trace.letters.length) pause();
  };
  stepper.timer = setInterval(tick, DELAYS[Number(byId("speed").value)]);
  byId("play").classList.add("playing");
  byId("play").setAttribute("aria-label", "pause");
  return undefined;
}

async function generate(kind) {
  const length = Math.max(0, Math.min(2000, Math.round(Number(byId("length").value) || 0)));
  try {
    const found = await ask("word", { language: languageOrder(), length, kind, seed: Math.floor(Math.random() * 1e9) });
    await setWord(found.word);
  } catch (error) {
    if (isOutdated(error)) return;
    if (!error.problem) throw error;
    tellWordProblem(error.message);
  }
}

function step(by) {
  pause();
  goTo(stepper.at + by);
}

function listenToKeys() {
  addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || !stepper.trace) return;
    if (event.target.closest("input, select, textarea, [role=tab], summary, dialog")) return;
    const moves = { ArrowLeft: () => step(-1), ArrowRight: () => step(1), Home: () => step(-Infinity), End: () => step(Infinity) };
    if (event.key === " " && !event.target.closest("button:not(.letter)")) play();
    else if (moves[event.key]) moves[event.key]();
    else return;
    event.preventDefault();
    if (document.activeElement?.classList.contains("letter")) stepper.letters[Math.max(0, stepper.at - 1)]?.focus();
  });
}

function tellNoise() {
  const value = Number(state.noise);
  byId("noise").value = Math.max(0, NOISES.indexOf(value));
  byId("noise-value").textContent = value ? `±${value}` : "none";
  byId("arithmetic").value = state.arithmetic;
  byId("seed").value = state.seed;
}

function listenToSettings() {
  const reload = later(120, loadTrace);
  byId("noise").addEventListener("input", () => {
    const noise = NOISES[Number(byId("noise").value)];
    // Exact arithmetic has no noise.
    remember({ noise: String(noise), arithmetic: noise && state.arithmetic === "exact" ? "float64" : state.arithmetic });
    tellNoise();
    reload();
  });
  byId("arithmetic").addEventListener("change", () => {
    const arithmetic = byId("arithmetic").value;
    remember({ arithmetic, noise: arithmetic === "exact" ? "0" : state.noise });
    tellNoise();
    reload();
  });
  byId("seed").addEventListener("input", () => {
    remember({ seed: String(Math.max(0, Math.round(Number(byId("seed").value) || 0))) });
    reload();
  });
}

export function refreshStepper() {
  byId("word").value = state.word;
  tellNoise();
}

// A new language keeps the word if its letters are still letters, and else begins with one of its own.
export function beginWord(answer) {
  pause();
  stepper.trace = null;
  const letters = answer.spaced ? state.word.split(/\s+/).filter(Boolean) : [...state.word.replace(/\s/g, "")];
  const fits = letters.length > 0 && letters.every((letter) => answer.alphabet.includes(letter));
  if (!fits) remember({ word: answer.example, at: "0" });
  refreshStepper();
}

export function startStepper() {
  refreshStepper();
  byId("word").addEventListener("input", later(180, () => setWord(byId("word").value)));
  byId("generate").addEventListener("click", () => generate("member"));
  byId("generate-any").addEventListener("click", () => generate("any"));
  byId("first").addEventListener("click", () => step(-Infinity));
  byId("back").addEventListener("click", () => step(-1));
  byId("forward").addEventListener("click", () => step(1));
  byId("last").addEventListener("click", () => step(Infinity));
  byId("play").addEventListener("click", play);
  byId("scrub").addEventListener("input", () => {
    pause();
    goTo(Number(byId("scrub").value));
  });
  byId("speed").addEventListener("input", () => {
    if (stepper.timer) {
      pause();
      play();
    }
  });
  byId("words").addEventListener("click", (event) => {
    const word = event.target.closest("[data-word]")?.dataset.word;
    if (word) setWord(word === "ε" ? "" : word);
  });
  listenToKeys();
  listenToSettings();
  if (isFrozen) {
    const typed = frozenWords ? ":not(#word)" : "";
    const fixed = `.word-row input${typed}, .word-row button, #noise, #arithmetic, #seed${frozenWords ? "" : ", #words button"}`;
    for (const input of document.querySelectorAll(fixed)) input.disabled = true;
  }
}
