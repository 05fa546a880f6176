//! "Did you mean `sort`?"

use crate::text::closest;

/// A hint that names the nearest candidate, if one is near.
pub(super) fn did_you_mean<'c>(wrong: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<String> {
    closest(wrong, candidates).map(|near| format!("did you mean `{near}`?"))
}

/// "`a`, `b` or `c`", for messages that list the alternatives.
pub(super) fn one_of<'c>(candidates: impl IntoIterator<Item = &'c str>) -> String {
    let mut quoted: Vec<String> = candidates.into_iter().map(|name| format!("`{name}`")).collect();
    match (quoted.pop(), quoted.is_empty()) {
        (None, _) => "nothing".to_owned(),
        (Some(only), true) => only,
        (Some(last), false) => format!("{} or {last}", quoted.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_candidates_reads_as_a_sentence() {
        assert_eq!(one_of([]), "nothing");
        assert_eq!(one_of(["a"]), "`a`");
        assert_eq!(one_of(["a", "b", "c"]), "`a`, `b` or `c`");
    }
}
