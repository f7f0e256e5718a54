// @ts-check
/** No runs yet: what is watched, and the ways to a first run. */

import { h } from "../core/dom.js";
import { copyText } from "../core/clipboard.js";

const PROGRAM = `from agentdbg import llm, tool, trace

@tool
def search(query): ...

@llm(model="gpt-4o")
def ask(messages): ...

@trace
def my_agent(question): ...
`;
const WORDS = /(\b(?:from|import|def)\b|@\w+)/;

export class EmptyState extends HTMLElement {
  /** Where the server looks for runs. */
  dataDir = "~/.agentdbg";

  update() {
    const sections = [
      h("h2", null, "No runs yet"),
      h(
        "p",
        { class: "watching" },
        h("span", { class: "dot" }),
        h(
          "span",
          null,
          "Watching ",
          h("code", null, `${this.dataDir}/runs`),
          ". The first run shows up here by itself, while it runs.",
        ),
      ),
      ...section("See what it looks like, without a key or a network", "agentdbg demo"),
      ...section("Record a program without changing it", "agentdbg run agent.py"),
      ...section("Trace an agent of your own", PROGRAM.trimEnd(), WORDS),
      ...section("Import a run that another tool recorded", "agentdbg import transcript.json"),
    ];
    this.replaceChildren(h("div", { class: "sheet" }, ...sections));
  }
}

/** @param {string} heading @param {string} text @param {RegExp} [words] of its language; a command has none */
function section(heading, text, words = /(?!)/) {
  const button = h("button", { class: "link copy", type: "button", "aria-label": `Copy: ${heading}` }, "Copy");
  button.addEventListener("click", async () => {
    button.textContent = (await copyText(`${text}\n`)) ? "Copied" : "Select and copy by hand";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  const code = h("code");
  for (const piece of text.split(words)) {
    if (piece.startsWith("@")) code.append(h("span", { class: "decorator" }, piece));
    else if (words.test(piece)) code.append(h("span", { class: "keyword" }, piece));
    else code.append(piece);
  }
  return [h("h3", null, heading), h("div", { class: "sample" }, h("pre", { tabindex: "0" }, code), button)];
}

customElements.define("empty-state", EmptyState);
