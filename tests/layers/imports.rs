//! The imports of a crate's files, read from their text.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Which files each file imports.
pub(crate) type Imports = BTreeMap<String, BTreeSet<String>>;

/// How many re-exports a path may pass through.
const REEXPORTS_MAX: u32 = 8;

/// A path in the code, from the crate's root.
type Names = Vec<String>;

/// The modules of a crate.
pub(crate) struct Crate {
    /// Each module that is a file, with its text.
    modules: BTreeMap<Names, String>,
    /// What each module re-exports: the name, and where it leads.
    reexports: BTreeMap<Names, BTreeMap<String, Names>>,
}

/// The first module of a path.
pub(crate) fn top(module: &str) -> &str {
    module.split("::").next().unwrap_or(module)
}

impl Crate {
    /// Reads `src` of a package, its tests left out.
    pub(crate) fn read(package: &Path) -> Crate {
        let mut modules = BTreeMap::new();
        read_folder(&package.join("src"), &[], &mut modules);
        assert!(!modules.is_empty(), "no files in {}", package.display());
        let mut all = Crate { modules, reexports: BTreeMap::new() };
        all.reexports =
            all.modules.iter().map(|(name, text)| (name.clone(), all.reexported(name, text))).collect();
        all
    }

    /// What each file imports.
    pub(crate) fn imports(&self) -> Imports {
        let of = |(module, text): (&Names, &String)| {
            let paths = paths(text).into_iter().filter(|path| !path.is_reexport);
            let found = paths.filter_map(|path| self.absolute(module, &path.names));
            let files = found.map(|path| self.defining(path)).filter(|file| file != module);
            (shown(module), files.map(|file| shown(&file)).collect())
        };
        self.modules.iter().map(of).collect()
    }

    fn reexported(&self, module: &Names, text: &str) -> BTreeMap<String, Names> {
        let of = |path: UsePath| {
            let name = path.alias.or_else(|| path.names.last().cloned())?;
            Some((name, self.absolute(module, &path.names)?))
        };
        paths(text).into_iter().filter(|path| path.is_reexport).filter_map(of).collect()
    }

    /// The path from the crate's root; `None` if it leads out of the crate.
    fn absolute(&self, module: &Names, path: &[String]) -> Option<Names> {
        let (first, rest) = path.split_first()?;
        let mut base = match first.as_str() {
            "crate" => Vec::new(),
            "self" => module.clone(),
            "super" => module[..module.len().checked_sub(1)?].to_vec(),
            child => {
                let own = [module.as_slice(), &[child.to_owned()]].concat();
                return self.modules.contains_key(&own).then(|| [own.as_slice(), rest].concat());
            }
        };
        for name in rest {
            if name == "super" { drop(base.pop()?) } else { base.push(name.clone()) }
        }
        Some(base)
    }

    /// The file that defines what a path leads to.
    fn defining(&self, mut path: Names) -> Names {
        for _ in 0..REEXPORTS_MAX {
            let length = (0..=path.len())
                .rev()
                .find(|length| self.modules.contains_key(&path[..*length]))
                .unwrap_or(0);
            let module = path[..length].to_vec();
            let Some(name) = path.get(length) else {
                return module;
            };
            let Some(leads) = self.reexports.get(&module).and_then(|known| known.get(name)) else {
                return module;
            };
            path = [leads.as_slice(), &path[length + 1..]].concat();
        }
        path
    }
}

fn shown(module: &Names) -> String {
    if module.is_empty() { "lib".to_owned() } else { module.join("::") }
}

fn read_folder(folder: &Path, module: &[String], all: &mut BTreeMap<Names, String>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut entries: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    for entry in entries {
        let stem = entry.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if stem == "tests" || stem == "bin" {
            continue;
        }
        if entry.is_dir() {
            read_folder(&entry, &[module, &[stem]].concat(), all);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            let own = match stem.as_str() {
                "lib" | "main" => Vec::new(),
                _ => [module, std::slice::from_ref(&stem)].concat(),
            };
            let text = code(&fs::read_to_string(&entry).unwrap_or_default());
            // `main.rs` beside `lib.rs` imports the library.
            all.entry(own).or_default().push_str(&text);
        }
    }
}

/// A source text without comments, texts and inline tests.
fn code(source: &str) -> String {
    let source = source.split("#[cfg(test)]\nmod ").next().unwrap_or(source);
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(letter) = rest.chars().next() {
        if rest.starts_with("//") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else if letter == '"' {
            rest = after_text(&rest[1..]);
            out.push(' ');
        } else {
            out.push(letter);
            rest = &rest[letter.len_utf8()..];
            // A character in quotes may be a quote.
            if letter == '\'' && (rest.starts_with("\"'") || rest.starts_with("\\\"'")) {
                rest = &rest[rest.find("\"'").map_or(0, |at| at + 2)..];
            }
        }
    }
    out
}

/// What follows a text in quotes. A raw text with quotes inside is cut short; what remains of it is no import.
fn after_text(text: &str) -> &str {
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            '\\' if !escaped => escaped = true,
            '"' if !escaped => return &text[at + 1..],
            _ => escaped = false,
        }
    }
    ""
}

/// A path, as a `use` or an expression has it.
struct UsePath {
    names: Names,
    alias: Option<String>,
    is_reexport: bool,
}

fn paths(text: &str) -> Vec<UsePath> {
    let mut all = Vec::new();
    for statement in text.split_inclusive(';') {
        let line = statement.trim_end_matches(';');
        match line.rfind("use ").filter(|at| is_use(line, *at)) {
            Some(at) => {
                let before = line[..at].trim_end();
                let is_reexport =
                    before.ends_with("pub") || (before.ends_with(')') && before.contains("pub("));
                expand(line[at + 4..].trim(), &[], is_reexport, &mut all);
                inline(&line[..at], &mut all);
            }
            None => inline(line, &mut all),
        }
    }
    all
}

/// Is this word a `use`, and not the end of another, nor the `use<..>` of a type?
fn is_use(line: &str, at: usize) -> bool {
    line[..at].chars().next_back().is_none_or(char::is_whitespace)
        && line[at + 4..]
            .trim()
            .starts_with(|first: char| first.is_alphabetic() || first == ':' || first == '{')
        && !line[at..].contains("=>")
}

/// The paths of a `use`, its braces multiplied out.
fn expand(tree: &str, before: &[String], is_reexport: bool, all: &mut Vec<UsePath>) {
    let tree = tree.trim();
    if let Some(open) = tree.find('{') {
        let prefix = [before, &names(&tree[..open])].concat();
        let inner = tree[open + 1..].trim_end().strip_suffix('}').unwrap_or(&tree[open + 1..]);
        let (mut depth, mut from) = (0, 0);
        for (at, letter) in inner.char_indices().chain([(inner.len(), ',')]) {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    if !inner[from..at].trim().is_empty() {
                        expand(&inner[from..at], &prefix, is_reexport, all);
                    }
                    from = at + 1;
                }
                _ => {}
            }
        }
        return;
    }
    let (path, alias) =
        tree.split_once(" as ").map_or((tree, None), |(path, alias)| (path, Some(alias.trim().to_owned())));
    let mut found = [before, &names(path)].concat();
    if found.last().is_some_and(|last| last == "self") && found.len() > 1 {
        found.pop();
    }
    all.push(UsePath { names: found, alias, is_reexport });
}

fn names(path: &str) -> Names {
    path.split("::")
        .map(str::trim)
        .filter(|name| !name.is_empty() && *name != "*")
        .map(str::to_owned)
        .collect()
}

/// The paths in expressions and types: those that begin with `crate`, `super` or `self`.
fn inline(line: &str, all: &mut Vec<UsePath>) {
    for root in ["crate::", "super::", "self::"] {
        for (at, _) in line.match_indices(root) {
            if line[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_' || before == ':')
            {
                continue;
            }
            let is_path = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
            let end = line[at..].find(|letter| !is_path(letter)).map_or(line.len(), |length| at + length);
            all.push(UsePath { names: names(&line[at..end]), alias: None, is_reexport: false });
        }
    }
}

/// The sets of files that import each other, over however many others.
pub(crate) fn circles(imports: &Imports) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&String, BTreeSet<String>> =
        imports.keys().map(|file| (file, reached(imports, file))).collect();
    let mut found: Vec<BTreeSet<String>> = Vec::new();
    for (file, all) in &reached {
        if all.contains(*file) && !found.iter().any(|circle| circle.contains(*file)) {
            let returns = |other: &&String| reached.get(other).is_some_and(|back| back.contains(*file));
            found.push(all.iter().filter(returns).cloned().collect());
        }
    }
    found
}

/// The files that a file imports, and those that these import.
fn reached(imports: &Imports, from: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let mut left = vec![from.to_owned()];
    while let Some(file) = left.pop() {
        for next in imports.get(&file).into_iter().flatten() {
            if all.insert(next.clone()) {
                left.push(next.clone());
            }
        }
    }
    all
}
