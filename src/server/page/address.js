// The state of the page and its address: #source=masters&fen=…&play=e2e4,c7c5&ply=1&game=1f0a@masters&since=2015&flip=1

const lists = ["play", "speeds", "ratings"];
const texts = ["source", "fen", "game", "since", "until"];

/** A state with nothing chosen. */
export const empty = () => ({
  source: "", fen: "", play: [], ply: 0, game: "", since: "", until: "", speeds: [], ratings: [], flip: false,
});

/** Reads an address. */
export const read = (hash) => {
  const state = empty();
  const values = {};
  for (const part of hash.replace(/^#/, "").split("&")) {
    const [name, value = ""] = part.split(/=(.*)/s);
    values[name] = decoded(value);
  }
  for (const name of texts) state[name] = values[name] ?? "";
  state.fen = state.fen.replaceAll("_", " ");
  for (const name of lists) state[name] = (values[name] ?? "").split(",").filter(Boolean);
  state.ply = state.play.length;
  if (/^\d+$/.test(values.ply ?? "")) state.ply = Math.min(Number(values.ply), state.ply);
  state.flip = values.flip === "1";
  return state;
};

/** Reads an address with a question mark, as the server and other explorers have it: ?fen=…&play=… */
export const readQuery = (search) => read(search.replace(/^\?/, "").replaceAll("+", "%20"));

const decoded = (value) => {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
};

// Slashes, commas and the like may stand in an address, and are read more easily so.
const encoded = (value) => encodeURIComponent(value).replaceAll("%2F", "/").replaceAll("%2C", ",").replaceAll("%40", "@");

/** Writes an address. */
export const write = (state) => {
  const parts = [
    ["source", state.source],
    ["fen", state.fen.replaceAll(" ", "_")],
    ["play", state.play.join(",")],
    ["ply", state.ply < state.play.length ? String(state.ply) : ""],
    ["game", state.game],
    ["since", state.since],
    ["until", state.until],
    ["speeds", state.speeds.join(",")],
    ["ratings", state.ratings.join(",")],
    ["flip", state.flip ? "1" : ""],
  ];
  return "#" + parts.filter(([, value]) => value).map(([name, value]) => `${name}=${encoded(value)}`).join("&");
};
