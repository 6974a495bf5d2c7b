// The board: a grid of 64 squares that is dragged, clicked, and driven by keyboard.

import { $, h } from "./dom.js";
import { rove } from "./focus.js";
import { drawing, kindName, pieceName } from "./pieces.js";

const files = "abcdefgh";
const calm = matchMedia("(prefers-reduced-motion: reduce)");

/** Square by square, the letters of the pieces of a FEN. */
const placement = (fen) => {
  const pieces = new Map();
  fen.split(" ")[0].split("/").forEach((row, down) => {
    let file = 0;
    for (const letter of row) {
      if (/\d/.test(letter)) file += Number(letter);
      else pieces.set(files[file++] + (8 - down), letter);
    }
  });
  return pieces;
};

/**
 * Where each legal move may be dropped, by square: castling on the square of the rook and, where no other move of
 * the king goes there, two squares or more to the side.
 */
const targetsFrom = (legal, from) => {
  const targets = new Map();
  const moves = legal.filter((move) => move.from === from);
  for (const move of moves.filter((move) => !move.takesRook)) {
    targets.set(move.to, [...(targets.get(move.to) ?? []), move]);
  }
  for (const move of moves.filter((move) => move.takesRook)) {
    const far = Math.abs(move.to.charCodeAt(0) - from.charCodeAt(0)) >= 2;
    if (far && !targets.has(move.to)) targets.set(move.to, [move]);
    if (!targets.has(move.takesRook)) targets.set(move.takesRook, [move]);
  }
  return targets;
};

export class Board {
  #root;
  #cells = new Map();
  #pieces = new Map();
  #legal = [];
  #flipped = false;
  #cursor = "e2";
  #picked = null;
  #targets = new Map();
  #marks = { last: [], check: null };
  #drag = null;
  #isByPointer = false;
  #shown = null;
  #onMove;
  #say;

  /** `onMove` gets the UCI of a move; `say` what is to be told to those who listen. */
  constructor(root, { onMove, say }) {
    this.#root = root;
    this.#onMove = onMove;
    this.#say = say;
    for (const file of files) {
      for (let rank = 1; rank <= 8; rank++) this.#makeCell(file + rank);
    }
    this.#lay();
    root.addEventListener("click", (event) => this.#click(event));
    root.addEventListener("keydown", (event) => this.#key(event));
    root.addEventListener("pointerdown", (event) => this.#press(event));
    root.addEventListener("focusin", (event) => this.#moveCursor(event.target.dataset.square ?? this.#cursor, false));
  }

  /** Shows a position. `lastMove` are the squares of the move that led here. */
  show({ fen, legal, check, turn, lastMove, isFlipped, slide }) {
    this.#endDrag();
    const wasOn = this.#shown;
    this.#shown = fen;
    this.#pieces = placement(fen);
    this.#legal = legal;
    const king = turn === "white" ? "K" : "k";
    const [inCheck] = [...this.#pieces].find(([, letter]) => check && letter === king) ?? [null];
    this.#marks = { last: lastMove, check: inCheck };
    if (isFlipped !== this.#flipped) {
      this.#flipped = isFlipped;
      this.#lay();
    }
    if (wasOn !== fen) this.#pick(null);
    else this.#pick(this.#picked);
    for (const [square, cell] of this.#cells) {
      const letter = this.#pieces.get(square);
      if (cell.dataset.piece !== (letter ?? "") || cell.firstElementChild?.dataset.gone) this.#put(cell, letter);
    }
    if (slide && wasOn !== fen && !calm.matches) this.#slide(...slide);
  }

  /** The board as the server last gave it, after a move that it did not take. */
  restore() {
    for (const [square, cell] of this.#cells) this.#put(cell, this.#pieces.get(square));
    this.#pick(null);
  }

  /** Shows no piece. */
  clear() {
    this.show({ fen: "8/8/8/8/8/8/8/8", legal: [], check: false, turn: "white", lastMove: [], isFlipped: this.#flipped, slide: null });
  }

  /** Whether a square has the focus. */
  get hasFocus() {
    return this.#root.contains(document.activeElement);
  }

  #makeCell(square) {
    const isLight = (square.charCodeAt(0) + Number(square[1])) % 2 === 1;
    const cell = h("div", { role: "gridcell", tabindex: "-1", class: isLight ? "light" : "dark" });
    cell.dataset.square = square;
    cell.dataset.piece = "";
    this.#cells.set(square, cell);
  }

  #put(cell, letter) {
    cell.dataset.piece = letter ?? "";
    cell.replaceChildren(...(letter ? [drawing(letter)] : []));
  }

  /** Puts the squares into rows, from the upper left. */
  #lay() {
    const focused = this.hasFocus ? document.activeElement : null;
    const ranks = this.#flipped ? [1, 2, 3, 4, 5, 6, 7, 8] : [8, 7, 6, 5, 4, 3, 2, 1];
    const across = this.#flipped ? [...files].reverse() : [...files];
    const rows = ranks.map((rank) => h("div", { role: "row" }, across.map((file) => {
      const cell = this.#cells.get(file + rank);
      cell.dataset.rank = file === across[0] ? rank : "";
      cell.dataset.file = rank === ranks[7] ? file : "";
      return cell;
    })));
    this.#root.replaceChildren(...rows);
    focused?.focus();
    this.#moveCursor(this.#cursor, false);
  }

  /** Names and marks all squares as the position and what is picked up say. */
  #mark() {
    for (const [square, cell] of this.#cells) {
      const letter = this.#pieces.get(square);
      const canGo = this.#targets.has(square);
      const words = [square, letter ? pieceName(letter) : "empty"];
      if (square === this.#picked) words.push("picked up");
      if (canGo) words.push("can be moved to");
      if (square === this.#marks.check) words.push("in check");
      cell.setAttribute("aria-label", words.join(", "));
      cell.setAttribute("aria-selected", String(square === this.#picked));
      cell.classList.toggle("movable", this.#canMove(square));
      cell.classList.toggle("picked", square === this.#picked);
      cell.classList.toggle("target", canGo);
      cell.classList.toggle("last", this.#marks.last.includes(square));
      cell.classList.toggle("check", square === this.#marks.check);
    }
  }

  #canMove(square) {
    return this.#legal.some((move) => move.from === square);
  }

  #pick(square) {
    this.#picked = square;
    this.#targets = square ? targetsFrom(this.#legal, square) : new Map();
    this.#mark();
  }

  #moveCursor(square, withFocus = true) {
    this.#cells.get(this.#cursor).tabIndex = -1;
    this.#cursor = square;
    const cell = this.#cells.get(square);
    cell.tabIndex = 0;
    if (withFocus) cell.focus();
  }

  /** Picks up, drops, or changes what is picked up. */
  #use(square) {
    if (this.#picked && this.#targets.has(square)) this.#drop(square, false);
    else if (square === this.#picked) this.#putBack();
    else if (this.#canMove(square)) {
      this.#pick(square);
      const moves = this.#targets.size;
      this.#say(`${pieceName(this.#pieces.get(square))} on ${square} picked up, ${moves} ${moves === 1 ? "square" : "squares"} to go to`);
    } else {
      this.#say(this.#picked ? `${this.#picked} to ${square} is not legal` : `no move from ${square}`);
      this.#pick(null);
    }
  }

  #putBack() {
    if (this.#picked) this.#say("put back");
    this.#pick(null);
  }

  async #drop(square, wasDragged) {
    const from = this.#picked;
    const moves = this.#targets.get(square);
    const move = moves.length === 1 ? moves[0] : await this.#askPromotion(moves, square);
    this.#pick(null);
    this.#leave();
    if (!move) {
      this.restore();
      return;
    }
    // The answer of the server sets all pieces; until then it stands where it was dropped.
    if (wasDragged && !move.takesRook) {
      const piece = this.#cells.get(from).firstElementChild;
      if (piece) {
        this.#cells.get(square).replaceChildren(piece);
        piece.dataset.gone = "1";
        this.#cells.get(from).dataset.piece = "";
      }
    }
    this.#onMove(move.uci, wasDragged);
  }

  /** The promotion that the reader chooses; null for none. */
  #askPromotion(moves, square) {
    const dialog = $("promotion");
    const colour = this.#pieces.get(this.#picked);
    const isWhite = colour === colour.toUpperCase();
    return new Promise((resolve) => {
      let chosen = null;
      const order = ({ promotion }) => "qrbn".indexOf(promotion.toLowerCase());
      const sorted = [...moves].sort((a, b) => order(a) - order(b));
      const choices = sorted.map((move) => {
        const letter = isWhite ? move.promotion.toUpperCase() : move.promotion.toLowerCase();
        const choose = () => {
          chosen = move;
          dialog.close();
        };
        return h("button", { type: "button", "aria-label": kindName(letter), onclick: choose }, drawing(letter));
      });
      const steps = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };
      dialog.replaceChildren(h("div", { onkeydown: rove(steps) }, choices));
      dialog.addEventListener("close", () => resolve(chosen), { once: true });
      dialog.addEventListener("click", (event) => event.target === dialog && dialog.close(), { once: true });
      dialog.showModal();
      const place = this.#cells.get(square).getBoundingClientRect();
      const left = Math.min(place.left, document.documentElement.clientWidth - dialog.offsetWidth - 8);
      const isLow = place.top + dialog.offsetHeight > document.documentElement.clientHeight;
      dialog.style.left = `${Math.max(8, left)}px`;
      dialog.style.top = `${Math.max(8, isLow ? place.bottom - dialog.offsetHeight : place.top)}px`;
    });
  }

  #click(event) {
    const square = event.target.closest("[data-square]")?.dataset.square;
    const wasPress = this.#drag;
    this.#drag = null;
    if (square && !wasPress?.moved && !wasPress?.hasPicked) this.#use(square);
    this.#leave();
  }

  /** Gives the focus away that a pointer brought, so that the arrow keys go through the line again. */
  #leave() {
    if (this.#isByPointer && !this.#picked && this.hasFocus) document.activeElement.blur();
  }

  #key(event) {
    this.#isByPointer = false;
    const steps = { ArrowUp: [0, 1], ArrowDown: [0, -1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
    const file = files.indexOf(this.#cursor[0]);
    const rank = Number(this.#cursor[1]);
    const side = this.#flipped ? -1 : 1;
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    if (steps[event.key]) {
      const [right, up] = steps[event.key].map((step) => step * side);
      const [newFile, newRank] = [file + right, rank + up];
      if (files[newFile] && newRank >= 1 && newRank <= 8) this.#moveCursor(files[newFile] + newRank);
    } else if (event.key === "Home" || event.key === "End") {
      const isLeft = (event.key === "Home") !== this.#flipped;
      this.#moveCursor((isLeft ? "a" : "h") + rank);
    } else if (event.key === "Enter" || event.key === " ") {
      this.#use(this.#cursor);
    } else if (event.key === "Escape") {
      this.#putBack();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  #press(event) {
    const square = event.target.closest("[data-square]")?.dataset.square;
    this.#drag = null;
    this.#isByPointer = true;
    if (!square || event.button !== 0 || !event.isPrimary || !this.#canMove(square)) return;
    const piece = this.#cells.get(square).firstElementChild;
    const hasPicked = square !== this.#picked && !this.#targets.has(square);
    if (hasPicked) this.#pick(square);
    const { clientX, clientY, pointerId } = event;
    const drag = { square, piece, clientX, clientY, pointerId, hasPicked, moved: false };
    const ends = new AbortController();
    drag.end = () => ends.abort();
    const { signal } = ends;
    addEventListener("pointermove", (move) => this.#dragTo(drag, move), { signal });
    addEventListener("pointerup", (up) => this.#release(drag, up), { signal });
    addEventListener("pointercancel", () => this.#endDrag(), { signal });
    this.#drag = drag;
  }

  #dragTo(drag, event) {
    if (event.pointerId !== drag.pointerId) return;
    const [x, y] = [event.clientX - drag.clientX, event.clientY - drag.clientY];
    if (!drag.moved && Math.hypot(x, y) < 4) return;
    if (!drag.moved) {
      drag.moved = true;
      if (this.#picked !== drag.square) this.#pick(drag.square);
      drag.piece.classList.add("dragged");
    }
    const cell = this.#cells.get(drag.square).getBoundingClientRect();
    const [middleX, middleY] = [cell.left + cell.width / 2, cell.top + cell.height / 2];
    drag.piece.style.transform = `translate(${event.clientX - middleX}px, ${event.clientY - middleY}px) scale(1.1)`;
    this.#hover(this.#squareAt(event));
  }

  #release(drag, event) {
    if (event.pointerId !== drag.pointerId) return;
    drag.end();
    this.#hover(null);
    if (!drag.moved) return;
    const square = this.#squareAt(event);
    drag.piece.classList.remove("dragged");
    drag.piece.style.transform = "";
    if (square && this.#targets.has(square)) this.#drop(square, true);
    else if (square !== drag.square) this.#pick(null);
    this.#leave();
  }

  #endDrag() {
    if (!this.#drag) return;
    this.#drag.end();
    this.#drag.piece?.classList.remove("dragged");
    if (this.#drag.piece) this.#drag.piece.style.transform = "";
    this.#hover(null);
    this.#drag = null;
  }

  #hover(square) {
    for (const [name, cell] of this.#cells) cell.classList.toggle("over", name === square && this.#targets.has(name));
  }

  #squareAt({ clientX, clientY }) {
    const box = this.#root.getBoundingClientRect();
    const file = Math.floor(((clientX - box.left) / box.width) * 8);
    const down = Math.floor(((clientY - box.top) / box.height) * 8);
    if (file < 0 || file > 7 || down < 0 || down > 7) return null;
    return this.#flipped ? files[7 - file] + (down + 1) : files[file] + (8 - down);
  }

  /** Lets the piece on `to` come from `from`. */
  #slide(from, to) {
    const piece = this.#cells.get(to)?.firstElementChild;
    if (!piece || from === to) return;
    const [start, end] = [from, to].map((square) => this.#cells.get(square).getBoundingClientRect());
    const away = `translate(${start.left - end.left}px, ${start.top - end.top}px)`;
    piece.classList.add("sliding");
    const slide = piece.animate([{ transform: away }, { transform: "none" }], { duration: 130, easing: "ease-out" });
    const rest = () => piece.classList.remove("sliding");
    slide.finished.then(rest, rest);
  }
}
