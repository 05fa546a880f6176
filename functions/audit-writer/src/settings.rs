//! What the environment says, read once at the start. Every variable has its name and its default here.

use std::path::PathBuf;

use keyfold_edge::{Environment, SettingsError};

/// The table of the manifest that audit events go to.
const TABLE: &str = "KEYFOLD_AUDIT_TABLE";
/// The attribute that names an event.
const ID: &str = "KEYFOLD_AUDIT_ID";
/// The attribute that says when it happened.
const TIME: &str = "KEYFOLD_AUDIT_TIME";
/// `claims` (the default): whoever sends over HTTP must come with claims. `open`: everybody may, where the table has no
/// scope.
const AUTH: &str = "KEYFOLD_AUTH";

const TABLE_DEFAULT: &str = "audit";
const ID_DEFAULT: &str = "id";
const TIME_DEFAULT: &str = "timestamp";

/// Who may send audit events over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Auth {
    /// Callers with claims.
    #[default]
    Claims,
    /// Everybody, where the table has no scope.
    Open,
}

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
            auth: match environment.get(AUTH).as_deref() {
                None | Some("claims") => Auth::Claims,
                Some("open") => Auth::Open,
                Some(_) => {
                    return Err(SettingsError::Invalid {
                        name: AUTH,
                        wanted: "`claims` or `open`".to_owned(),
                    });
                }
            },
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

    #[test]
    fn a_word_that_means_nothing_is_an_error() {
        let variables = |name: &str| (name == AUTH).then(|| "nobody".to_owned());
        let error = Settings::read(Environment::new(&variables)).unwrap_err();
        assert_eq!(error.to_string(), "`KEYFOLD_AUTH` is not `claims` or `open`");
    }
}
