// Drawings that the page makes itself: charts of numbers over a line or a plane.
import { element, shape } from "./elements.js";

export const SERIES = 8;
// Small screens get drawings with fewer units, so that their letters stay as large.
const WIDTH = innerWidth < 720 ? 380 : 640;

const span = (values) => {
  const low = Math.min(...values);
  const high = Math.max(...values);
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
};

function scale([low, high], [from, to]) {
  return (value) => from + ((value - low) / (high - low)) * (to - from);
}

function path(points) {
  let text = "";
  for (const [x, y] of points) text += `${text ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
  return text;
}

const decimal = (value) => String(Number(value.toPrecision(6))).replace("-", "−");

function niceSteps([low, high], count) {
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const found = [];
  for (let v = Math.ceil(low / step) * step; v <= high + step / 1e6; v += step) found.push(Math.abs(v) < step / 1e6 ? 0 : v);
  return found;
}

// lines: [{name, points: [[x, y]], series}]; options: height, logarithmic x, shares as y, range of y, labels, marks.
export function lineChart(lines, options = {}) {
  const height = options.height || 240;
  const [left, right, top, bottom] = [46, 14, 12, 36];
  const across = options.logarithmic ? (x) => Math.log2(Math.max(1, x)) : (x) => x;
  const xs = lines.flatMap((line) => line.points.map(([x]) => across(x)));
  const ys = lines.flatMap((line) => line.points.map(([, y]) => y));
  if (!xs.length) return element("p", { class: "muted" }, "nothing to draw yet");
  const toX = scale(span([...xs, ...(options.marks || []).map((m) => across(m.at))]), [left, WIDTH - right]);
  const rangeY = options.shares ? [0, 1] : options.range || span(ys);
  const toY = scale(rangeY, [height - bottom, top]);
  const ticks = options.logarithmic ? [...new Set(lines.flatMap((line) => line.points.map(([x]) => x)))].sort((a, b) => a - b) : niceSteps(span(xs), 6);
  const shown = ticks.filter((_, i) => i % Math.ceil(ticks.length / 9) === 0);
  const drawing = shape("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${height}`, role: "img" },
    shape("title", {}, options.title || "chart"));
  for (const y of niceSteps(rangeY, 5)) {
    drawing.append(shape("line", { class: "grid", x1: left, x2: WIDTH - right, y1: toY(y), y2: toY(y) }),
      shape("text", { class: "tick y", x: left - 7, y: toY(y) + 4 }, options.shares ? `${decimal(100 * y)} %` : decimal(y)));
  }
  for (const x of shown) drawing.append(shape("text", { class: toX(across(x)) > WIDTH - 30 ? "tick end" : "tick", x: Math.min(toX(across(x)) + (toX(across(x)) > WIDTH - 30 ? 12 : 0), WIDTH), y: height - bottom + 17 }, x.toLocaleString("en")));
  for (const mark of options.marks || []) {
    const x = toX(across(mark.at));
    drawing.append(shape("line", { class: "mark", x1: x, x2: x, y1: top, y2: height - bottom }),
      shape("text", { class: "tick begin", x: x + 5, y: height - bottom - 7 }, mark.text));
  }
  for (const line of lines) {
    const points = line.points.map(([x, y]) => [toX(across(x)), toY(y)]);
    const group = shape("g", { class: `series${line.thin ? " thin faint" : ""} s${line.series % SERIES}` }, shape("title", {}, line.name), shape("path", { d: path(points) }));
    if (points.length <= 40) for (const [x, y] of points) group.append(shape("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: 2.6 }));
    drawing.append(group);
  }
  drawing.append(shape("text", { class: "axis", x: (left + WIDTH - right) / 2, y: height - 3 }, options.across || ""));
  return drawing;
}

export function legend(names) {
  return element("ul", { class: "legend" }, names.map((name, i) => element("li", { class: `s${i % SERIES}` }, name)));
}

// Points of the plane: [{name, series, points: [[x, y]]}]; with a circle of radius 1 for spectra.
export function planeChart(groups, options = {}) {
  const size = 300;
  const all = groups.flatMap((group) => group.points);
  if (!all.length) return element("p", { class: "muted" }, "nothing to draw yet");
  let [x, y] = [span(all.map((p) => p[0])), span(all.map((p) => p[1]))];
  if (options.circle) {
    const reach = Math.max(1.1, ...all.map((p) => Math.hypot(...p)) .map((r) => Math.min(r, 3) * 1.08));
    x = y = [-reach, reach];
  }
  const toX = scale(x, [10, size - 10]);
  const toY = scale(y, [size - 10, 10]);
  const drawing = shape("svg", { class: "chart plane", viewBox: `0 0 ${size} ${size}`, role: "img" }, shape("title", {}, options.title || "points"));
  if (options.circle) {
    drawing.append(shape("line", { class: "grid", x1: 0, x2: size, y1: toY(0), y2: toY(0) }),
      shape("line", { class: "grid", y1: 0, y2: size, x1: toX(0), x2: toX(0) }),
      shape("circle", { class: "unit", cx: toX(0), cy: toY(0), r: toX(1) - toX(0) }));
  }
  for (const group of groups) {
    drawing.append(shape("g", { class: `points s${group.series % SERIES}` }, shape("title", {}, group.name),
      group.points.map(([px, py]) => shape("circle", { cx: toX(px).toFixed(1), cy: toY(py).toFixed(1), r: 2.8 }))));
  }
  return drawing;
}

// States of a network over the positions of a word; what comes after the first wrong answer is shaded.
export function historyChart(rows, { wrong, length }) {
  const [height, left, right, top, bottom] = [130, 34, 8, 8, 18];
  const values = rows.flatMap((row) => row.values).filter((v) => Math.abs(v) < 1e6);
  const range = span([...values, 0]);
  const toX = scale([0, Math.max(1, length)], [left, WIDTH - right]);
  const toY = scale(range, [height - bottom, top]);
  const clip = (v) => Math.max(range[0], Math.min(range[1], v));
  const drawing = shape("svg", { class: "chart history", viewBox: `0 0 ${WIDTH} ${height}`, role: "img" }, shape("title", {}, "states over the word"));
  if (wrong !== undefined) {
    drawing.append(shape("rect", { class: "broken", x: toX(wrong), y: top, width: WIDTH - right - toX(wrong), height: height - top - bottom }));
  }
  for (const y of niceSteps(range, 3)) {
    drawing.append(shape("line", { class: "grid", x1: left, x2: WIDTH - right, y1: toY(y), y2: toY(y) }),
      shape("text", { class: "tick y", x: left - 5, y: toY(y) + 4 }, decimal(y)));
  }
  for (const row of rows) {
    const points = row.values.map((v, i) => [toX(i), toY(clip(v))]);
    drawing.append(shape("g", { class: `series thin s${row.series % SERIES}` }, shape("title", {}, row.name), shape("path", { d: path(points) })));
  }
  const cursor = shape("line", { class: "cursor", y1: top, y2: height - bottom });
  drawing.append(cursor, shape("text", { class: "tick", x: left, y: height - 4 }, "0"), shape("text", { class: "tick end", x: WIDTH - right, y: height - 4 }, String(length)));
  if (wrong !== undefined) drawing.append(shape("text", { class: "tick broken-text", x: Math.min(toX(wrong) + 4, WIDTH - 60), y: top + 11 }, `wrong at ${wrong}`));
  const move = (at) => {
    cursor.setAttribute("x1", toX(at));
    cursor.setAttribute("x2", toX(at));
  };
  const positionOf = (event) => {
    const box = drawing.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * WIDTH;
    return Math.round(Math.max(0, Math.min(1, (x - left) / (WIDTH - right - left))) * length);
  };
  return { drawing, move, positionOf };
}
