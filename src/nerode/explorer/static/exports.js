// What can be taken away: drawings, the network, the whole page as one file.
import { addressOf, languageOrder, state } from "./address.js";
import { byId, element } from "./elements.js";
import { language, languageQuestion } from "./language.js";
import { network, networkQuestion, proofQuestion } from "./network.js";
import { download, isFrozen, keptAnswers } from "./server.js";
import { traceQuestion } from "./stepper.js";

const STYLED = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "paint-order", "opacity", "fill-opacity", "font-family", "font-size", "font-weight", "text-anchor"];

function save(blob, name) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const fileName = (ending) => `${(language.answer?.name || "nerode").replace(/[^A-Za-z0-9]+/g, "-").replace(/^-+|-+$/g, "") || "language"}${ending}`;

// A drawing by itself: the colours of the page become its own.
function standalone(drawing) {
  const copy = drawing.cloneNode(true);
  const originals = [drawing, ...drawing.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((node, i) => {
    const computed = getComputedStyle(originals[i]);
    for (const name of STYLED) {
      const value = computed.getPropertyValue(name);
      if (value && node.tagName !== "title" && node.tagName !== "desc") node.setAttribute(name, value);
    }
    node.removeAttribute("style");
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const [x, y, width, height] = copy.getAttribute("viewBox").split(" ");
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, value] of Object.entries({ x, y, width, height, fill: getComputedStyle(byId("automaton-card")).backgroundColor })) ground.setAttribute(name, value);
  copy.prepend(ground);
  return new Blob([`<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(copy)}\n`], { type: "image/svg+xml" });
}

function tell(button, text) {
  const before = button.textContent;
  button.textContent = text;
  setTimeout(() => {
    button.textContent = before;
  }, 2200);
}

const ACTIONS = {
  "copy-address": async (button) => {
    const address = isFrozen ? location.href : `${location.origin}${location.pathname}#${addressOf()}`;
    await navigator.clipboard.writeText(address);
    tell(button, "Copied");
  },
  "save-page": async () => {
    const questions = [languageQuestion(), networkQuestion(), proofQuestion(), traceQuestion()];
    save(await download("page", { answers: keptAnswers(questions), state: addressOf() }), fileName(".html"));
  },
  "save-automaton": async (button) => {
    const drawing = byId("automaton").querySelector("svg");
    if (drawing) save(standalone(drawing), fileName(".svg"));
    else tell(button, "There is no drawing");
  },
  "save-network-drawing": async (button) => {
    const drawing = byId("drawing").querySelector("svg");
    if (drawing && network.answer) save(standalone(drawing), fileName(`-${state.target}.svg`));
    else tell(button, "Open a network first");
  },
  "save-network": async (button) => {
    if (!network.answer) tell(button, "Open a network first");
    else save(await download("folder", { language: languageOrder(), target: state.target }), fileName(`-${state.target}.zip`));
  },
};

export function startExports() {
  for (const [id, action] of Object.entries(ACTIONS)) {
    const button = byId(id);
    button.disabled = isFrozen && ["save-page", "save-network", "copy-address"].includes(id);
    button.addEventListener("click", () => action(button).catch((error) => tell(button, error.message)));
  }
  addEventListener("click", (event) => {
    if (!event.target.closest("#share")) byId("share").open = false;
  });
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") byId("share").open = false;
  });
}
