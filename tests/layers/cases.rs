//! The check itself, on small crates: it finds every form of an import, and no false ones.

use std::path::Path;

use crate::resolve::{circles_shown, shown};
use crate::source::{Modules, Sources};
use crate::table::Table;

fn modules(files: &[(&str, &str)]) -> Modules {
    let sources: Sources =
        files.iter().map(|(path, text)| (Path::new("src").join(path), (*text).to_owned())).collect();
    let all = Modules::read(Path::new("src/lib.rs"), &sources);
    assert_eq!(all.files.len(), files.len(), "every file is read");
    all
}

/// The imports between the files, as `from to`.
fn imports(files: &[(&str, &str)]) -> Vec<String> {
    let arrow = |(from, all): (String, std::collections::BTreeMap<String, _>)| {
        all.into_keys().map(move |to| format!("{from} {to}")).collect::<Vec<_>>()
    };
    modules(files).imports().into_iter().flat_map(arrow).collect()
}

/// The imports of `a` with this text, in a crate with `b`, its child `c`, and `d`.
fn imports_of(text: &str) -> Vec<String> {
    imports(&[
        ("lib.rs", "mod a; mod b; mod d;"),
        ("a.rs", text),
        ("b.rs", "pub(crate) mod c; pub(crate) use c::Child; pub(crate) fn made() {} pub(crate) struct Of;"),
        ("b/c.rs", "pub(crate) struct Child; pub(crate) fn child() {}"),
        ("d.rs", "pub(crate) use crate::b::c as alias; pub(crate) use crate::b::*; pub(crate) fn own() {}"),
    ])
}

#[test]
fn every_form_of_an_import_is_seen() {
    for (text, expected) in [
        ("use crate::b::made;", "b"),
        ("use super::b::made;", "b"),
        ("use crate::{b::{c::{self, Child}, Of as Other}};", "b b::c"),
        ("use crate::b::*;", "b"),
        ("fn f() { use crate::b::made; made() }", "b"),
        ("fn f() { crate::b::made() }", "b"),
        ("fn f() -> Vec<super::b::Of> { Vec::new() }", "b"),
        ("fn f(x: &dyn Fn() -> super::b::Of) {}", "b"),
        // A module and then its item.
        ("use crate::b; fn f() { b::made() }", "b"),
        ("use crate::b as back; fn f() { back::made() }", "b"),
        ("use crate::b::c; fn f() { c::child() }", "b::c"),
        ("use super::b; fn f() { b::c::child() }", "b::c"),
        ("use crate::b; fn f() { use b::c::child; child() }", "b::c"),
        // Re-exports lead to the file that defines the item.
        ("use crate::b::Child;", "b::c"),
        ("use crate::d::Child;", "b::c"),
        ("use crate::d::made;", "b"),
        ("use crate::d::alias::child;", "b::c"),
        ("use crate::d::{own, Of};", "b d"),
        // A re-export that the file uses itself.
        ("pub(crate) use crate::b::made; fn f() { made() }", "b"),
        ("pub(crate) use crate::b::made; fn f() { let made = made(); }", "b"),
        ("pub(crate) use crate::b::Of; struct S(Of);", "b"),
        ("pub(crate) use crate::b::made; fn f() { assert!(made()); }", "b"),
        // Macros and attributes.
        ("fn f() { println!(\"{}\", crate::b::made()) }", "b"),
        ("fn f() { assert!(x.y(super::b::Of { a: [crate::b::c::child()] })) }", "b b::c"),
        ("use crate::b; fn f() { vec![b::made()] }", "b"),
        ("macro_rules! m { () => { $crate::b::made() } }", "b"),
        ("tests! { fn f() { use crate::b::{made, Of}; } }", "b"),
        ("#[serde(with = \"crate::b::c\")] struct S;", "b::c"),
        ("struct S { #[serde(default = \"super::b::made\")] x: u8 }", "b"),
        ("#[error(\"{}\", crate::b::made())] struct S;", "b"),
        // Inline modules are part of the file.
        ("mod inner { pub(crate) fn f() { super::super::b::made() } }", "b"),
        ("use crate::b::Of; mod inner { use super::Of; }", "b"),
        ("mod inner { pub(crate) use crate::b::made; } fn f() { inner::made() }", "b"),
        // Unit tests at the top do not hide later code.
        ("#[cfg(test)] mod tests { use crate::d::own; } fn f() { crate::b::made() }", "b"),
        ("#[cfg(test)] use crate::d::own; use crate::b::made;", "b"),
    ] {
        let all: Vec<String> = expected.split(' ').map(|to| format!("a {to}")).collect();
        assert_eq!(imports_of(text), all, "{text}");
    }
}

#[test]
fn what_imports_nothing_is_not_seen() {
    for text in [
        "fn made() {} fn f() { made(); self::made(); }",
        "pub(crate) use crate::b::made;",
        "pub(crate) use crate::b::made; fn f(made: u8) -> u8 { made + g!(made, x.made) }",
        "use crate::b;",
        "use std::b::made; use serde::b as c; fn f() { c::x() }",
        "use ::b::made; fn f() { ::crate_b::b::made(); m!(::b::made()) }",
        "fn f() { m!(x.b::made(), std::crate_b::made) }",
        "//! See `crate::b::made`.\n/// [`crate::b::made`]\nfn f() {}",
        "pub(in crate::b) fn f() {}",
        "mod inner { m! { pub(super) fn f(&self) { self.x(crate) } } }",
        "fn f() { \"crate::b::made\"; /* crate::b::made() */ }",
        "#[cfg(test)] fn f() { crate::b::made() } #[cfg(test)] impl S { fn f() { crate::b::made() } }",
        "#[cfg(any(test, fuzzing))] mod oracle { use crate::b::made; }",
        "impl S { #[cfg(test)] fn f() { crate::b::made() } }",
    ] {
        assert_eq!(imports_of(text), [""; 0], "{text}");
    }
}

#[test]
fn a_file_of_tests_at_the_top_hides_nothing_and_is_read() {
    let all = [
        ("lib.rs", "#[cfg(test)]\nmod tests;\nmod a;\nfn f() { a::made() }"),
        ("tests.rs", "mod deep; use crate::a::other;"),
        ("tests/deep.rs", "use super::*;"),
        ("a.rs", "pub(crate) fn made() {} fn g() { crate::f() }"),
    ];
    assert_eq!(imports(&all), ["a root", "root a"]);
    assert_eq!(imports(&[("lib.rs", "mod a;"), ("a.rs", "m! { pub(super) fn f() {} }")]), [""; 0]);
}

#[test]
fn files_lie_where_the_module_says() {
    let all = [
        ("lib.rs", "#[path = \"far/away.rs\"] mod a; mod b; mod inner { pub(crate) mod c; }"),
        ("far/away.rs", "mod near; fn f() { near::made() }"),
        ("far/near.rs", "pub(crate) fn made() {}"),
        ("b/mod.rs", "use crate::inner::c::made;"),
        ("inner/c.rs", "pub(crate) fn made() {}"),
    ];
    assert_eq!(imports(&all), ["a a::near", "b inner::c"]);
}

#[test]
fn a_parent_and_its_child_are_a_circle_if_each_uses_the_other() {
    let child = "use super::Word; pub(crate) fn made() -> Word { Word }";
    for (parent, expected) in [
        ("pub(crate) mod child; pub(crate) struct Word;", 0),
        ("mod child; pub(crate) use child::made; pub(crate) struct Word;", 0),
        ("mod child; pub(crate) struct Word; fn f() { child::made() }", 1),
        ("mod child; use child::made; pub(crate) struct Word;", 1),
        ("mod child; pub(crate) use child::made; pub(crate) struct Word; fn f() { made() }", 1),
    ] {
        let found = circles_shown(&modules(&[("lib.rs", parent), ("child.rs", child)]).imports());
        assert_eq!(found.len(), expected, "{parent}: {found:?}");
    }
}

#[test]
fn what_a_module_imports_for_itself_its_children_take_from_it() {
    let all = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "mod child; use crate::b::made;"),
        ("a/child.rs", "use super::made;"),
        ("b.rs", "pub(crate) fn made() {}"),
    ];
    assert_eq!(imports(&all), ["a b", "a::child a"]);
}

#[test]
fn a_circle_over_several_files_is_shown_with_what_closes_it() {
    let all = [
        ("lib.rs", "mod a; mod b; mod c; mod d;"),
        ("a.rs", "use crate::b::x;"),
        ("b.rs", "use crate::{c::x, d::x as y};"),
        ("c.rs", "fn f() { super::a::x() }"),
        ("d.rs", ""),
    ];
    let shown = "  circle of 3 files:\n    a imports b: crate::b::x\n    b imports c: crate::c::x\n    c imports a: super::a::x";
    assert_eq!(circles_shown(&modules(&all).imports()), [shown]);
}

#[test]
fn a_module_imports_only_lower_ones_and_stands_in_the_table() {
    let all = modules(&[
        ("lib.rs", "mod low; mod high; mod new;"),
        ("low.rs", "mod deep;"),
        ("low/deep.rs", "use crate::high::x; use crate::low::y;"),
        ("high.rs", "use crate::low::z;"),
        ("new.rs", ""),
    ]);
    let table = Table::parse("packages = []\n[crates]\nsmall = 'low high'");
    let faults = table.faults("small", &all, &all.imports());
    assert_eq!(
        faults,
        [
            "  `layers.toml` has no module `new`",
            "  low::deep imports high, which is a higher layer: crate::high::x"
        ]
    );
    assert_eq!(table.faults("other", &all, &all.imports()).len(), 3, "every module is new");
    assert_eq!(shown(&Vec::new()), "root");
}

#[test]
fn a_package_depends_only_on_lower_ones() {
    let table = Table::parse("packages = ['core', 'one two', 'top']\n[crates]");
    let of = |package: &str, other: &str| [(package.to_owned(), [other.to_owned()].into())].into();
    for (package, other, faults) in
        [("one", "core", 0), ("top", "two", 0), ("one", "two", 1), ("core", "one", 1), ("new", "core", 1)]
    {
        assert_eq!(table.package_faults(&of(package, other)).len(), faults, "{package} on {other}");
    }
}
