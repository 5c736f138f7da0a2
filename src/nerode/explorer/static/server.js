// Questions to the server; in a frozen page, to the answers that it came with.
import { byId } from "./elements.js";

const frozen = byId("frozen") ? JSON.parse(byId("frozen").textContent) : null;
const answers = new Map(Object.entries(frozen ? frozen.answers : {}));
const latest = new Map();

export const isFrozen = frozen !== null;
export const frozenState = frozen ? frozen.state : "";
// The length up to which a page of a course has the traces of all words; 0 where no words can be typed.
export const frozenWords = frozen ? frozen.words : 0;
export const frozenVersion = frozen ? frozen.version : "";

export class Problem extends Error {
  constructor(problem) {
    super(problem.message);
    this.problem = problem;
  }
}

const keyOf = (job, payload) => JSON.stringify([job, payload]);

async function answerOf(response) {
  const found = await response.json().catch(() => null);
  if (found === null) throw new Problem({ kind: "network", message: "the server did not answer; is it still running?" });
  if (found.error) throw new Problem(found.error);
  return found;
}

async function send(job, payload, signal) {
  try {
    return await fetch(`api/${job}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(payload),
      signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ kind: "network", message: "the server is gone; start `nerode explore` again" });
  }
}

const frozenMessage = (job) => (job === "trace" && frozenWords
  ? `this page has the words of up to ${frozenWords} letters of the alphabet; \`nerode explore\` has all`
  : "this file holds the answers of one page; `nerode explore` gives new ones");

// A new question of one kind cancels the one before it, which nobody waits for any more.
export async function ask(job, payload) {
  const key = keyOf(job, payload);
  latest.get(job)?.abort();
  const known = answers.get(key);
  if (known) return known;
  if (frozen) throw new Problem({ kind: "frozen", message: frozenMessage(job) });
  const controller = new AbortController();
  latest.set(job, controller);
  const found = await answerOf(await send(job, payload, controller.signal));
  answers.set(key, found);
  if (answers.size > 200) answers.delete(answers.keys().next().value);
  return found;
}

export async function begin() {
  if (frozen) return { languages: [], first: "" };
  const response = await fetch("api/begin");
  return answerOf(response);
}

export async function download(job, payload) {
  const response = await send(job, payload);
  if (!response.ok) await answerOf(response);
  return response.blob();
}

// What a frozen page needs: the answers to these questions, as far as they were given.
export function keptAnswers(questions) {
  const kept = {};
  for (const [job, payload] of questions) {
    const key = keyOf(job, payload);
    if (answers.has(key)) kept[key] = answers.get(key);
  }
  return kept;
}

export function isOutdated(error) {
  return error.name === "AbortError";
}
