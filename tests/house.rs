//! The house: imports between rooms point one way, no files import each other in a circle, and no text
//! names an ID of a document that is elsewhere.
//!
//! The sources are parsed; each `use` and each path that begins with `crate`, `epdb`, `super` or `self`
//! leads to the file that defines what it names, through whatever it is exported again by. Tests
//! inside of files are left out.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree};

/// The rooms from the ground up. A room imports those below it only.
const FLOORS: &[&[&str]] = &[
    &["equal_bytes", "error", "new_file", "prefetch", "spread"],
    &["spill"],
    &["model"],
    &["text"],
    &["codec"],
    &["store", "archive"],
    &["source"],
    &["library"],
    &["engine", "report", "server"],
    &["referee"],
    &["cli"],
];

type Names = Vec<String>;

/// A module, which is a file.
#[derive(Default)]
struct Module {
    file: PathBuf,
    /// What each name that is brought in stands for, and whether it is only exported again.
    uses: BTreeMap<String, Names>,
    globs: Vec<Names>,
    /// What the file defines itself.
    own: BTreeSet<String>,
    children: BTreeSet<String>,
    /// What it imports: `use` for itself, and paths in its code.
    imports: BTreeSet<Names>,
}

#[derive(Default)]
struct House(BTreeMap<Names, Module>);

impl House {
    fn read(src: &Path) -> House {
        let mut house = House::default();
        house.add(Vec::new(), &src.join("lib.rs"), src);
        // The command line is the crate of the program. Its names lead to files as those of the library do.
        let cli = vec!["cli".to_string()];
        house.add(cli.clone(), &src.join("cli/mod.rs"), &src.join("cli"));
        house.0.get_mut(&Names::new()).unwrap().children.extend(cli);
        house
    }

    fn add(&mut self, path: Names, file: &Path, folder: &Path) {
        let parsed = syn::parse_file(&fs::read_to_string(file).unwrap()).unwrap();
        let mut reader = FileReader { path: path.clone(), module: Module::default() };
        reader.module.file = file.to_path_buf();
        reader.visit_file(&parsed);
        for child in &reader.module.children {
            let beside = folder.join(format!("{child}.rs"));
            let within = folder.join(child);
            let file = if beside.exists() { beside } else { within.join("mod.rs") };
            self.add(joined(&path, child), &file, &within);
        }
        self.0.insert(path, reader.module);
    }

    /// The module that defines what a path names, as far as it is of this crate.
    fn definer(&self, path: &[String], depth: usize) -> Option<Names> {
        let mut at: Names = Vec::new();
        for (place, name) in path.iter().enumerate() {
            let module = self.0.get(&at)?;
            if module.children.contains(name) {
                at.push(name.clone());
                continue;
            }
            let behind = &path[place + 1..];
            let follow = |target: &Names| {
                let whole: Names = target.iter().chain(behind).cloned().collect();
                if depth > 20 { None } else { self.definer(&whole, depth + 1) }
            };
            if let Some(target) = module.uses.get(name).filter(|target| **target != path) {
                return follow(target);
            }
            if module.own.contains(name) {
                return Some(at);
            }
            let from_globs = module.globs.iter().find_map(|glob| {
                let named = self.0.get(glob)?;
                let has = named.own.contains(name) || named.uses.contains_key(name);
                (has && depth <= 20).then(|| follow(&joined(glob, name)))?
            });
            return from_globs.or(Some(at));
        }
        Some(at)
    }

    /// Which file imports which, as places relative to `src`.
    fn imports(&self) -> BTreeMap<&Path, BTreeSet<&Path>> {
        let mut all: BTreeMap<&Path, BTreeSet<&Path>> = BTreeMap::new();
        for (path, module) in &self.0 {
            let targets = module.imports.iter().filter_map(|import| self.definer(import, 0));
            let others =
                targets.filter(|target| target != path).map(|target| &*self.0[&target].file);
            all.entry(&module.file).or_default().extend(others);
        }
        all
    }
}

struct FileReader {
    path: Names,
    module: Module,
}

impl FileReader {
    /// A path from the root of the crate; `None` when it leads elsewhere.
    fn absolute(&self, names: &[String]) -> Option<Names> {
        let (first, rest) = names.split_first().filter(|(_, rest)| !rest.is_empty())?;
        let mut base = match first.as_str() {
            "crate" | "epdb" => Vec::new(),
            "self" => self.path.clone(),
            "super" => self.path[..self.path.len().checked_sub(1)?].to_vec(),
            name if self.module.children.contains(name) => joined(&self.path, name),
            _ => return None,
        };
        for name in rest {
            match name.as_str() {
                "super" => drop(base.pop()),
                "self" => {}
                name => base.push(name.to_string()),
            }
        }
        Some(base)
    }

    fn bring(&mut self, prefix: &[String], tree: &UseTree, is_export: bool) {
        let names = match tree {
            UseTree::Path(path) => {
                let prefix = joined(prefix, &path.ident.to_string());
                return self.bring(&prefix, &path.tree, is_export);
            }
            UseTree::Group(group) => {
                return group.items.iter().for_each(|item| self.bring(prefix, item, is_export));
            }
            UseTree::Glob(_) => {
                if let Some(path) = self.absolute(prefix) {
                    self.module.globs.push(path.clone());
                    if !is_export {
                        self.module.imports.insert(path);
                    }
                }
                return;
            }
            UseTree::Name(name) => {
                (joined(prefix, &name.ident.to_string()), name.ident.to_string())
            }
            UseTree::Rename(name) => {
                (joined(prefix, &name.ident.to_string()), name.rename.to_string())
            }
        };
        let (path, mut name) = names;
        let Some(path) = self.absolute(&path) else { return };
        if name == "self" {
            name = path.last().cloned().unwrap_or_default();
        }
        if !is_export {
            self.module.imports.insert(path.clone());
        }
        self.module.uses.insert(name, path);
    }

    /// Paths in the text of a macro.
    fn look_into(&mut self, tokens: TokenStream) {
        let mut path: Names = Vec::new();
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => path.push(ident.to_string()),
                TokenTree::Punct(punct) if punct.as_char() == ':' => continue,
                TokenTree::Group(group) => {
                    self.look_into(group.stream());
                    self.take(&std::mem::take(&mut path));
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {
                    self.take(&std::mem::take(&mut path))
                }
            }
        }
        self.take(&path);
    }

    fn take(&mut self, names: &[String]) {
        if let Some(path) = self.absolute(names) {
            self.module.imports.insert(path);
        }
    }
}

impl<'ast> Visit<'ast> for FileReader {
    fn visit_file(&mut self, file: &'ast syn::File) {
        // What modules there are must be known before paths are read.
        for item in &file.items {
            if let Item::Mod(module) = item
                && module.content.is_none()
                && !is_test(&module.attrs)
            {
                self.module.children.insert(module.ident.to_string());
            }
        }
        visit::visit_file(self, file);
    }

    fn visit_item(&mut self, item: &'ast Item) {
        let (attributes, name) = match item {
            Item::Const(item) => (&item.attrs, Some(&item.ident)),
            Item::Enum(item) => (&item.attrs, Some(&item.ident)),
            Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
            Item::Macro(item) => (&item.attrs, item.ident.as_ref()),
            Item::Mod(item) => (&item.attrs, item.content.as_ref().map(|_| &item.ident)),
            Item::Static(item) => (&item.attrs, Some(&item.ident)),
            Item::Struct(item) => (&item.attrs, Some(&item.ident)),
            Item::Trait(item) => (&item.attrs, Some(&item.ident)),
            Item::Type(item) => (&item.attrs, Some(&item.ident)),
            Item::Impl(item) => (&item.attrs, None),
            Item::Use(item) => (&item.attrs, None),
            _ => return visit::visit_item(self, item),
        };
        if is_test(attributes) {
            return;
        }
        self.module.own.extend(name.map(ToString::to_string));
        visit::visit_item(self, item);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let is_export = !matches!(item.vis, syn::Visibility::Inherited);
        self.bring(&[], &item.tree, is_export);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Names = path.segments.iter().map(|part| part.ident.to_string()).collect();
        self.take(&names);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.look_into(call.tokens.clone());
    }
}

fn joined(path: &[String], name: &str) -> Names {
    path.iter().cloned().chain([name.to_string()]).collect()
}

fn is_test(attributes: &[Attribute]) -> bool {
    let is_test = |tokens: TokenStream| {
        let text = tokens.to_string();
        let mut words = text.split(|c: char| !c.is_alphanumeric());
        words.any(|word| word == "test" || word == "doctest") && !text.contains("not")
    };
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.meta.require_list().is_ok_and(|list| is_test(list.tokens.clone()))
    })
}

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The room of a file: the first part of its place.
fn room(file: &Path) -> String {
    let inside = file.strip_prefix(src()).unwrap();
    inside.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs").to_string()
}

#[test]
fn rooms_import_only_those_below_them() {
    let house = House::read(&src());
    let floor = |room: &str| FLOORS.iter().position(|rooms| rooms.contains(&room));
    let mut arrows = BTreeSet::new();
    for (file, imports) in house.imports() {
        let from = room(file);
        if from == "lib" {
            continue;
        }
        let from_floor = floor(&from).unwrap_or_else(|| panic!("which floor is {from} on?"));
        for import in imports {
            let to = room(import);
            if to != from && floor(&to).is_none_or(|to| to >= from_floor) {
                arrows.insert(format!("{} -> {}", file.display(), import.display()));
            }
        }
    }
    assert!(arrows.is_empty(), "imports that do not point down:\n{}", list(&arrows));
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let house = House::read(&src());
    let imports = house.imports();
    assert!(imports.len() > 100, "{} files", imports.len());
    let mut circles = BTreeSet::new();
    for &start in imports.keys() {
        if let Some(way) = shortest_way_back(&imports, start)
            && way.iter().min() == Some(&start)
        {
            let inside = |file: &&Path| file.strip_prefix(src()).unwrap().display().to_string();
            circles.insert(way.iter().map(inside).collect::<Vec<_>>().join(" -> "));
        }
    }
    assert!(circles.is_empty(), "files that import each other:\n{}", list(&circles));
}

/// The files on the shortest way from a file back to itself.
fn shortest_way_back<'a>(
    imports: &BTreeMap<&'a Path, BTreeSet<&'a Path>>,
    start: &'a Path,
) -> Option<Vec<&'a Path>> {
    let mut from: BTreeMap<&Path, &Path> = BTreeMap::new();
    let mut next = vec![start];
    while !next.is_empty() {
        let mut found = Vec::new();
        for file in next {
            for &import in imports.get(file).into_iter().flatten() {
                if import == start {
                    let mut way = vec![file];
                    while let Some(&earlier) = from.get(way[way.len() - 1]) {
                        way.push(earlier);
                    }
                    way.reverse();
                    return Some(way);
                }
                if !from.contains_key(import) {
                    from.insert(import, file);
                    found.push(import);
                }
            }
        }
        next = found;
    }
    None
}

/// Text that people read: sources, tests, pages, scripts. Rows of vectors have IDs of their own.
fn texts(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        let is_others = ["node_modules", "target", "corpus", "seeds", "vectors"].contains(&&*name);
        if path.is_dir() && !is_others {
            texts(&path, found);
        } else if path.is_file()
            && (["rs", "md", "toml", "js", "mjs"]
                .iter()
                .any(|end| name.ends_with(&format!(".{end}")))
                || !name.contains('.'))
        {
            found.push(path);
        }
    }
}

fn is_number(word: &str, longest: usize) -> bool {
    (1..=longest).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a word is the ID of a requirement: capitals, a dash and two digits.
fn is_requirement(word: &str) -> bool {
    let Some((letters, number)) = word.rsplit_once('-') else { return false };
    let is_name = letters.len() >= 2
        && letters.bytes().all(|byte| byte.is_ascii_uppercase())
        && !["UTF", "AVX"].contains(&letters);
    let is_named = is_name || letters == "C960" || letters.starts_with("VERB-");
    is_named && number.len() == 2 && is_number(number, 2)
}

/// Whether a word is the ID of a finding: one or two letters with a dash between them, and a number.
/// In a string it may be a move.
fn is_finding(word: &str) -> bool {
    let Some((letter, rest)) = word.split_once('-') else { return false };
    let rest = rest.trim_end_matches(|c: char| c.is_ascii_lowercase());
    letter.len() == 1
        && ("A"..="H").contains(&letter)
        && is_number(rest.trim_start_matches(|c: char| c.is_ascii_uppercase()), 2)
}

fn foreign_ids(line: &str, is_comment: bool) -> Vec<String> {
    let words = || line.split(|c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c));
    let comment = if is_comment { line } else { line.split_once("//").map_or("", |(_, it)| it) };
    let remarks = || comment.split(|c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c));
    let mut found: Vec<&str> = words().filter(|word| is_requirement(word)).collect();
    found.extend(remarks().filter(|word| is_finding(word) || ["SPEC", "DESIGN"].contains(word)));
    let pairs = remarks().zip(remarks().skip(1));
    found.extend(
        pairs.filter(|(word, next)| *word == "mutant" && is_number(next, 3)).map(|it| it.0),
    );
    found.into_iter().map(ToString::to_string).collect()
}

#[test]
fn ids_of_other_documents_are_known_when_they_are_seen() {
    for line in [
        "/// PGC-24, PGC-25.",
        "// B-D16: words of UCI",
        "// C-D1",
        "// E mutant 24",
        "/// VERB-pfop-01 to -03.",
        "/// C960-13.",
        "//! row by row of SPEC section 17",
        "// decided in E-5",
        "    (\"b\", \"EPD-07: no escapes\"),",
    ] {
        assert!(!foreign_ids(line, false).is_empty(), "{line}");
    }
    for line in
        ["means(START, \"B-N5\");", "// UTF-16, AVX-512, `E-EPD-FIELDS`, GPL-3.0, e4", "O-O-O"]
    {
        assert_eq!(foreign_ids(line, false), [""; 0], "{line}");
    }
}

#[test]
fn no_text_names_an_id_of_a_document_that_is_elsewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files =
        vec![root.join("README.md"), root.join("CHANGELOG.md"), root.join("Cargo.toml")];
    for folder in ["src", "tests", "benches", "formats", ".github", ".ci"] {
        texts(&root.join(folder), &mut files);
    }
    assert!(files.len() > 500, "{} files", files.len());
    let mut named = BTreeSet::new();
    // This file has IDs to test with.
    for file in files.iter().filter(|file| !file.ends_with("tests/house.rs")) {
        let Ok(text) = fs::read_to_string(file) else { continue };
        let is_code =
            file.extension().is_some_and(|end| ["rs", "js", "mjs"].iter().any(|it| end == *it));
        for (number, line) in text.lines().enumerate() {
            for id in foreign_ids(line, !is_code) {
                named.insert(format!("{}:{}: {id}", file.display(), number + 1));
            }
        }
    }
    assert!(named.is_empty(), "IDs of documents that are elsewhere:\n{}", list(&named));
}

fn list(lines: &BTreeSet<String>) -> String {
    lines.iter().map(|line| format!("  {line}\n")).collect()
}
