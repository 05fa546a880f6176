//! What the environment says, read once at the start. Every variable has its name and its default here.

use std::path::PathBuf;

use keyfold_dynamo::retrofit::IN_FLIGHT_DEFAULT;
use keyfold_edge::retrofit::RetrofitSettings;
use keyfold_edge::{Environment, SettingsError};

use crate::limits::CONCURRENCY_MAX;

/// The retrofit's name in the manifest.
const RETROFIT: &str = "KEYFOLD_RETROFIT";
/// How many items are under way at once.
const CONCURRENCY: &str = "KEYFOLD_CONCURRENCY";

/// Everything that can be set.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The manifest's path.
    pub manifest: PathBuf,
    /// How DynamoDB is reached.
    pub dynamo: keyfold_dynamo::Settings,
    /// The retrofit's name in the manifest.
    pub retrofit: String,
    /// The control table.
    pub control_table: String,
    /// How many items are under way at once.
    pub concurrency: usize,
}

impl Settings {
    /// The settings of this process.
    pub fn from_env() -> Result<Settings, SettingsError> {
        Settings::read(Environment::of_process())
    }

    /// The settings that these variables hold.
    pub fn read(environment: Environment<'_>) -> Result<Settings, SettingsError> {
        let invalid = |name, wanted: String| SettingsError::Invalid { name, wanted };
        let unset = || invalid(RETROFIT, "the name of a retrofit of the manifest".to_owned());
        let shared = RetrofitSettings::read(environment)?;
        Ok(Settings {
            manifest: shared.manifest,
            dynamo: shared.dynamo,
            retrofit: environment.get(RETROFIT).ok_or_else(unset)?,
            control_table: shared.control,
            concurrency: match environment.get(CONCURRENCY) {
                None => IN_FLIGHT_DEFAULT,
                Some(text) => {
                    text.parse().ok().filter(|number| (1..=CONCURRENCY_MAX).contains(number)).ok_or_else(
                        || invalid(CONCURRENCY, format!("a number from 1 to {CONCURRENCY_MAX}")),
                    )?
                }
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Settings, String> {
        let get = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Settings::read(Environment::new(&get)).map_err(|error| error.to_string())
    }

    #[test]
    fn only_the_retrofit_has_no_default() {
        let settings = read(&[(RETROFIT, "auditV2")]).unwrap();
        assert_eq!((settings.control_table.as_str(), settings.concurrency), ("keyfold-control", 16));
        assert!(read(&[]).unwrap_err().starts_with("`KEYFOLD_RETROFIT` is not"));
    }

    #[test]
    fn concurrency_has_its_bounds() {
        let concurrency = |text| read(&[(RETROFIT, "r"), (CONCURRENCY, text)]).map(|s| s.concurrency);
        assert_eq!((concurrency("1"), concurrency("256")), (Ok(1), Ok(256)));
        for text in ["0", "257", "-1", "many"] {
            assert_eq!(concurrency(text).unwrap_err(), "`KEYFOLD_CONCURRENCY` is not a number from 1 to 256");
        }
    }
}
