/** The library or its host gives no answer: `message` says why. */
export class Failed extends Error {}

export interface Options {
  /** The module: its address or its bytes; by default the file of this package. */
  wasm?: string | URL | ArrayBuffer | Uint8Array | Response;
  /** The module that also counts games, received for the first games. */
  tally?: string | URL | ArrayBuffer | Uint8Array;
  /** The built-in model of archives, received when a library needs it. */
  model?: string | URL | ArrayBuffer | Uint8Array;
  /** The table of names of openings; null leaves positions without names. */
  openings?: string | URL | ArrayBuffer | Uint8Array | null;
  /** What receives files instead of the global `fetch`. */
  fetch?: typeof fetch;
}

export interface Filters {
  /** Moves from the position, in coordinates. */
  play?: string[] | string;
  /** A year or a month, such as `2023-05`. */
  since?: string;
  until?: string;
  /** Names of speeds, or ratings, separated by commas. */
  speeds?: string;
  ratings?: string;
}

export interface Results {
  white: number;
  draws: number;
  black: number;
}

export interface Player {
  name: string;
  rating?: number;
}

export interface Game {
  id: string;
  winner: "white" | "black" | null;
  white: Player;
  black: Player;
  year?: number;
  month?: string;
  uci?: string;
  [more: string]: unknown;
}

export interface Move extends Results {
  uci: string;
  san: string;
  averageRating?: number;
  game?: Game | null;
  [more: string]: unknown;
}

export interface Explored extends Results {
  moves: Move[];
  opening: { eco: string; name: string } | null;
  topGames?: Game[];
  recentGames?: Game[];
  [more: string]: unknown;
}

export interface Position extends Explored {
  fen: string;
  turn: "white" | "black";
  check: boolean;
  found: boolean;
  legal: { uci: string; san: string; from: string; to: string; promotion?: string }[];
  records: { number: number; epd: string; operations: Record<string, unknown> }[];
  [more: string]: unknown;
}

export interface Library {
  /** The moves of a position (by default the start), as the explorer of lichess.org sends them. */
  explore(fen?: string | null, options?: Filters & { moves?: number; topGames?: number; recentGames?: number }): Promise<Explored>;
  /** Everything that the library knows of a position, and the legal moves. */
  position(fen?: string | null, options?: Filters & { parents?: boolean }): Promise<Position>;
  /** The best rated and the latest games of a position. */
  games(fen?: string | null, options?: Filters): Promise<{ top: Game[]; recent: Game[] }>;
  /** A game that the library keeps, in PGN. */
  pgn(id: string): Promise<string>;
}

/** Opens a library: the address of an archive or of a manifest, or the bytes of an archive. */
export function open(library: string | URL | ArrayBuffer | Uint8Array, options?: Options): Promise<Library>;

export interface Reader {
  open(source: { name: string; url?: string | URL; bytes?: Uint8Array; whole?: boolean }): Promise<void>;
  answer(path: string, query?: ConstructorParameters<typeof URLSearchParams>[0]): Promise<{ status: number; body: any }>;
  tally(
    pgn: Uint8Array,
    options: { name: string; player?: string; color?: "white" | "black"; onProgress?: (part: number) => void },
  ): Promise<{ games: number; duplicates: number; leftOut: number; positions: number }>;
  bytes(name: string): Uint8Array;
  close(name: string): void;
}

/** Loads the reader, for several sources and for games of a PGN. */
export function load(wasm: NonNullable<Options["wasm"]>, options?: Options): Promise<Reader>;
