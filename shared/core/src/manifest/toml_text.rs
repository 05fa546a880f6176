//! Texts and keys as the manifest writes them, for programs that propose parts of it.

/// A quoted string of TOML.
pub fn toml_string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter.is_control() => quoted += &format!("\\u{:04X}", u32::from(letter)),
            letter => quoted.push(letter),
        }
    }
    quoted + "\""
}

/// An array of strings of TOML.
pub fn toml_strings(texts: impl IntoIterator<Item: AsRef<str>>) -> String {
    let quoted = texts.into_iter().map(|text| toml_string(text.as_ref()));
    format!("[{}]", quoted.collect::<Vec<_>>().join(", "))
}

/// A key of a TOML table, quoted only if necessary.
pub fn toml_key(name: &str) -> String {
    let is_bare = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    if !name.is_empty() && name.chars().all(is_bare) { name.to_owned() } else { toml_string(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back_as_it_was() {
        for name in [
            "plain-name_1",
            "",
            "a.b",
            "say \"so\"",
            "C:\\new",
            "tab\tline\nnul\0\u{1}\u{7f}\u{85}",
            "Łódź {x}",
        ] {
            let text = format!("{} = {}", toml_key(name), toml_string(name));
            let read: toml::Table = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(read.get(name).and_then(|value| value.as_str()), Some(name), "{text}");
        }
        assert_eq!(toml_key("plain-name_1"), "plain-name_1");
    }
}
