//! The table of layers, and its violations.

use std::collections::{BTreeMap, BTreeSet};

use crate::resolve::{Imports, listed};
use crate::source::Modules;

/// The layers of the packages, and those of the top modules of each crate; from the lowest.
pub(crate) struct Table {
    packages: Vec<Vec<String>>,
    crates: BTreeMap<String, Vec<String>>,
}

fn words(row: &toml::Value) -> Vec<String> {
    row.as_str().expect("a row is a text").split_whitespace().map(str::to_owned).collect()
}

impl Table {
    pub(crate) fn read() -> Table {
        Table::parse(include_str!("layers.toml"))
    }

    pub(crate) fn parse(text: &str) -> Table {
        let table: toml::Table = text.parse().expect("`layers.toml` is TOML");
        let packages =
            table["packages"].as_array().expect("`packages` is a list").iter().map(words).collect();
        let crates = table["crates"].as_table().expect("`crates` is a table");
        Table { packages, crates: crates.iter().map(|(name, row)| (name.clone(), words(row))).collect() }
    }

    /// Top modules of a crate that the table does not list, and imports that point upward.
    pub(crate) fn faults(&self, name: &str, modules: &Modules, imports: &Imports) -> Vec<String> {
        let row = self.crates.get(name).map_or(&[][..], Vec::as_slice);
        let layer = |module: &str| row.iter().position(|listed| listed == top(module));
        let mut faults = Vec::new();
        for module in top_modules(modules).into_iter().filter(|module| layer(module).is_none()) {
            faults.push(format!("  `layers.toml` has no module `{module}`"));
        }
        for (from, all) in imports {
            for (to, paths) in all {
                if layer(from).zip(layer(to)).is_some_and(|(low, high)| low < high) {
                    faults.push(format!("  {from} imports {to}, which is a higher layer: {}", listed(paths)));
                }
            }
        }
        faults
    }

    /// Packages that the table does not list, and dependencies on packages that are not lower.
    pub(crate) fn package_faults(&self, packages: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
        let layer = |package: &String| self.packages.iter().position(|row| row.contains(package));
        let mut faults = Vec::new();
        for (package, dependencies) in packages {
            let Some(own) = layer(package) else {
                faults.push(format!("  `layers.toml` has no package `{package}`"));
                continue;
            };
            let higher = dependencies.iter().filter(|other| layer(other).is_some_and(|layer| layer >= own));
            faults.extend(higher.map(|other| format!("  {package} depends on {other}, which is not lower")));
        }
        faults
    }

    /// Rows, modules and packages of the table that the workspace does not have.
    pub(crate) fn absent(&self, crates: &BTreeMap<String, Modules>) -> Vec<String> {
        let mut absent = Vec::new();
        for (name, row) in &self.crates {
            let there = crates.get(name).map(top_modules).unwrap_or_default();
            absent.extend(
                row.iter()
                    .filter(|module| !there.contains(*module))
                    .map(|module| format!("{name}: {module}")),
            );
        }
        let is_there = |package: &&String| crates.keys().any(|name| name.starts_with(package.as_str()));
        absent.extend(self.packages.iter().flatten().filter(|package| !is_there(package)).cloned());
        absent
    }
}

fn top(module: &str) -> &str {
    module.split("::").next().unwrap_or(module)
}

/// The modules below a crate's root that are files.
fn top_modules(modules: &Modules) -> BTreeSet<String> {
    let tops = modules.all.iter().filter(|(name, module)| name.len() == 1 && !module.file.is_empty());
    tops.map(|(name, _)| name[0].clone()).collect()
}
