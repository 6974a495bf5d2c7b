//! Elements that the sections share. Text from files is escaped here.

/// Escapes text for an element or a quoted attribute.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            letter => out.push(letter),
        }
    }
    out
}

/// The style attribute with the colour of a run; there are eight colours.
pub(super) fn colour(run: usize) -> String {
    format!("--colour: var(--run{})", run % 8)
}

/// The name of a run, preceded by its colour.
pub(super) fn named(run: usize, label: &str) -> String {
    format!("<i class=\"run\" style=\"{}\"></i>{}", colour(run), escaped(label))
}

#[derive(Clone)]
pub(super) enum Cell {
    Run(usize, String),
    /// The heading of the row.
    Name(String),
    /// Left-aligned text.
    Text(String),
    Number(String),
    /// A share of 1 as a bar in the colour of a run, with its label.
    Share(usize, f64, String),
    /// Counts as parts of a bar, each with its colour.
    Split(Vec<(u64, String)>),
}

impl Cell {
    fn is_empty(&self) -> bool {
        match self {
            Cell::Text(text) | Cell::Number(text) => text.is_empty(),
            _ => false,
        }
    }

    fn is_left(&self) -> bool {
        !matches!(self, Cell::Number(_) | Cell::Share(..))
    }

    fn markup(&self) -> String {
        match self {
            Cell::Run(run, label) => format!("<th scope=\"row\">{}</th>", named(*run, label)),
            Cell::Name(text) => format!("<th scope=\"row\" class=\"wrap\">{}</th>", escaped(text)),
            Cell::Text(text) => format!("<td class=\"left\">{}</td>", escaped(text)),
            Cell::Number(text) => format!("<td>{}</td>", escaped(text)),
            Cell::Share(run, share, text) => format!(
                "<td class=\"cell\" style=\"{}; --share: {:.1}%\" data-value=\"{share:.4}\">{}</td>",
                colour(*run),
                100.0 * share,
                escaped(text)
            ),
            Cell::Split(parts) => split(parts),
        }
    }
}

fn split(parts: &[(u64, String)]) -> String {
    let part = |(count, paint): &(u64, String)| format!("<i style=\"{paint}; flex: {count}\"></i>");
    let parts: String = parts.iter().map(part).collect();
    format!("<td><span class=\"split\" aria-hidden=\"true\">{parts}</span></td>")
}

/// A table that can be sorted by its columns. Empty columns are left out.
pub(super) fn table(caption: &str, names: &[&str], rows: &[Vec<Cell>]) -> String {
    let has_cell = |column: &usize| rows.iter().any(|row| !row[*column].is_empty());
    let columns: Vec<usize> = (0..names.len()).filter(has_cell).collect();
    let head = |&column: &usize| {
        let class = if rows[0][column].is_left() { " class=\"left\"" } else { "" };
        format!("<th scope=\"col\"{class}>{}</th>", escaped(names[column]))
    };
    let heads: String = columns.iter().map(head).collect();
    let row = |row: &Vec<Cell>| {
        let cells: String = columns.iter().map(|&column| row[column].markup()).collect();
        format!("<tr>{cells}</tr>\n")
    };
    let body: String = rows.iter().map(row).collect();
    format!(
        "<div class=\"scroll\"><table class=\"sortable\"><caption>{}</caption>\n<thead><tr>{heads}</tr>\
         </thead>\n<tbody>\n{body}</tbody></table></div>\n",
        escaped(caption)
    )
}
