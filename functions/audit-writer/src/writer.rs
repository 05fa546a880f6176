//! The state of the process: the table, the client, the forms of timestamps. Built once, before the first event.

use std::collections::BTreeSet;

use keyfold_core::key::{Codec, Part};
use keyfold_core::model::{AttributeKind, KeySource, Table};
use keyfold_dynamo::Client;
use keyfold_edge::{Auth, ManifestError, SettingsError};

use crate::journal::Journal;
use crate::settings::Settings;
use crate::stamp::Stamps;

/// The writer of one table.
#[derive(Debug)]
pub struct Writer {
    pub(crate) table: Table,
    pub(crate) client: Client,
    /// The attribute with an event's id.
    pub(crate) id: String,
    /// The attribute with the event's time.
    pub(crate) time: String,
    /// The attribute in which the writer records how it received an event.
    pub(crate) received: String,
    pub(crate) auth: Auth,
    /// The OAuth scope that a caller's token must grant.
    pub(crate) grant: Option<String>,
    /// May callers with claims not choose ids, because another scope's event could have the same key?
    pub(crate) makes_ids: bool,
    pub(crate) stamps: Stamps,
    /// Attributes that are folded from others, and cannot be given.
    pub(crate) folded: BTreeSet<String>,
    /// Does the primary key contain the time? Then each event must have one: a repeat would get another key.
    pub(crate) time_in_key: bool,
    /// The attributes in the primary key.
    pub(crate) key_inputs: BTreeSet<String>,
    /// The number of days after which events expire, if they do.
    pub(crate) keep_days: Option<u32>,
    /// The journal, if there is one.
    pub(crate) journal: Option<Journal>,
}

/// Why there is no writer.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum StartError {
    /// An invalid setting.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// No usable manifest.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The manifest has no such table.
    #[error("the manifest has no table `{table}` (`KEYFOLD_AUDIT_TABLE`)")]
    NoTable { table: String },
    /// An attribute of the table does not fit the writer.
    #[error("attribute `{attribute}` of table `{table}` is not {wanted}")]
    Attribute { table: String, attribute: String, wanted: &'static str },
}

impl Writer {
    /// The writer with these settings.
    pub async fn start(settings: Settings) -> Result<Writer, StartError> {
        let model = keyfold_edge::load(&settings.manifest)?;
        let no_table = || StartError::NoTable { table: settings.table.clone() };
        let table = model.table(&settings.table).ok_or_else(no_table)?.clone();
        let client = keyfold_dynamo::client(&settings.dynamo).await;
        // The manifest's journal belongs to its audit writer; only the environment can configure one for another table.
        let is_deployed = model.deploy.audit_writer.as_ref() == Some(&settings.table);
        let declared = model.deploy.audit_journal.filter(|_| is_deployed);
        let journal = settings.journal.clone().or(declared);
        let keep_days = model.deploy.audit_keep_days.filter(|_| is_deployed);
        Writer::new(table, client, Settings { journal, keep_days, ..settings })
    }

    /// The writer of a table, with a client.
    pub fn new(table: Table, client: Client, settings: Settings) -> Result<Writer, StartError> {
        let Settings { id, time, received, auth, grant, journal, keep_days, .. } = settings;
        let wrong = |attribute: &str, wanted| {
            Err(StartError::Attribute { table: table.id.clone(), attribute: attribute.to_owned(), wanted })
        };
        let in_key = key_inputs(&table);
        let kind = |name: &str| table.attributes.get(name).map(|attribute| attribute.kind);
        if kind(&id) != Some(AttributeKind::String) || !in_key.contains(&id) {
            return wrong(&id, "a declared string that the primary key is made of (`KEYFOLD_AUDIT_ID`)");
        }
        if !matches!(kind(&time), Some(AttributeKind::Timestamp(_))) {
            return wrong(&time, "a declared timestamp (`KEYFOLD_AUDIT_TIME`)");
        }
        if !matches!(kind(&received), None | Some(AttributeKind::Map)) || in_key.contains(&received) {
            return wrong(&received, "undeclared, or a declared map (`KEYFOLD_AUDIT_RECEIVED`)");
        }
        if let Some(ttl) = table.ttl.as_deref().filter(|ttl| in_key.contains(*ttl)) {
            return wrong(
                ttl,
                "apart from the primary key, as the table's `ttl` must be: the writer stamps it",
            );
        }
        let makes_ids = table.scope.keys().any(|name| !key_keeps(&table, name));
        let stamps = Stamps::of(&table);
        let folded = keyfold_core::audit::left_out(&table);
        let time_in_key = in_key.contains(&time);
        let key_inputs = in_key;
        let journal = journal.map(|name| Journal::new(&name));
        Ok(Writer {
            table,
            client,
            id,
            time,
            received,
            auth,
            grant,
            makes_ids,
            stamps,
            folded,
            time_in_key,
            key_inputs,
            keep_days,
            journal,
        })
    }
}

impl Writer {
    /// Is this attribute set by the writer? These are how an event was received, and when it expires: a sender that
    /// chose them could hide its actions.
    pub(crate) fn stamps_attribute(&self, name: &str) -> bool {
        name == self.received || self.table.ttl.as_deref() == Some(name)
    }
}

/// The attributes in the primary key.
fn key_inputs(table: &Table) -> BTreeSet<String> {
    let mut inputs = BTreeSet::new();
    for key in table.key_attributes() {
        match &key.source {
            KeySource::Natural => drop(inputs.insert(key.name.clone())),
            KeySource::Folded(rules) => {
                inputs.extend(rules.iter().flat_map(|rule| rule.template.attributes()).map(str::to_owned));
            }
        }
    }
    inputs
}

/// Does every primary key contain the exact value of the attribute? In lower case, `Acme` and `acme` would share their
/// ids, and so would all organisations of one shard.
fn key_keeps(table: &Table, attribute: &str) -> bool {
    let is_kept = |part: &Part| {
        let Part::Attribute { name, codec, .. } = part else { return false };
        let loses = matches!(
            codec,
            Codec::Lower
                | Codec::Upper
                | Codec::Shard(_)
                | Codec::Modulo(_)
                | Codec::Timestamp(_)
                | Codec::LowerTimestamp(_)
        );
        name == attribute && !loses
    };
    table.key_attributes().any(|key| match &key.source {
        KeySource::Natural => key.name == attribute,
        // A key without a template for some entity has no items of it.
        KeySource::Folded(rules) => rules.iter().all(|rule| rule.template.parts().iter().any(is_kept)),
    })
}
