//! `epdb help CODE`: what a diagnostic means.

use epdb::text::codes::{self, Code};

/// Options that have to do with a code.
const OPTIONS: [(&str, &str); 14] = [
    (codes::E_EPD_LABEL, "--labels, --score-view white|mover"),
    (codes::E_EPD_PERFT, "--perft"),
    (codes::E_EPD_LINELEN, "--max-line BYTES"),
    (codes::W_CONS_MATED, "--revision 1994"),
    (codes::W_LEN_MOVES, "--keep-moves"),
    (codes::W_LEN_NOTATION, "normalize --repair-moves"),
    (codes::W_LEN_MOVE, "normalize --repair-moves"),
    (codes::E_PGN_SIZE, "--max-game BYTES"),
    (codes::E_PGC_SIZE, "--max-game BYTES"),
    (codes::W_LEN_LATIN1, "--charset CHARSET"),
    (codes::E_PGC_COMMENT, "--ext, --lossy"),
    (codes::E_PGC_NULL, "--ext"),
    (codes::E_PGC_CHARSET, "--translit"),
    (codes::E_PGN_NONCANON, "--profile lenient"),
];

/// The page of a code, in any letter case.
pub(crate) fn of_code(code: &str) -> Option<String> {
    codes::find(code).map(page)
}

fn page(entry: &Code) -> String {
    let Code { code, meaning, done, example, advice } = entry;
    let mut page = format!("{code}: {meaning}; {done}.\n");
    if *example != "…" {
        page += &format!("\nExample: {example}\n");
    }
    page += &format!("\nTo do: {advice}.\n");
    if let Some((_, options)) = OPTIONS.iter().find(|(known, _)| known == code) {
        page += &format!("Options: {options}\n");
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_page() {
        for entry in codes::ALL {
            let page = of_code(&entry.code.to_lowercase());
            assert!(page.is_some_and(|page| page.starts_with(entry.code)));
        }
        assert_eq!(of_code("head"), None);
    }
}
