//! Resolves a path to the file that defines the item.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{Import, Module, Modules, Names, joined};

/// Maximum imports and re-exports on a path.
const STEPS_MAX: u32 = 16;

/// The files that each file imports, with the paths.
pub(crate) type Imports = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// The module or item that a path leads to.
enum Named {
    Module(Names),
    /// An item of this module.
    ItemOf(Names),
}

impl Modules {
    /// The imports of each file. A re-export alone is not an import: its use imports the file that defines the item.
    pub(crate) fn imports(&self) -> Imports {
        let mut all = Imports::new();
        for (name, module) in &self.all {
            let from = shown(&module.file);
            let found = all.entry(from.clone()).or_default();
            let mut note = |to: &Names, path: &Names| {
                let to = shown(&self.all[to].file);
                if to != from {
                    found.entry(to).or_default().insert(path.join("::"));
                }
            };
            for import in module.imports.iter().filter(|import| !import.is_reexport) {
                // A module in a `use` is imported by the paths that begin with it.
                match self.named(name, &import.path, STEPS_MAX) {
                    Some(Named::ItemOf(to)) => note(&to, &import.path),
                    Some(Named::Module(to)) if import.name.is_none() => note(&to, &import.path),
                    _ => {}
                }
            }
            for path in &module.paths {
                if let Some(Named::ItemOf(to) | Named::Module(to)) = self.named(name, path, STEPS_MAX) {
                    note(&to, path);
                }
            }
        }
        all
    }

    /// Resolves a path in the module `from`; `None` if it leads out of the crate.
    fn named(&self, from: &Names, path: &[String], steps: u32) -> Option<Named> {
        let steps = steps.checked_sub(1)?;
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => return self.below(Vec::new(), rest, steps),
            "self" => return self.below(from.clone(), rest, steps),
            "super" => {
                let mut base = from[..from.len().checked_sub(1)?].to_vec();
                let mut rest = rest;
                while let Some((_, after)) = rest.split_first().filter(|(name, _)| *name == "super") {
                    base.pop()?;
                    rest = after;
                }
                return self.below(base, rest, steps);
            }
            _ => {}
        }
        let module = &self.all[from];
        let child = joined(from, first);
        if !rest.is_empty() && self.all.contains_key(&child) {
            return self.below(child, rest, steps);
        }
        if let Some(import) = named_import(module, first, path) {
            return self.named(from, &[import.path.as_slice(), rest].concat(), steps);
        }
        if module.items.contains(first) {
            return Some(Named::ItemOf(from.clone()));
        }
        if self.all.contains_key(&child) {
            return Some(Named::Module(child));
        }
        self.by_glob(from, module.imports.iter(), path, steps)
    }

    /// Resolves a path below a module.
    fn below(&self, mut module: Names, mut path: &[String], steps: u32) -> Option<Named> {
        while let Some((first, rest)) = path.split_first() {
            let child = joined(&module, first);
            let here = &self.all[&module];
            if !rest.is_empty() && self.all.contains_key(&child) {
                (module, path) = (child, rest);
                continue;
            }
            if let Some(import) = named_import(here, first, path) {
                // A private import is the module's own: a child that uses it depends on the module.
                if !import.is_reexport {
                    return Some(Named::ItemOf(module));
                }
                return self.named(&module, &[import.path.as_slice(), rest].concat(), steps);
            }
            if !here.items.contains(first) {
                if self.all.contains_key(&child) {
                    return Some(Named::Module(child));
                }
                let reexports = here.imports.iter().filter(|import| import.is_reexport);
                if let Some(found) = self.by_glob(&module, reexports, path, steps) {
                    return Some(found);
                }
            }
            return Some(Named::ItemOf(module));
        }
        Some(Named::Module(module))
    }

    /// Resolves a path whose first name comes from a `use module::*`.
    fn by_glob<'a>(
        &'a self,
        from: &Names,
        imports: impl Iterator<Item = &'a Import>,
        path: &[String],
        steps: u32,
    ) -> Option<Named> {
        for import in imports.filter(|import| import.name.is_none() && !import.path.is_empty()) {
            if let Some(Named::Module(module)) = self.named(from, &import.path, steps)
                && module != *from
                && self.offers(&module, &path[0])
            {
                return self.below(module, path, steps);
            }
        }
        None
    }

    fn offers(&self, module: &Names, name: &str) -> bool {
        let here = &self.all[module];
        here.items.contains(name)
            || self.all.contains_key(&joined(module, name))
            || here.imports.iter().any(|import| import.is_reexport && import.name.as_deref() == Some(name))
    }
}

/// The import of `name`, unless the path is that import.
fn named_import<'a>(module: &'a Module, name: &str, path: &[String]) -> Option<&'a Import> {
    module.imports.iter().find(|import| import.name.as_deref() == Some(name) && import.path != path)
}

/// A file's name in reports.
pub(crate) fn shown(module: &Names) -> String {
    if module.is_empty() { "root".to_owned() } else { module.join("::") }
}

/// The circles of a crate, each with the imports that close it.
pub(crate) fn circles_shown(imports: &Imports) -> Vec<String> {
    let arrows = imports.iter().map(|(from, all)| (from.clone(), all.keys().cloned().collect())).collect();
    let shown = |circle: &BTreeSet<String>| {
        let mut text = format!("  circle of {} files:", circle.len());
        for from in circle {
            for (to, paths) in imports[from].iter().filter(|(to, _)| circle.contains(*to)) {
                text += &format!("\n    {from} imports {to}: {}", listed(paths));
            }
        }
        text
    };
    circles(&arrows).iter().map(shown).collect()
}

/// The sets of files that import each other, directly or indirectly.
pub(crate) fn circles(imports: &BTreeMap<String, BTreeSet<String>>) -> Vec<BTreeSet<String>> {
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
fn reached(imports: &BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<String> {
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

/// Paths in a report.
pub(crate) fn listed(paths: &BTreeSet<String>) -> String {
    paths.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}
