//! docs/key-format.md: every row of its example tables.

use super::*;

const DOCUMENT: &str = include_str!("../../../../../docs/key-format.md");

#[test]
fn every_example_of_the_key_format_is_as_it_says() {
    let mut examples = 0;
    let mut in_table = false;
    for line in DOCUMENT.lines() {
        in_table = line.starts_with("| template | item | key |") || (in_table && line.starts_with('|'));
        // A pipe within a cell is escaped, as in Markdown.
        let line = line.replace("\\|", "\u{1}");
        let cells: Vec<String> =
            line.trim_matches('|').split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect();
        let [written, attributes, expected] = cells.as_slice() else { continue };
        if !in_table || written == "template" || written.starts_with("---") {
            continue;
        }
        examples += 1;
        check(code(written), code(attributes), expected);
    }
    assert!(examples >= 30, "the document has {examples} examples");
}

fn code(cell: &str) -> &str {
    cell.trim_matches('`')
}

fn check(written: &str, attributes: &str, expected: &str) {
    let values: Vec<(&str, &str)> =
        attributes.split_whitespace().filter_map(|pair| pair.split_once('=')).collect();
    let found = match template(written).fold(&item(&values)) {
        Ok(Some(key)) => format!("`{key}`"),
        Ok(None) => "absent".to_owned(),
        Err(_) => "refused".to_owned(),
    };
    assert_eq!(found, expected, "{written} with {attributes}");
}
