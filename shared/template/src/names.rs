//! What tables and retrofits are called in the template, and how it points at them.

use keyfold_core::model::{Model, Retrofit, Table};

/// The name of the audit trail's journal, as a table of the manifest.
const JOURNAL_ID: &str = "audit-journal";
const ARN: &str = "arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/";

/// Why there is no template.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum GenerateError {
    /// Two names of the manifest that are one in CloudFormation, which knows letters and digits only.
    #[error(
        "`{one}` and `{other}` are both `{id}` in CloudFormation\nhint: it knows letters and digits only; give one of them another name"
    )]
    SameId { one: String, other: String, id: String },
    /// More of something than AWS takes.
    #[error("{what} has {count} {unit}; AWS accepts at most {max}\nhint: {hint}")]
    Limit { what: String, count: usize, unit: &'static str, max: usize, hint: String },
    /// A retrofit with an invalid mapping.
    #[error(transparent)]
    Mapping(#[from] keyfold_core::retrofit::MappingError),
}

/// The names of a model.
#[derive(Debug)]
pub(super) struct Names<'m> {
    pub(super) model: &'m Model,
}

/// A table, as the template points at it.
#[derive(Debug, Clone)]
pub(super) struct TableName<'m> {
    pub(super) table: &'m Table,
    /// `AuditLegacy`
    pub(super) id: String,
    /// Does the stack make the table?
    pub(super) managed: bool,
}

impl<'m> Names<'m> {
    pub(super) fn of(model: &'m Model) -> Result<Names<'m>, GenerateError> {
        let journal = model.deploy.audit_journal.is_some().then_some(JOURNAL_ID);
        different(model.tables.iter().map(|table| table.id.as_str()).chain(journal))?;
        different(model.retrofits.iter().map(|retrofit| retrofit.name.as_str()))?;
        Ok(Names { model })
    }

    pub(super) fn tables(&self) -> impl Iterator<Item = TableName<'m>> + use<'m> {
        let model = self.model;
        model.tables.iter().map(|table| TableName {
            table,
            id: logical_id(&table.id),
            managed: !model.deploy.existing.contains(&table.id),
        })
    }

    pub(super) fn table(&self, id: &str) -> TableName<'m> {
        let found = self.tables().find(|name| name.table.id == id);
        found.unwrap_or_else(|| unreachable!("the manifest's checks let only tables through that are there"))
    }

    /// The retrofits that the stack carries out.
    pub(super) fn retrofits(&self) -> impl Iterator<Item = &'m Retrofit> + use<'m> {
        let deploy = &self.model.deploy;
        self.model.retrofits.iter().filter(|retrofit| deploy.retrofits.contains(&retrofit.name))
    }

    /// `audit=${AuditTable}`, for all tables.
    pub(super) fn assignments(&self) -> String {
        let one = |name: TableName<'_>| format!("{}=${{{}}}", name.table.id, name.reference());
        self.tables().map(one).collect::<Vec<_>>().join(",")
    }
}

impl TableName<'_> {
    /// What `!Ref` takes to give the table's name: the table, or the parameter that names it.
    pub(super) fn reference(&self) -> String {
        format!("{}{}", self.id, if self.managed { "Table" } else { "TableName" })
    }

    pub(super) fn arn(&self) -> String {
        match self.managed {
            true => format!("!GetAtt {}Table.Arn", self.id),
            false => format!("!Sub \"{ARN}${{{}TableName}}\"", self.id),
        }
    }

    /// The ARN of something below the table: an index.
    pub(super) fn below(&self, path: &str) -> String {
        match self.managed {
            true => format!("!Sub \"${{{}Table.Arn}}/{path}\"", self.id),
            false => format!("!Sub \"{ARN}${{{}TableName}}/{path}\"", self.id),
        }
    }

    pub(super) fn stream(&self) -> String {
        match self.managed {
            true => format!("!GetAtt {}Table.StreamArn", self.id),
            false => format!("!Ref {}StreamArn", self.id),
        }
    }
}

/// `audit-legacy` is `AuditLegacy`: CloudFormation knows letters and digits only.
pub(super) fn logical_id(id: &str) -> String {
    let words = id.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect()
}

/// No two names, and none of the template's own, may be one.
fn different<'n>(names: impl Iterator<Item = &'n str>) -> Result<(), GenerateError> {
    let mut seen: Vec<(String, &str)> =
        vec![("Control".to_owned(), "control"), ("Caller".to_owned(), "caller")];
    for name in names {
        let id = logical_id(name);
        if let Some((_, one)) = seen.iter().find(|(known, _)| *known == id) {
            return Err(GenerateError::SameId { one: (*one).to_owned(), other: name.to_owned(), id });
        }
        seen.push((id, name));
    }
    Ok(())
}
