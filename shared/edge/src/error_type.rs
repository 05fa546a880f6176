//! The names of function errors, for those who match them: a state machine, an alarm.

/// The error type of a code: `Keyfold.MappingChanged` for `mapping-changed`.
///
/// ```
/// assert_eq!(keyfold_edge::error_type("mapping-changed"), "Keyfold.MappingChanged");
/// ```
pub fn error_type(code: &str) -> String {
    if code == "stream-view-type" {
        // One name for one error: the state machine knows it as this.
        return "Keyfold.WrongStreamView".to_owned();
    }
    let mut name = String::from("Keyfold.");
    for word in code.split('-') {
        let mut letters = word.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name.push_str(letters.as_str());
    }
    name
}
