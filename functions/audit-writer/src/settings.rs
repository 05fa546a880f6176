//! Settings from environment variables, read once at start-up. Every variable has its name and its default here.

use std::path::PathBuf;

use keyfold_edge::{Auth, Environment, SettingsError};

/// The table for audit events.
const TABLE: &str = "KEYFOLD_AUDIT_TABLE";
/// The attribute with an event's id.
const ID: &str = "KEYFOLD_AUDIT_ID";
/// The attribute with the event's time.
const TIME: &str = "KEYFOLD_AUDIT_TIME";

/// The attribute in which the writer records how it received an event.
const RECEIVED: &str = "KEYFOLD_AUDIT_RECEIVED";
/// The name of the journal's table, if it differs from the manifest's.
const JOURNAL: &str = "KEYFOLD_AUDIT_JOURNAL";
/// The OAuth scope that a caller's token must grant.
const WRITE_SCOPE: &str = "KEYFOLD_WRITE_SCOPE";

const TABLE_DEFAULT: &str = "audit";
const ID_DEFAULT: &str = "id";
const TIME_DEFAULT: &str = "timestamp";
const RECEIVED_DEFAULT: &str = "received";

/// Everything that can be set.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The manifest's path.
    pub manifest: PathBuf,
    /// How DynamoDB is reached.
    pub dynamo: keyfold_dynamo::Settings,
    /// The table's id in the manifest.
    pub table: String,
    /// The attribute with an event's id.
    pub id: String,
    /// The attribute with the event's time.
    pub time: String,
    /// The attribute in which the writer records how it received an event.
    pub received: String,
    /// The name of the journal's table in this deployment, if it differs from the manifest's.
    pub journal: Option<String>,
    /// The number of days after which events expire, from the manifest.
    pub keep_days: Option<u32>,
    /// The allowed callers.
    pub auth: Auth,
    /// The OAuth scope that a caller's token must grant, if it must.
    pub grant: Option<String>,
}

impl Settings {
    /// The settings of this process.
    pub fn from_env() -> Result<Settings, SettingsError> {
        Settings::read(Environment::of_process())
    }

    /// The settings that these variables hold.
    pub fn read(environment: Environment<'_>) -> Result<Settings, SettingsError> {
        let or = |name: &str, default: &str| environment.get(name).unwrap_or_else(|| default.to_owned());
        Ok(Settings {
            manifest: environment.manifest(),
            dynamo: environment.dynamo()?,
            table: or(TABLE, TABLE_DEFAULT),
            id: or(ID, ID_DEFAULT),
            time: or(TIME, TIME_DEFAULT),
            received: or(RECEIVED, RECEIVED_DEFAULT),
            journal: environment.get(JOURNAL),
            keep_days: None,
            auth: environment.auth()?,
            grant: environment.get(WRITE_SCOPE),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_let_nobody_in_without_claims() {
        let settings = Settings::read(Environment::new(&|_| None)).unwrap();
        assert_eq!((settings.table.as_str(), settings.auth), ("audit", Auth::Claims));
    }
}
