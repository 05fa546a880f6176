//! A mutant as data: one expression or statement of a source file, and its replacement.
//!
//! All mutants are in one build. Each place becomes `if <this mutant is chosen> { replacement } else { original }`, so
//! that forty mutants need one compilation and a run chooses one of them by a variable.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, ensure};
use serde::Deserialize;

/// The variable that chooses a mutant.
pub(crate) const VARIABLE: &str = "KEYFOLD_MUTANT";

/// The module that every mutant calls; it is added to the crate.
pub(crate) const SWITCH: &str = r#"//! Chooses a mutant.
#[allow(missing_docs)]
pub fn is(name: &str) -> bool {
    static CHOSEN: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    CHOSEN.get_or_init(|| std::env::var("KEYFOLD_MUTANT").unwrap_or_default()) == name
}
"#;

/// The file of mutants.
#[derive(Debug, Deserialize)]
pub(crate) struct Mutants {
    pub(crate) mutant: Vec<Mutant>,
}

/// One rule, broken.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mutant {
    /// Its name.
    pub(crate) name: String,
    /// The file, from the workspace's folder.
    pub(crate) file: String,
    /// An expression, or statements that end with `;` or `}`. It must occur exactly once.
    pub(crate) search: String,
    /// The replacement.
    pub(crate) replace: String,
    /// The effect of the mutant.
    pub(crate) breaks: String,
    /// Is it a statement? Then it is not put into parentheses.
    #[serde(default)]
    pub(crate) statement: bool,
}

/// The mutants in the files next to this crate's manifest.
pub(crate) fn read() -> anyhow::Result<Vec<Mutant>> {
    let mut all = Vec::new();
    for text in
        [include_str!("../planner.toml"), include_str!("../retrofit.toml"), include_str!("../writes.toml")]
    {
        all.extend(toml::from_str::<Mutants>(text)?.mutant);
    }
    let mut names: Vec<&str> = all.iter().map(|mutant| mutant.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    ensure!(names.len() == all.len(), "two mutants have one name");
    ensure!(all.iter().all(|mutant| !mutant.breaks.is_empty()), "a mutant does not say what it breaks");
    Ok(all)
}

/// The text of each file with mutants, including all of them.
pub(crate) fn patched(workspace: &Path, mutants: &[Mutant]) -> anyhow::Result<BTreeMap<String, String>> {
    let mut by_file: BTreeMap<&str, BTreeMap<&str, Vec<&Mutant>>> = BTreeMap::new();
    for mutant in mutants {
        by_file.entry(&mutant.file).or_default().entry(mutant.search.trim()).or_default().push(mutant);
    }
    let mut files = BTreeMap::new();
    for (file, places) in by_file {
        let text = std::fs::read_to_string(workspace.join(file)).with_context(|| format!("`{file}`"))?;
        files.insert(file.to_owned(), patched_text(&text, &places)?);
    }
    Ok(files)
}

fn patched_text(text: &str, places: &BTreeMap<&str, Vec<&Mutant>>) -> anyhow::Result<String> {
    let mut found = Vec::new();
    for (search, mutants) in places {
        let name = &mutants[0].name;
        let mut hits = text.match_indices(search);
        let (at, _) =
            hits.next().with_context(|| format!("mutant `{name}`: its text is no longer in the file"))?;
        ensure!(hits.next().is_none(), "mutant `{name}`: its text is in the file more than once");
        found.push((at, *search, mutants));
    }
    found.sort_by_key(|(at, ..)| *at);
    let mut out = String::with_capacity(text.len() * 2);
    let mut end = 0;
    for (at, search, mutants) in found {
        ensure!(at >= end, "mutant `{}`: its text overlaps another's", mutants[0].name);
        out.push_str(&text[end..at]);
        out.push_str(&switched(search, mutants));
        end = at + search.len();
    }
    out.push_str(&text[end..]);
    Ok(out)
}

fn switched(original: &str, mutants: &[&Mutant]) -> String {
    let arm = |mutant: &&Mutant| {
        format!("if crate::mutant::is({:?}) {{ {} }} else ", mutant.name, mutant.replace.trim())
    };
    let arms: String = mutants.iter().map(arm).collect();
    let whole = format!("{arms}{{ {original} }}");
    if mutants.iter().any(|mutant| mutant.statement) { whole } else { format!("({whole})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mutant_still_applies() {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let all = read().unwrap();
        assert!(all.len() >= 40, "{} mutants", all.len());
        patched(&workspace, &all).unwrap();
    }

    #[test]
    fn a_text_that_is_gone_or_not_unique_is_an_error() {
        let mutant = |search: &str| Mutant {
            name: "one".to_owned(),
            file: "file.rs".to_owned(),
            search: search.to_owned(),
            replace: "true".to_owned(),
            breaks: "it".to_owned(),
            statement: false,
        };
        let apply = |search: &str| {
            let one = mutant(search);
            patched_text("a && b || a", &BTreeMap::from([(search, vec![&one])]))
                .map_err(|error| error.to_string())
        };
        assert_eq!(apply("b").unwrap(), "a && (if crate::mutant::is(\"one\") { true } else { b }) || a");
        assert!(apply("c").unwrap_err().contains("no longer in the file"));
        assert!(apply("a").unwrap_err().contains("more than once"));
    }
}
