"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const table = document.querySelector(".matrix table");
  const dialog = document.querySelector("dialog");
  const rows = [...table.querySelectorAll("tbody tr[data-language]")];
  let sense = data.first;

  const element = (tag, text, className) => {
    const made = document.createElement(tag);
    if (text) made.textContent = text;
    if (className) made.className = className;
    return made;
  };
  const pill = (status, text) => element("span", text || status, `pill ${status}`);
  const answerOf = (l, a, s) => data.answers[data.cells[l][a][s]];
  const statusOf = (l, a) => (answerOf(l, a, sense) || ["open"])[0];
  const trainedOf = (l, a) => data.trained[`${l},${a}`] || [];
  const place = (cell) => [Number(cell.parentNode.dataset.language), cell.cellIndex - 1];

  function paint() {
    const totals = { yes: 0, no: 0, open: 0 };
    for (const row of rows) {
      const l = Number(row.dataset.language);
      for (const cell of [...row.cells].slice(1)) {
        const a = cell.cellIndex - 1;
        const status = statusOf(l, a);
        cell.classList.remove("yes", "no", "open");
        cell.classList.add(status);
        const answer = answerOf(l, a, sense);
        cell.textContent = answer ? data.strings[answer[9]] : "?";
        const seen = trainedOf(l, a);
        if (seen.length) cell.append(element("sup", seen.some((t) => t.generalises) ? "●" : "○"));
        cell.title = `${data.languages[l]} × ${data.architectures[a][0]}: ${status}`;
        cell.setAttribute("aria-label", cell.title);
        if (!row.hidden) totals[status] += 1;
      }
    }
    for (const status of Object.keys(totals)) {
      document.getElementById(`total-${status}`).textContent = `${totals[status].toLocaleString("en")} ${status}`;
    }
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
    add("source", text(answer[4]));
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
    line.append(pill(answer[0], `${data.senses[s]}: ${answer[0]}`), ` ${data.strings[answer[1]]} `);
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

  function trainedPart(item) {
    const section = element("section");
    const line = element("p");
    const word = item.generalises ? "right at the longest length tested" : item.learned ? "fails beyond training" : "not learned";
    line.append(pill(item.generalises ? "yes" : "no", `trained: ${word}`), ` ${item.model}, ${item.seeds} seeds`);
    const list = element("dl", "", "facts");
    // 100 only if all are right, and 0 only if none is.
    const percent = (x) => (x > 0 && x < 1 ? Math.min(99.9, Math.max(0.1, Math.round(100 * x))) : Math.round(100 * x));
    for (const point of item.points) {
      const range = point.low === point.high ? "" : ` (${percent(point.low)}–${percent(point.high)})`;
      list.append(element("dt", point.label), element("dd", `${percent(point.median)} %${range}`));
    }
    list.append(element("dt", "by"), element("dd", item.source));
    section.append(line, list);
    return section;
  }

  function open(cell) {
    const [l, a] = place(cell);
    const [title, name, update] = data.architectures[a];
    const order = [sense, ...data.senses.keys()].filter((s, i, all) => all.indexOf(s) === i);
    const body = dialog.querySelector("div");
    body.replaceChildren(
      element("h2", `${data.languages[l]} × ${title}`),
      element("p", `${name}: ${update}`, "muted small"),
      part(l, a, order[0]),
      ...trainedOf(l, a).map(trainedPart),
      ...order.slice(1).map((s) => part(l, a, s)),
    );
    dialog.showModal();
  }

  function move(cell, key) {
    const visible = rows.filter((row) => !row.hidden);
    let r = visible.indexOf(cell.parentNode);
    let c = cell.cellIndex;
    if (key === "ArrowRight") c += 1;
    if (key === "ArrowLeft") c -= 1;
    if (key === "ArrowDown") r += 1;
    if (key === "ArrowUp") r -= 1;
    const next = visible[r] && c > 0 ? visible[r].cells[c] : null;
    if (!next) return;
    cell.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  table.addEventListener("click", (event) => {
    const cell = event.target.closest("td");
    if (cell) open(cell);
  });
  table.addEventListener("keydown", (event) => {
    const cell = event.target.closest("td");
    if (!cell) return;
    if (event.key === "Enter" || event.key === " ") open(cell);
    else if (event.key.startsWith("Arrow")) move(cell, event.key);
    else return;
    event.preventDefault();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog || event.target.closest(".close")) dialog.close();
  });
  for (const choice of document.querySelectorAll("input[name=sense]")) {
    choice.addEventListener("change", () => {
      sense = Number(choice.value);
      paint();
    });
  }
  document.getElementById("filter").addEventListener("input", (event) => {
    const wanted = event.target.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    for (const item of document.querySelectorAll("[data-language]")) {
      item.hidden = !wanted.every((word) => item.dataset.text.includes(word));
    }
    for (const heading of table.querySelectorAll("tr.group")) {
      let next = heading.nextElementSibling;
      while (next && next.hidden) next = next.nextElementSibling;
      heading.hidden = !next || next.classList.contains("group");
    }
    paint();
  });
  const openTarget = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && target.tagName === "DETAILS") target.open = true;
  };
  addEventListener("hashchange", openTarget);
  openTarget();
  paint();
  document.querySelector(".controls").hidden = false;
  document.documentElement.dataset.ready = "true";
})();
