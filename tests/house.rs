//! Rules for the source tree as a whole.
//!
//! - No files import each other in a cycle, and the modules of `epdb-chess` import only lower ones.
//! - Texts name no ID of a document outside of the repository.
//! - Texts use plain English: no banned words, no doc lines that begin like a question.
//! - Files are neither tiny nor huge, and every path that a page for contributors names exists.
//!
//! Imports are found by parsing. Each `use`, and each path that begins with `crate`, `epdb`, `super` or
//! `self`, is resolved to the file that defines the name, through all re-exports. Inline tests are left out.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree};

/// The modules of `epdb-chess`, lowest layer first. A module imports only modules of lower layers. Cargo sees to
/// that between crates.
const LAYERS: [&str; 5] = ["error", "simd", "model", "text", "codec"];

/// True for a folder of `src` that is a crate.
fn is_crate(name: &str) -> bool {
    src().join(name).join("Cargo.toml").exists()
}

type Names = Vec<String>;

/// A module of the tree: one file.
#[derive(Default)]
struct Module {
    file: PathBuf,
    /// Imported and re-exported names with their full paths.
    uses: BTreeMap<String, Names>,
    globs: Vec<Names>,
    /// Names that the file defines itself.
    own: BTreeSet<String>,
    children: BTreeSet<String>,
    /// Imported paths: private `use` items, and paths in code.
    imports: BTreeSet<Names>,
}

#[derive(Default)]
struct Tree(BTreeMap<Names, Module>);

impl Tree {
    fn read(src: &Path) -> Tree {
        let mut tree = Tree::default();
        tree.add(Vec::new(), &src.join("lib.rs"), src);
        // Crates of their own, and the program. Their names are resolved like those of the library.
        for entry in fs::read_dir(src).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let root = match name.as_str() {
                "cli" => "cli/mod.rs".to_string(),
                "python" => "python/src/lib.rs".to_string(),
                name if is_crate(name) => format!("{name}/lib.rs"),
                _ => continue,
            };
            let root = src.join(root);
            tree.add(vec![name.clone()], &root, root.parent().unwrap());
            tree.0.get_mut(&Names::new()).unwrap().children.insert(name);
        }
        tree
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

    /// The module that defines the last name of a path; `None` for paths of other crates.
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

    /// The files that each file imports.
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
    /// A path from the root of the crate; `None` for paths of other crates.
    fn absolute(&self, names: &[String]) -> Option<Names> {
        let (first, rest) = names.split_first().filter(|(_, rest)| !rest.is_empty())?;
        let mut base = match first.as_str() {
            "crate" if self.path.first().is_some_and(|name| is_crate(name)) => {
                self.path[..1].to_vec()
            }
            "crate" | "epdb" => Vec::new(),
            name if name.strip_prefix("epdb_").is_some_and(is_crate) => {
                vec![name.trim_start_matches("epdb_").to_string()]
            }
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

    fn import(&mut self, prefix: &[String], tree: &UseTree, is_export: bool) {
        let names = match tree {
            UseTree::Path(path) => {
                let prefix = joined(prefix, &path.ident.to_string());
                return self.import(&prefix, &path.tree, is_export);
            }
            UseTree::Group(group) => {
                return group.items.iter().for_each(|item| self.import(prefix, item, is_export));
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
        // An exported macro is also a name of the root of its crate.
        if self.module.own.contains(&name) {
            return;
        }
        if !is_export {
            self.module.imports.insert(path.clone());
        }
        self.module.uses.insert(name, path);
    }

    /// Imports the paths in the tokens of a macro.
    fn import_tokens(&mut self, tokens: TokenStream) {
        let mut path: Names = Vec::new();
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => path.push(ident.to_string()),
                TokenTree::Punct(punct) if punct.as_char() == ':' => continue,
                TokenTree::Group(group) => {
                    self.import_tokens(group.stream());
                    self.import_path(&std::mem::take(&mut path));
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {
                    self.import_path(&std::mem::take(&mut path))
                }
            }
        }
        self.import_path(&path);
    }

    fn import_path(&mut self, names: &[String]) {
        if let Some(path) = self.absolute(names) {
            self.module.imports.insert(path);
        }
    }
}

impl<'ast> Visit<'ast> for FileReader {
    fn visit_file(&mut self, file: &'ast syn::File) {
        // Paths can be resolved only when all child modules are known.
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
        self.import(&[], &item.tree, is_export);
    }

    /// `pub(in crate::store)` imports nothing.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Names = path.segments.iter().map(|part| part.ident.to_string()).collect();
        self.import_path(&names);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.import_tokens(call.tokens.clone());
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

#[test]
fn modules_import_only_lower_layers() {
    let tree = Tree::read(&src());
    let layer = |file: &Path| {
        let inside = file.strip_prefix(src().join("chess")).ok()?;
        let module = inside.iter().next()?.to_str()?.trim_end_matches(".rs");
        LAYERS.iter().position(|name| *name == module)
    };
    let mut arrows = BTreeSet::new();
    for (file, imports) in tree.imports() {
        for import in imports {
            if layer(file).zip(layer(import)).is_some_and(|(from, to)| to > from) {
                arrows.insert(format!("{} -> {}", file.display(), import.display()));
            }
        }
    }
    assert!(arrows.is_empty(), "imports that do not point down:\n{}", list(&arrows));
}

#[test]
fn no_files_import_each_other_in_a_cycle() {
    let tree = Tree::read(&src());
    let imports = tree.imports();
    assert!(imports.len() > 100, "{} files", imports.len());
    let mut cycles = BTreeSet::new();
    for &start in imports.keys() {
        if let Some(way) = shortest_cycle(&imports, start)
            && way.iter().min() == Some(&start)
        {
            let inside = |file: &&Path| file.strip_prefix(src()).unwrap().display().to_string();
            cycles.insert(way.iter().map(inside).collect::<Vec<_>>().join(" -> "));
        }
    }
    assert!(cycles.is_empty(), "files that import each other:\n{}", list(&cycles));
}

/// The files on the shortest cycle of imports through a file.
fn shortest_cycle<'a>(
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

/// Files of text that people read: sources, tests, pages, scripts. Rows of vectors have IDs of their own.
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

/// True if a word is the ID of a requirement: capitals, a dash and two digits.
fn is_requirement(word: &str) -> bool {
    let Some((letters, number)) = word.rsplit_once('-') else { return false };
    let is_name = letters.len() >= 2
        && letters.bytes().all(|byte| byte.is_ascii_uppercase())
        && !["UTF", "AVX"].contains(&letters);
    let is_named = is_name || letters == "C960" || letters.starts_with("VERB-");
    is_named && number.len() == 2 && is_number(number, 2)
}

/// True if a word is the ID of a finding: one or two letters with a dash between them, and a number.
/// In a string it may be a move, so callers look at comments only.
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
fn ids_of_other_documents_are_recognised() {
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
fn no_text_names_an_id_of_another_document() {
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
    assert!(named.is_empty(), "IDs of documents outside of the repository:\n{}", list(&named));
}

fn list(lines: &BTreeSet<String>) -> String {
    lines.iter().map(|line| format!("  {line}\n")).collect()
}

/// Words that a reader has to decode; common words say the same.
const BANNED: &[&str] = &[
    "anew",
    "is none",
    "so many",
    "is told",
    "are told",
    "is had",
    "are had",
    "stands behind",
    "stands beside",
    "comes again",
    "with a word",
    "no more than is",
    "of its own accord",
];

/// A doc line begins with a noun phrase or a verb, not like a question.
const BANNED_OPENINGS: &[&str] = &["What", "How", "Where", "So many", "Those", "Who"];

/// Files with at most [`SMALL`] lines of code. This number only goes down.
const MAX_SMALL_FILES: usize = 29;
const SMALL: usize = 40;
const MAX_LINES: usize = 1500;

/// Text on one line: without ends of lines, comment signs at the begin of lines, and escaped ends in strings.
fn unwrapped(text: &str) -> String {
    let line = |line: &str| {
        let line = line.trim().trim_end_matches('\\');
        let line = line.trim_start_matches(['/', '!', '*']);
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    text.lines().map(line).collect::<Vec<_>>().join(" ").to_lowercase()
}

/// The banned words of a text, each as often as it occurs. "If there is none" is plain.
fn banned_words(text: &str) -> Vec<&'static str> {
    let text = unwrapped(text);
    let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let mut found = Vec::new();
    for word in BANNED {
        for (at, _) in text.match_indices(word) {
            let (before, after) = (&text[..at], &text[at + word.len()..]);
            let is_idiom = *word == "is none" && before.ends_with("there ");
            let is_word =
                !is_letter(before.chars().next_back()) && !is_letter(after.chars().next());
            if is_word && !is_idiom {
                found.push(*word);
            }
        }
    }
    found
}

fn has_banned_opening(line: &str) -> bool {
    let line = line.trim_start();
    let Some(text) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
        return false;
    };
    BANNED_OPENINGS.iter().any(|opening| {
        text.trim_start()
            .strip_prefix(opening)
            .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    })
}

#[test]
fn banned_words_are_recognised() {
    let comment = "/// A file that stands\n    /// behind it is\n    /// written Anew.";
    assert_eq!(banned_words(comment), ["anew", "stands behind"]);
    assert_eq!(banned_words("\"at most so \\\n    many\""), ["so many"]);
    assert_eq!(banned_words("this_is_none renewal, is no one, if there is none"), [""; 0]);
    assert!(
        has_banned_opening("    /// How many there are.") && has_banned_opening("//! What it is")
    );
    assert!(
        !has_banned_opening("/// Whoever")
            && !has_banned_opening("// What")
            && !has_banned_opening("///")
    );
}

/// All files under `src` that people read, with their text.
fn source_texts() -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    texts(&src(), &mut files);
    files.into_iter().map(|file| (file.clone(), fs::read_to_string(&file).unwrap())).collect()
}

#[test]
fn sources_are_in_plain_english() {
    let mut faults = BTreeSet::new();
    for (file, text) in source_texts() {
        let place = file.strip_prefix(src()).unwrap().display();
        faults.extend(banned_words(&text).into_iter().map(|word| format!("{place}: {word}")));
        let lines = text.lines().enumerate().filter(|(_, line)| has_banned_opening(line));
        faults.extend(lines.map(|(at, line)| format!("{place}:{}: {}", at + 1, line.trim())));
    }
    assert!(faults.is_empty(), "words to avoid:\n{}", list(&faults));
}

/// The pages in Markdown, by their paths.
fn pages() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files =
        ["README.md", "CHANGELOG.md", ".github/CONTRIBUTING.md"].map(|it| root.join(it)).to_vec();
    texts(&root.join("formats"), &mut files);
    texts(&root.join("src/guide"), &mut files);
    files.retain(|file| file.extension().is_some_and(|end| end == "md"));
    files.into_iter().map(|file| (file.clone(), fs::read_to_string(file).unwrap())).collect()
}

#[test]
fn pages_are_in_plain_english() {
    for (file, text) in pages() {
        let words = banned_words(&text);
        assert!(words.is_empty(), "{}: {words:?}", file.display());
    }
}

/// Number of bars between cells in a line of a table.
fn bars(line: &str) -> usize {
    line.replace("\\|", "").matches('|').count()
}

/// A row that was wrapped, or joined to the next one, is no longer a row.
#[test]
fn tables_of_pages_have_whole_rows() {
    for (file, text) in pages() {
        let blocks = text.split("\n\n").filter(|block| block.starts_with('|'));
        for block in blocks {
            let first = bars(block.lines().next().unwrap());
            let rows = block.lines().take_while(|line| !line.starts_with('#'));
            for row in rows {
                assert!(
                    row.starts_with('|') && row.ends_with('|') && bars(row) == first,
                    "{}: not a whole row: {row}",
                    file.display()
                );
            }
        }
    }
}

/// A line of code is neither blank nor a comment. Roots of crates only name what is in them.
#[test]
fn files_are_neither_tiny_nor_huge() {
    let mut small = BTreeSet::new();
    for (file, text) in source_texts() {
        assert!(text.lines().count() <= MAX_LINES, "{} is too long", file.display());
        let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
        if file.extension().is_some_and(|end| end == "rs")
            && !file.ends_with("lib.rs")
            && text.lines().filter(is_code).count() <= SMALL
        {
            small.insert(file.display().to_string());
        }
    }
    assert!(
        small.len() <= MAX_SMALL_FILES,
        "{} files with at most {SMALL} lines of code:\n{}",
        small.len(),
        list(&small)
    );
}

/// Paths in backticks and in links of a page; `{name}` and the like are left out.
fn paths(text: &str) -> Vec<&str> {
    let ticked = text.split('`').skip(1).step_by(2);
    let linked = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let is_path = |word: &&str| {
        let (folder, _) = word.split_once('/').unwrap_or_default();
        let is_plain =
            word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte));
        let folders = ["src", "tests", "formats", "benches", "examples", ".ci", ".github"];
        is_plain && (folders.contains(&folder) || !folder.is_empty() && word.ends_with(".rs"))
    };
    ticked.chain(linked).filter(is_path).collect()
}

#[test]
fn paths_that_pages_name_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut missing = BTreeSet::new();
    for (page, least) in [(".github/CONTRIBUTING.md", 60), ("src/lib.rs", 3), ("README.md", 15)] {
        let text = fs::read_to_string(root.join(page)).unwrap();
        let named = paths(&text);
        assert!(named.len() >= least, "{page} names {} paths", named.len());
        // The map of modules in `src/lib.rs` names files relative to `src`.
        let exists = |path: &&&str| root.join(path).exists() || src().join(path).exists();
        missing.extend(
            named.iter().filter(|path| !exists(path)).map(|path| format!("{page}: {path}")),
        );
    }
    assert!(missing.is_empty(), "paths that do not exist:\n{}", list(&missing));
}
