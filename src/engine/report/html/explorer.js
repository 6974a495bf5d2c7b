(() => {
  const runs = data.runs.map((run) => run.run);
  const problems = data.problems;

  const s = (name, attributes = {}, ...children) =>
    fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
  const colour = (run) => `--colour: var(--run${run % 8})`;
  const dot = (run) => h("i", { class: "run", style: colour(run) });
  const number = (value) => value.toLocaleString("en-US");
  const name = (problem, place) => problem.id ?? `Number ${place + 1}`;

  const field = (value) => String(value ?? "").replace(/[\\\t\n\r]/g, (it) => ({ "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" })[it]);
  const tsv = () => {
    const lines = [["run", "id", "theme", "fen", "targets", "answer", "verdict", "points", "ce", "depth", "nodes", "ms", "held_nodes", "held_ms"]];
    for (const problem of problems) {
      problem.results.forEach((result, run) => {
        if (!result) return;
        lines.push([runs[run], problem.id, problem.theme, problem.fen, asked(problem), result.answer?.san,
          result.verdict, result.points?.got, result.ce, result.depth, result.nodes, result.ms,
          result.held?.nodes, result.held?.ms]);
      });
    }
    return lines.map((line) => line.map(field).join("\t") + "\n").join("");
  };
  const epd = () => chosen().map(({ problem }) => {
    const parts = [part("am", problem.am), part("bm", problem.bm), problem.dm ? `dm ${problem.dm};` : "",
      problem.id === null ? "" : `id "${problem.id}";`];
    return `${[problem.fen, ...parts].filter(Boolean).join(" ")}\n`;
  }).join("");
  const part = (opcode, list) => (list ? `${opcode} ${moves(list)};` : "");
  offer("tsv", "text/tab-separated-values", tsv);
  offer("epd", "text/plain", epd);

  // What is said of a problem.
  const moves = (list) => (list ?? []).map((it) => it.san).join(" ");
  const asked = (problem) => [
    problem.bm ? `bm ${moves(problem.bm)}` : "",
    problem.am ? `am ${moves(problem.am)}` : "",
    problem.dm ? `dm ${problem.dm}` : "",
  ].filter(Boolean).join("; ");
  const score = (ce) => {
    if (ce === undefined) return "";
    if (ce > 32000) return `mates in ${Math.ceil((32767 - ce) / 2)}`;
    if (ce < -32000) return `mated in ${Math.ceil((ce + 32767) / 2)}`;
    return (ce < 0 ? "\u2212" : "+") + (Math.abs(ce) / 100).toFixed(2);
  };
  const solved = (result) => result?.verdict === "solved";
  const missed = (result) => result?.verdict === "missed";
  const solvers = (problem) => problem.results.filter(solved).length;
  // How hard: fewer solvers first, then the longest search of those that solved it.
  const effort = (problem) =>
    Math.max(0, ...problem.results.map((it) => it?.held?.nodes ?? (solved(it) ? it.nodes ?? 0 : 0)));
  const order = {
    file: () => 0,
    hard: (one, other) => solvers(one) - solvers(other) || effort(other) - effort(one),
    easy: (one, other) => solvers(other) - solvers(one) || effort(one) - effort(other),
    id: (one, other) => compare(one.id ?? null, other.id ?? null),
  };

  // The board, seen by the side to move.
  const board = (problem) => {
    const [placement, turn] = problem.fen.split(" ");
    const isBlack = turn === "b";
    const at = (file, rank) => (isBlack ? [7 - file, rank] : [file, 7 - rank]).map((it) => it * 40);
    const svg = s("svg", { class: "board", viewBox: "0 0 320 320", role: "img" });
    svg.setAttribute("aria-label", `Position ${problem.fen}, seen by ${isBlack ? "Black" : "White"}, to move`);
    for (let square = 0; square < 64; square += 1) {
      const [file, rank] = [square % 8, square >> 3];
      const [x, y] = at(file, rank);
      svg.append(s("rect", { x, y, width: 40, height: 40, class: (file + rank) % 2 ? "light" : "dark" }));
      if (x === 0) svg.append(s("text", { x: 2, y: y + 9 }, String(rank + 1)));
      if (y === 280) svg.append(s("text", { x: x + 33, y: 317 }, "abcdefgh"[file]));
    }
    placement.split("/").forEach((row, place) => {
      let file = 0;
      for (const letter of row) {
        if (letter >= "1" && letter <= "8") { file += Number(letter); continue; }
        const [x, y] = at(file, 7 - place);
        const role = letter.toLowerCase();
        svg.append(s("use", { href: `#${role}`, x, y, width: 40, height: 40, class: letter === role ? "black" : "white" }));
        file += 1;
      }
    });
    const arrow = (uci, paint, width) => {
      const middle = (text) => at(text.charCodeAt(0) - 97, text.charCodeAt(1) - 49).map((it) => it + 20);
      const [[x, y], [ax, ay]] = [middle(uci), middle(uci.slice(2))];
      const length = Math.hypot(ax - x, ay - y) || 1;
      const [dx, dy] = [(ax - x) / length, (ay - y) / length];
      const head = 2.4 * width;
      const [bx, by] = [ax - dx * head, ay - dy * head];
      const style = `color: ${paint}; opacity: .8`;
      svg.append(s("g", { style },
        s("line", { x1: x + dx * 9, y1: y + dy * 9, x2: bx, y2: by, stroke: "currentColor", "stroke-width": width, "stroke-linecap": "round" }),
        s("polygon", { fill: "currentColor", points: [[ax, ay], [bx - dy * head * .7, by + dx * head * .7], [bx + dy * head * .7, by - dx * head * .7]].map((it) => it.map((n) => n.toFixed(1)).join(",")).join(" ") })));
    };
    const drawn = new Set();
    for (const [list, paint] of [[problem.bm, "#1f9d55"], [problem.am, "#c62b2b"]]) {
      for (const move of list ?? []) {
        if (move.uci) { arrow(move.uci, paint, 7); drawn.add(move.uci); }
      }
    }
    problem.results.forEach((result, run) => {
      const uci = result?.answer?.uci;
      if (uci && !drawn.has(uci)) { arrow(uci, `var(--run${run % 8})`, 4.5); drawn.add(uci); }
    });
    return svg;
  };

  const answer = (result, run) => {
    if (!result) return h("li", {}, dot(run), h("span", {}, runs[run]), h("span", {}, "not there"));
    const mark = { solved: "\u2713", missed: "\u2717" }[result.verdict] ?? "\u2013";
    const told = [
      score(result.ce),
      result.depth === undefined ? "" : `depth ${result.depth}`,
      result.held ? `held since ${number(result.held.nodes)} nodes, ${number(result.held.ms)} ms` :
        result.nodes === undefined ? "" : `${number(result.nodes)} nodes`,
      result.points ? `${result.points.got} of ${result.points.of} points` : "",
      result.error ?? "",
      result.defect ?? "",
    ].filter(Boolean).join(" \u00b7 ");
    return h("li", {}, dot(run), h("span", {}, runs[run]),
      h("span", { class: solved(result) ? "yes" : missed(result) ? "no" : "" }, `${result.answer?.san ?? "no answer"} ${mark}`),
      h("small", {}, told));
  };
  const card = (problem, place, isAlone) => {
    const lines = problem.results.flatMap((result, run) =>
      result?.pv ? [h("p", {}, dot(run), h("span", {}, result.pv))] : []);
    const isBlack = problem.fen.split(" ")[1] === "b";
    return h("article", { class: isAlone ? "problem alone" : "problem", id: isAlone ? null : `problem-${place}` },
      h("h4", {}, h("span", {}, name(problem, place)), h("small", {}, `${isBlack ? "Black" : "White"} to move`)),
      board(problem),
      h("p", { class: "asked" }, h("b", {}, asked(problem) || "nothing asked for"), ...(problem.cook ? [" ", h("span", { class: "cook" }, "cook?")] : [])),
      h("ul", { class: "answers" }, ...problem.results.map(answer)),
      h("details", {}, h("summary", {}, "Lines and FEN"), ...lines, h("p", {}, h("code", {}, problem.fen))));
  };

  // Filters.
  const every = problems.map((problem, place) => ({ problem, place }));
  const others = (problem, run) => problem.results.filter((result, other) => result && other !== run);
  const filters = [
    ["Missed by any run", (it) => it.results.some(missed)],
    ["All", () => true],
    ["Solved by none", (it) => it.results.some(missed) && !solvers(it)],
  ];
  if (runs.length > 1) {
    filters.push(["Cooks: all agree on another move", (it) => it.cook]);
    runs.forEach((run, place) => {
      filters.push([`Won by ${run}: no other solves it`, (it) =>
        solved(it.results[place]) && others(it, place).length > 0 && others(it, place).every(missed)]);
      filters.push([`Lost by ${run}: all others solve it`, (it) =>
        missed(it.results[place]) && others(it, place).length > 0 && others(it, place).every(solved)]);
    });
  }
  filters.push(["Failed, defective or not scored", (it) =>
    it.results.some((result) => result && (result.error || !(solved(result) || missed(result))))]);
  filters.forEach(([text, holds], place) => {
    const count = problems.filter(holds).length;
    $("show").append(h("option", { value: place }, `${text} (${number(count)})`));
  });
  if (!problems.some(filters[0][1])) $("show").value = "1";
  const themes = [...new Set(problems.map((it) => it.theme))];
  $("theme-label").hidden = themes.length < 2;
  $("theme-filter").append(h("option", { value: "" }, "all"));
  themes.forEach((theme, place) => $("theme-filter").append(h("option", { value: place }, theme || "(none)")));
  [["file", "as in the file"], ["hard", "hardest first"], ["easy", "easiest first"], ["id", "by id"]].forEach(([value, text]) =>
    $("order").append(h("option", { value }, text)));

  const text = (problem, place) =>
    `${name(problem, place)} ${problem.fen} ${asked(problem)} ${problem.results.map((it) => it?.answer?.san ?? "").join(" ")}`.toLowerCase();
  // The place of what was picked in the heat map; it stands first, however many have its name.
  let picked = null;
  const chosen = () => {
    const holds = filters[Number($("show").value)][1];
    const theme = $("theme-filter").value;
    const wanted = $("find").value.trim().toLowerCase();
    return every
      .filter(({ problem, place }) => place === picked || (holds(problem)
        && (theme === "" || problem.theme === themes[theme]) && (!wanted || text(problem, place).includes(wanted))))
      .sort((one, other) => (other.place === picked) - (one.place === picked)
        || order[$("order").value](one.problem, other.problem) || one.place - other.place);
  };

  // Boards and the table, a part at a time.
  const PART = 24;
  let shown = PART;
  const row = ({ problem, place }) => {
    const button = h("button", { type: "button", "aria-expanded": "false" }, name(problem, place));
    const line = h("tr", {}, h("th", { scope: "row", class: "left" }, button),
      ...(themes.length > 1 ? [h("td", { class: "left" }, problem.theme)] : []),
      h("td", { class: "left" }, asked(problem)),
      ...problem.results.flatMap((result) => [
        h("td", { class: `left ${solved(result) ? "yes" : missed(result) ? "no" : ""}` }, result?.answer?.san ?? ""),
        h("td", { "data-value": result?.ce ?? "" }, score(result?.ce)),
        h("td", { "data-value": result?.held?.nodes ?? "" }, result?.held ? number(result.held.nodes) : ""),
      ]));
    button.addEventListener("click", () => {
      const isOpen = button.getAttribute("aria-expanded") === "true";
      button.setAttribute("aria-expanded", String(!isOpen));
      if (isOpen) button.parentElement.querySelector("article").remove();
      else button.after(card(problem, place, true));
    });
    return line;
  };
  const table = (rows) => {
    const heads = ["Id", ...(themes.length > 1 ? ["Theme"] : []), "Asked for"];
    const head = h("tr", {}, ...heads.map((it) => h("th", { scope: "col", class: "left" }, it)),
      ...runs.flatMap((run, place) => [
        h("th", { scope: "col", class: "left" }, dot(place), run),
        h("th", { scope: "col" }, "Score"),
        h("th", { scope: "col" }, "Held, nodes"),
      ]));
    const made = h("table", {}, h("thead", {}, head), h("tbody", {}, ...rows.map(row)));
    sortable(made);
    return made;
  };
  const show = () => {
    const rows = chosen();
    const isTable = document.querySelector("input[name=view]:checked").value === "table";
    // A table has all its rows, so that it is sorted as a whole.
    const part = isTable ? rows : rows.slice(0, shown);
    $("boards").hidden = isTable;
    $("list").hidden = !isTable;
    $("boards").replaceChildren(...(isTable ? [] : part.map(({ problem, place }) => card(problem, place, false))));
    $("list").replaceChildren(...(isTable ? [table(part)] : []));
    $("count").textContent = `${number(rows.length)} of ${number(problems.length)} positions`
      + (part.length < rows.length ? `, ${number(part.length)} shown` : "");
    $("more").hidden = part.length === rows.length;
  };
  const restart = () => { shown = PART; show(); };
  $("filters").addEventListener("input", () => { picked = null; restart(); });
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  $("more-some").addEventListener("click", () => { shown += PART; show(); });
  $("more-all").addEventListener("click", () => { shown = Infinity; show(); });
  addEventListener("beforeprint", () => { shown = Math.max(shown, 300); show(); });

  // The heat map: a cell a position, a stripe a run.
  const STEPS = [0, 1, 2, 3, 4];
  const efforts = problems.flatMap((problem) => problem.results.map((it) => it?.held?.nodes ?? 0)).filter(Boolean);
  const most = Math.log(efforts.reduce((one, other) => Math.max(one, other), 2));
  const least = Math.log(efforts.reduce((one, other) => Math.min(one, other), Math.exp(most)));
  const end = (step) => Math.round(Math.exp(least + (most - least) * (step + 1) / STEPS.length));
  const heat = (result) => {
    if (!result || result.verdict === "unscored" || result.verdict === "defective") return "var(--none)";
    if (missed(result)) return result.answer ? "var(--missed)" : "var(--silent)";
    if (!result.held) return "var(--heat2)";
    const share = (Math.log(Math.max(1, result.held.nodes)) - least) / Math.max(most - least, 1e-9);
    return `var(--heat${Math.min(4, Math.max(0, Math.ceil(share * STEPS.length) - 1))})`;
  };
  const stripes = (problem) => problem.results
    .map((result, run) => `${heat(result)} ${(100 * run / runs.length).toFixed(2)}% ${(100 * (run + 1) / runs.length).toFixed(2)}%`)
    .join(", ");
  const ordered = [...every].sort((one, other) => order.hard(one.problem, other.problem) || one.place - other.place);
  const cells = ordered.map(({ problem, place }) => {
    const told = problem.results.map((it, run) => `${runs[run]} ${it ? `${it.answer?.san ?? "no answer"}, ${it.verdict}` : "not there"}`).join("; ");
    const words = `${name(problem, place)} (${asked(problem)}): ${told}`;
    const cell = h("button", { type: "button", role: "option", tabindex: "-1", title: words, "aria-label": words, "aria-selected": "false",
      style: `background: linear-gradient(${stripes(problem)})` });
    cell.addEventListener("click", () => {
      cells.forEach((other) => other.setAttribute("aria-selected", String(other === cell)));
      picked = place;
      $("show").value = "1";
      $("theme-filter").value = "";
      $("find").value = name(problem, place);
      document.querySelector("input[name=view][value=boards]").checked = true;
      restart();
      const card = $(`problem-${place}`);
      if (card) {
        card.scrollIntoView({ block: "center" });
        card.querySelector("summary").focus({ preventScroll: true });
      }
    });
    return cell;
  });
  $("heat").style.setProperty("--runs", runs.length);
  $("heat").append(...cells);
  $("heat-hint").textContent = `Every cell is a position, the hardest first${runs.length > 1 ? `; its stripes from above are ${runs.join(", ")}` : ""}. The arrow keys move, Enter shows the board.`;
  if (cells.length) cells[0].tabIndex = 0;
  $("heat").addEventListener("keydown", (event) => {
    const at = cells.indexOf(document.activeElement);
    const across = getComputedStyle($("heat")).gridTemplateColumns.split(" ").length;
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across }[event.key];
    const to = event.key === "Home" ? 0 : event.key === "End" ? cells.length - 1 : step && at + step;
    if (at < 0 || to === undefined || !cells[to]) return;
    event.preventDefault();
    cells[at].tabIndex = -1;
    cells[to].tabIndex = 0;
    cells[to].focus();
  });
  const swatch = (paint, words) => h("span", {}, h("i", { style: `background: ${paint}` }), words);
  $("legend").append(
    ...(efforts.length ? STEPS.map((step) => swatch(`var(--heat${step})`, `solved within ${number(end(step))} nodes`)) : [swatch("var(--heat2)", "solved")]),
    swatch("var(--missed)", "missed"), swatch("var(--silent)", "no answer"), swatch("var(--none)", "not scored"));
  $("explorer").hidden = false;
  show();
  root.dataset.ready = "true";
})();
