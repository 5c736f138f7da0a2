// The page begins here.
import { onAddress, remember, state } from "./address.js";
import { byId, element, show } from "./elements.js";
import { startEditor } from "./editor.js";
import { startExports } from "./exports.js";
import { language, loadLanguage, onLanguage, refreshQuestion, startLanguage } from "./language.js";
import { fillTargets, loadNetwork, onNetwork, startNetwork } from "./network.js";
import { begin, frozenVersion, frozenWords, isFrozen } from "./server.js";
import { beginWord, loadTrace, refreshStepper, startStepper } from "./stepper.js";

const TABS = ["verdicts", "network"];

function showTab() {
  for (const name of TABS) {
    const chosen = name === state.tab;
    byId(`tab-${name}`).setAttribute("aria-selected", String(chosen));
    byId(`tab-${name}`).tabIndex = chosen ? 0 : -1;
    show(byId(`panel-${name}`), chosen);
  }
}

function openTab(name) {
  remember({ tab: name });
  showTab();
}

function listenToTabs() {
  for (const name of TABS) {
    byId(`tab-${name}`).addEventListener("click", () => openTab(name));
    byId(`tab-${name}`).addEventListener("keydown", (event) => {
      if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
      const next = TABS[(TABS.indexOf(name) + 1) % TABS.length];
      openTab(next);
      byId(`tab-${next}`).focus();
    });
  }
}

async function startPage() {
  const first = await begin();
  if (!state.text && first.first) remember({ text: first.first });
  if (isFrozen) byId("foot").textContent = `${frozenWords ? "Written by" : "Saved from"} nerode ${frozenVersion}. This file is complete: it loads nothing from a network.`;
  if (frozenWords) byId("foot").append(" ", element("a", { href: "index.html" }, "All languages"), " · ", element("a", { href: "exercise.html" }, "Guess the automaton"));
  startLanguage(first.languages);
  startNetwork();
  startStepper();
  startExports();
  startEditor();
  listenToTabs();
  onLanguage((answer) => {
    beginWord(answer);
    fillTargets(answer);
    openTab(state.tab);
    loadNetwork(answer.alphabet);
    loadTrace();
  });
  onNetwork(loadTrace);
  byId("target").addEventListener("change", () => {
    remember({ target: byId("target").value });
    loadNetwork(language.answer.alphabet);
  });
  byId("verdicts").addEventListener("click", (event) => {
    const target = event.target.closest("[data-target]")?.dataset.target;
    if (!target) return;
    remember({ target });
    openTab("network");
    loadNetwork(language.answer.alphabet);
    byId("network-card").scrollIntoView({ block: "nearest" });
  });
  onAddress(() => {
    refreshQuestion();
    refreshStepper();
    showTab();
    loadLanguage();
  });
  showTab();
  if (state.text) await loadLanguage();
  else byId("text").focus();
  document.documentElement.dataset.ready = "true";
}

startPage();
