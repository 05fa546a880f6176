//! The workspace: its packages, their dependencies, and their crates.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::source::{Modules, Sources};

/// The tables of a `Cargo.toml` whose packages are linked into released programs.
const DEPENDENCIES: [&str; 2] = ["dependencies", "build-dependencies"];

/// Every package of the repository and every source text.
pub(crate) struct Workspace {
    sources: Sources,
    /// The folder of each package, and those of the packages that it depends on. Tests may depend on anything.
    pub(crate) packages: BTreeMap<String, BTreeSet<String>>,
}

impl Workspace {
    pub(crate) fn read() -> Workspace {
        let top = fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
        let top = top.expect("the workspace's folder");
        let (mut sources, mut manifests) = (Sources::new(), BTreeMap::new());
        read_folder(&top, Path::new(""), &mut sources, &mut manifests);
        let names: BTreeMap<String, String> = manifests
            .iter()
            .filter_map(|(folder, manifest)| Some((package_name(manifest)?.to_owned(), folder.clone())))
            .collect();
        let dependencies = |manifest: &toml::Table| {
            let tables = DEPENDENCIES.iter().filter_map(|table| manifest.get(*table)?.as_table());
            tables.flat_map(toml::Table::keys).filter_map(|name| names.get(name).cloned()).collect()
        };
        let packages =
            names.values().map(|folder| (folder.clone(), dependencies(&manifests[folder]))).collect();
        Workspace { sources, packages }
    }

    /// Each crate, by its name in the table of layers: a package's folder, or the path of another crate in it.
    pub(crate) fn crates(&self) -> BTreeMap<String, Modules> {
        let mut all = BTreeMap::new();
        let mut unread: BTreeSet<&PathBuf> = BTreeSet::new();
        for path in self.sources.keys().filter(|path| self.package(path).is_some()) {
            if self.is_root(path) {
                all.insert(self.crate_name(path), Modules::read(path, &self.sources));
            } else {
                unread.insert(path);
            }
        }
        for modules in all.values() {
            unread.retain(|path| !modules.files.contains(*path));
        }
        assert!(unread.is_empty(), "files of no crate: {unread:?}");
        all
    }

    fn package<'a>(&self, file: &'a Path) -> Option<&'a Path> {
        file.ancestors().skip(1).find(|folder| self.packages.contains_key(&*folder.to_string_lossy()))
    }

    /// Does a crate begin with this file? As in Cargo's own search, with the folder of fuzz targets.
    fn is_root(&self, file: &Path) -> bool {
        let name = file.file_name().unwrap_or_default();
        let folder = file.parent().unwrap_or(Path::new(""));
        let is_group = folder.file_name().is_some_and(|name| {
            name == "tests" || name == "benches" || name == "examples" || name == "fuzz_targets"
        });
        let is_bin = folder.ends_with("src/bin");
        name == "lib.rs" || name == "main.rs" || is_bin || (is_group && folder.parent() == self.package(file))
    }

    fn crate_name(&self, root: &Path) -> String {
        let folder = root.parent().unwrap_or(Path::new(""));
        let is_main = root.ends_with("main.rs");
        let name = if root.ends_with("src/lib.rs")
            || (root.ends_with("src/main.rs") && !self.sources.contains_key(&folder.join("lib.rs")))
        {
            folder.parent().unwrap_or(folder).to_owned()
        } else if is_main && !folder.ends_with("src") {
            folder.to_owned()
        } else {
            root.with_extension("")
        };
        name.to_string_lossy().into_owned()
    }
}

fn package_name(manifest: &toml::Table) -> Option<&str> {
    manifest.get("package")?.get("name")?.as_str()
}

fn read_folder(
    top: &Path,
    folder: &Path,
    sources: &mut Sources,
    manifests: &mut BTreeMap<String, toml::Table>,
) {
    let full = top.join(folder);
    let entries = fs::read_dir(&full).unwrap_or_else(|error| panic!("{}: {error}", full.display()));
    for entry in entries {
        let entry = entry.unwrap_or_else(|error| panic!("{}: {error}", full.display()));
        let name = entry.file_name();
        let path = folder.join(&name);
        let text =
            || fs::read_to_string(entry.path()).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let is_built =
                entry.path().join("CACHEDIR.TAG").exists() || name == "target" || name == "node_modules";
            if !is_built && !name.to_string_lossy().starts_with('.') {
                read_folder(top, &path, sources, manifests);
            }
        } else if name == "Cargo.toml" {
            let manifest = text().parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            manifests.insert(folder.to_string_lossy().into_owned(), manifest);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.insert(path.clone(), text());
        }
    }
}
