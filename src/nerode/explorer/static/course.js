// The first page of a static explorer: a card for each language.
const { cards } = JSON.parse(document.getElementById("data").textContent);

function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

document.getElementById("lead").append("Open a language: its automaton, who can express it and why, and a network to step through words. Or try the exercise: ",
  make("a", { href: "exercise.html" }, "guess the automaton"), ".");
document.getElementById("content").append(make("div", { class: "cards" }, ...cards.map((card) => make("section", { class: "card" },
  make("p", {}, make("a", { href: card.file }, make("code", {}, card.name))), make("p", { class: "muted" }, card.convention)))));
