// Guess the automaton: a table of moves is compared with a language; the answer is the shortest word that tells them apart.
const { tasks } = JSON.parse(document.getElementById("data").textContent);
const MOST_STATES = 8;

function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

const choice = (options, chosen, attributes) => make("select", attributes,
  ...options.map(([value, text]) => make("option", value === chosen ? { value, selected: "" } : { value }, text)));

let task = tasks[0];
let drawn = { moves: [], accepting: [] };

function fresh(states) {
  const old = drawn;
  drawn = {
    moves: Array.from({ length: states }, (_, q) => task.alphabet.map((_, x) => Math.min(old.moves[q]?.[x] ?? 0, states - 1))),
    accepting: Array.from({ length: states }, (_, q) => Boolean(old.accepting[q])),
  };
}

// The shortest word on which the table and the language differ, by a breadth-first search over pairs of states; null if there is none.
function difference() {
  const seen = new Set(["0 " + task.start]);
  let layer = [[0, task.start, []]];
  while (layer.length) {
    const next = [];
    for (const [mine, theirs, word] of layer) {
      if (drawn.accepting[mine] !== task.accepting.includes(theirs)) return { word, inside: task.accepting.includes(theirs) };
      task.alphabet.forEach((letter, x) => {
        const pair = [drawn.moves[mine][x], task.moves[theirs][x]];
        if (seen.has(pair.join(" "))) return;
        seen.add(pair.join(" "));
        next.push([...pair, [...word, letter]]);
      });
    }
    layer = next;
  }
  return null;
}

function check() {
  const told = document.getElementById("told");
  const found = difference();
  if (found === null) {
    const more = drawn.moves.length - task.moves.length;
    told.textContent = more > 0
      ? `✓ Your automaton has the same words. ${task.moves.length} states are enough.`
      : "✓ Your automaton has the same words, and no smaller one has.";
    told.dataset.status = "equal";
    return;
  }
  const word = found.word.length ? found.word.join(task.alphabet.some((a) => a.length > 1) ? " " : "") : "ε (the empty word)";
  told.textContent = `The shortest word that is answered wrongly: ${word}. It is ${found.inside ? "in" : "not in"} the language, and your automaton ${found.inside ? "rejects" : "accepts"} it.`;
  told.dataset.status = "differs";
}

function table() {
  const states = drawn.moves.map((_, q) => [String(q), `q${q}`]);
  const head = make("tr", {}, make("th", {}, "state"), ...task.alphabet.map((a) => make("th", {}, a)), make("th", {}, "accepting"));
  const rows = drawn.moves.map((row, q) => make("tr", {}, make("th", { scope: "row" }, q ? `q${q}` : "q0 (start)"),
    ...row.map((to, x) => make("td", {}, choice(states, String(to), { "aria-label": `from q${q} by ${task.alphabet[x]}`, "data-move": `${q} ${x}`,
      onchange: (event) => { drawn.moves[q][x] = Number(event.target.value); redraw(); } }))),
    make("td", {}, make("input", { type: "checkbox", "aria-label": `q${q} accepts`, "data-accepting": String(q),
      ...(drawn.accepting[q] ? { checked: "" } : {}), onchange: (event) => { drawn.accepting[q] = event.target.checked; redraw(); } }))));
  return make("div", { class: "scroll" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
}

function shape(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

// The student's automaton: states on a ring, the start on the left; moves between two states share an arrow.
function picture() {
  const count = drawn.moves.length, ring = count > 1 ? 52 + 14 * count : 0, size = 2 * ring + 150, middle = size / 2, r = 19;
  const at = (q) => [middle - ring * Math.cos((2 * Math.PI * q) / count), middle - ring * Math.sin((2 * Math.PI * q) / count)];
  const letters = new Map();
  drawn.moves.forEach((row, q) => row.forEach((to, x) => {
    const key = `${q} ${to}`;
    letters.set(key, [...(letters.get(key) || []), task.alphabet[x]]);
  }));
  const drawing = shape("svg", { class: "dfa", viewBox: `0 0 ${size} ${size}`, width: size, height: size, role: "img", id: "picture" }, shape("title", {}, "your automaton"));
  const arrow = (d, [x, y], [dx, dy]) => {
    const length = Math.hypot(dx, dy) || 1, [ux, uy] = [dx / length, dy / length];
    const head = `M${x} ${y}L${x - 9 * ux + 4 * uy} ${y - 9 * uy - 4 * ux}L${x - 9 * ux - 4 * uy} ${y - 9 * uy + 4 * ux}z`;
    drawing.append(shape("path", { d }), shape("path", { class: "head", d: head }));
  };
  const write = (text, x, y) => drawing.append(shape("text", { class: "letters", x, y: y + 4 }, text));
  for (const [key, names] of letters) {
    const [from, to] = key.split(" ").map(Number), [x, y] = at(from), [u, v] = at(to), text = names.join(", ");
    if (from === to) {
      // The start has its arrow on the left.
      const away = from ? Math.atan2(y - middle, x - middle) : -0.6 * Math.PI;
      const point = (turn, far) => [x + far * Math.cos(away + turn), y + far * Math.sin(away + turn)];
      const [a, b, c, d] = [point(-0.5, r), point(-0.7, 58), point(0.7, 58), point(0.5, r)];
      arrow(`M${a}C${b} ${c} ${d}`, d, [d[0] - c[0], d[1] - c[1]]);
      write(text, ...point(0, 60));
      continue;
    }
    const length = Math.hypot(u - x, v - y), [ux, uy] = [(u - x) / length, (v - y) / length];
    const bend = letters.has(`${to} ${from}`) ? 26 : 0, control = [(x + u) / 2 + bend * uy, (y + v) / 2 - bend * ux];
    const towards = ([px, py], [cx, cy]) => { const n = Math.hypot(cx - px, cy - py); return [px + (r * (cx - px)) / n, py + (r * (cy - py)) / n]; };
    const [begin, end] = [towards([x, y], control), towards([u, v], control)];
    arrow(`M${begin}Q${control} ${end}`, end, [end[0] - control[0], end[1] - control[1]]);
    write(text, (x + u) / 2 + (bend / 2 + 11) * uy, (y + v) / 2 - (bend / 2 + 11) * ux);
  }
  const [x, y] = at(0);
  arrow(`M${x - r - 30} ${y}H${x - r}`, [x - r, y], [1, 0]);
  drawn.moves.forEach((_, q) => {
    const [cx, cy] = at(q), accepts = drawn.accepting[q];
    const circles = [r, ...(accepts ? [r - 4] : [])].map((own) => shape("circle", { cx, cy, r: own }));
    drawing.append(shape("g", { class: accepts ? "accepting" : "state" }, ...circles, shape("text", { x: cx, y: cy + 4 }, `q${q}`)));
  });
  return drawing;
}

const redraw = () => document.getElementById("picture").replaceWith(picture());

function draw() {
  const sizes = Array.from({ length: MOST_STATES }, (_, k) => [String(k + 1), `${k + 1} ${k ? "states" : "state"}`]);
  document.getElementById("content").replaceChildren(make("div", { class: "exercise" },
    make("section", { class: "card" }, make("h2", {}, "The language"),
      choice(tasks.map((own, k) => [String(k), own.name]), String(tasks.indexOf(task)), { id: "task", "aria-label": "language",
        onchange: (event) => { task = tasks[Number(event.target.value)]; drawn = { moves: [], accepting: [] }; fresh(1); draw(); } }),
      make("p", { class: "convention" }, task.convention),
      make("p", { class: "muted" }, "What does a reader of the word have to remember? One state for each answer. ",
        make("a", { href: task.file }, "Look it up"), " when you are done.")),
    make("section", { class: "card" }, make("h2", {}, "Your automaton"),
      choice(sizes, String(drawn.moves.length), { id: "size", "aria-label": "number of states", onchange: (event) => { fresh(Number(event.target.value)); draw(); } }),
      table(), make("button", { type: "button", id: "check", onclick: check }, "Compare"), make("p", { id: "told", "aria-live": "polite" }), picture())));
}

document.getElementById("lead").append("Fill in the moves. The answer is the shortest word on which your automaton and the language differ. ",
  make("a", { href: "index.html" }, "All languages"));
fresh(1);
draw();
