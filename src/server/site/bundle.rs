//! The scripts of the page as one script. A page that is opened as a file cannot import modules.
//!
//! Each module becomes a function that returns its exports. The modules keep to a few forms of `import` and
//! `export`, which a test checks.

use crate::page::assets;

/// The module with this name and all that it imports, as a script.
pub(super) fn script(name: &str) -> String {
    let mut names = Vec::new();
    add(name, &mut names);
    let modules: String = names.iter().map(|name| module(name)).collect();
    format!("\"use strict\";\n{modules}")
}

/// Adds a module after those that it imports.
fn add(name: &str, names: &mut Vec<String>) {
    if names.iter().any(|known| known == name) {
        return;
    }
    let imports = assets::text(name).lines().filter_map(Import::parse);
    imports.for_each(|import| add(import.module, names));
    names.push(name.to_string());
}

/// `import { a, b } from "./module.js";`
struct Import<'a> {
    names: &'a str,
    module: &'a str,
}

impl Import<'_> {
    fn parse(line: &str) -> Option<Import<'_>> {
        let (names, module) = line.strip_prefix("import ")?.split_once(" from \"./")?;
        Some(Import { names, module: module.strip_suffix("\";")? })
    }
}

/// The name that `export const`, `export class` or `export function` exports.
fn exported(line: &str) -> Option<&str> {
    let words = line.strip_prefix("export ")?;
    let words = words.strip_prefix("async ").unwrap_or(words);
    let kinds = ["const ", "class ", "function "];
    let name = kinds.iter().find_map(|kind| words.strip_prefix(kind))?;
    let name = name.split(|sign: char| !sign.is_alphanumeric() && !"_$".contains(sign)).next();
    name.filter(|name| !name.is_empty())
}

/// A module as a constant that has its exports.
fn module(name: &str) -> String {
    let mut body = String::new();
    let mut exports = Vec::new();
    for line in assets::text(name).lines() {
        if let Some(import) = Import::parse(line) {
            body += &format!("const {} = {};", import.names, constant(import.module));
        } else if let Some(export) = exported(line) {
            exports.push(export);
            body += line.trim_start_matches("export ");
        } else {
            body += line;
        }
        body.push('\n');
    }
    // Only modules have an address; what depends on it is given to these scripts.
    let body = body.replace("import.meta.url", "location.href");
    let exports = exports.join(", ");
    format!("const {} = (() => {{\n{body}return {{ {exports} }};\n}})();\n", constant(name))
}

fn constant(name: &str) -> String {
    format!("module_{}", name.trim_end_matches(".js"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_have_the_forms_that_are_joined() {
        for asset in assets::assets().filter(|asset| asset.name.ends_with(".js")) {
            for line in assets::text(asset.name).lines() {
                let is_import = line.starts_with("import ");
                assert_eq!(is_import, Import::parse(line).is_some(), "{}: {line}", asset.name);
                let is_export = line.starts_with("export ");
                assert_eq!(is_export, exported(line).is_some(), "{}: {line}", asset.name);
            }
        }
    }

    #[test]
    fn a_module_comes_after_those_that_it_imports() {
        let script = script("explorer.js");
        let at = |text: &str| script.find(text).unwrap_or(usize::MAX);
        assert!(at("const module_dom =") < at("const module_board ="));
        assert!(at("const { $, h } = module_dom;") < usize::MAX);
        assert!(!script.contains("export ") && !script.contains("</script"));
        assert_eq!(script.matches("const module_dom =").count(), 1);
    }
}
