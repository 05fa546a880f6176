use std::collections::BTreeSet;

use keyfold_core::manifest;
use keyfold_core::model::Model;

use super::*;

mod differences;
mod intrinsics;
mod ours;
mod refusals;

const SAMPLE: &str = include_str!("../../../keyfold.toml");
const TEMPLATE: &str = include_str!("../../../template.yaml");
const CONTROL: &str = "keyfold-control";

fn model(text: &str) -> Model {
    manifest::parse("keyfold.toml", text).model.unwrap()
}

/// The tables' part of a manifest as a template.
fn printed(manifest: &str) -> String {
    text(&Node::map([("Resources", tables(&model(manifest), CONTROL))]))
}

/// The codes of what is wrong with the sample's template when one part of it is replaced.
fn changed(from: &str, to: &str) -> Vec<&'static str> {
    let template = TEMPLATE.replacen(from, to, 1);
    assert_ne!(template, TEMPLATE, "`{from}` is not in the template");
    codes(SAMPLE, &template)
}

fn codes(manifest: &str, template: &str) -> Vec<&'static str> {
    findings(manifest, template).into_iter().map(|finding| finding.code).collect()
}

fn findings(manifest: &str, template: &str) -> Vec<Finding> {
    check(&model(manifest), CONTROL, template).unwrap()
}

#[test]
fn what_is_printed_is_what_is_wanted() {
    for manifest in [
        SAMPLE,
        include_str!("../../../examples/pets/keyfold.toml"),
        include_str!("../../../examples/projects/keyfold.toml"),
    ] {
        assert_eq!(findings(manifest, &printed(manifest)), []);
        let machine = json(&Node::map([("Resources", tables(&model(manifest), CONTROL))])).to_string();
        assert_eq!(findings(manifest, &machine), []);
    }
}

#[test]
fn each_deployment_adds_one_global_index_to_a_table_and_defines_no_attribute_too_many() {
    let model = model(SAMPLE);
    let have = BTreeSet::from(["audit.byUserAction".to_owned()]);
    let stages = stages(&model, CONTROL, &have);
    let adds: Vec<_> = stages.iter().map(|stage| stage.adds["audit"].as_str()).collect();
    assert_eq!(adds, ["byResourceActionUser", "byAction"]);
    let indexes = |stage: &Stage| {
        let properties = stage.resources.at(&["AuditTable", "Properties"]).unwrap().clone();
        let names = |list: &str, name: &str| -> Vec<String> {
            properties
                .get(list)
                .unwrap()
                .nodes()
                .iter()
                .map(|node| node.text_of(name).unwrap().to_owned())
                .collect()
        };
        (names("GlobalSecondaryIndexes", "IndexName"), names("AttributeDefinitions", "AttributeName"))
    };
    let (first, definitions) = indexes(&stages[0]);
    assert_eq!(first, ["byResourceActionUser", "byUserAction"]);
    assert!(!definitions.contains(&"byAction_pk".to_owned()), "{definitions:?}");
    assert_eq!(stages[1].resources, tables(&model, CONTROL));
}
