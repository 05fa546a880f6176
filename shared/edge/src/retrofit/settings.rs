//! The settings of a function of a retrofit.

use std::path::PathBuf;

use keyfold_dynamo::retrofit::CONTROL_TABLE_DEFAULT;

use crate::{Environment, SettingsError};

/// The control table; [`CONTROL_TABLE_DEFAULT`] if unset.
pub const CONTROL_TABLE: &str = "KEYFOLD_CONTROL_TABLE";

/// Everything that can be set.
#[derive(Debug, Clone)]
pub struct RetrofitSettings {
    /// The manifest's path.
    pub manifest: PathBuf,
    /// How DynamoDB is reached.
    pub dynamo: keyfold_dynamo::Settings,
    /// The control table's name.
    pub control: String,
}

impl RetrofitSettings {
    /// The settings of this process.
    pub fn from_env() -> Result<RetrofitSettings, SettingsError> {
        RetrofitSettings::read(Environment::of_process())
    }

    /// The settings that these variables hold.
    pub fn read(environment: Environment<'_>) -> Result<RetrofitSettings, SettingsError> {
        let control = environment.get(CONTROL_TABLE).unwrap_or_else(|| CONTROL_TABLE_DEFAULT.to_owned());
        // What is throttled must be seen, not sent again in silence: the retrofit has attempts of its own.
        let dynamo = keyfold_dynamo::Settings { attempts_max: 1, ..environment.dynamo()? };
        Ok(RetrofitSettings { manifest: environment.manifest(), dynamo, control })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_table_has_a_name_by_default() {
        let unset = RetrofitSettings::read(Environment::new(&|_| None)).unwrap();
        assert_eq!((unset.control.as_str(), unset.dynamo.attempts_max), ("keyfold-control", 1));
        let variables = |name: &str| (name == CONTROL_TABLE).then(|| "mine".to_owned());
        assert_eq!(RetrofitSettings::read(Environment::new(&variables)).unwrap().control, "mine");
    }
}
