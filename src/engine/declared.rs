//! Options that an engine declares, and whether they accept a value.

use std::ops::RangeInclusive;

/// An option of an engine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Declared {
    pub(super) name: String,
    kind: Kind,
}

/// Type of an option.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Kind {
    Check,
    Spin(RangeInclusive<i64>),
    Combo(Vec<String>),
    Button,
    Text,
}

pub(super) const MAX_OPTIONS: usize = 4096;

impl Declared {
    /// Parses `option name N type T ...`; `None` if it is another line, or has no name.
    pub(super) fn parse(line: &str) -> Option<Declared> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let (start, rest) = words.split_at_checked(2)?;
        if start != ["option", "name"] {
            return None;
        }
        let end = rest.iter().position(|word| *word == "type").filter(|end| *end > 0)?;
        let (name, rest) = rest.split_at(end);
        let number = |word: &str| {
            let place = rest.iter().position(|it| *it == word)?;
            rest.get(place + 1)?.parse::<i64>().ok()
        };
        let kind = match rest.get(1).copied().unwrap_or_default() {
            "check" => Kind::Check,
            "button" => Kind::Button,
            "spin" => {
                let minimum = number("min").unwrap_or(i64::MIN);
                let maximum = number("max").unwrap_or(i64::MAX);
                Kind::Spin(minimum..=maximum)
            }
            "combo" => Kind::Combo(values(rest)),
            _ => Kind::Text,
        };
        Some(Declared { name: name.join(" "), kind })
    }

    /// The `setoption` command for a value.
    ///
    /// # Errors
    /// A message with the values that the option accepts.
    pub(super) fn command(&self, value: &str) -> Result<String, String> {
        let Declared { name, kind } = self;
        let fits = match kind {
            Kind::Check => matches!(value, "true" | "false"),
            Kind::Spin(range) => value.parse().is_ok_and(|value| range.contains(&value)),
            Kind::Combo(values) => values.iter().any(|known| known.eq_ignore_ascii_case(value)),
            Kind::Button => value.is_empty(),
            Kind::Text => !value.contains(['\n', '\r']),
        };
        if !fits {
            return Err(format!("the option {name} takes {}, not `{value}`", self.taken()));
        }
        Ok(match kind {
            Kind::Button => format!("setoption name {name}"),
            _ => format!("setoption name {name} value {value}"),
        })
    }

    fn taken(&self) -> String {
        match &self.kind {
            Kind::Check => "true or false".into(),
            Kind::Spin(range) => format!("a number from {} to {}", range.start(), range.end()),
            Kind::Combo(values) => format!("one of {}", values.join(", ")),
            Kind::Button => "no value".into(),
            Kind::Text => "one line of text".into(),
        }
    }
}

/// The values of a combo: the words after each `var`.
fn values(words: &[&str]) -> Vec<String> {
    let parts = words.split(|word| *word == "var").skip(1);
    let own = |part: &[&str]| {
        let words = part.iter().take_while(|word| **word != "default");
        words.copied().collect::<Vec<_>>().join(" ")
    };
    parts.map(own).collect()
}

/// Finds an option by its name, ignoring case.
///
/// # Errors
/// The engine has no such option. The message lists similar names.
pub(super) fn find<'d>(declared: &'d [Declared], name: &str) -> Result<&'d Declared, String> {
    const ALIKE: f64 = 0.7;
    const MAX_NAMES: usize = 3;
    if let Some(found) = declared.iter().find(|it| it.name.eq_ignore_ascii_case(name)) {
        return Ok(found);
    }
    let likeness = |it: &Declared| strsim::jaro(&it.name.to_lowercase(), &name.to_lowercase());
    let mut near: Vec<(f64, &str)> =
        declared.iter().map(|it| (likeness(it), it.name.as_str())).collect();
    near.retain(|(likeness, _)| *likeness > ALIKE);
    near.sort_by(|one, other| other.0.total_cmp(&one.0));
    let near: Vec<String> =
        near.iter().take(MAX_NAMES).map(|(_, name)| format!("`{name}`")).collect();
    let advice = if near.is_empty() {
        format!("it has {} options; send it `uci` to list them", declared.len())
    } else {
        format!("is it {}?", near.join(" or "))
    };
    Err(format!("the engine has no option `{name}`; {advice}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn option(line: &str) -> Declared {
        Declared::parse(line).unwrap()
    }

    #[test]
    fn declared_options_say_what_they_take() {
        let hash = option("option name Hash type spin default 16 min 1 max 1024");
        assert_eq!(hash.command("64").unwrap(), "setoption name Hash value 64");
        let refused = hash.command("0").unwrap_err();
        assert_eq!(refused, "the option Hash takes a number from 1 to 1024, not `0`");
        let skill = option("option name Skill Level type spin default 20 min 0 max 20");
        assert_eq!(skill.command("3").unwrap(), "setoption name Skill Level value 3");
        let style =
            option("option name Style type combo default Very Solid var Very Solid var Wild");
        assert_eq!(style.command("wild").unwrap(), "setoption name Style value wild");
        assert!(style.command("tame").unwrap_err().contains("one of Very Solid, Wild"));
        let clear = option("option name Clear Hash type button");
        assert_eq!(clear.command("").unwrap(), "setoption name Clear Hash");
        assert!(option("option name Ponder type check default false").command("yes").is_err());
        assert!(option("option name Book type string default <empty>").command("a b").is_ok());
        for other in ["option name type spin", "uciok", "option", "id name x"] {
            assert_eq!(Declared::parse(other), None, "{other}");
        }
    }

    #[test]
    fn unknown_options_are_told_with_near_ones() {
        let declared = ["Hash", "Threads", "Thread Pinning"]
            .map(|name| option(&format!("option name {name} type string")));
        assert_eq!(find(&declared, "threads").unwrap().name, "Threads");
        let unknown = find(&declared, "Thread").unwrap_err();
        assert!(unknown.contains("is it `Threads` or `Thread Pinning`?"), "{unknown}");
        assert!(find(&declared, "Zyx").unwrap_err().contains("it has 3 options"));
    }
}
