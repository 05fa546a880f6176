//! A template that is laid together from parts.

/// The sections of a template, in the order in which they are written.
const SECTIONS: [&str; 6] = ["Parameters", "Rules", "Conditions", "Globals", "Resources", "Outputs"];

/// The sections so far.
#[derive(Debug, Default)]
pub(super) struct Document {
    sections: [String; 6],
}

impl Document {
    /// Adds a part: each of its sections goes to the end of the document's.
    pub(super) fn part(&mut self, part: &str, gaps: &[(&str, &str)]) {
        let mut section = None;
        for line in filled(part, gaps).lines() {
            match SECTIONS.iter().position(|name| line.strip_suffix(':') == Some(name)) {
                Some(at) => {
                    section = Some(at);
                    // Resources stand apart; the other sections are lists.
                    if SECTIONS[at] == "Resources" && !self.sections[at].is_empty() {
                        self.separate(at);
                    }
                }
                None => {
                    let at = section.unwrap_or_else(|| unreachable!("a part begins with a section's name"));
                    self.sections[at].push_str(line);
                    self.sections[at].push('\n');
                }
            }
        }
        for (name, text) in SECTIONS.iter().zip(&mut self.sections) {
            if *name != "Resources" {
                *text = text.replace("\n\n", "\n");
            }
        }
    }

    /// A line across the resources, and what comes below it.
    pub(super) fn heading(&mut self, text: &str) {
        let resources = SECTIONS.len() - 2;
        self.separate(resources);
        let ruler = "-".repeat(114);
        self.sections[resources].push_str(&format!("  # {ruler}\n  # {text}\n"));
    }

    fn separate(&mut self, at: usize) {
        let text = self.sections[at].trim_end().len();
        self.sections[at].truncate(text);
        self.sections[at].push_str("\n\n");
    }

    /// The whole template.
    pub(super) fn text(mut self, header: &str) -> String {
        self.drop_unused_conditions();
        let sections = SECTIONS.iter().zip(self.sections).filter(|(_, text)| !text.trim().is_empty());
        let sections = sections.map(|(name, text)| format!("\n{name}:\n{}\n", text.trim_end()));
        header.to_owned() + &sections.collect::<String>()
    }

    /// Linters refuse a condition that nothing names. A manifest without functions has some.
    fn drop_unused_conditions(&mut self) {
        let whole = self.sections.concat();
        let words: Vec<&str> = whole.split(|c: char| !c.is_ascii_alphanumeric()).collect();
        let is_used = |line: &&str| {
            let name = line.split(':').next().unwrap_or_default().trim();
            line.trim_start().starts_with('#') || words.iter().filter(|word| **word == name).count() > 1
        };
        let [_, _, conditions, ..] = &mut self.sections;
        *conditions = conditions.lines().filter(is_used).map(|line| format!("{line}\n")).collect();
    }
}

/// A text with its gaps filled. A gap alone on its line takes any number of lines.
fn filled(text: &str, gaps: &[(&str, &str)]) -> String {
    let mut done = String::new();
    for line in text.lines() {
        let margin = &line[..line.len() - line.trim_start().len()];
        let own = line.trim().strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
        match own.and_then(|name| gaps.iter().find(|(known, _)| *known == name)) {
            Some((_, lines)) => {
                lines.lines().for_each(|line| done.push_str(&format!("{margin}{line}\n")));
            }
            None => done.push_str(&(in_line(line, gaps) + "\n")),
        }
    }
    done
}

fn in_line(line: &str, gaps: &[(&str, &str)]) -> String {
    let filled = gaps
        .iter()
        .fold(line.to_owned(), |line, (name, value)| line.replace(&format!("{{{{{name}}}}}"), value));
    assert!(!filled.contains("{{"), "a gap of a part is not filled: `{filled}`");
    filled
}

/// A scalar, in quotes where it could be mistaken. A JSON text is a YAML text.
pub(super) fn scalar(text: &str) -> String {
    let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let word = text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(letters);
    let mistaken = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];
    if word && !mistaken.contains(&text.to_ascii_lowercase().as_str()) {
        text.to_owned()
    } else {
        serde_json::Value::from(text).to_string()
    }
}
