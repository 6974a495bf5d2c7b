//! Queries of scoutfish, translated into expressions.

use serde_json::{Map, Value};

use super::expression::Expression;

/// Translates a query of scoutfish, which is JSON, into an expression about games.
///
/// ```
/// use epdb_library::scoutfish;
/// let expression = scoutfish::parse(r#"{ "streak": [ { "captured": "Q" }, { "moved": "K" } ] }"#)?;
/// assert_eq!(expression.text(), "then(captured('Qq'), moved('Kk'), 1)");
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// The mistake in the query, as text.
pub fn parse(query: &str) -> Result<Expression, String> {
    let query: Value = serde_json::from_str(query).map_err(|error| error.to_string())?;
    let text = translated(&query)?;
    Expression::parse(&text).map_err(|error| format!("{text}: {error}"))
}

fn translated(query: &Value) -> Result<String, String> {
    let query = object(query)?;
    let mut steps = match (query.get("sequence"), query.get("streak")) {
        (Some(sequence), None) => sequence_of(sequence)?,
        (None, Some(streak)) => streak_of(streak)?,
        (None, None) => vec![(condition(query)?, None)],
        (Some(_), Some(_)) => return Err("a query has a `sequence` or a `streak`".into()),
    };
    if let [(only, _)] = &mut steps[..] {
        return Ok(format!("ever({})", std::mem::take(only)));
    }
    let steps = steps.into_iter().enumerate().map(|(place, (test, plies))| match plies {
        Some(plies) if place > 0 => format!("{test}, {plies}"),
        _ => test,
    });
    Ok(format!("then({})", steps.collect::<Vec<_>>().join(", ")))
}

/// A condition, and the maximum number of plies since the one before.
type Step = (String, Option<u32>);

fn sequence_of(list: &Value) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    for item in items(list)? {
        let item = object(item)?;
        match item.get("streak") {
            Some(streak) if item.len() == 1 => steps.extend(streak_of(streak)?),
            Some(_) => return Err("a `streak` in a sequence stands alone".into()),
            None => steps.push((condition(item)?, None)),
        }
    }
    Ok(steps)
}

fn streak_of(list: &Value) -> Result<Vec<Step>, String> {
    let steps = items(list)?.iter().enumerate().map(|(place, item)| {
        let plies = if place == 0 { None } else { Some(1) };
        Ok((condition(object(item)?)?, plies))
    });
    steps.collect()
}

fn object(value: &Value) -> Result<&Map<String, Value>, String> {
    value.as_object().ok_or_else(|| {
        format!("expected an object such as {{ \"stm\": \"white\" }}, found {value}")
    })
}

fn items(list: &Value) -> Result<&[Value], String> {
    match list.as_array() {
        Some(items) if !items.is_empty() => Ok(items),
        _ => Err(format!("expected a list of conditions, found {list}")),
    }
}

/// The rules of a condition, in the order in which they are translated.
const RULES: [&str; 11] = [
    "result",
    "stm",
    "material",
    "imbalance",
    "sub-fen",
    "result-type",
    "white-move",
    "black-move",
    "captured",
    "moved",
    "pass",
];

/// Translates the rules of a condition, all of which are to be true at one position.
fn condition(rules: &Map<String, Value>) -> Result<String, String> {
    match rules.keys().find(|name| !RULES.contains(&name.as_str())).map(String::as_str) {
        Some(name @ ("limit" | "skip")) => {
            return Err(format!("`{name}` is no rule here: -n N shows N games"));
        }
        Some(name) => return Err(format!("unknown rule `{name}`")),
        None if rules.is_empty() => return Err("a condition without rules".into()),
        None => {}
    }
    let mut tests = Vec::new();
    for (name, value) in RULES.into_iter().filter_map(|name| Some((name, rules.get(name)?))) {
        tests.push(match name {
            "result" => any(value, result)?,
            "stm" => match text(value)?.to_lowercase().as_str() {
                "white" => "stm == 'w'".into(),
                "black" => "stm == 'b'".into(),
                other => return Err(format!("`stm` is white or black, not {other}")),
            },
            "material" => any(value, material)?,
            "imbalance" => any(value, imbalance)?,
            "sub-fen" => any(value, |text| Ok(format!("board({})", quoted(placement(text))?)))?,
            "result-type" => match text(value)? {
                kind @ ("mate" | "stalemate") => kind.to_string(),
                other => return Err(format!("`result-type` is mate or stalemate, not {other}")),
            },
            // A list of moves of White and one of Black are one list.
            "white-move" => {
                let white = any(value, |san| mv(san, 'w'))?;
                match rules.get("black-move") {
                    Some(black) => one_of(vec![white, any(black, |san| mv(san, 'b'))?]),
                    None => white,
                }
            }
            "black-move" if rules.contains_key("white-move") => continue,
            "black-move" => any(value, |san| mv(san, 'b'))?,
            "captured" if text(value)?.is_empty() => "moved('!') and not captured('!')".into(),
            "captured" => format!("captured({})", quoted(&of_both(text(value)?))?),
            "moved" => format!("moved({})", quoted(&of_both(text(value)?))?),
            _ => "pieces > 0".into(),
        });
    }
    Ok(tests.join(" and "))
}

fn text(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| format!("expected a text, found {value}"))
}

/// The translations of a text, or of one of several texts.
fn any(
    value: &Value,
    translate: impl Fn(&str) -> Result<String, String>,
) -> Result<String, String> {
    match value {
        Value::Array(list) if !list.is_empty() => {
            let tests = list.iter().map(|one| translate(text(one)?));
            tests.collect::<Result<Vec<_>, _>>().map(one_of)
        }
        one => translate(text(one)?),
    }
}

fn one_of(mut tests: Vec<String>) -> String {
    if tests.len() == 1 { tests.remove(0) } else { format!("({})", tests.join(" or ")) }
}

fn quoted(text: &str) -> Result<String, String> {
    if text.contains('\'') {
        Err(format!("a quotation mark in `{text}`"))
    } else {
        Ok(format!("'{text}'"))
    }
}

/// The first field of a FEN.
fn placement(fen: &str) -> &str {
    fen.split(' ').next().unwrap_or_default()
}

/// Material such as `KBNKP`: the pieces of White, then those of Black.
fn material(text: &str) -> Result<String, String> {
    let sides = text.strip_prefix('K').and_then(|text| text.split_once('K'));
    let (white, black) = sides.ok_or_else(|| format!("`{text}` is not material such as KBNKP"))?;
    Ok(format!("material({}, white)", quoted(&format!("{white} v {black}"))?))
}

/// Differences such as `PPvN`: White has two pawns more, Black a knight.
fn imbalance(text: &str) -> Result<String, String> {
    let wrong = || format!("`{text}` is not an imbalance such as PPvN");
    let (white, black) = text.split_once('v').ok_or_else(wrong)?;
    if [white, black].concat().contains(|letter| !"PNBRQ".contains(letter)) {
        return Err(wrong());
    }
    let number = |side: &str, role: char| side.matches(role).count() as i32;
    let tests = "PNBRQ".chars().map(|role| {
        let difference = number(white, role) - number(black, role);
        format!("count('{role}') - count('{}') == {difference}", role.to_ascii_lowercase())
    });
    Ok(tests.collect::<Vec<_>>().join(" and "))
}

fn result(text: &str) -> Result<String, String> {
    match text {
        "1-0" | "0-1" | "1/2-1/2" => Ok(format!("result == '{text}'")),
        "*" => Ok("not has(result)".into()),
        other => Err(format!("`{other}` is not a result")),
    }
}

/// A move. scoutfish does not compare capture signs, so a move to a square may capture there.
fn mv(san: &str, side: char) -> Result<String, String> {
    let plain = san.trim_end_matches(['+', '#']);
    let quiet = plain.replace('x', "");
    let captures = match quiet.chars().next() {
        Some('O') => Vec::new(),
        Some(file @ 'a'..='h') => {
            let file = file as u8;
            // After `dxe5`, `quiet` is `de5`, and scoutfish looks for any pawn that moves to e5.
            let rank = quiet.find(|letter: char| letter.is_ascii_digit()).unwrap_or(1);
            let to = quiet.get(rank - 1..).unwrap_or(&quiet);
            let to_file = to.bytes().next().unwrap_or(file);
            let from =
                [to_file - 1, to_file + 1].into_iter().filter(|it| (b'a'..=b'h').contains(it));
            from.map(|from| format!("{}x{to}", char::from(from))).chain([to.to_string()]).collect()
        }
        Some(_) => {
            let at = quiet.len().saturating_sub(2);
            let capture = quiet.split_at_checked(at).map(|(piece, to)| format!("{piece}x{to}"));
            vec![quiet.clone(), capture.unwrap_or_default()]
        }
        None => return Err("an empty move".into()),
    };
    let lines = if captures.is_empty() { vec![plain.to_string()] } else { captures };
    let lines = lines.iter().map(|line| Ok(format!("line({})", quoted(line)?)));
    let lines = lines.collect::<Result<Vec<_>, String>>()?;
    Ok(format!("stm == '{side}' and {}", one_of(lines)))
}

/// Letters of pieces, of either side.
fn of_both(pieces: &str) -> String {
    pieces.chars().flat_map(|letter| [letter, letter.to_ascii_lowercase()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_become_expressions() {
        for (query, expression) in [
            (
                r#"{ "sub-fen": ["8/8/8/q7/8/8/8/8 w - -", "8/8/8/r7/8/8/8/8"], "result": "1-0" }"#,
                "ever(result == '1-0' and (board('8/8/8/q7/8/8/8/8') or board('8/8/8/r7/8/8/8/8')))",
            ),
            (
                r#"{ "material": "KBNKP", "stm": "WHITE" }"#,
                "ever(stm == 'w' and material('BN v P', white))",
            ),
            (
                r#"{ "imbalance": "vP" }"#,
                "ever(count('P') - count('p') == -1 and count('N') - count('n') == 0 and count('B') - \
                 count('b') == 0 and count('R') - count('r') == 0 and count('Q') - count('q') == 0)",
            ),
            (
                r#"{ "white-move": ["e8=Q", "O-O"], "black-move": "Rac1" }"#,
                "ever(((stm == 'w' and (line('dxe8=Q') or line('fxe8=Q') or line('e8=Q')) or stm == 'w' and \
                 line('O-O')) or stm == 'b' and (line('Rac1') or line('Raxc1'))))",
            ),
            (
                r#"{ "captured": "", "moved": "K" }"#,
                "ever(moved('!') and not captured('!') and moved('Kk'))",
            ),
            (r#"{ "result": "*", "result-type": "mate" }"#, "ever(not has(result) and mate)"),
            (
                r#"{ "sequence": [ { "pass": "" }, { "streak": [ { "moved": "Q" }, { "moved": "R" } ] }, { "stm": "black" } ] }"#,
                "then(pieces > 0, moved('Qq'), moved('Rr'), 1, stm == 'b')",
            ),
            (r#"{ "streak": [ { "captured": "Q" } ] }"#, "ever(captured('Qq'))"),
        ] {
            let parsed = parse(query).map(|expression| expression.text().to_string());
            assert_eq!(parsed, Ok(expression.to_string()), "{query}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (query, message) in [
            ("[]", "expected an object"),
            ("{", "EOF"),
            ("{}", "a condition without rules"),
            (r#"{ "sub-fen": 3 }"#, "expected a text, found 3"),
            (r#"{ "sub-fen": "8/8" }"#, "expected eight ranks"),
            (r#"{ "material": "BN" }"#, "`BN` is not material"),
            (r#"{ "imbalance": "PP" }"#, "`PP` is not an imbalance"),
            (r#"{ "result": "2-0" }"#, "`2-0` is not a result"),
            (r#"{ "stm": "red" }"#, "white or black, not red"),
            (r#"{ "white-move": "aé8" }"#, "not the text of a move"),
            (r#"{ "white-move": "" }"#, "an empty move"),
            (r#"{ "white-move": "N'" }"#, "a quotation mark"),
            (r#"{ "sequence": [] }"#, "expected a list of conditions"),
            (r#"{ "limit": 3, "pass": "" }"#, "`limit` is no rule here"),
            (r#"{ "eco": "B90" }"#, "unknown rule `eco`"),
        ] {
            let error = parse(query).err().unwrap_or_default();
            assert!(error.contains(message), "{query}: {error}");
        }
    }
}
