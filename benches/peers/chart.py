#!/usr/bin/env python3
"""Draws the chart of the README from the table that the bench `store` prints:

    cargo bench --manifest-path benches/peers/Cargo.toml --bench store | python3 benches/peers/chart.py MACHINE DATE
"""

import pathlib
import re
import sys

# Of the ways to use SQLite, the one that finds most: WITHOUT ROWID, with the file mapped.
NAMES = {"epdb store": "epdb", "LMDB": "LMDB", "the same, mapped": "SQLite", "redb, entry a record": "redb"}
PANELS = [
    ("bytes a record", "shorter is better", "bytes/record", "{:.1f}"),
    ("seconds to load all", "shorter is better", "load s", "{:.1f}"),
    ("positions found a second, thousands", "longer is better", "hits", "{:,.0f}"),
]
ROW, LEFT, WIDTH, BAR = 22, 70, 720, 520
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #24292f }
.title { font-weight: 600 } .note { fill: #6e7781 }
rect { fill: #9aa4ae } .ours { fill: #0f766e }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .note { fill: #8d96a0 } rect { fill: #59636e } .ours { fill: #2dd4bf }
}
"""


def table(lines: list[str]) -> tuple[str, dict[str, dict[str, float]]]:
    """The line that describes the run, and the figures by contestant and column."""
    head = next(number for number, line in enumerate(lines) if line.startswith("thousands a second"))
    columns = [column for column in re.split(r"\s{2,}", lines[head].strip())[1:]]
    figures = {}
    for line in lines[head + 1 :]:
        found = re.match(r"(\S.*?)\s+(?=[\d.]+ \()", line.strip())
        if not found or found[1] not in NAMES:
            continue
        values = [float(value) for value in re.findall(r"([\d.]+) \([\d.]+\)", line)]
        # A column name that comes again is that of questions at once.
        figures[NAMES[found[1]]] = dict(reversed(list(zip(columns, values))))
    return lines[head - 1], figures


def main() -> None:
    machine, date = sys.argv[1:]
    run, figures = table(sys.stdin.read().splitlines())
    drawn, y = [], 0
    for title, sense, column, form in PANELS:
        y += 24
        drawn.append(f'<text class="title" x="0" y="{y}">{title}</text>')
        drawn.append(f'<text class="note" x="{WIDTH}" y="{y}" text-anchor="end">{sense}</text>')
        largest = max(of[column] for of in figures.values())
        for name in NAMES.values():
            value = figures[name][column]
            y += ROW
            ours = ' class="ours"' if name == "epdb" else ""
            length = max(1, round(BAR * value / largest))
            drawn.append(f'<text x="{LEFT - 8}" y="{y}" text-anchor="end">{name}</text>')
            drawn.append(f'<rect{ours} x="{LEFT}" y="{y - 12}" width="{length}" height="15" rx="2"/>')
            drawn.append(f'<text x="{LEFT + length + 8}" y="{y}">{form.format(value)}</text>')
        y += 14
    count = int(run.split()[0])
    for note in (
        f"{count:,} records of positions of games, loaded as they come, sorted by each, and made durable;",
        f"then found one by one in random order on one thread. {machine}, {date}.",
    ):
        y += 18
        drawn.append(f'<text class="note" x="0" y="{y}">{note}</text>')
    svg = "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 8}" role="img">',
            f"<title>Sizes and speeds of stores of {count:,} positions</title>",
            f"<style>{STYLE}</style>",
            *drawn,
            "</svg>\n",
        ]
    )
    target = pathlib.Path(__file__).resolve().parents[2] / "src/guide/chart.svg"
    target.write_text(svg)


main()
