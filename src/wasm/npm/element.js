// The element <epdb-explorer src="library.epa" fen="...">: the moves of a position as a table.

import { open } from "./index.js";

const style = new CSSStyleSheet();
style.replaceSync(`
  :host { display: block; font: 14px/1.4 system-ui, sans-serif; }
  table { border-collapse: collapse; width: 100%; }
  th, td { padding: 0.2em 0.5em; text-align: right; font-variant-numeric: tabular-nums; }
  th:first-child, td:first-child { text-align: left; }
  tbody tr { cursor: pointer; }
  tbody tr:hover, tbody tr:focus-visible { background: color-mix(in srgb, currentColor 10%, transparent); }
`);

class Explorer extends HTMLElement {
  static observedAttributes = ["src", "fen"];
  #library;
  #src;
  #shown = 0;

  constructor() {
    super();
    this.attachShadow({ mode: "open" }).adoptedStyleSheets = [style];
  }

  connectedCallback() {
    this.#show();
  }

  attributeChangedCallback() {
    if (this.isConnected) this.#show();
  }

  /** Shows the position of `fen`, unless another one is asked for meanwhile. */
  async #show() {
    const number = ++this.#shown;
    const src = this.getAttribute("src");
    if (!src) return;
    if (src !== this.#src) [this.#src, this.#library] = [src, open(src)];
    try {
      const answer = await (await this.#library).explore(this.getAttribute("fen"), { moves: 30, topGames: 0, recentGames: 0 });
      if (number === this.#shown) this.#render(answer.moves);
    } catch (error) {
      if (number === this.#shown) this.#say(error.message);
    }
  }

  #render(moves) {
    if (moves.length === 0) return this.#say("No games reached this position.");
    const table = document.createElement("table");
    const head = table.createTHead().insertRow();
    for (const name of ["Move", "Games", "White", "Draws", "Black"]) {
      const cell = document.createElement("th");
      cell.scope = "col";
      cell.textContent = name;
      head.append(cell);
    }
    const body = table.createTBody();
    for (const move of moves) {
      const row = body.insertRow();
      const games = move.white + move.draws + move.black;
      const share = (part) => (games ? `${Math.round((100 * part) / games)} %` : "");
      for (const text of [move.san, games, share(move.white), share(move.draws), share(move.black)]) row.insertCell().textContent = text;
      const choose = () => this.dispatchEvent(new CustomEvent("move", { detail: move, bubbles: true, composed: true }));
      row.tabIndex = 0;
      row.addEventListener("click", choose);
      row.addEventListener("keydown", (event) => event.key === "Enter" && choose());
    }
    this.shadowRoot.replaceChildren(table);
  }

  #say(text) {
    const line = document.createElement("p");
    line.setAttribute("role", "status");
    line.textContent = text;
    this.shadowRoot.replaceChildren(line);
  }
}

customElements.define("epdb-explorer", Explorer);
