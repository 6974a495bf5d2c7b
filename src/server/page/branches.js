// Lines that were left for others: a new branch does not take the old line away.

const most = 12;
/** The kept lines with their starts, the last one first. */
let lines = [];

const beginsWith = (line, moves) => moves.every((uci, place) => line[place] === uci);

/** Keeps a line that is left for another. */
export const keepLine = ({ fen, play }) => {
  const isSame = (line) => line.fen === fen;
  if (play.length === 0 || lines.some((line) => isSame(line) && beginsWith(line.play, play))) return;
  const others = lines.filter((line) => !(isSame(line) && beginsWith(play, line.play)));
  lines = [{ fen, play }, ...others].slice(0, most);
};

/** The last kept line that goes on from these moves, or else these moves. */
export const goneOn = ({ fen, play }) =>
  lines.find((line) => line.fen === fen && beginsWith(line.play, play))?.play ?? play;

/** The kept lines that are not on a line: all moves, and the number of moves that they have in common with it. */
export const branchesOf = ({ fen, play }) => lines
  .filter((line) => line.fen === fen && !beginsWith(play, line.play))
  .map((line) => {
    const place = line.play.findIndex((uci, at) => play[at] !== uci);
    return { play: line.play, shared: place };
  });
