//! Names that the manifest takes, made of names that others gave.

/// Upper bound of a made name.
const NAME_CHARS_MAX: usize = 60;

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
