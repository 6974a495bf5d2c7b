// Opcodes by plain names, and what kind of operand they have.

const names = {
  acd: "Depth of the analysis", acms: "Time of the analysis (ms)", acn: "Nodes of the analysis", acs: "Time of the analysis (s)",
  am: "Moves to avoid", bm: "Best moves", cc: "Clocks", ce: "Evaluation", dm: "Direct mate in",
  draw_accept: "Draw accepted", draw_claim: "Draw claimed", draw_offer: "Draw offered", draw_reject: "Draw rejected",
  eco: "ECO code", fmvn: "Fullmove number", hmvc: "Halfmove clock", id: "Name", nic: "NIC code", noop: "No operation",
  pm: "Predicted move", ptp: "Tags of the game", pv: "Principal variation", rc: "Repetitions", refcom: "Referee's command",
  refreq: "Request to the referee", resign: "Resigns", sm: "Move made", sv: "Line played", tcgs: "Number of the game",
  tcri: "Receiver", tcsi: "Sender", ts: "Time stamp", solve_first: "First chosen at", solve_held: "Held since",
  run_error: "Error of the engine", weight: "Weight", learn: "Learn value",
};

/** The plain name of an opcode, or null. */
export const opcodeName = (opcode) => {
  if (names[opcode]) return names[opcode];
  const [, kind, number] = /^(c|v|pv|ce)(\d+)$/.exec(opcode) ?? [];
  if (kind === "c") return `Comment ${number}`;
  if (kind === "v") return `Variation name ${number}`;
  if (kind === "pv") return `Variation ${number}`;
  return kind === "ce" ? `Evaluation of variation ${number}` : null;
};

/** Opcodes whose operands are moves of the position itself. */
export const isMoveSet = (opcode) => ["bm", "am", "pm", "sm"].includes(opcode);

/** Opcodes whose operands are moves one after the other. */
export const isLine = (opcode) => /^(pv\d*|sv)$/.test(opcode);

export const isEvaluation = (opcode) => /^ce\d*$/.test(opcode);

/** What the page shows elsewhere: counts in the table, games in their list, numbers in the FEN, from where an evaluation comes. */
export const isShownElsewhere = (opcode) => /^(tally|kept_games|hmvc|fmvn|ce_\w+)$/.test(opcode);
