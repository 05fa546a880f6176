//! "Did you mean ...?": the most similar name to a mistyped one.

/// Names are short. A long text is no slip of the finger.
const LENGTH_MAX: usize = 64;

/// The most likely candidate for a mistyped name. Letter case does not count, and swapped neighbours count as one
/// error.
pub fn closest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    if name.is_empty() || name.len() > LENGTH_MAX {
        return None;
    }
    let lower = name.to_lowercase();
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= LENGTH_MAX)
        .map(|candidate| (strsim::osa_distance(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= slips(name, candidate))
        .min()
        .map(|(_, candidate)| candidate.to_owned())
}

/// How many letters may differ: a third, or half of a longer word with the same start, as in `sorted`.
fn slips(name: &str, candidate: &str) -> usize {
    let letters = candidate.chars().count();
    if name.starts_with(candidate) { letters / 2 } else { (letters / 3).clamp(1, 3) }
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn a_slip_of_the_finger_is_recognised_and_a_stranger_is_not() {
        let names = ["resourceId", "action", "accessedBy", "timestamp", "sort"];
        for (wrong, meant) in [
            ("resourceID", Some("resourceId")),
            ("timstamp", Some("timestamp")),
            ("atcion", Some("action")),
            ("sorted", Some("sort")),
            ("owner", None),
            ("", None),
        ] {
            assert_eq!(closest(wrong, names).as_deref(), meant, "{wrong}");
        }
        assert_eq!(closest(&"timestamp".repeat(100), names), None);
    }
}
