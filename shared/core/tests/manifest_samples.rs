//! The sample manifests have no findings, their data fits them, and the JSON Schema accepts them.

use keyfold_core::manifest::{parse, schema};
use keyfold_core::model::{IndexKind, KeySource, Model, Projection};

const SAMPLES: [(&str, &str); 3] = [
    ("keyfold.toml", include_str!("../../../keyfold.toml")),
    ("examples/projects/keyfold.toml", include_str!("../../../examples/projects/keyfold.toml")),
    ("examples/pets/keyfold.toml", include_str!("../../../examples/pets/keyfold.toml")),
];

const DATA: [(usize, &str, &str); 5] = [
    (0, "audit", include_str!("../../../examples/audit/items.jsonl")),
    (1, "organisations", include_str!("../../../examples/projects/organisations.jsonl")),
    (1, "projects", include_str!("../../../examples/projects/projects.jsonl")),
    (2, "pets", include_str!("../../../examples/pets/pets.jsonl")),
    (2, "homes", include_str!("../../../examples/pets/homes.jsonl")),
];

fn model(sample: usize) -> Model {
    let (name, text) = SAMPLES[sample];
    let parsed = parse(name, text);
    assert_eq!(parsed.render(text, false), "", "{name} has nothing to complain of");
    parsed.model.expect("no diagnostics")
}

#[test]
fn the_samples_are_clean() {
    for sample in 0..SAMPLES.len() {
        model(sample);
    }
}

#[test]
fn every_line_of_the_samples_data_has_the_natural_keys_of_its_table() {
    for (sample, table, data) in DATA {
        let model = model(sample);
        let table = model.table(table).unwrap();
        for line in data.lines() {
            let item: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line).unwrap();
            for key in table.key_attributes().filter(|key| key.source == KeySource::Natural) {
                assert!(item.contains_key(&key.name), "no `{}` in {line}", key.name);
            }
        }
    }
}

#[test]
fn the_samples_show_every_kind_of_key() {
    let audit = model(0);
    let table = audit.table("audit").unwrap();
    assert_eq!(audit.table("ResourceAccessAuditV2"), Some(table), "tables are found by both names");
    let folded = table.index("byResourceActionUser").unwrap();
    assert_eq!(folded.partition[0].name, "byResourceActionUser_pk");
    assert_eq!(folded.sort[0].source, KeySource::Natural);
    assert_eq!(folded.projection, Projection::All);
    let native = table.index("byUserAction").unwrap();
    assert_eq!(native.sort.iter().map(|key| key.name.as_str()).collect::<Vec<_>>(), ["action", "timestamp"]);
    assert_eq!(
        audit.retrofits.iter().map(|one| (one.from.as_str(), one.to.as_str())).collect::<Vec<_>>(),
        [("audit-legacy", "audit"), ("audit", "audit")]
    );

    let projects = model(1);
    let projects = projects.table("projects").unwrap();
    assert_eq!(projects.index("byLastUpdated").unwrap().kind, IndexKind::Local);
    assert_eq!(projects.index("byLastUpdated").unwrap().partition, std::slice::from_ref(&projects.partition));
    assert_eq!(projects.scope["organisationId"], "jwt.org");

    let pets = model(2);
    let pets = pets.table("pets").unwrap();
    let rules = |index: &str, sort: bool| {
        let index = pets.index(index).unwrap();
        let key = if sort { &index.sort[0] } else { &index.partition[0] };
        match &key.source {
            KeySource::Folded(rules) => rules.iter().map(|rule| rule.entity.map(|entity| entity.0)).collect(),
            KeySource::Natural => Vec::new(),
        }
    };
    assert_eq!(rules("index1", true), [Some(0), Some(1), Some(2)]);
    assert_eq!(rules("index2", true), [None]);
    assert_eq!(rules("bySkill", false), [Some(0), Some(1)], "parrots are not in it");
}

#[test]
fn the_samples_keep_the_schema() {
    let schema: serde_json::Value = serde_json::from_str(schema()).unwrap();
    jsonschema::meta::validate(&schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for (name, text) in SAMPLES {
        let manifest: serde_json::Value = toml::from_str(text).unwrap();
        let errors: Vec<String> = validator.iter_errors(&manifest).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
    let typo: serde_json::Value =
        toml::from_str("[tables.audit]\npartition = \"id\"\nsrot = \"at\"").unwrap();
    assert!(!validator.is_valid(&typo), "the schema refuses what it does not know");
}
