// Drawings that the page makes itself: states over a word.
import { shape } from "./elements.js";

const SERIES = 8;
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
