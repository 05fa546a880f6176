//! Small things done with texts.

/// The candidate that a mistyped name most likely means: at most a third of its letters differ.
pub(crate) fn closest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    let most = (name.chars().count() / 3).clamp(1, 3);
    candidates
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate.to_owned())
}

/// How many letters must be put in, left out or changed (Levenshtein), letter case aside.
fn distance(a: &str, b: &str) -> usize {
    let lower = |text: &str| text.chars().flat_map(char::to_lowercase).take(64).collect::<Vec<_>>();
    let (a, b) = (lower(a), lower(b));
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, to) in b.iter().enumerate() {
            let change = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn a_slip_of_the_finger_is_recognised_and_a_stranger_is_not() {
        let names = ["resourceId", "action", "accessedBy", "timestamp"];
        assert_eq!(closest("resourceID", names.into_iter()).as_deref(), Some("resourceId"));
        assert_eq!(closest("timstamp", names.into_iter()).as_deref(), Some("timestamp"));
        assert_eq!(closest("owner", names.into_iter()), None);
    }
}
