//! The settings of a function of a retrofit.

use std::path::PathBuf;

use crate::{Environment, SettingsError};

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
        // The retrofit has attempts of its own. If the SDK repeated a throttled request by itself, the rate would not go down.
        let dynamo = keyfold_dynamo::Settings { attempts_max: 1, ..environment.dynamo()? };
        Ok(RetrofitSettings {
            manifest: environment.manifest(),
            dynamo,
            control: environment.control_table(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sdk_sends_nothing_a_second_time() {
        let unset = RetrofitSettings::read(Environment::new(&|_| None)).unwrap();
        assert_eq!((unset.control.as_str(), unset.dynamo.attempts_max), ("keyfold-control", 1));
    }
}
