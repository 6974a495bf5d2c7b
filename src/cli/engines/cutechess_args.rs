//! Engines in the notation of cutechess: `--engine cmd=./sf name=SF16 option.Hash=64`, in which
//! several arguments are one value.

use std::ffi::OsString;

use epdb_engine::EngineSpec;

const OPTION: &str = "--engine";

/// Joins the arguments of each engine.
///
/// Arguments of `referee` stay unchanged, because this command has its own options of several
/// arguments.
pub(crate) fn joined(args: Vec<OsString>) -> Vec<OsString> {
    if args.get(1).is_some_and(|command| command == "referee") {
        return args;
    }
    let mut all: Vec<OsString> = Vec::with_capacity(args.len());
    let mut is_engine = false;
    for arg in args {
        let is_part = arg.to_str().is_some_and(EngineSpec::is_part);
        let behind_option = all.last().is_some_and(|last| last == OPTION);
        match all.last_mut() {
            Some(last) if is_part && is_engine && !behind_option => {
                last.push(" ");
                last.push(arg);
            }
            _ => {
                let value = arg.to_str().and_then(|arg| arg.strip_prefix("--engine="));
                is_engine = (is_part && behind_option) || value.is_some_and(EngineSpec::is_part);
                all.push(arg);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_an_engine_become_one() {
        let joined = |line: &str| {
            let words = super::joined(line.split(' ').map(OsString::from).collect());
            words.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(
            joined("epdb solve --engine cmd=./sf name=A option.Hash=64 wac.epd --nodes 5"),
            [
                "epdb",
                "solve",
                "--engine",
                "cmd=./sf name=A option.Hash=64",
                "wac.epd",
                "--nodes",
                "5"
            ]
        );
        assert_eq!(joined("epdb --engine=cmd=a name=b x"), ["epdb", "--engine=cmd=a name=b", "x"]);
        for other in [
            "epdb --engine sf name=x",
            "epdb --engine A=sf wac.epd",
            "epdb name=a name=b",
            "epdb referee --engine cmd=sf name=a",
        ] {
            assert_eq!(joined(other), other.split(' ').collect::<Vec<_>>());
        }
    }
}
