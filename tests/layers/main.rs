//! Imports point one way. No two files import each other, even indirectly; in each crate a module imports only modules
//! of lower layers; a package depends only on packages of lower layers. `layers.toml` defines the layers.
//!
//! An import is a path in a `use`, in code, in a macro or in an attribute. A path to a re-export counts as an import of
//! the file that defines the item; `mod` and the re-export itself do not count. A method call is not an import, because
//! only the compiler knows its type. Unit tests may import anything.

mod cases;
mod resolve;
mod source;
mod table;
mod workspace;

use std::collections::BTreeMap;

use source::Modules;
use table::Table;
use workspace::Workspace;

/// The faults of each crate.
fn faults(table: &Table, crates: &BTreeMap<String, Modules>) -> BTreeMap<String, Vec<String>> {
    let mut all = BTreeMap::new();
    for (name, modules) in crates {
        let imports = modules.imports();
        let mut found = resolve::circles_shown(&imports);
        found.extend(table.faults(name, modules, &imports));
        if !found.is_empty() {
            all.insert(name.clone(), found);
        }
    }
    all
}

fn shown(faults: &BTreeMap<String, Vec<String>>) -> String {
    faults.iter().map(|(name, all)| format!("{name}: {} faults\n{}\n", all.len(), all.join("\n"))).collect()
}

#[test]
fn imports_point_one_way() {
    let (table, crates) = (Table::read(), Workspace::read().crates());
    let faults = faults(&table, &crates);
    assert!(faults.is_empty(), "\n{}", shown(&faults));
}

#[test]
fn the_table_lists_only_what_is_there() {
    let (table, crates) = (Table::read(), Workspace::read().crates());
    let absent = table.absent(&crates);
    assert!(absent.is_empty(), "rows and modules of `layers.toml` that no longer exist: {absent:?}");
}

#[test]
fn packages_depend_on_lower_ones() {
    let faults = Table::read().package_faults(&Workspace::read().packages);
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}
