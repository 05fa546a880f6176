//! "Did you mean `sort`?"

/// A hint that names the nearest candidate, if one is near.
pub(super) fn did_you_mean<'c>(wrong: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<String> {
    nearest(wrong, candidates).map(|near| format!("did you mean `{near}`?"))
}

/// "`a`, `b` or `c`", for messages that list what is possible.
pub(super) fn one_of<'c>(candidates: impl IntoIterator<Item = &'c str>) -> String {
    let mut quoted: Vec<String> = candidates.into_iter().map(|name| format!("`{name}`")).collect();
    match (quoted.pop(), quoted.is_empty()) {
        (None, _) => "nothing".to_owned(),
        (Some(only), true) => only,
        (Some(last), false) => format!("{} or {last}", quoted.join(", ")),
    }
}

fn nearest<'c>(wrong: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    // Names are short. A long text is no slip of the finger, and would cost its square.
    const LENGTH_MAX: usize = 64;
    if wrong.is_empty() || wrong.len() > LENGTH_MAX {
        return None;
    }
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= LENGTH_MAX)
        .map(|candidate| (distance(wrong, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= slips(wrong, candidate))
        .min()
        .map(|(_, candidate)| candidate)
}

/// How many letters may differ: one in three, and half of a word that goes on, as `sorted` does.
fn slips(wrong: &str, candidate: &str) -> usize {
    let letters = candidate.chars().count();
    if wrong.starts_with(candidate) { letters / 2 } else { (letters / 3).clamp(1, 3) }
}

/// How many single letters differ, swapped neighbours counted once; upper and lower case count as one letter.
fn distance(a: &str, b: &str) -> usize {
    let fold = |text: &str| -> Vec<char> { text.chars().flat_map(char::to_lowercase).collect() };
    let (a, b) = (fold(a), fold(b));
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for (i, from) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, to) in b.iter().enumerate() {
            let change = rows[i][j] + usize::from(from != to);
            let mut best = change.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *from == b[j - 1] && a[i - 1] == *to {
                best = best.min(rows[i - 1][j - 1] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_finds_its_word() {
        let fields = ["partition", "sort", "projection", "allow"];
        let near = |wrong| nearest(wrong, fields);
        assert_eq!(near("partiton"), Some("partition"));
        assert_eq!(near("sotr"), Some("sort"));
        assert_eq!(near("Sort"), Some("sort"));
        assert_eq!(near("projections"), Some("projection"));
        assert_eq!(near("sorted"), Some("sort"));
        assert_eq!(near("colour"), None);
        assert_eq!(near(""), None);
    }

    #[test]
    fn a_list_of_candidates_reads_as_a_sentence() {
        assert_eq!(one_of([]), "nothing");
        assert_eq!(one_of(["a"]), "`a`");
        assert_eq!(one_of(["a", "b", "c"]), "`a`, `b` or `c`");
    }
}
