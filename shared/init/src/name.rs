//! Valid manifest names from other names.

/// Maximum characters of a generated name.
const NAME_CHARS_MAX: usize = 60;

/// Minimum characters of a table's or index's name in DynamoDB.
pub(crate) const LEGAL_CHARS_MIN: usize = 3;

/// Does DynamoDB accept it as the name of a table?
pub(crate) fn is_legal(name: &str) -> bool {
    let legal = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.');
    (LEGAL_CHARS_MIN..=255).contains(&name.len()) && name.chars().all(legal)
}

/// A name of the manifest's own: a letter, then letters, digits, `_` and `-`.
pub(crate) fn id(text: &str, fallback: &str) -> String {
    let mut name = String::new();
    for letter in text.chars().take(NAME_CHARS_MAX) {
        if letter.is_ascii_alphanumeric() || letter == '_' || letter == '-' {
            name.push(letter);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    let name = name.trim_end_matches('-').trim_start_matches(|first: char| !first.is_ascii_alphabetic());
    if name.is_empty() { fallback.to_owned() } else { name.to_owned() }
}

/// The name, or the name with the first number that makes it new.
pub(crate) fn unique(name: String, taken: impl Fn(&str) -> bool) -> String {
    if !taken(&name) {
        return name;
    }
    (2..).map(|number| format!("{name}-{number}")).find(|name| !taken(name)).unwrap_or(name)
}

/// `gsi1pk-gsi1sk-index` -> `Gsi1pkGsi1skIndex`.
pub(crate) fn capitalised(text: &str) -> String {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect()
}

/// Letters and digits alone, in lower case: for comparing names.
pub(crate) fn plain(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

/// Does the name only denote a key: `PK`, `GSI1SK`, `gsi2-pk`, `GSI_1_PK`, `SK3`?
pub(crate) fn is_key_name(name: &str) -> bool {
    let base = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let lower = base.to_ascii_lowercase();
    let Some(before) = lower.strip_suffix("pk").or_else(|| lower.strip_suffix("sk")) else {
        return name.contains('#');
    };
    let letters = before.trim_end_matches(['_', '-']);
    before.is_empty()
        || letters.len() < before.len()
        || letters.ends_with(|last: char| last.is_ascii_digit())
        || matches!(letters, "gsi" | "lsi" | "gs" | "ls" | "i" | "ix")
        || base.ends_with("PK")
        || base.ends_with("SK")
}

/// The naming style of a table's attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// `customer_id`
    Snake,
    /// `customerId`
    Camel,
    /// `CustomerId`
    Pascal,
}

/// The style of most of these names. Names of one word are ignored.
pub(crate) fn style<'a>(names: impl IntoIterator<Item = &'a str> + Clone) -> Style {
    if names
        .clone()
        .into_iter()
        .any(|name| name.trim_start_matches('_').contains('_') && !name.starts_with('_'))
    {
        return Style::Snake;
    }
    let camel = |name: &str| {
        name.starts_with(|first: char| first.is_ascii_lowercase())
            && name.chars().any(|letter| letter.is_ascii_uppercase())
    };
    if names.into_iter().any(camel) { Style::Camel } else { Style::Snake }
}

/// The words of a name, in lower case: `orderItem`, `ORDER_ITEM` and `order-item` have two.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = ' ';
    for letter in text.chars() {
        if !letter.is_ascii_alphanumeric() {
            before = ' ';
            continue;
        }
        let begins = before == ' ' || (letter.is_ascii_uppercase() && before.is_ascii_lowercase());
        if begins {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push(letter.to_ascii_lowercase());
        }
        before = letter;
    }
    words
}

/// A name made of these words.
pub(crate) fn joined(words: &[String], style: Style) -> String {
    let upper = |word: &String| word[..1].to_ascii_uppercase() + &word[1..];
    match style {
        Style::Snake => words.join("_"),
        Style::Pascal => words.iter().map(upper).collect(),
        Style::Camel => {
            let mut words = words.iter();
            words.next().cloned().unwrap_or_default() + &words.map(upper).collect::<String>()
        }
    }
}
