//! Two tables in a single-table design, with key templates for each entity. Each table's key can be computed from the other's.

use std::fmt::Write;

use crate::generate::Random;

const SOURCE: &str = r#"
[tables.t]
name = "tableOfTheCase"
partition = { attribute = "PK" }
sort = { attribute = "SK" }
indexes.index1 = { partition = { attribute = "G1" } }
"#;
const TARGET: &str = r#"
[tables.u]
name = "anotherTable"
partition = { attribute = "P9" }
sort = { attribute = "S9" }
indexes.index2 = { partition = { attribute = "H1" }, sort = { attribute = "H2" } }
"#;
/// Key templates of an entity: the source's partition and sort key, then the target's.
const KEYS: [[&str; 4]; 6] = [
    ["c#{i1}", "K#{i2}", "x#{i1}", "K!{i2}"],
    ["c#{i1}", "K#{i2}[#{t1}]", "K/{i1}", "K:{i2}[:{t1}]"],
    ["o#{i1}", "K", "x#{i1}", "K"],
    ["{i1}", "K{n1:number}~{i2}", "x#{n1:number}", "K~{i1}~{i2}"],
    ["p{i1}", "K-{i2}", "x#{PK}", "K{SK}"],
    // Several entities can have the same target template.
    ["d#{i1}", "K#{i2}", "x#{i1}", "{i2}"],
];

/// Two tables with up to four entities.
pub(super) fn tables(random: &mut Random) -> String {
    let declared = attributes(random);
    let (mut source, mut target) = (format!("{SOURCE}{declared}"), format!("{TARGET}{declared}"));
    target += "attributes.PK = \"string\"\nattributes.SK = \"string\"\n";
    for number in 1..=random.between(1, 4) {
        let keys = random.pick(&KEYS).map(|template| template.replace('K', &format!("k{number}")));
        // `PK` and `SK` are names.
        let keys =
            keys.map(|key| key.replace(&format!("Pk{number}"), "PK").replace(&format!("Sk{number}"), "SK"));
        // Some entities differ in another attribute than the key, and have the same keys.
        let twins: &[&str] = match random.chance(25) {
            true => &[", s3 = { exists = true }", ", s3 = { exists = false }"],
            false => &[""],
        };
        for (at, twin) in twins.iter().enumerate() {
            let name = format!("E{number}{at}");
            let index = random.pick(&["s#{s1}", "{s2}~{i1}", "K{n2:number}"]);
            let _ = writeln!(
                source,
                "[tables.t.entities.{name}]\nwhen = {{ SK = {{ begins-with = \"k{number}\" }}{twin} }}\npartition = \"{}\"\nsort = \"{}\"\n\
                 indexes.index1.partition = \"{index}\"",
                keys[0], keys[1]
            );
            let by_new_key = keys[3].starts_with('k') && random.chance(50);
            let when = if by_new_key { "S9" } else { "SK" };
            let _ = writeln!(
                target,
                "[tables.u.entities.{name}]\nwhen = {{ {when} = {{ begins-with = \"k{number}\" }}{twin} }}\npartition = \"{}\"\nsort = \"{}\"\n\
                 indexes.index2 = {{ partition = \"{index}\", sort = \"{{s2}}\" }}",
                keys[2], keys[3]
            );
        }
    }
    source + &target
}

/// Attributes of both tables. Some ids exist only in keys.
fn attributes(random: &mut Random) -> String {
    let mut text =
        "attributes.n1 = \"number\"\nattributes.n2 = \"number\"\nattributes.t1 = \"timestamp\"\n".to_owned();
    for id in ["i1", "i2"] {
        let kind = *random.pick(&["{ type = \"string\", from-key = true }", "\"string\""]);
        let _ = writeln!(text, "attributes.{id} = {kind}");
    }
    for name in ["s1", "s2", "s3"] {
        let _ = writeln!(text, "attributes.{name} = \"string\"");
    }
    text
}
