//! The manifests of the published models, without their data.

use std::path::Path;

use keyfold_core::manifest;

#[test]
fn every_manifest_is_accepted_without_a_word() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests");
    let mut number = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let parsed = manifest::parse(&path.display().to_string(), &text);
        assert!(parsed.diagnostics.is_empty(), "{}", parsed.render(&text, false));
        number += 1;
    }
    assert_eq!(number, 17);
}
