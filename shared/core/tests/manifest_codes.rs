//! For each code: a manifest that causes it, and no other.

use std::collections::BTreeSet;

use keyfold_core::manifest::{Severity, codes, model, parse};

/// A table with these fields, followed by `rest`. It has a sort key and attributes of most types.
fn table(fields: &str, rest: &str) -> String {
    format!(
        "[tables.t]\nname = \"tbl\"\npartition = \"id\"\nsort = \"at\"\nexpect = {{ items-per-partition = 10, item-bytes = 10 }}\n\
         {fields}\n[tables.t.attributes]\nid = \"string\"\nat = \"timestamp\"\nn = \"number\"\nok = \"boolean\"\n\
         tags = \"string-set\"\ndoc = \"map\"\nfree = \"string\"\nmore = \"string\"\n\
         kind = {{ type = \"string\", values = [\"a\", \"b\"] }}\n{rest}\n"
    )
}

fn rest(rest: &str) -> String {
    table("", rest)
}

/// A table with these numbers of items for listed values.
fn valued(values: &str) -> String {
    rest("").replace("item-bytes = 10 }", &format!("item-bytes = 10, values = {{ {values} }} }}"))
}

/// A table whose own keys are written as the case has them.
fn keyed(keys: &str, rest: &str) -> String {
    table("", rest).replace("partition = \"id\"\nsort = \"at\"", keys)
}

fn codes_of(text: &str) -> Vec<&'static str> {
    let parsed = parse("keyfold.toml", text);
    let errors = parsed.diagnostics.iter().any(|found| found.severity == Severity::Error);
    assert_eq!(parsed.model.is_none(), errors, "a model, or errors: {text}");
    assert_eq!(model("keyfold.toml", text).ok(), parsed.model, "warnings decide nothing: {text}");
    parsed.diagnostics.iter().map(|found| found.code).collect()
}

fn check(cases: &[(&[&str], String)]) {
    let wrong: Vec<String> = cases
        .iter()
        .filter(|(expected, text)| codes_of(text) != *expected)
        .map(|(expected, text)| {
            let rendered = parse("keyfold.toml", text).render(text, false);
            format!("expected {expected:?}, found {:?} in\n{text}\n{rendered}", codes_of(text))
        })
        .collect();
    assert!(wrong.is_empty(), "{} cases differ:\n{}", wrong.len(), wrong.join("\n----\n"));
}

/// A table with a folded sort key that two entities give.
fn entities(one: &str, other: &str) -> String {
    keyed(
        "partition = \"id\"\nsort = { attribute = \"SK\" }",
        &format!(
            "[tables.t.entities.one]\nwhen = {{ kind = \"a\" }}\n{one}\n\
             [tables.t.entities.two]\nwhen = {{ kind = \"b\" }}\n{other}"
        ),
    )
}

/// A table with an index whose keys two entities give.
fn overloaded(one: &str, other: &str) -> String {
    rest(&format!(
        "[tables.t.indexes.over]\npartition = {{ attribute = \"OP\" }}\nsort = {{ attribute = \"OS\" }}\n\
         [tables.t.entities.one]\nwhen = {{ kind = \"a\" }}\n{one}\n\
         [tables.t.entities.two]\nwhen = {{ kind = \"b\" }}\n{other}"
    ))
}

/// A table whose entities are recognised by how their key begins.
fn by_prefix(attributes: &str, one: &str, other: &str) -> String {
    format!(
        "[tables.t]\nname = \"tbl\"\npartition = {{ attribute = \"PK\" }}\n\
         attributes = {{ id = \"string\", n = \"number\"{attributes} }}\n\
         [tables.t.entities.one]\n{one}\n[tables.t.entities.two]\n{other}\n"
    )
}

fn prefixes() -> Vec<(&'static [&'static str], String)> {
    let when = |key: &str, prefix: &str, template: &str| {
        format!("when = {{ {key} = {{ begins-with = \"{prefix}\" }} }}\npartition = \"{template}\"")
    };
    let other = when("PK", "B#", "B#{id}");
    let one = |line: &str| by_prefix("", line, &other);
    vec![
        (&[], one(&when("PK", "A#", "A#{id}"))),
        (&["entity-key-mismatch"], one(&when("PK", "A#", "C#{id}"))),
        (&["same-when", "keys-can-collide"], one(&when("PK", "B#B", "B#B{id}"))),
        (&["operator-misfit"], one(&when("n", "1", "A#{id}"))),
        (&["bad-value"], one(&when("PK", "", "A#{id}"))),
        (&["bad-value"], one("when = { PK = \"A#1\" }\npartition = \"A#{id}\"")),
        (&["unknown-attribute"], one(&when("SK", "A#", "A#{id}"))),
        (&[], by_prefix(", c = { type = \"string\", from-key = true }", &when("PK", "A#", "A#{c}"), &other)),
        (
            &["bad-from-key"],
            by_prefix(
                ", c = { type = \"string\", from-key = true }",
                &when("PK", "A#", "A#{c|lower}"),
                &other,
            )
            .replace("name = \"tbl\"", "name = \"tbl\"\nallow = [\"lossy-primary-key\"]"),
        ),
        (
            &["bad-from-key"],
            by_prefix(
                ", c = { type = \"string\", from-key = true }",
                "when = { c = \"x\" }\npartition = \"A#{c}\"",
                &other,
            ),
        ),
        (
            &["mixed-type"],
            by_prefix(
                ", kind = \"string\"",
                "when = { kind = \"a\" }\npartition = \"A#{id}\"\nattributes.x = \"number\"",
                "when = { kind = \"b\" }\npartition = \"B#{id}\"\nattributes.x = \"string\"",
            ) + "[tables.t.indexes.byX]\npartition = \"x\"\n",
        ),
        (
            &["scope-unproven"],
            "[tables.t]\nname = \"tbl\"\npartition = \"id\"\nscope = { org = \"jwt.org\" }\n\
             attributes = { id = \"string\", org = { type = \"string\", from-key = true }, note = \"string\" }\n\
             indexes.byNote.partition = \"{note}#{org}\"\n\
             [deploy]\nquery-api = [\"t\"]\nquery-api-writes = [\"t\"]\n"
                .to_owned(),
        ),
        (
            &["bad-from-key"],
            rest("").replace("free = \"string\"", "free = { type = \"string\", from-key = true }"),
        ),
    ]
}

fn named_templates() -> Vec<(&'static [&'static str], String)> {
    let with = |templates: &str, sort: &str| {
        keyed(&format!("partition = \"id\"\ntemplates = {{ {templates} }}\nsort = \"{sort}\""), "")
    };
    vec![
        (&[], with("owner = \"u#{free}\"", "{@owner}#{more}")),
        (&["bad-template"], with("owner = \"u#{free}\"", "{@ownr}#{more}")),
        (&["bad-template"], with("owner = \"u#{fre}\"", "{@owner}#{more}")),
        (&["bad-template"], with("owner = \"{free}\", all = \"{@owner}\"", "{@owner}#{more}")),
        (&["wrong-type"], with("owner = 1", "x#{more}")),
    ]
}

fn many_indexes(count: usize, allow: &str) -> String {
    let index = |at| format!("[tables.t.indexes.gsi{at}]\npartition = \"free\"\n");
    table(allow, &(0..count).map(index).collect::<String>())
}

/// The codes for 130 unknown fields.
const MANY: [&str; 101] = {
    let mut codes = ["unknown-field"; 101];
    codes[100] = "more-errors";
    codes
};

fn language() -> Vec<(&'static [&'static str], String)> {
    vec![
        (&[], rest("")),
        (&[], table("ttl = \"n\"", "")),
        (&["unknown-attribute"], table("ttl = \"nn\"", "")),
        (&["missing-field"], String::new()),
        (&["too-large"], "#".repeat((1 << 20) + 1)),
        (&MANY, table(&(0..130).map(|at| format!("field{at} = 1\n")).collect::<String>(), "")),
        (&["toml-syntax"], rest("[tables.t.indexes.x\npartition = 1")),
        (&["toml-syntax"], table("sort-of = ", "").replace("sort-of", "verbatim")),
        (&["duplicate-name"], table("name = \"other\"", "")),
        (
            &["duplicate-name"],
            rest("[tables.u]\nname = \"tbl\"\npartition = \"id\"\nattributes = { id = \"string\" }"),
        ),
        (&["unknown-field"], table("partiton = \"id\"", "")),
        (&["unknown-field"], rest("[table.u]\npartition = \"id\"")),
        (&["wrong-type"], table("verbatim = \"yes\"", "")),
        (&["wrong-type"], rest("[tables.t.indexes.byN]\npartition = 7")),
        (&["wrong-type"], rest("[prices]\nread-million = \"0.125\"")),
        (&["wrong-type"], table("entity-attribute = \"n\"", "")),
        (&["wrong-type"], table("ttl = \"kind\"", "")),
        (&["wrong-type"], rest("[tables.t.entities.e]\nwhen = { n = \"one\" }")),
        (&["wrong-type"], rest("[retrofits.r]\nfrom = \"t\"\nto = \"t\"\nset = { n = \"one\" }")),
        (&["wrong-type"], "tables = 1".to_owned()),
        (&["missing-field"], "[tables.tbl]\nattributes = { id = \"string\" }".to_owned()),
        (&["missing-field"], rest("[tables.t.indexes.byN]\ntype = \"global\"\nsort = \"n\"")),
        (&["missing-field"], rest("[tables.t.attributes.x]\nvalues = [\"a\"]")),
        (&["missing-field"], rest("[retrofits.r]\nfrom = \"t\"\nset = { free = \"x\" }")),
        (
            &["bad-name"],
            rest("[tables.2nd]\nname = \"second\"\npartition = \"id\"\nattributes = { id = \"string\" }"),
        ),
        (&["bad-name"], "[tables.t]\npartition = \"id\"\nattributes = { id = \"string\" }".to_owned()),
        (&["bad-name"], rest("[tables.t.indexes.\"by n\"]\npartition = \"n\"")),
        (&["bad-name"], rest("[tables.t.indexes.ix]\npartition = \"n\"")),
        (&["bad-name"], rest("[questions.t.\"what?\"]\nwhere = [\"id\"]")),
        (&["bad-value"], rest("[tables.t.attributes.x]\ntype = \"sting\"")),
        (&["bad-value"], rest("[tables.t.indexes.byN]\npartition = \"n\"\nprojection = \"none\"")),
        (&["bad-value"], rest("[tables.t.indexes.byN]\npartition = \"n\"\nprojection = []")),
        (&["bad-value"], rest("[questions.t.q]\nwhere = [\"id\"]\nlimit = 0")),
        (&["bad-value"], rest("[questions.t.q]\nwhere = [\"id\"]\nrate = \"0.5/s\"")),
        (&["wrong-type"], rest("[questions.t.q]\nwhere = [\"id\"]\nrate = 5")),
        (
            &["unknown-field"],
            rest("[tables.t.indexes.byN]\npartition = \"n\"\nexpect = { writes = \"1/s\" }"),
        ),
        (
            &["bad-value"],
            entities("sort = \"A#\"\nexpect = { items = 9, writes = \"1/year\" }", "sort = \"B#\""),
        ),
        (
            &["unknown-field"],
            entities("sort = \"A#\"\nexpect = { items-per-partition = 9 }", "sort = \"B#\""),
        ),
        (&[], entities("sort = \"A#\"\nexpect = { item-bytes = 9, writes = \"1/day\" }", "sort = \"B#\"")),
        (&[], valued("kind = { a = 0, b = 9 }")),
        (&["bad-value"], valued("kind = { c = 9 }")),
        (&["bad-value"], valued("free = { a = 9 }")),
        (&["bad-value"], valued("kind = { a = -1 }")),
        (&["wrong-type"], valued("kind = { a = \"9\" }")),
        (&["wrong-type"], valued("kind = 9")),
        (&["unknown-attribute"], valued("other = { a = 9 }")),
        (
            &["unknown-field"],
            entities("sort = \"A#\"\nexpect = { values = { kind = { a = 1 } } }", "sort = \"B#\""),
        ),
        (&["bad-value"], rest("[prices]\nas-of = \"2026-13-01\"")),
        (&["bad-value"], rest("[prices]\nwrite-million = -1")),
        (&["bad-value"], table("collection-warning-gb = 10", "")),
        (&["bad-value"], table("scope = { id = \"jwt..org\" }", "")),
        (&["bad-value"], rest("[tables.t.entities.e]\nwhen = { kind = \"c\" }")),
        (&["bad-value"], table("entity-attribute = \"kind\"", "[tables.t.entities.c]")),
        (&["unknown-warning"], table("allow = [\"hot-partitions\"]", "")),
        (&["bad-values"], rest("[tables.t.attributes.x]\ntype = \"string\"\nvalues = []")),
        (&["bad-values"], rest("[tables.t.attributes.x]\ntype = \"string\"\nvalues = [\"a\", \"a\"]")),
        (&["bad-values"], rest("[tables.t.attributes.x]\ntype = \"number\"\nvalues = [1, 1.0]")),
        (&["bad-values"], rest("[tables.t.attributes.x]\ntype = \"number\"\nvalues = [\"1\"]")),
        (&["bad-values"], rest("[tables.t.attributes.x]\ntype = \"date\"\nvalues = [\"2017-01-01\"]")),
        (&["bad-map"], rest("[tables.t.attributes.x]\ntype = \"string\"\nmaps.m = { a = \"1\", b = \"1\" }")),
        (&["bad-map"], rest("[tables.t.attributes.x]\ntype = \"string\"\nmaps.m = {}")),
        (&["bad-map"], rest("[tables.t.attributes.x]\ntype = \"boolean\"\nmaps.m = { true = \"1\" }")),
        (&["bad-map"], rest("[tables.t.attributes.x]\ntype = \"number\"\nmaps.m = { one = \"1\" }")),
        (
            &["bad-map"],
            rest("[tables.t.attributes.x]\ntype = \"string\"\nvalues = [\"a\"]\nmaps.m = { b = \"1\" }"),
        ),
        (&["bad-precision"], rest("[tables.t.attributes.x]\ntype = \"date\"\nprecision = \"s\"")),
    ]
}

fn keys() -> Vec<(&'static [&'static str], String)> {
    vec![
        (&["unknown-attribute"], rest("[tables.t.indexes.byX]\npartition = \"fre\"")),
        (&["unknown-attribute"], rest("[tables.t.indexes.byX]\npartition = \"{fre}\"")),
        (&["unknown-attribute"], rest("[tables.t.indexes.byX]\npartition = [\"free\", \"x\"]")),
        (&["unknown-attribute"], rest("[tables.t.indexes.byX]\npartition = \"n\"\nprojection = [\"x\"]")),
        (&["unknown-attribute"], table("scope = { org = \"jwt.org\" }", "")),
        (&["unknown-attribute"], rest("[tables.t.entities.e]\nwhen = { x = 1 }")),
        (
            &["unknown-attribute"],
            keyed(
                "partition = \"PK\"",
                "[tables.t.entities.e]\nwhen = { kind = \"a\" }\npartition = \"{id}\"",
            ),
        ),
        (&["key-not-scalar"], rest("[tables.t.indexes.byX]\npartition = \"ok\"")),
        (
            &["key-not-scalar", "key-not-scalar"],
            rest("[tables.t.indexes.byX]\npartition = [\"tags\"]\nsort = \"doc\""),
        ),
        (
            &["folded-over-natural"],
            rest("[tables.t.indexes.byX]\npartition = { attribute = \"free\", fold = \"{id}-{more}\" }"),
        ),
        (
            &["template-for-natural-key"],
            rest(
                "[tables.t.indexes.byX]\npartition = \"free\"\n[tables.t.entities.e]\nwhen = { kind = \"a\" }\nindexes.byX.partition = \"x-{n:03}\"",
            ),
        ),
        (&["missing-template"], rest("[tables.t.indexes.byX]\npartition = {}")),
        (&["unknown-attribute"], rest("[tables.t.indexes.byX]\npartition = { attribute = \"PK\" }")),
        (&["native-key-place"], keyed("partition = [\"id\"]\nsort = \"at\"", "")),
        (&["native-key-place"], rest("[tables.t.indexes.byX]\nsort = [\"n\", \"free\"]")),
        (&["native-key-count"], rest("[tables.t.indexes.byX]\npartition = []")),
        (
            &["native-key-count"],
            rest("[tables.t.indexes.byX]\npartition = [\"id\", \"n\", \"free\", \"at\", \"more\"]"),
        ),
        (
            &["native-key-count"],
            rest(
                "[tables.t.indexes.byX]\npartition = \"kind\"\nallow = [\"hot-partition\"]\nsort = [\"id\", \"n\", \"free\", \"at\", \"more\"]",
            ),
        ),
        (&["repeated-key-attribute"], rest("[tables.t.indexes.byX]\npartition = [\"free\", \"free\"]")),
        (&["repeated-key-attribute"], rest("[tables.t.indexes.byX]\npartition = \"free\"\nsort = \"free\"")),
        (&["repeated-key-attribute"], keyed("partition = \"id\"\nsort = \"id\"", "")),
        (
            &["local-index-partition"],
            rest("[tables.t.indexes.byX]\ntype = \"local\"\npartition = \"free\"\nsort = \"n\""),
        ),
        (&["local-index-sort"], rest("[tables.t.indexes.byX]\nprojection = \"all\"")),
        (&["local-index-table"], keyed("partition = \"id\"", "[tables.t.indexes.byX]\nsort = \"n\"")),
        (
            &["too-many-local-indexes"],
            rest(&(0..6).map(|at| format!("[tables.t.indexes.lsi{at}]\nsort = \"n\"\n")).collect::<String>()),
        ),
        (&[], many_indexes(20, "")),
        (&["many-indexes"], many_indexes(21, "")),
        (&["many-indexes"], many_indexes(21, "allow = [\"many-indexes\"]")),
        (
            &["unknown-index"],
            rest("[tables.t.entities.e]\nwhen = { kind = \"a\" }\nindexes.byX.sort = \"x\""),
        ),
        (&["entity-without-when"], rest("[tables.t.entities.e]")),
        (&["entity-without-when"], rest("[tables.t.entities.e]\nwhen = {}")),
        (
            &["same-when"],
            rest(
                "[tables.t.entities.e]\nwhen = { kind = \"a\", n = [1, 2] }\n[tables.t.entities.f]\nwhen = { n = [2.0, 1], kind = [\"a\"] }",
            ),
        ),
        (&["too-many-projected-attributes"], projected(101)),
        (&[], projected(100)),
    ]
}

/// Three indexes that together project this many attributes.
fn projected(count: usize) -> String {
    let attributes: String = (0..40).map(|at| format!("a{at} = \"string\"\n")).collect();
    let index = |at: usize| {
        let names: Vec<String> = (0..40)
            .skip(at * 40)
            .chain(0..40)
            .take((count - at * 40).min(40))
            .map(|n| format!("a{n}"))
            .collect();
        format!("[tables.t.indexes.gsi{at}]\npartition = \"free\"\nprojection = {names:?}\n")
    };
    rest(&(attributes + &(0..3).map(index).collect::<String>()))
}

fn questions_and_retrofits() -> Vec<(&'static [&'static str], String)> {
    let question = |body: &str| rest(&format!("[questions.t.q]\n{body}"));
    let retrofit = |body: &str| {
        rest(&format!(
            "[tables.u]\nname = \"other\"\npartition = \"key\"\nattributes = {{ key = \"string\" }}\n[retrofits.r]\n{body}"
        ))
    };
    vec![
        (&["unknown-table"], rest("[questions.u.q]\nwhere = [\"id\"]")),
        (&["unknown-attribute"], question("where = [\"idd\"]")),
        (&["unknown-attribute"], question("where = [\"idd =\"]")),
        (&["unknown-attribute"], question("order = \"-x\"")),
        (&["unknown-attribute"], question("select = [\"x\"]")),
        (&["unknown-entity"], question("entity = \"x\"")),
        (&["unknown-operator"], question("where = [\"id startsWith\"]")),
        (&["operator-misfit"], question("where = [\"n beginsWith\"]")),
        (&["operator-misfit"], question("where = [\"ok <\"]")),
        (&["operator-misfit"], question("where = [\"tags between?\"]")),
        (&["order-misfit"], question("order = \"tags\"")),
        (&["order-misfit"], question("order = [\"n\", \"-doc\"]")),
        (&["duplicate-name"], question("where = [\"id\", \"id =\"]")),
        (&["duplicate-name"], question("order = [\"n\", \"-n\"]")),
        (
            &[],
            question(
                "where = [\"id\", \"at between\", \"free  beginsWith ?\", \"tags contains?\", \"n >= ?\", \"n <\"]\norder = [\"-n\", \"at\"]\nlimit = 5",
            ),
        ),
        (&["unknown-table"], retrofit("from = \"t\"\nto = \"v\"")),
        (&["unknown-table"], retrofit("from = \"v\"\nto = \"t\"")),
        (&["duplicate-name"], retrofit("from = \"t\"\nto = \"t\"\nrename = { free = \"x\", more = \"x\" }")),
        (
            &["bad-value"],
            retrofit("from = \"t\"\nto = \"t\"\nrename = { free = \"x\" }\nset = { free = \"y\" }"),
        ),
        (&["bad-value"], retrofit("from = \"t\"\nto = \"t\"\nrename = { free = \"x\", more = \"free\" }")),
        (&["bad-value"], retrofit("from = \"t\"\nto = \"t\"\nrename = { free = \"x\" }\ndrop = [\"x\"]")),
        (
            &["bad-value"],
            rest(
                "[tables.t.indexes.one]\npartition = { attribute = \"k\", fold = \"{free}#{more}\" }\n\
                 [tables.t.indexes.two]\npartition = { attribute = \"k\", fold = \"{free}#{more}\" }\nsort = \"n\"\n\
                 [retrofits.r]\nfrom = \"t\"\nto = \"t\"\nfills = [\"one\"]",
            ),
        ),
        (
            &["bad-value", "nothing-to-retrofit"],
            rest(
                "[tables.t.indexes.byN]\npartition = \"n\"\n[retrofits.r]\nfrom = \"t\"\nto = \"t\"\nfills = [\"byN\"]",
            ),
        ),
        (&[], retrofit("from = \"t\"\nto = \"u\"\nrename = { free = \"x\", more = \"free\", id = \"key\" }")),
        (&["retrofit-key"], retrofit("from = \"t\"\nto = \"t\"\ndrop = [\"at\"]")),
        (&["retrofit-key"], retrofit("from = \"t\"\nto = \"t\"\nrename = { id = \"x\" }")),
        (&["retrofit-key"], retrofit("from = \"t\"\nto = \"t\"\nset = { id = \"x\" }")),
        (&["retrofit-key"], retrofit("from = \"t\"\nto = \"u\"\ndrop = [\"key\"]")),
        (
            &[],
            retrofit(
                "from = \"t\"\nto = \"u\"\nrename = { id = \"key\" }\ndrop = [\"at\"]\nset = { origin = \"t\" }\nonly = { kind = \"a\" }",
            ),
        ),
        (&["nothing-to-retrofit"], retrofit("from = \"t\"\nto = \"t\"")),
        (
            &["bad-value"],
            retrofit("from = \"t\"\nto = \"u\"\nset = { key = \"x\" }\nchanges-live-attributes = true"),
        ),
        (&["bad-value"], table("scope = { id = \"\" }", "")),
        (&["bad-value"], table("scope = { id = \"jwt.\" }", "")),
        (&["wrong-type"], table("scope = [\"id\"]", "")),
    ]
}

/// Findings of `check` that do not stop a program.
fn strict() -> Vec<(&'static [&'static str], String)> {
    let u = "[tables.u]\nname = \"other\"\npartition = \"{origin}#{key}\"\nattributes = { key = \"string\", origin = \"string\" }\n\
             [tables.w]\nname = \"third\"\npartition = \"key\"\nattributes = { key = \"string\" }\n";
    let retrofits = |lines: &str| rest(&format!("{u}{lines}"));
    let in_place = |lines: &str| retrofits(&format!("[retrofits.r]\nfrom = \"t\"\nto = \"t\"\n{lines}"));
    let moved = |lines: &str| retrofits(&format!("[retrofits.r]\nfrom = \"t\"\nto = \"u\"\n{lines}"));
    let folded = |text: String| {
        text + "\n[tables.t.indexes.byFree]\npartition = \"{free}#{more}\"\nallow = [\"native-would-serve\"]\n"
    };
    let stale = |lines: &str| {
        let indexes = "[tables.t.indexes.byFree]\npartition = \"f#{free}\"\n\
                       [tables.t.indexes.byOk]\npartition = \"{more}#{n}\"\nallow = [\"native-would-serve\"]\n";
        in_place(&format!("fills = [\"byOk\"]\nchanges-live-attributes = true\n{lines}\n{indexes}"))
    };
    let entity = |when: &str, lines: &str| {
        rest(&format!(
            "[tables.v]\nname = \"fourth\"\npartition = {{ attribute = \"PK\" }}\nattributes = {{ id = \"string\", kind = \"string\" }}\n\
             [tables.v.entities.x]\n{when}partition = \"x#{{id}}\"\n[retrofits.r]\nfrom = \"t\"\nto = \"v\"\n{lines}"
        ))
    };
    let two = |one: &str, other: &str| {
        retrofits(&format!(
            "[retrofits.a]\nfrom = \"t\"\nto = \"u\"\n{one}\n[retrofits.b]\nfrom = \"w\"\nto = \"u\"\n{other}"
        ))
    };
    vec![
        (&["live-attributes"], in_place("rename = { free = \"x\" }")),
        (&["live-attributes"], in_place("set = { free = \"x\" }")),
        (&["live-attributes", "live-attributes"], in_place("drop = [\"more\", \"doc\"]")),
        (&[], in_place("drop = [\"more\", \"doc\"]\nchanges-live-attributes = true")),
        (&["live-attributes"], in_place("drop = [\"doc\"]\nchanges-live-attributes = false")),
        (&["stale-keys"], stale("set = { free = \"x\" }")),
        (&["stale-keys"], stale("rename = { doc = \"free\" }")),
        (&["stale-keys"], stale("misfits = { free = \"trim\" }")),
        (&[], stale("set = { more = \"x\" }")),
        (&[], stale("misfits = { free = \"absent\" }")),
        (
            &[],
            stale("set = { free = \"x\" }").replace("fills = [\"byOk\"]", "fills = [\"byOk\", \"byFree\"]"),
        ),
        (&[], moved("drop = [\"doc\"]")),
        (&["entity-unknown"], entity("", "")),
        (&["entity-unknown"], entity("when = { PK = { begins-with = \"x#\" } }\n", "")),
        (&[], entity("", "[tables.t.entities.x]\nwhen = { free = \"a\" }\n")),
        (&[], entity("when = { kind = \"a\" }\n", "")),
        (&[], entity("", "set = { PK = \"x#1\" }")),
        (&["rename-undeclared"], moved("rename = { fre = \"x\" }")),
        (&["carried-key"], folded(moved(""))),
        (&[], folded(moved("drop = [\"byFree_pk\"]"))),
        (&[], moved("rename = { free = \"x\" }")),
        (&["rename-over-key"], moved("rename = { free = \"id\" }")),
        (&[], moved("rename = { free = \"id\", id = \"key\" }")),
        (
            &["retrofit-cycle"],
            retrofits("[retrofits.a]\nfrom = \"t\"\nto = \"u\"\n[retrofits.b]\nfrom = \"u\"\nto = \"t\""),
        ),
        (
            &["retrofit-cycle"],
            retrofits(
                "[retrofits.a]\nfrom = \"t\"\nto = \"u\"\n[retrofits.b]\nfrom = \"u\"\nto = \"w\"\n[retrofits.c]\nfrom = \"w\"\nto = \"t\"",
            ),
        ),
        (&[], retrofits("[retrofits.a]\nfrom = \"t\"\nto = \"u\"\n[retrofits.b]\nfrom = \"u\"\nto = \"w\"")),
        (&["shared-target"], two("", "")),
        (&["shared-target"], two("set = { origin = \"t\" }", "set = { origin = \"t\" }")),
        (&["shared-target"], two("set = { more = \"t\" }", "set = { more = \"w\" }")),
        (&[], two("set = { origin = \"t\" }", "set = { origin = \"w\" }")),
        // The second starts after the first was abandoned; `start` prevents both at once.
        (&[], retrofits("[retrofits.a]\nfrom = \"t\"\nto = \"u\"\n[retrofits.b]\nfrom = \"t\"\nto = \"u\"")),
        (&["limit-too-high"], rest("[questions.t.q]\nwhere = [\"id\"]\nlimit = 1001")),
        (&[], rest("[questions.t.q]\nwhere = [\"id\"]\nlimit = 1000")),
        (&["claim-path"], table("scope = { id = \"org\" }", "")),
        (&["claim-path"], table("written-by = { free = \"sub\" }", "")),
        (&[], table("scope = { id = \"jwt.org\" }", "")),
    ]
}

fn warnings() -> Vec<(&'static [&'static str], String)> {
    vec![
        (&["hot-partition"], rest("[tables.t.indexes.byX]\npartition = \"kind\"")),
        (&["hot-partition"], keyed("partition = \"kind\"\nsort = \"at\"", "")),
        (&[], rest("[tables.t.indexes.byX]\npartition = [\"kind\", \"free\"]")),
        (&[], rest("[tables.t.indexes.byX]\npartition = \"kind\"\nallow = [\"hot-partition\"]")),
        (&[], table("allow = [\"hot-partition\"]", "[tables.t.indexes.byX]\npartition = \"kind\"")),
        (
            &["redundant-projection"],
            rest("[tables.t.indexes.byX]\npartition = \"free\"\nprojection = [\"id\", \"n\"]"),
        ),
        (
            &["collection-may-pass-10gb"],
            rest("[tables.t.indexes.byX]\nsort = \"n\"").replace("item-bytes = 10", "items = 1"),
        ),
        (
            &["collection-may-pass-10gb"],
            rest("[tables.t.indexes.byX]\nsort = \"n\"")
                .replace("items-per-partition = 10,", "items-per-partition = 80_000_000,"),
        ),
        (&[], rest("[tables.t.indexes.byX]\nsort = \"n\"")),
        (
            &["collection-may-pass-10gb"],
            table(
                "collection-warning-gb = 0.000001",
                "[tables.t.indexes.byX]\nsort = \"n\"\nprojection = \"keys-only\"",
            ),
        ),
        (&["lossy-primary-key"], keyed("partition = \"id\"\nsort = \"{at}#{more}\"", "")),
        (&["literal-names-attribute"], entities("sort = \"free\"", "sort = \"B#{more}\"")),
        (&[], entities("sort = \"A\"", "sort = \"B#{more}\"")),
        (&["keys-can-collide"], entities("sort = \"A\"", "sort = \"{more}\"")),
        (&["keys-can-collide"], entities("sort = \"{n}#{free}\"", "sort = \"{n}#{more}#{free}\"")),
        (&[], entities("sort = \"{kind}#{free}\"", "sort = \"{kind}#{more}\"")),
        (
            &[],
            entities("sort = \"A\"", "sort = \"{more}\"")
                .replace("name = \"tbl\"", "name = \"tbl\"\nallow = [\"keys-can-collide\"]"),
        ),
        (
            &["half-index-key"],
            overloaded(
                "indexes.over = { partition = \"{free}\", sort = \"A\" }",
                "indexes.over.partition = \"{free}\"",
            ),
        ),
        (
            &["index-unfilled"],
            overloaded("indexes.over.partition = \"{free}\"", "indexes.over.sort = \"{more}\""),
        ),
        (&["unused-allow"], table("allow = [\"hot-partition\"]", "")),
        (
            &["unused-allow"],
            rest("[tables.t.indexes.byX]\npartition = \"free\"\nallow = [\"redundant-projection\"]"),
        ),
    ]
}

/// Cases that need a template to be read.
fn templates() -> Vec<(&'static [&'static str], String)> {
    let long = "x".repeat(1025);
    let folded = |template: &str| rest(&format!("[tables.t.indexes.byX]\npartition = \"{template}\""));
    let filled = |misfit: &str| {
        format!("\n[retrofits.r]\nfrom = \"t\"\nto = \"t\"\n[retrofits.r.misfits]\n{misfit} = \"absent\"\n#")
    };
    let over = format!("[tables.t.indexes.byX]\nsort = \"{long}{{free}}\"");
    vec![
        (
            &["entity-without-key"],
            keyed(
                "partition = { attribute = \"PK\" }",
                "[tables.t.entities.e]\nwhen = { kind = \"a\" }\npartition = \"e#{id}\"\n[tables.t.entities.f]\nwhen = { kind = \"b\" }",
            ),
        ),
        (
            &["rules-differ"],
            rest(
                "[tables.t.indexes.one]\npartition = { attribute = \"K\", fold = \"{id}-{n:03}\" }\n[tables.t.indexes.two]\npartition = { attribute = \"K\", fold = \"{id}+{n:03}\" }",
            ),
        ),
        (
            &["rules-differ"],
            rest(
                "[tables.t.indexes.one]\npartition = { attribute = \"K\", fold = \"{id}-{n:03}\" }\n[tables.t.indexes.two]\npartition = { attribute = \"K\", fold = \"{id}-{n:03}\", verbatim = true }",
            ),
        ),
        (&["bad-template"], folded("{free}-{x}")),
        (&["bad-template", "bad-template"], folded("{y}-{x}")),
        (&["key-too-long"], rest(&over)),
        (&[], folded(&format!("{long}{{free}}"))),
        // The same template is short enough for a partition key, but not where another index sorts by it.
        (
            &["key-too-long"],
            rest(&format!(
                "[tables.t.indexes.byX]\npartition = {{ attribute = \"P\", fold = \"{long}{{free}}\" }}\n\
                 [tables.t.indexes.byY]\npartition = \"free\"\nsort = \"P\""
            )),
        ),
        (&["hot-partition"], folded("kind:{kind}")),
        (&["hot-partition"], folded("{kind}-{ok}")),
        (&[], folded("{kind}-{id|shard:2}")),
        (&["native-would-serve"], folded("{kind}-{free}")),
        // Items of other types than declared: a folded key omits them, and a native one would refuse their writes.
        (&[], folded(&format!("{{kind}}-{{free}}\"{}", filled("free")))),
        (&["native-would-serve"], folded(&format!("{{kind}}-{{free}}\"{}", filled("more")))),
        (
            &["native-would-serve"],
            rest("[tables.t.indexes.byX]\npartition = \"{free}\"\nsort = \"{n}-{kind}\"")
                .replace("{n}", "{more}"),
        ),
        (&[], folded("{kind}-{free|lower}")),
        (&[], folded("x:{kind}-{free}")),
        (
            &["native-would-serve", "separator-in-values"],
            rest(
                "dash = { type = \"string\", contains = \"-\" }\n[tables.t.indexes.byX]\npartition = \"{dash}-{free}\"",
            ),
        ),
        (
            &["separator-in-values"],
            rest(
                "dash = { type = \"string\", values = [\"a-b\", \"c\"] }\n[tables.t.indexes.byX]\npartition = { attribute = \"P\", fold = \"{dash}-{free}\", verbatim = true }\nallow = [\"separator-in-values\", \"native-would-serve\"]",
            ),
        ),
        (&["lossy-primary-key"], keyed("partition = \"u:{free|lower}\"\nsort = \"at\"", "")),
        (
            &["retrofit-key"],
            rest(
                "[tables.t.indexes.byX]\npartition = \"x:{kind}-{free}\"\n[retrofits.r]\nfrom = \"t\"\nto = \"t\"\ndrop = [\"free\"]",
            ),
        ),
    ]
}

#[test]
fn each_mistake_in_the_language_has_its_code() {
    check(&language());
}

#[test]
fn each_mistake_in_keys_has_its_code() {
    check(&keys());
}

#[test]
fn each_mistake_in_questions_and_retrofits_has_its_code() {
    check(&questions_and_retrofits());
}

/// Each finding has a place and a remedy, and takes no model away.
#[test]
fn what_programs_go_on_with_is_found_by_check_alone() {
    let mut wrong = Vec::new();
    for (expected, text) in strict() {
        let mut parsed = parse("keyfold.toml", &text);
        let model = parsed.model.clone();
        assert!(model.is_some() && parsed.diagnostics.is_empty(), "{}", parsed.render(&text, false));
        keyfold_core::review::review(&mut parsed, &text);
        let found: Vec<&str> = parsed.diagnostics.iter().map(|found| found.code).collect();
        let helps = parsed.diagnostics.iter().all(|found| found.hint.is_some() && !found.span.is_empty());
        if found != expected || !helps || parsed.model != model {
            wrong.push(format!(
                "expected {expected:?}, found {found:?} in\n{text}\n{}",
                parsed.render(&text, false)
            ));
        }
    }
    assert!(wrong.is_empty(), "{} cases differ:\n{}", wrong.len(), wrong.join("\n----\n"));
}

#[test]
fn what_changes_in_place_unsaid_is_told_with_the_line_that_allows_it() {
    let text = rest("[retrofits.r]\nfrom = \"t\"\nto = \"t\"\nrename = { free = \"x\" }");
    let mut parsed = parse("keyfold.toml", &text);
    keyfold_core::review::review(&mut parsed, &text);
    let [found] = parsed.diagnostics.as_slice() else { panic!("{:?}", parsed.diagnostics) };
    assert_eq!(
        found.message,
        "retrofit `r` would change attributes of the live table `t`: `free` is renamed to `x`"
    );
    assert!(
        found
            .hint
            .as_deref()
            .is_some_and(|hint| hint.contains("`changes-live-attributes = true` under `[retrofits.r]`"))
    );
}

#[test]
fn each_warning_has_its_code_and_can_be_silenced() {
    check(&warnings());
}

#[test]

fn each_mistake_in_templates_has_its_code() {
    check(&templates());
    check(&named_templates());
}

#[test]
fn each_mistake_in_what_a_key_begins_with_or_keeps_has_its_code() {
    check(&prefixes());
}

#[test]
fn every_code_has_a_case() {
    let cases = [
        language(),
        keys(),
        questions_and_retrofits(),
        warnings(),
        templates(),
        prefixes(),
        named_templates(),
        strict(),
    ]
    .concat();
    let mut tried: BTreeSet<&str> = cases.iter().flat_map(|(codes, _)| *codes).copied().collect();
    // The planner's own: see `a_question_that_nothing_serves_is_a_warning_with_the_index_that_would`.
    tried.insert("question-unserved");
    let all: BTreeSet<&str> = codes().iter().map(|info| info.code).collect();
    assert_eq!(tried, all);
}

#[test]
fn a_question_that_nothing_serves_is_a_warning_with_the_index_that_would() {
    let text = "[tables.t]\nname = \"tbl\"\npartition = \"id\"\n[tables.t.attributes]\nid = \"string\"\nowner = \"string\"\n\
                [questions.t.mine]\nwhere = [\"owner\"]\n[questions.t.one]\nwhere = [\"id\"]\n";
    let mut parsed = parse("keyfold.toml", text);
    assert_eq!(parsed.diagnostics, []);
    keyfold_core::review::review(&mut parsed, text);
    let [found] = parsed.diagnostics.as_slice() else { panic!("{:?}", parsed.diagnostics) };
    assert_eq!((found.code, found.line), ("question-unserved", 7));
    let hint = found.hint.as_deref().unwrap_or_default();
    assert!(hint.contains("[tables.t.indexes.byOwner]\npartition = \"owner\""), "{hint}");
}

#[test]
fn every_code_is_in_the_list_of_errors() {
    let document = include_str!("../../../docs/errors.md");
    for info in codes() {
        assert!(document.contains(&format!("| `{}` |", info.code)), "{}", info.code);
    }
}
