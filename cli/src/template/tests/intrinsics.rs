//! Intrinsic functions.

use super::super::Node;
use super::*;
use keyfold_init::cloudformation::Template;
use keyfold_init::cloudformation::read;

const HEAD: &str = "
Parameters:
  Name: { Type: String, Default: audit }
  Open: { Type: String, Default: no }
Mappings:
  Sizes: { small: { batch: 10 } }
Conditions:
  IsOpen: !Equals [!Ref Open, yes]
  IsClosed: !Not [!Condition IsOpen]
  Both: !And [!Condition IsOpen, !Condition IsClosed]
  Either: !Or [!Condition IsOpen, !Condition IsClosed]
  Unknown: !Equals [!Ref 'AWS::Region', x]
Value:
";

/// What a value is in a template with a few parameters and conditions, as JSON.
fn resolved(value: &str) -> String {
    let root = read(&format!("{HEAD}  {value}\n")).unwrap();
    let node = root.get("Value").unwrap().clone();
    Template::of(root).resolved(&node).map_or_else(|| "nothing".to_owned(), |node| json(&node).to_string())
}

#[test]
fn what_is_known_before_a_deployment_is_worked_out() {
    for (value, wanted) in [
        ("!Ref Name", "\"audit\""),
        ("{ Ref: Name }", "\"audit\""),
        ("!Sub 'a-${Name}-${!Name}-${Other}-${AWS::Region}'", "\"a-audit-${Name}-${Other}-${AWS::Region}\""),
        ("!Sub ['${x}-${Name}', { x: !Ref Open }]", "\"no-audit\""),
        ("!Join ['-', [a, !Ref Name]]", "\"a-audit\""),
        ("!FindInMap [Sizes, small, batch]", "10"),
        ("!If [IsOpen, a, b]", "\"b\""),
        ("!If [IsClosed, a, b]", "\"a\""),
        ("!If [Both, a, b]", "\"b\""),
        ("!If [Either, a, b]", "\"a\""),
        ("!Ref 'AWS::NoValue'", "nothing"),
        ("[a, !If [IsOpen, b, !Ref 'AWS::NoValue']]", "[\"a\"]"),
        ("{ a: !If [IsOpen, b, !Ref 'AWS::NoValue'], c: d }", "{\"c\":\"d\"}"),
    ] {
        assert_eq!(resolved(value), wanted, "{value}");
    }
}

#[test]
fn what_is_known_only_afterwards_stays_as_it_is_written() {
    for (value, wanted) in [
        ("!Ref Table", "{\"Ref\":\"Table\"}"),
        ("!GetAtt Table.StreamArn", "{\"Fn::GetAtt\":[\"Table\",\"StreamArn\"]}"),
        ("!If [Unknown, a, b]", "{\"Fn::If\":[\"Unknown\",\"a\",\"b\"]}"),
        ("!If [Nowhere, a, b]", "{\"Fn::If\":[\"Nowhere\",\"a\",\"b\"]}"),
        ("!ImportValue x", "{\"Fn::ImportValue\":\"x\"}"),
    ] {
        assert_eq!(resolved(value), wanted, "{value}");
    }
}

#[test]
fn conditions_that_name_each_other_end() {
    let template = "Conditions:\n  A: !Not [!Condition B]\n  B: !Not [!Condition A]\nValue: !If [A, x, y]\n";
    let root = read(template).unwrap();
    let node = root.get("Value").unwrap().clone();
    assert_eq!(Template::of(root).resolved(&node).map(|found| found == node), Some(true));
}

#[test]
fn both_sides_of_a_condition_and_all_values_of_a_parameter_are_possible() {
    let root = read(
        "Parameters:\n  P: { Type: String, Default: a, AllowedValues: [a, b] }\nConditions:\n  C: !Equals [x, x]\nValue: !If [C, !Ref P, c]\n",
    )
    .unwrap();
    let node = root.get("Value").unwrap().clone();
    let template = Template::of(root);
    let possible: BTreeSet<String> =
        template.possible(&node).iter().filter_map(Node::as_text).map(str::to_owned).collect();
    assert_eq!(possible, ["a", "b", "c"].map(str::to_owned).into());
}
