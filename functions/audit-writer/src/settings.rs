//! What the environment says, read once at the start. Every variable has its name and its default here.

use std::path::PathBuf;

use keyfold_edge::{Auth, Environment, SettingsError};

/// The table of the manifest that audit events go to.
const TABLE: &str = "KEYFOLD_AUDIT_TABLE";
/// The attribute that names an event.
const ID: &str = "KEYFOLD_AUDIT_ID";
/// The attribute that says when it happened.
const TIME: &str = "KEYFOLD_AUDIT_TIME";

const TABLE_DEFAULT: &str = "audit";
const ID_DEFAULT: &str = "id";
const TIME_DEFAULT: &str = "timestamp";

/// Everything that can be set.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The manifest's path.
    pub manifest: PathBuf,
    /// How DynamoDB is reached.
    pub dynamo: keyfold_dynamo::Settings,
    /// The table's id in the manifest.
    pub table: String,
    /// The attribute that names an event.
    pub id: String,
    /// The attribute that says when it happened.
    pub time: String,
    /// Who may send.
    pub auth: Auth,
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
            auth: environment.auth()?,
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
