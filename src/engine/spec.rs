//! An engine to start: its program, its label and its options.

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// An engine that can be started.
///
/// An engine is written as a path, as `NAME=PATH`, or in the `key=value` form of tournament
/// managers:
///
/// ```
/// use epdb_engine::EngineSpec;
/// let spec: EngineSpec = "cmd=./stockfish name=SF16 option.Hash=64".parse()?;
/// assert_eq!((spec.label.as_str(), spec.path.to_str()), ("SF16", Some("./stockfish")));
/// assert_eq!(spec.options, [("Hash".to_string(), "64".to_string())]);
/// assert_eq!("SF17=/opt/sf17".parse::<EngineSpec>()?.label, "SF17");
/// assert_eq!("/opt/sf17".parse::<EngineSpec>()?.label, "sf17");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EngineSpec {
    /// The label in messages and file names.
    pub label: String,
    /// The program. A name without a folder is searched for in `PATH`, and in the folder for games.
    pub path: PathBuf,
    /// Arguments of the program.
    pub arguments: Vec<String>,
    /// Working directory of the program.
    pub folder: Option<PathBuf>,
    /// UCI options in the order in which they are set. A later value overrides an earlier one.
    pub options: Vec<(String, String)>,
    /// Names of options that are skipped if the engine does not have them.
    pub optional: Vec<String>,
}

const KEYS: [&str; 7] = ["cmd", "name", "arg", "args", "dir", "proto", "option."];
/// Debian's folder for engines, which is not in everybody's `PATH`.
const GAMES: [&str; 2] = ["/usr/games", "/usr/local/games"];

impl EngineSpec {
    /// An engine labelled with the name of its program.
    pub fn new(path: impl Into<PathBuf>) -> EngineSpec {
        let path = path.into();
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned());
        EngineSpec {
            label: name.unwrap_or_default(),
            path,
            arguments: Vec::new(),
            folder: None,
            options: Vec::new(),
            optional: Vec::new(),
        }
    }

    /// Whether a word begins a part of a description, such as `option.Hash=64`.
    pub fn is_part(word: &str) -> bool {
        word.split_once('=').is_some_and(|(key, _)| {
            KEYS.iter().any(|known| match known.strip_suffix('.') {
                Some(_) => key.len() > known.len() && key.starts_with(known),
                None => key == *known,
            })
        })
    }

    /// The path of the program. A name without a folder is searched for.
    pub fn program(&self) -> PathBuf {
        if self.path.components().count() > 1 || cfg!(windows) {
            return self.path.clone();
        }
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = env::split_paths(&path).chain(GAMES.map(PathBuf::from));
        let mut found = folders.map(|folder| folder.join(&self.path));
        found.find(|program| program.is_file()).unwrap_or_else(|| self.path.clone())
    }

    /// Inserts defaults before the engine's own options, which override them.
    pub fn set_before(&mut self, options: &[(String, String)]) {
        self.options.splice(..0, options.iter().cloned());
    }

    /// Parses one part of a description.
    fn take(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "cmd" => {
                let EngineSpec { label, path, .. } = EngineSpec::new(value);
                self.path = path;
                self.label = label;
            }
            "name" => self.label = value.into(),
            "arg" => self.arguments.push(value.into()),
            "args" => self.arguments.extend(value.split_whitespace().map(String::from)),
            "dir" => self.folder = Some(value.into()),
            "proto" if value == "uci" => {}
            "proto" => return Err(format!("proto={value} is not supported; expected proto=uci")),
            _ => {
                let name = key.trim_start_matches("option.");
                self.options.push((name.into(), value.into()));
            }
        }
        Ok(())
    }

    fn from_parts(text: &str) -> Result<EngineSpec, String> {
        let mut parts: Vec<String> = Vec::new();
        for word in text.split(' ') {
            match parts.last_mut() {
                // The blank belongs to the part before: a name or a value of an option.
                Some(part) if !EngineSpec::is_part(word) && !word.starts_with("option.") => {
                    *part += &format!(" {word}");
                }
                _ => parts.push(word.into()),
            }
        }
        let mut parts: Vec<(&str, &str)> =
            parts.iter().filter_map(|part| part.trim_end().split_once('=')).collect();
        let mut spec = EngineSpec::new("");
        // The program comes first because it also sets the label.
        parts.sort_by_key(|(key, _)| *key != "cmd");
        for (key, value) in parts {
            spec.take(key, value)?;
        }
        if spec.path.as_os_str().is_empty() {
            Err("expected cmd=PROGRAM among the parts of the engine".into())
        } else {
            Ok(spec)
        }
    }
}

impl fmt::Display for EngineSpec {
    /// All parts in the form in which they are parsed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EngineSpec { label, path, arguments, folder, options, .. } = self;
        write!(f, "cmd={} name={label}", path.display())?;
        arguments.iter().try_for_each(|argument| write!(f, " arg={argument}"))?;
        folder.iter().try_for_each(|folder| write!(f, " dir={}", folder.display()))?;
        options.iter().try_for_each(|(name, value)| write!(f, " option.{name}={value}"))
    }
}

impl FromStr for EngineSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<EngineSpec, String> {
        let spec = match text.split_once('=') {
            _ if Path::new(text).is_file() => EngineSpec::new(text),
            _ if text.split(' ').next().is_some_and(EngineSpec::is_part) => {
                EngineSpec::from_parts(text)?
            }
            Some((name, path)) if !name.contains('/') => {
                EngineSpec { label: name.into(), ..EngineSpec::new(path) }
            }
            _ => EngineSpec::new(text),
        };
        if spec.path.as_os_str().is_empty() {
            return Err("expected a program, NAME=PROGRAM, or cmd=PROGRAM name=NAME".into());
        }
        let is_name = |c: char| !c.is_control() && !matches!(c, '/' | '\\' | '"');
        if spec.label.is_empty() || !spec.label.chars().all(is_name) {
            return Err(format!("`{}` is not a valid name for an engine", spec.label));
        }
        Ok(spec)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn parts_come_in_any_order_and_with_blanks() {
        let text = "name=A b cmd=./my engine proto=uci arg=-x arg=y dir=/tmp option.Skill Level=3";
        let spec: EngineSpec = text.parse().unwrap();
        assert_eq!((spec.label.as_str(), spec.path.to_str()), ("A b", Some("./my engine")));
        assert_eq!(spec.arguments, ["-x", "y"]);
        assert_eq!(spec.folder, Some(PathBuf::from("/tmp")));
        assert_eq!(spec.options, [("Skill Level".to_string(), "3".to_string())]);
        assert_eq!(spec.to_string().parse(), Ok(spec));
    }

    #[test]
    fn what_names_no_program_is_refused() {
        for wrong in ["", "SF=", "name=x", "cmd=", "cmd=./a proto=xboard", "x\"y=./sf"] {
            assert!(wrong.parse::<EngineSpec>().is_err(), "{wrong}");
        }
        assert!(!EngineSpec::is_part("option.=3") && !EngineSpec::is_part("wac.epd"));
    }
}
