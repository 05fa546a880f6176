//! The parts to deploy, and their names.

use std::collections::BTreeSet;

/// The parts that `keyfold template` writes besides the tables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deploy {
    /// The id of the table that the audit writer writes, if there is to be one.
    pub audit_writer: Option<String>,
    /// The name in DynamoDB of the table in which the audit writer keeps its journal, if it keeps one.
    pub audit_journal: Option<String>,
    /// After how many days audit events expire: the writer stamps the attribute of the table's `ttl`. `None`: never.
    pub audit_keep_days: Option<u32>,
    /// The ids of the tables that the query API reads; empty for no query API.
    pub query_api: Vec<String>,
    /// The ids of those that it also writes.
    pub query_api_writes: Vec<String>,
    /// The names of the retrofits in the stack.
    pub retrofits: Vec<String>,
    /// The ids of the tables that exist outside the stack (`managed = false`).
    pub existing: BTreeSet<String>,
}

/// Names of tables that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum TableNamesError {
    /// An entry that is no `ID=NAME`.
    #[error("`{entry}` is not `TABLE=NAME`")]
    NoPair { entry: String },
    /// A table that the manifest does not have.
    #[error("the manifest has no table `{id}`")]
    UnknownTable { id: String },
    /// An ARN, which statements of PartiQL do not take in place of a name.
    #[error(
        "table `{id}` is given by the ARN `{arn}`\nhint: give its name; a table of another account cannot be used, see \
         docs/deploy.md, \"Tables of another account\""
    )]
    Arn { id: String, arn: String },
    /// Two tables of one name.
    #[error("tables `{one}` and `{other}` are both `{name}` in DynamoDB")]
    Same { one: String, other: String, name: String },
}

#[cfg(test)]
mod tests {
    use super::TableNamesError as Refused;
    use crate::model::Model;

    fn model() -> Model {
        let text = r#"
[tables.audit]
name = "Audit"
partition = "id"
attributes = { id = "string" }

[tables.pets]
name = "Pets"
partition = "id"
attributes = { id = "string" }
"#;
        crate::manifest::parse("names.toml", text).model.unwrap()
    }

    #[test]
    fn tables_have_the_names_of_the_deployment() {
        let mut model = model();
        model.name_tables("audit=dev-Audit, ").unwrap();
        assert_eq!([&model.tables[0].name, &model.tables[1].name], ["dev-Audit", "Pets"]);
        model.name_tables("").unwrap();
        assert_eq!(model.tables[0].name, "dev-Audit");
    }

    #[test]
    fn names_that_cannot_be_used_are_refused() {
        let refused = |names: &str| model().name_tables(names).unwrap_err();
        for entry in ["audit", "=dev", "audit="] {
            assert_eq!(refused(entry), Refused::NoPair { entry: entry.to_owned() });
        }
        assert_eq!(refused("nope=x"), Refused::UnknownTable { id: "nope".to_owned() });
        let arn = "arn:aws:dynamodb:eu-west-1:222222222222:table/Audit";
        assert_eq!(
            refused(&format!("audit={arn}")),
            Refused::Arn { id: "audit".to_owned(), arn: arn.to_owned() }
        );
        let same =
            Refused::Same { one: "audit".to_owned(), other: "pets".to_owned(), name: "Pets".to_owned() };
        assert_eq!(refused("audit=Pets"), same);
    }
}
