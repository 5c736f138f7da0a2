// Runs of a folder: a list that follows a sweep, and what one run found.
import { remember, state } from "./address.js";
import { byId, element, markup, pill, show, tint, written } from "./elements.js";
import { ask, isOutdated } from "./server.js";
import { SERIES, legend, lineChart, planeChart } from "./svg.js";

const FOLLOW = 2500;
const followed = { timer: 0, shown: "", asking: false };

// 100 % only if it is exactly 1, and 0 % only if it is exactly 0.
const percent = (value) => `${value === 1 || value === 0 ? 100 * value : Math.min(99.9, Math.max(0.1, 100 * value)).toFixed(1)} %`;

// A median of fewer seeds would be a curve that no run has.
const LEAST_SEEDS = 3;

function medianLine(title, series, lines) {
  if (lines.length < LEAST_SEEDS) return [];
  const values = new Map();
  for (const line of lines) for (const [x, y] of line.points) values.set(x, [...(values.get(x) || []), y]);
  const middle = (found) => {
    const sorted = [...found].sort((a, b) => a - b);
    const half = Math.floor(sorted.length / 2);
    return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  };
  const points = [...values].sort((a, b) => a[0] - b[0]).map(([x, found]) => [x, middle(found)]);
  return [{ name: `${title}, median of ${lines.length} seeds`, series, points }];
}

// What theory says of each model, as a band above the curves.
function theoryBands(titles, runs) {
  const said = { yes: "✓ possible at every length", no: "✗ impossible", open: "? open" };
  const bands = titles.flatMap((title, i) => {
    const found = runs.find((run) => run.architecture === title && run.theory)?.theory;
    return found ? [element("span", { class: `${found.status} s${i % SERIES}`, title: found.reason }, `${title}: ${said[found.status]}`)] : [];
  });
  return bands.length ? element("div", { class: "bands" }, bands) : null;
}

function accuracyLines(runs) {
  const titles = [...new Set(runs.map((run) => run.architecture))];
  const tested = runs.filter((run) => run.evaluations.length);
  const lines = tested.map((run) => ({
    name: `${run.architecture}, seed ${run.seed}`,
    series: titles.indexOf(run.architecture),
    thin: tested.filter((other) => other.architecture === run.architecture).length >= LEAST_SEEDS,
    points: run.evaluations.map((score) => [score.length, score[run.measure] ?? score.sequence]),
  }));
  return { titles, lines: [...lines, ...titles.flatMap((title, i) => medianLine(title, i, lines.filter((line) => line.series === i)))] };
}

function runRow(run) {
  return element("tr", { "aria-current": run.name === state.run ? "true" : null },
    element("td", {}, element("button", { type: "button", class: "link", onclick: () => openRun(run.name) }, run.architecture || run.name)),
    element("td", { class: "number" }, String(run.seed ?? "")), element("td", { class: "number" }, (run.steps ?? 0).toLocaleString("en")),
    element("td", {}, run.stopped === "divergence" ? pill("no", "diverged") : run.stopped === "threshold" ? pill("yes", "learnt") : "all steps"),
    element("td", { class: "number" }, run.reaches === null ? "–" : run.reaches.toLocaleString("en")));
}

function taskCard(task, runs) {
  const { titles, lines } = accuracyLines(runs);
  const head = element("tr", {}, ["model", "seed", "steps", "ended", "reaches"].map((name, i) => element("th", { scope: "col", class: [1, 2, 4].includes(i) ? "number" : null }, name)));
  return element("section", { class: "card" }, element("h2", {}, task || "task unknown"),
    element("div", { class: "pair-of" },
      lines.length ? element("div", {}, element("h3", {}, "accuracy against length"), theoryBands(titles, runs), lineChart(lines, { logarithmic: true, shares: true, across: "length of the test words", title: `accuracy on ${task}` }), legend(titles)) : null,
      element("div", { class: "scroll" }, element("table", { class: "runs" }, element("thead", {}, head), element("tbody", {}, runs.map(runRow))))));
}

function drawList(found) {
  const tasks = [...new Set(found.runs.map((run) => run.task))];
  const failed = found.unfinished.filter((run) => run.failure);
  const under = found.unfinished.length - failed.length;
  const status = [found.running ? pill("open", "a sweep is running") : pill("yes", "nothing is running"), element("span", {}, `${found.runs.length} finished`)];
  if (under) status.push(element("span", {}, `${under} ${found.running ? "under way" : "stopped half-way"}`));
  if (failed.length) status.push(pill("no", `${failed.length} failed`));
  if (found.damaged.length) status.push(pill("no", `${found.damaged.length} cannot be read`));
  return [
    element("header", { class: "title" }, element("h1", {}, "Runs in ", element("code", {}, `${found.root}/`)), element("p", { class: "sweep", "aria-live": "polite" }, status)),
    found.runs.length ? null : element("p", { class: "muted" }, "No run is finished yet; this list follows the folder."),
    ...failed.slice(0, 5).map((run) => element("p", { class: "problem" }, element("code", {}, run.name), ` ${run.failure}`)),
    element("div", { class: "tasks" }, tasks.map((task) => taskCard(task, found.runs.filter((run) => run.task === task)))),
    element("div", { id: "run" }),
  ].filter(Boolean);
}

// A list that takes longer than the time between two looks is waited for: a new question would cancel it.
async function follow() {
  if (followed.asking) return;
  followed.asking = true;
  try {
    const found = await ask("runs", {});
    show(byId("runs-problem"), false);
    const seen = JSON.stringify(found);
    if (seen !== followed.shown) {
      const kept = byId("run");
      followed.shown = seen;
      byId("runs").replaceChildren(...drawList(found));
      if (kept?.childNodes.length) byId("run").replaceWith(kept);
      else if (state.run) await showRun();
    }
  } catch (error) {
    if (isOutdated(error)) return;
    if (!error.problem) throw error;
    byId("runs-problem").textContent = error.message;
    show(byId("runs-problem"), true);
  } finally {
    followed.asking = false;
  }
}

async function openRun(name) {
  remember({ run: name });
  for (const row of document.querySelectorAll("table.runs tr")) row.removeAttribute("aria-current");
  await showRun();
  byId("run").scrollIntoView({ behavior: "smooth", block: "start" });
}

function trainingChart(run) {
  const losses = run.history.filter((row) => typeof row.loss === "number");
  const accuracy = { name: `validation, ${run.measure} accuracy`, series: 0, points: run.history.map((row) => [row.step, row.validation?.[run.measure] ?? 0]) };
  const loss = { name: "training loss", series: 1, points: losses.map((row) => [row.step, row.loss]) };
  return [element("h3", {}, accuracy.name), lineChart([accuracy], { across: "steps", title: accuracy.name, shares: true, height: 170 }),
    element("h3", {}, loss.name), lineChart([loss], { across: "steps", title: loss.name, range: [0, Math.max(1, ...losses.map((row) => row.loss))], height: 170 })];
}

function lengthChart(run) {
  const scores = Object.values(run.lengths).sort((a, b) => a.length - b.length);
  const longest = Math.max(0, ...run.history.map((row) => row.longest ?? 0));
  const line = { name: run.measure, series: 0, points: scores.map((score) => [score.length, score[run.measure]]) };
  const rows = element("tr", {}, scores.map((score) => element("td", { class: "number" }, percent(score[run.measure]))));
  return [element("h3", {}, `${run.measure} accuracy by length`),
    lineChart([line], { logarithmic: true, shares: true, across: "length", title: "accuracy against length", marks: longest ? [{ at: longest, text: `trained to ${longest}` }] : [] }),
    element("div", { class: "scroll" }, element("table", { class: "small" }, element("tbody", {}, element("tr", {}, scores.map((score) => element("th", { class: "number", scope: "col" }, score.length.toLocaleString("en")))), rows)))];
}

function spectrumParts(layers) {
  return layers.map((layer) => {
    const spectra = layer.spectra || [];
    const groups = spectra.map((spectrum, i) => ({ name: spectrum.label, series: i, points: spectrum.eigenvalues }));
    const outside = spectra.reduce((sum, spectrum) => sum + spectrum.outside, 0);
    return element("figure", {}, planeChart(groups, { circle: true, title: `spectrum of layer ${layer.layer ?? ""}` }),
      element("figcaption", {}, `layer ${layer.layer ?? ""}: largest ${written(Math.max(...spectra.map((s) => s.radius)))}, ${outside} outside the circle`), legend(spectra.map((s) => s.label).slice(0, 8)));
  });
}

function clusterParts(clusters) {
  const labels = [...new Set(clusters.shown)];
  const groupsOf = (side) => labels.map((label, i) => ({ name: label, series: i, points: side.points.filter((_, k) => clusters.shown[k] === label) }));
  return [["trained", clusters.trained], ["untrained", clusters.untrained]].filter(([, side]) => side).map(([title, side]) => element("figure", {},
    planeChart(groupsOf(side), { title: `${title} states` }), element("figcaption", {}, `${title}, by ${clusters.labelled_by}: silhouette ${written(side.silhouette)}, purity ${written(side.purity)}`)));
}

const listed = (value) => (Array.isArray(value) ? value : value ? [value] : []);

function analysisCards(analysis) {
  const cards = [];
  const spectra = listed(analysis.spectra).filter((layer) => layer.spectra?.length);
  if (spectra.length) cards.push(element("section", { class: "card" }, element("h2", {}, "Spectra on the unit circle"), element("div", { class: "figures" }, spectrumParts(spectra))));
  const clusters = listed(analysis.clusters).filter((part) => part.trained);
  if (clusters.length) cards.push(element("section", { class: "card" }, element("h2", {}, "Hidden states, before and after training"), element("div", { class: "figures" }, clusters.flatMap(clusterParts))));
  const left = Object.entries(analysis.left_out || {});
  if (left.length) cards.push(element("p", { class: "muted small" }, "left out: ", left.map(([what, why]) => `${what} (${why})`).join("; ")));
  return [element("div", { class: "tasks" }, cards)];
}

function extractionCard(found) {
  const verdict = found.equal
    ? pill("yes", `the automaton is ${found.target}, on every word`)
    : pill("no", `differs from ${found.target} on ${found.difference.word || "ε"}: expected ${found.difference.expected}, got ${found.difference.got}`);
  const caption = found.shown ? `words whose answer is ${found.shown} are accepted` : "words of the language are accepted";
  const figure = (title, drawing) => element("figure", {}, element("h3", {}, title), drawing ? markup(drawing) : element("p", { class: "muted" }, "too many states to be drawn"));
  return element("section", { class: "card extraction" }, element("h2", {}, "Extracted automaton, beside its target"), element("p", { class: "sweep" }, verdict),
    element("p", { class: "muted small" }, `${found.method}, ${found.queries.words.toLocaleString("en")} words asked; ${caption}.`, found.fails_on ? ` The network leaves this automaton on ${found.fails_on}.` : " Of the network itself this is no proof.", found.network?.refuted ? ` ${found.network.refuted}` : ""),
    found.theory?.warning ? element("p", { class: "problem" }, found.theory.warning) : null,
    element("div", { class: "figures pair" }, figure("learned", found.automaton), figure("target", found.wanted)));
}

// One row per head, one column per letter: the position that has the greatest weight, darker for a greater share.
function attentionTable(found) {
  const head = element("tr", {}, element("th", { scope: "col" }, "head"), found.word.map((letter, i) => element("th", { class: "number", scope: "col" }, letter, element("sub", {}, String(i)))));
  const rows = found.heads.map((row) => element("tr", {},
    element("th", { scope: "row", title: `on average ${written(row.distance)} letters back; ${percent(row.previous)} on the letter before, ${percent(row.first)} on the first` }, `layer ${row.layer + 1}, head ${row.head + 1}`),
    row.looks.map((at, i) => {
      const cell = element("td", { class: "number", title: `${percent(row.shares[i])} of its weight on ${found.word[at]} at ${at}` }, String(at));
      tint(cell, row.shares[i]);
      return cell;
    })));
  return element("div", { class: "scroll" }, element("table", { class: "small looks" }, element("thead", {}, head), element("tbody", {}, rows)));
}

function attentionCard(found) {
  const word = element("input", { type: "text", name: "word", value: found.word.filter((letter) => letter !== "⊢").join(" "), "aria-label": "word that the heads read" });
  const place = element("div", {}, attentionTable(found));
  const problem = element("p", { class: "problem", hidden: "" });
  const form = element("form", { class: "word-row" }, word, element("button", { type: "submit", class: "button" }, "Look"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      place.replaceChildren(attentionTable(await ask("attention", { name: state.run, word: word.value })));
      show(problem, false);
    } catch (error) {
      if (isOutdated(error)) return;
      if (!error.problem) throw error;
      problem.textContent = error.message;
      show(problem, true);
    }
  });
  return element("section", { class: "card", id: "attention" }, element("h2", {}, "Where each head looks"),
    element("p", { class: "muted small" }, "For each head and letter the position that has the greatest weight; ⊢ is the beginning mark."), form, problem, place);
}

const attends = (run) => JSON.stringify(run.spec?.model ?? "").includes("transformer");

function lookCard(run) {
  const button = element("button", { type: "button", class: "button" }, "Look inside");
  const card = element("section", { class: "card", id: "inside" }, element("h2", {}, "Inside"), element("p", { class: "muted" }, "Spectra, clusters of hidden states and the automaton that was learned; takes some seconds."), button);
  button.addEventListener("click", async () => {
    button.disabled = true;
    button.textContent = "Looking…";
    const parts = await lookInside(run);
    card.replaceWith(...parts);
  });
  return card;
}

async function askInside(job, draw) {
  try {
    return listed(draw(await ask(job, { name: state.run })));
  } catch (error) {
    if (!error.problem) throw error;
    return [element("p", { class: "problem" }, `${job}: ${error.message}`)];
  }
}

async function lookInside(run) {
  const heads = attends(run) ? await askInside("attention", attentionCard) : [];
  const pictures = run.analysis ? [] : await askInside("analysis", analysisCards);
  return [...heads, ...(await askInside("extraction", extractionCard)), ...pictures];
}

async function showRun() {
  try {
    const run = await ask("run", { name: state.run });
    byId("run").replaceChildren(
      element("header", { class: "title" }, element("h2", { class: "big" }, `${run.architecture} on ${run.task}, seed ${run.seed}`), element("p", { class: "lead" }, `${run.parameters.toLocaleString("en")} parameters · ${run.steps.toLocaleString("en")} steps · ${written(run.cpu_seconds)} CPU s · `, element("code", {}, run.name))),
      element("div", { class: "columns" }, element("div", {}, element("section", { class: "card" }, lengthChart(run))), element("div", {}, element("section", { class: "card" }, trainingChart(run)))),
      ...(run.analysis ? analysisCards(run.analysis) : []), lookCard(run));
  } catch (error) {
    if (isOutdated(error)) return;
    if (!error.problem) throw error;
    byId("run").replaceChildren(element("p", { class: "problem" }, error.message));
  }
}

export function followRuns(on) {
  clearInterval(followed.timer);
  followed.timer = 0;
  if (!on) return;
  follow();
  followed.timer = setInterval(() => {
    if (!document.hidden) follow();
  }, FOLLOW);
}
