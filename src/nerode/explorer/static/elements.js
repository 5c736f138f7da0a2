// Elements of the page, made without markup in strings.

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

export function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function shape(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

// Markup of the server, which escapes all that is not its own; the page's policy runs no script in it.
export function markup(text) {
  const parsed = new DOMParser().parseFromString(text, "text/html");
  return [...parsed.body.childNodes].map((node) => document.importNode(node, true));
}

export function show(node, visible) {
  node.hidden = !visible;
}

export function later(milliseconds, action) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...given), milliseconds);
  };
}

export function pill(status, text) {
  return element("span", { class: `pill ${status}` }, text || status);
}

const FRACTIONS = [2, 3, 4, 5, 6, 7, 8, 9, 12, 16];

// A number with few digits; one that is a simple fraction is written so.
export function written(value) {
  if (Array.isArray(value)) {
    const [re, im] = value;
    const imaginary = `${written(Math.abs(im))}i`;
    if (Math.abs(re) < 1e-9) return `${im < 0 ? "−" : ""}${imaginary}`;
    return `${written(re)} ${im < 0 ? "−" : "+"} ${imaginary}`;
  }
  if (typeof value !== "number") return String(value ?? "").replace("-", "−");
  const sign = value < 0 ? "−" : "";
  const size = Math.abs(value);
  if (Number.isInteger(size) && size < 1e6) return `${sign}${size}`;
  for (const below of FRACTIONS) {
    const above = size * below;
    if (size < 10 && above >= 1 && Math.abs(above - Math.round(above)) < 2e-6) return `${sign}${Math.round(above)}/${below}`;
  }
  if (size !== 0 && (size < 1e-3 || size >= 1e5)) return `${sign}${size.toExponential(1).replace("e+", "e")}`;
  return `${sign}${size.toPrecision(3).replace(/\.?0+$/, "")}`;
}

export function realPart(value) {
  const real = Array.isArray(value) ? value[0] : value;
  if (typeof real === "number") return real;
  return real === "∞" ? 1e9 : real === "-∞" ? -1e9 : 0;
}

// From a value to a tint: how strong, and in which direction.
export function tint(node, value) {
  const size = Math.min(1, Math.hypot(...(Array.isArray(value) ? value : [realPart(value)])));
  node.style.setProperty("--strength", size.toFixed(3));
  node.classList.toggle("negative", realPart(value) < 0);
  node.classList.add("tinted");
}
