// The state of the page, kept in its address: what is behind the # is never sent to a server.
import { later } from "./elements.js";
import { frozenState, isFrozen } from "./server.js";

const DEFAULTS = {
  text: "",
  mode: "auto",
  alphabet: "",
  file: "",
  task: "predict",
  sense: "finite-precision",
  tab: "verdicts",
  target: "",
  word: "",
  at: "0",
  arithmetic: "exact",
  noise: "0",
  seed: "0",
};
const LONGEST_FILE = 6000;

function parseAddress(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const found = { ...DEFAULTS };
  for (const name of Object.keys(DEFAULTS)) if (given.has(name)) found[name] = given.get(name);
  return found;
}

export const state = parseAddress(isFrozen ? frozenState : location.hash);

export function addressOf() {
  const kept = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    if (value !== DEFAULTS[name] && !(name === "file" && value.length > LONGEST_FILE)) kept.set(name, value);
  }
  return kept.toString();
}

const write = later(150, () => {
  if (!isFrozen) history.replaceState(null, "", `#${addressOf()}`);
});

export function remember(changes) {
  Object.assign(state, changes);
  write();
}

export function languageOrder() {
  const order = { text: state.text, mode: state.mode, alphabet: state.alphabet };
  return state.file ? { ...order, file: state.file } : order;
}

export function onAddress(action) {
  addEventListener("hashchange", () => {
    if (isFrozen || location.hash.replace(/^#/, "") === addressOf()) return;
    Object.assign(state, parseAddress(location.hash));
    action();
  });
}
