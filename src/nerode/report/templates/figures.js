(() => {
  "use strict";
  const style = getComputedStyle(document.documentElement);
  const sans = style.getPropertyValue("--sans").trim() || "sans-serif";
  const ink = "var(--ink)", muted = "var(--muted)", line = "var(--line)";
  const text = {labelFont: sans, titleFont: sans, labelFontSize: 11.5, titleFontSize: 12, titleFontWeight: 600,
    labelColor: muted, titleColor: muted};
  // Colours are the page's own variables, so that the figures follow its theme without being drawn again.
  const config = {
    background: null, font: sans, padding: 2,
    view: {stroke: null},
    axis: {...text, domainColor: "var(--line-strong)", tickColor: "var(--line-strong)", gridColor: line,
      tickSize: 4, titlePadding: 8, labelOverlap: "greedy", labelSeparation: 6},
    legend: text,
    title: {font: sans, color: ink, fontSize: 13, fontWeight: 600},
    text: {font: sans, fontSize: 11.5, color: ink},
    line: {strokeCap: "round", strokeJoin: "round"},
    range: {category: [1, 2, 3, 4, 5, 6, 7, 8].map((i) => `var(--c${i})`)},
  };
  const refuse = () => Promise.reject(new Error("a figure loads nothing"));
  const loader = {load: refuse, sanitize: refuse, http: refuse, file: refuse};

  const tip = document.createElement("div");
  tip.className = "figure-tip";
  tip.hidden = true;
  tip.setAttribute("role", "status");
  document.body.append(tip);
  const showTip = (titles) => (_, event, item, value) => {
    tip.hidden = value == null || value === "";
    if (tip.hidden) return;
    const rows = (typeof value === "object" ? Object.entries(value) : [["", value]]).filter((row) => row[1] !== "");
    tip.replaceChildren(...rows.map(([name, shown]) => {
      const row = document.createElement("div");
      const label = document.createElement("span");
      label.textContent = Object.hasOwn(titles, name) ? titles[name] : name;
      row.append(label, String(shown));
      return row;
    }));
    const gap = 14, box = tip.getBoundingClientRect();
    const right = event.clientX + gap + box.width > innerWidth;
    tip.style.left = `${Math.max(4, right ? event.clientX - gap - box.width : event.clientX + gap)}px`;
    tip.style.top = `${Math.max(4, Math.min(event.clientY + gap, innerHeight - box.height - 4))}px`;
  };
  addEventListener("scroll", () => { tip.hidden = true; }, {passive: true});

  class Figure {
    constructor(element) {
      this.element = element;
      this.place = element.querySelector(".plot");
      this.spec = JSON.parse(element.querySelector("script").textContent);
      this.hidden = new Set();
      this.width = 0;
      this.drawn = Promise.resolve();
      new ResizeObserver(() => this.fit()).observe(this.place);
      for (const button of element.querySelectorAll(".legend button")) {
        button.disabled = false;
        button.addEventListener("click", () => this.toggle(button));
      }
      const save = element.querySelector(".save");
      if (save) {
        save.hidden = false;
        save.addEventListener("click", () => this.save());
      }
    }
    fit() {
      const width = Math.floor(this.place.clientWidth);
      if (!width || width === this.width) return;
      this.width = width;
      this.drawn = this.drawn.then(() => this.draw());
    }
    async draw() {
      const spec = {...this.spec, config, ...this.size()};
      const program = vega.parse(vegaLite.compile(spec).spec, null, {ast: true});
      this.view?.finalize();
      this.view = new vega.View(program, {
        expr: vegaInterpreter.expressionInterpreter, renderer: "svg", container: this.place, hover: true,
        loader, tooltip: showTip(this.spec.usermeta?.titles ?? {}),
      });
      if (this.hidden.size) this.view.signal("off", [...this.hidden]);
      await this.view.runAsync();
      this.element.dataset.drawn = "true";
    }
    size() {
      const {shape} = this.element.dataset;
      if (shape === "square") {
        const side = Math.min(this.width, 420) - 64;
        return {width: side, height: side, autosize: {type: "pad", contains: "padding"}};
      }
      const height = Math.round((this.spec.height ?? 300) * (this.width < 480 && shape !== "fixed" ? 0.8 : 1));
      return {width: this.width, height, autosize: {type: "fit", contains: "padding"}};
    }
    async toggle(button) {
      const off = button.getAttribute("aria-pressed") === "true";
      button.setAttribute("aria-pressed", String(!off));
      this.hidden[off ? "add" : "delete"](button.value);
      await this.drawn;
      await this.view.signal("off", [...this.hidden]).runAsync();
    }
    save() {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([toCsv(this.spec.data.values)], {type: "text/csv"}));
      link.download = "data.csv";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    }
  }

  const toCsv = (rows) => {
    const names = [...new Set(rows.flatMap(Object.keys))];
    const cell = (value) => {
      if (value == null) return "";
      if (typeof value !== "string") return String(value);
      // A spreadsheet would take such a text for a formula.
      const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
      return `"${safe.replaceAll('"', '""')}"`;
    };
    return [names, ...rows.map((row) => names.map((name) => row[name]))]
      .map((values) => values.map(cell).join(",")).join("\r\n") + "\r\n";
  };

  for (const element of document.querySelectorAll("figure.vega")) new Figure(element);
})();
