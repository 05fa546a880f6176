//! The positions of a manifest's parts in its text.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::de::{DeTable, DeValue};

/// Byte spans by dotted path, so that later passes can point at lines too.
///
/// The path of a field is that of the manifest without quotes: `questions.audit.byUser`, `tables.audit.indexes.byUser.sort`,
/// `tables.audit.indexes.byUser.partition.0` for the first element of a list. A table's span is its name, a field's span is
/// its value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    by_path: BTreeMap<String, Range<usize>>,
}

impl Places {
    /// The span of one path.
    pub fn get(&self, path: &str) -> Option<Range<usize>> {
        self.by_path.get(path).cloned()
    }

    pub(super) fn of(root: &DeTable<'_>) -> Places {
        let mut places = Places::default();
        places.add_table("", root);
        places
    }

    // The parser bounds the depth of a manifest, and with it this recursion.
    fn add_table(&mut self, prefix: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let path = if prefix.is_empty() {
                key.get_ref().to_string()
            } else {
                format!("{prefix}.{}", key.get_ref())
            };
            self.add(path, key.span(), value.span(), value.get_ref());
        }
    }

    fn add(&mut self, path: String, key: Range<usize>, span: Range<usize>, value: &DeValue<'_>) {
        match value {
            DeValue::Table(table) => {
                self.add_table(&path, table);
                self.by_path.insert(path, key);
            }
            DeValue::Array(array) => {
                for (at, element) in array.iter().enumerate() {
                    self.add(format!("{path}.{at}"), element.span(), element.span(), element.get_ref());
                }
                self.by_path.insert(path, span);
            }
            _ => {
                self.by_path.insert(path, span);
            }
        }
    }
}
