"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const table = document.querySelector(".matrix table");
  const dialog = document.querySelector("dialog");
  const [kindRow, nameRow] = table.tHead.rows;
  const body = table.tBodies[0];
  const heads = [...nameRow.cells].slice(1);
  const rows = [...body.rows];
  const grid = rows.map((row) => [...row.cells].slice(2));
  const places = new Map(grid.flatMap((cells, a) => cells.map((cell, l) => [cell, [l, a]])));
  const rest = byId("told").textContent;
  let sense = data.first;
  // The rows and columns that are shown, in their order.
  let shown = { languages: heads.map((_, l) => l), architectures: rows.map((_, a) => a) };

  const element = (tag, text, className) => {
    const made = document.createElement(tag);
    if (text) made.textContent = text;
    if (className) made.className = className;
    return made;
  };
  const words = { yes: "possible", no: "impossible", open: "open" };
  const pill = (status, text) => element("span", text || words[status], `pill ${status}`);
  const answerOf = (l, a, s) => data.answers[data.cells[l][a][s]];
  const statusOf = (l, a) => (answerOf(l, a, sense) || ["open"])[0];
  const trainedOf = (l, a) => data.trained[`${l},${a}`] || [];
  const networkOf = (l, a) => data.networks[l][data.made[l][a]];
  const marks = { proved: "●", tested: "◐", refuted: "○" };
  const bestOf = (items) => Object.keys(marks).find((status) => items.some((item) => item.status === status));

  function paint() {
    const totals = { yes: 0, no: 0, open: 0 };
    for (const [cell, [l, a]] of places) {
      const answer = answerOf(l, a, sense);
      const status = statusOf(l, a);
      const seen = trainedOf(l, a);
      cell.className = status + (status === "yes" && networkOf(l, a) ? " made" : "") + (cell.dataset.starts || "");
      const mark = answer ? data.strings[answer[9]] : "?";
      cell.textContent = mark.replace(/[·†]/g, "");
      const signs = mark.replace(/[^·†]/g, "");
      if (signs) cell.append(element("small", signs));
      if (seen.length) cell.append(element("sup", marks[bestOf(seen)]));
      cell.title = `${data.languages[l][0]} × ${data.architectures[a][0]}: ${status}`;
      cell.setAttribute("aria-label", cell.title);
    }
    for (const a of shown.architectures) for (const l of shown.languages) totals[statusOf(l, a)] += 1;
    for (const [status, number] of Object.entries(totals)) {
      byId(`total-${status}`).textContent = `${number.toLocaleString("en")} ${words[status]}`;
    }
  }

  // Search: a word that names languages chooses columns, one that names architectures chooses rows.
  const languageNames = data.languages.map(([title, name, , kind]) => `${title} ${name} ${data.kinds[kind]}`.toLowerCase());
  const languageTexts = data.languages.map((item) => item[2]);
  const architectureNames = data.architectures.map(([title, name, , family]) =>
    `${title} ${name} ${data.families[family]}`.toLowerCase());
  const architectureTexts = data.architectures.map(([, , update], a) => `${architectureNames[a]} ${update}`.toLowerCase());
  const hits = (texts, word) => new Set(texts.flatMap((text, i) => (text.includes(word) ? [i] : [])));

  function choose() {
    const typed = byId("filter").value.trim();
    let languages = data.languages.map((_, l) => l);
    let architectures = data.architectures.map((_, a) => a);
    const missing = [];
    for (const word of typed.toLowerCase().split(/\s+/).filter(Boolean)) {
      let l = hits(languageNames, word);
      let a = hits(architectureNames, word);
      if (!l.size && !a.size) [l, a] = [hits(languageTexts, word), hits(architectureTexts, word)];
      if (!l.size && !a.size) missing.push(word);
      if (l.size) languages = languages.filter((i) => l.has(i));
      if (a.size) architectures = architectures.filter((i) => a.has(i));
    }
    const kind = byId("kind").value;
    const family = byId("family").value;
    if (kind) languages = languages.filter((l) => data.kinds[data.languages[l][3]] === kind);
    if (family) architectures = architectures.filter((a) => data.architectures[a][3] === Number(family));
    const empty = missing.length || !languages.length || !architectures.length;
    byId("nothing").hidden = !empty;
    byId("nothing").textContent = missing.length
      ? `Nothing matches “${missing.join(" ")}”: neither a language nor an architecture has it in its name or description.`
      : "No language and architecture match all of these at once.";
    document.querySelector(".matrix").hidden = Boolean(empty);
    return { languages: empty ? [] : languages, architectures: empty ? [] : architectures };
  }

  function ordered(items, how, name, status) {
    const count = (i, wanted) => status(i).filter((found) => found === wanted).length;
    if (how === "name") return [...items].sort((x, y) => name(x).localeCompare(name(y), "en", { numeric: true }));
    if (how === "yes" || how === "open") return [...items].sort((x, y) => count(y, how) - count(x, how));
    return items;
  }

  function arrange() {
    const { languages, architectures } = choose();
    const byLanguage = byId("sort-languages").value;
    const byArchitecture = byId("sort-architectures").value;
    shown = {
      languages: ordered(languages, byLanguage, (l) => data.languages[l][0], (l) => architectures.map((a) => statusOf(l, a))),
      architectures: ordered(architectures, byArchitecture, (a) => data.architectures[a][0],
        (a) => languages.map((l) => statusOf(l, a))),
    };
    const grouped = byLanguage === "kind";
    const kindOf = (l) => data.kinds[data.languages[l][3]];
    const starts = shown.languages.map((l, i) => grouped && (!i || kindOf(shown.languages[i - 1]) !== kindOf(l)));
    const spans = [];
    shown.languages.forEach((l, i) => {
      if (starts[i]) spans.push([kindOf(l), 0]);
      if (grouped) spans[spans.length - 1][1] += 1;
    });
    kindRow.replaceChildren(kindRow.cells[0], ...spans.map(([kind, number]) => {
      const head = element("th", kind, "starts");
      head.colSpan = number;
      head.title = kind;
      return head;
    }));
    nameRow.replaceChildren(nameRow.cells[0], ...shown.languages.map((l) => heads[l]));
    shown.languages.forEach((l, i) => heads[l].classList.toggle("starts", starts[i]));
    body.replaceChildren(...shown.architectures.map((a) => rows[a]));
    let before = null;
    for (const a of shown.architectures) {
      const family = data.families[data.architectures[a][3]];
      const first = byArchitecture !== "family" || family !== before;
      rows[a].classList.toggle("starts", first && byArchitecture === "family");
      rows[a].cells[0].replaceChildren(...(first ? [element("span", family)] : []));
      rows[a].replaceChildren(rows[a].cells[0], rows[a].cells[1], ...shown.languages.map((l) => grid[a][l]));
      shown.languages.forEach((l, i) => { grid[a][l].dataset.starts = starts[i] ? " starts" : ""; });
      before = family;
    }
    table.classList.toggle("roomy", shown.languages.length <= 34);
    for (const cell of places.keys()) cell.tabIndex = -1;
    if (shown.languages.length) grid[shown.architectures[0]][shown.languages[0]].tabIndex = 0;
    const named = new Set(shown.languages);
    for (const item of document.querySelectorAll("details[data-language]")) item.hidden = !named.has(Number(item.dataset.language));
    paint();
  }

  function facts(answer) {
    const text = (i) => data.strings[i];
    const list = element("dl", "", "facts");
    const add = (name, value) => {
      if (value) list.append(element("dt", name), element("dd", value));
    };
    add("condition", text(answer[10]));
    add("no network", text(answer[11]));
    add("size", text(answer[5]));
    add("witness", text(answer[6]));
    answer[7].forEach((i, k) => add(k ? " " : "assumes", text(i)));
    add("checked", text(answer[4]));
    answer[8].forEach((i, k) => add(k ? " " : "tried", text(i)));
    return list;
  }

  function part(l, a, s) {
    const section = element("section");
    const answer = answerOf(l, a, s);
    const line = element("p");
    if (!answer) {
      line.append(element("span", `${data.senses[s]}: not asked`, "muted"));
      section.append(line);
      return section;
    }
    line.append(pill(answer[0], `${data.senses[s]}: ${words[answer[0]]}`), ` ${data.strings[answer[1]]} `);
    const cited = data.strings[answer[2]];
    if (cited) {
      const link = element("a", cited);
      link.href = `#ref-${data.strings[answer[3]]}`;
      link.addEventListener("click", () => dialog.close());
      const shell = element("span", "", "cite");
      shell.append("[", link, "]");
      line.append(shell);
    }
    section.append(line, facts(answer));
    return section;
  }

  function networkPart(network) {
    const section = element("section");
    const [target, size, proofs] = network;
    const line = element("p");
    line.append(pill("yes", "compiled and proved here"), ` the network for ${target}: ${size}`);
    const list = element("dl", "", "facts");
    proofs.forEach((proof, k) => list.append(element("dt", k ? " " : "proved"), element("dd", proof)));
    section.append(line, list);
    return section;
  }

  function trainedPart(item) {
    const section = element("section");
    const line = element("p");
    const told = { proved: "proved at every length", tested: "passes its tests", refuted: item.learned ? "fails on some words" : "not learned" };
    line.append(
      pill(item.status === "refuted" ? "no" : item.status === "proved" ? "yes" : "open", `trained: ${told[item.status]}`),
      ` ${item.model}, ${item.seeds} seeds`);
    const list = element("dl", "", "facts");
    // 100 only if all are correct, and 0 only if none is.
    const percent = (x) => (x > 0 && x < 1 ? Math.min(99.9, Math.max(0.1, Math.round(100 * x))) : Math.round(100 * x));
    for (const point of item.points) {
      const range = point.low === point.high ? "" : ` (${percent(point.low)}–${percent(point.high)})`;
      list.append(element("dt", point.label), element("dd", `${percent(point.median)} %${range}`));
    }
    item.statuses.forEach((status, k) => list.append(element("dt", k ? " " : "seeds"), element("dd", status)));
    list.append(element("dt", "reproduce"), element("dd", item.source));
    section.append(line, list);
    return section;
  }

  function open(cell) {
    const [l, a] = places.get(cell);
    const [title, name, update] = data.architectures[a];
    const order = [sense, ...data.senses.keys()].filter((s, i, all) => all.indexOf(s) === i);
    const network = networkOf(l, a);
    dialog.querySelector("div").replaceChildren(
      element("h2", `${data.languages[l][0]} × ${title}`),
      element("p", `${data.languages[l][1]} · ${name}: ${update}`, "muted small"),
      part(l, a, order[0]),
      ...(network ? [networkPart(network)] : []),
      ...trainedOf(l, a).map(trainedPart),
      ...order.slice(1).map((s) => part(l, a, s)),
    );
    dialog.showModal();
    dialog.scrollTop = 0;
  }

  // The cell under the mouse or the focus is told in the line above the matrix; its row and column stand out.
  function point(cell) {
    for (const item of table.querySelectorAll(".at")) item.classList.remove("at");
    const place = places.get(cell);
    if (!place) {
      byId("told").textContent = rest;
      return;
    }
    const [l, a] = place;
    const answer = answerOf(l, a, sense);
    const seen = trainedOf(l, a);
    heads[l].classList.add("at");
    rows[a].cells[1].classList.add("at");
    const told = element("span");
    told.append(
      element("b", `${data.languages[l][0]} × ${data.architectures[a][0]}`),
      ` ${words[statusOf(l, a)]}: ${answer ? data.strings[answer[1]] : "not asked"}`,
      answer && data.strings[answer[2]] ? ` [${data.strings[answer[2]]}]` : "",
      seen.length ? ` · trained ${marks[bestOf(seen)]}` : "");
    byId("told").replaceChildren(told);
  }

  function move(cell, key) {
    const [l, a] = places.get(cell);
    let column = shown.languages.indexOf(l);
    let row = shown.architectures.indexOf(a);
    if (key === "ArrowRight") column += 1;
    if (key === "ArrowLeft") column -= 1;
    if (key === "ArrowDown") row += 1;
    if (key === "ArrowUp") row -= 1;
    const next = (grid[shown.architectures[row]] || [])[shown.languages[column]];
    if (!next) return;
    cell.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  const cellOf = (event) => {
    const cell = event.target.closest("tbody td");
    return places.has(cell) ? cell : null;
  };
  table.addEventListener("click", (event) => {
    const cell = cellOf(event);
    if (cell) open(cell);
  });
  table.addEventListener("keydown", (event) => {
    const cell = cellOf(event);
    if (!cell) return;
    if (event.key === "Enter" || event.key === " ") open(cell);
    else if (event.key.startsWith("Arrow")) move(cell, event.key);
    else return;
    event.preventDefault();
  });
  table.addEventListener("pointerover", (event) => point(cellOf(event)));
  table.addEventListener("pointerleave", () => point(null));
  table.addEventListener("focusin", (event) => point(cellOf(event)));
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog || event.target.closest(".close")) dialog.close();
  });
  for (const choice of document.querySelectorAll("input[name=sense]")) {
    choice.addEventListener("change", () => {
      sense = Number(choice.value);
      arrange();
    });
  }
  byId("filter").addEventListener("input", arrange);
  for (const id of ["kind", "family", "sort-languages", "sort-architectures"]) byId(id).addEventListener("change", arrange);

  const openTarget = () => {
    const target = location.hash && byId(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let item = target; item; item = item.parentElement) if (item.tagName === "DETAILS") item.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", openTarget);
  arrange();
  openTarget();
  document.querySelector(".controls").hidden = false;
  document.documentElement.dataset.ready = "true";
})();
