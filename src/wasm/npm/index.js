// An opening explorer without a server.

import { Failed, load } from "./reader.js";

export { Failed, load };

/**
 * Opens a library: the address of an archive (`.epa`) or of a manifest, or the bytes of an archive.
 */
export async function open(library, options = {}) {
  const reader = await load(options.wasm ?? new URL("explorer.wasm.gz", import.meta.url), options);
  const bytes = library instanceof ArrayBuffer ? new Uint8Array(library) : library;
  const isAddress = typeof library === "string" || library instanceof URL;
  await reader.open({ name: "library", ...(isAddress ? { url: library } : { bytes }) });
  return new Library(reader);
}

class Library {
  #reader;

  constructor(reader) {
    this.#reader = reader;
  }

  /** The moves of a position, as the explorer of lichess.org sends them. */
  explore(fen, options) {
    return this.#ask("lichess", fen, options);
  }

  /** Everything that the library knows of a position, and the legal moves. */
  position(fen, options) {
    return this.#ask("position", fen, options);
  }

  /** The best rated and the latest games of a position. */
  games(fen, options) {
    return this.#ask("games", fen, options);
  }

  /** A game that the library keeps, in PGN. */
  async pgn(id) {
    return (await this.#answer("game", { id })).pgn;
  }

  #ask(path, fen, { parents, play, ...options } = {}) {
    const query = { ...options, ...(fen && { fen }), ...(parents && { parents: "1" }), ...(play && { play: String(play) }) };
    return this.#answer(path, query);
  }

  async #answer(path, query) {
    const { status, body } = await this.#reader.answer(path, query);
    if (status !== 200) throw new Failed(body);
    return body;
  }
}
