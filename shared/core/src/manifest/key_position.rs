//! The position of a key: partition or sort key of the table or of an index.

use super::entity_text::EntityText;
use super::node::Text;
use super::table_text::TableText;
use crate::key::KeyRole;

/// One key of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyPosition {
    /// The number of the index, or `None` for the table itself.
    pub(super) index: Option<usize>,
    pub(super) role: KeyRole,
}

impl KeyPosition {
    pub(super) const PARTITION: KeyPosition = KeyPosition { index: None, role: KeyRole::Partition };
    pub(super) const SORT: KeyPosition = KeyPosition { index: None, role: KeyRole::Sort };

    pub(super) fn field(self) -> &'static str {
        match self.role {
            KeyRole::Partition => "partition",
            KeyRole::Sort => "sort",
        }
    }

    pub(super) fn index_name<'a>(self, table: &TableText<'a>) -> Option<&'a str> {
        self.index.and_then(|at| table.indexes.get(at)).map(|index| index.name.value)
    }

    /// "the sort key of index `byUser` of table `audit`"
    pub(super) fn what(self, table: &TableText<'_>) -> String {
        let key = self.field();
        match self.index_name(table) {
            Some(index) => format!("the {key} key of index `{index}` of table `{}`", table.id.value),
            None => format!("the {key} key of table `{}`", table.id.value),
        }
    }

    /// The name of a folded key's attribute, if the manifest gives none.
    pub(super) fn generated_name(self, table: &TableText<'_>) -> String {
        let suffix = match self.role {
            KeyRole::Partition => "pk",
            KeyRole::Sort => "sk",
        };
        match self.index_name(table) {
            Some(index) => format!("{index}_{suffix}"),
            None => suffix.to_owned(),
        }
    }

    /// The entities' templates for this key, by the entity's number.
    pub(super) fn templates<'t, 'a>(
        self,
        table: &'t TableText<'a>,
    ) -> impl Iterator<Item = (usize, &'t Text<'a>)> + use<'t, 'a> {
        let index = self.index_name(table);
        let of =
            move |(at, entity): (usize, &'t EntityText<'a>)| Some((at, entity.template(index, self.role)?));
        table.entities.iter().enumerate().filter_map(of)
    }
}
