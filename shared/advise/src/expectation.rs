//! Measured figures as `expect` in a manifest's text. Comments and everything else stay.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use keyfold_core::manifest::{self, toml_key};
use keyfold_core::model::{Expect, Table};

/// The text with the `expect` of this table, its entities and its indexes. `None` if the text declares one of them in
/// a form that cannot be edited line by line.
///
/// `measured` is the declared table with the new figures. The result declares exactly that table.
pub fn with_expect(text: &str, measured: &Table) -> Option<String> {
    let mut document = Lines(text.lines().map(str::to_owned).collect());
    let of = |section: &str, name: &str| ["tables", &measured.id, section, name].map(str::to_owned);
    document.set(&["tables".to_owned(), measured.id.clone()], &measured.expect)?;
    for entity in &measured.entities {
        document.set(&of("entities", &entity.name), &entity.expect)?;
    }
    for index in &measured.indexes {
        document.set(&of("indexes", &index.name), &index.expect)?;
    }
    let written = document.0.join("\n") + "\n";
    let model = manifest::parse("", &written).model?;
    (model.tables.iter().find(|table| table.id == measured.id)? == measured).then_some(written)
}

/// The lines of a manifest.
struct Lines(Vec<String>);

impl Lines {
    /// Sets the `expect` of what this path names. Nothing happens without figures.
    fn set(&mut self, path: &[String], expect: &Expect) -> Option<()> {
        if *expect == Expect::default() {
            return Some(());
        }
        let value = value(expect);
        // The table itself, or an entity or index declared by dotted keys or as an inline table.
        let (depth, body) =
            (1..=path.len()).rev().find_map(|depth| Some((depth, self.section(&path[..depth])?)))?;
        let mut key = path[depth..].to_vec();
        if let Some(at) = body.clone().find(|at| !key.is_empty() && self.key(*at) == key) {
            return self.set_inside(at, &value);
        }
        let declared = body.clone().rfind(|at| self.key(*at).starts_with(&key) && !self.key(*at).is_empty());
        key.push("expect".to_owned());
        let line = format!("{} = {value}", key.join("."));
        match body.clone().find(|at| self.key(*at) == key) {
            Some(at) => {
                let after = self.0[at].rfind('}')? + 1;
                self.0[at] = format!("{line}{}", &self.0[at][after..]);
            }
            None if key.len() == 1 => self.0.insert(declared.map_or(body.start, |at| at + 1), line),
            None => self.0.insert(declared? + 1, line),
        }
        Some(())
    }

    /// Sets the `expect` of an inline table.
    fn set_inside(&mut self, at: usize, value: &str) -> Option<()> {
        let line = &mut self.0[at];
        if let Some(start) = line.find("expect = {") {
            let end = start + line[start..].find('}')? + 1;
            line.replace_range(start..end, &format!("expect = {value}"));
            return Some(());
        }
        let end = line.rfind('}')?;
        let before = line[..end].trim_end().trim_end_matches(',').len();
        line.replace_range(before..end, &format!(", expect = {value} "));
        Some(())
    }

    /// The lines of the section with this header.
    fn section(&self, path: &[String]) -> Option<Range<usize>> {
        let header = |line: &String| line.trim_start().starts_with('[');
        let is_it = |line: &String| {
            let text = line.trim().strip_prefix('[')?.split_once(']')?.0;
            (header(line) && names(text) == path).then_some(())
        };
        let start = self.0.iter().position(|line| is_it(line).is_some())? + 1;
        let length = self.0[start..].iter().position(header);
        Some(start..length.map_or(self.0.len(), |length| start + length))
    }

    /// The names of a line's key; none without a key.
    fn key(&self, at: usize) -> Vec<String> {
        let line = self.0[at].trim();
        let key = line.split_once('=').filter(|_| !line.starts_with('#'));
        key.map(|(key, _)| names(key)).unwrap_or_default()
    }
}

/// The names of a dotted key.
fn names(key: &str) -> Vec<String> {
    key.split('.').map(|name| name.trim().trim_matches(['"', '\'']).to_owned()).collect()
}

fn value(expect: &Expect) -> String {
    let Expect { items, item_bytes, items_per_partition, writes, values } = expect;
    let mut fields = Vec::new();
    let counts = [("items", items), ("item-bytes", item_bytes), ("items-per-partition", items_per_partition)];
    for (field, count) in counts {
        fields.extend(count.map(|count| format!("{field} = {count}")));
    }
    if !values.is_empty() {
        let count = |(value, count): (&String, &u64)| format!("{} = {count}", toml_key(value));
        let one = |(name, counts): (&String, &BTreeMap<String, u64>)| {
            format!("{} = {{ {} }}", toml_key(name), counts.iter().map(count).collect::<Vec<_>>().join(", "))
        };
        fields.push(format!("values = {{ {} }}", values.iter().map(one).collect::<Vec<_>>().join(", ")));
    }
    let mut text = fields.join(", ");
    if let Some(rate) = writes {
        let comma = if text.is_empty() { "" } else { ", " };
        let _ = write!(text, "{comma}writes = \"{rate}\"");
    }
    format!("{{ {text} }}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOP: &str = r#"# Our shop.
[tables.shop]
partition = "customer"   # one collection for each
sort = { attribute = "SK" }
entity-attribute = "kind"
expect = { items = 7, writes = "20/s" } # guessed
attributes = { customer = "string", id = "string", kind = "string", at = "timestamp", state = { type = "string", values = ["open", "on hold"] } }
entities.order = { sort = "ORDER#{id}" } # inline
entities.note.sort = "NOTE#{id}"

[tables.shop.entities.parcel]
# in a section
sort = "PARCEL#{id}"

[tables.shop.indexes.byTime]
partition = "customer"
sort = "at"

[tables.other]
partition = "id"
attributes = { id = "string" }
"#;

    fn measured(text: &str) -> Table {
        let mut table = manifest::parse("", text).model.unwrap().tables.remove(0);
        table.expect.items = Some(900);
        let counts = [("open", 890), ("on hold", 10)].map(|(value, count)| (value.to_owned(), count));
        table.expect.values.insert("state".to_owned(), counts.into());
        for (number, entity) in table.entities.iter_mut().enumerate() {
            entity.expect.items = Some(300 + number as u64);
        }
        table.indexes[0].expect = Expect { items_per_partition: Some(5), ..Expect::default() };
        table
    }

    #[test]
    fn figures_are_written_where_each_thing_is_declared_and_comments_stay() {
        let written = with_expect(SHOP, &measured(SHOP)).unwrap();
        let mut lines = written.lines();
        for line in [
            "expect = { items = 900, values = { state = { \"on hold\" = 10, open = 890 } }, writes = \"20/s\" } # guessed",
            "entities.order = { sort = \"ORDER#{id}\", expect = { items = ",
            "entities.note.expect = { items = ",
            "expect = { items = ",
            "expect = { items-per-partition = 5 }",
            "[tables.other]",
        ] {
            assert!(lines.any(|written| written.starts_with(line)), "{line}: {written}");
        }
        let comments = |text: &str| text.matches('#').count();
        assert_eq!(comments(&written), comments(SHOP));
        assert_eq!(with_expect(&written, &measured(&written)), Some(written), "the same figures again");
    }

    #[test]
    fn a_text_that_cannot_be_edited_is_left_alone() {
        let dotted = SHOP.replace("expect = { items = 7, writes = \"20/s\" }", "expect.items = 7");
        assert_eq!(with_expect(&dotted, &measured(&dotted)), None);
        // The figures would be written into the comment.
        let comment = SHOP.replace("# inline", "# {inline}");
        assert_eq!(with_expect(&comment, &measured(&comment)), None);
    }
}
