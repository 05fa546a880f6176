//! Settings from environment variables, read once at start-up. Every variable has its name and its default here.

use std::path::PathBuf;
use std::time::Duration;

use keyfold_core::retrofit::control::STATE_CACHE_MS_MAX;
use keyfold_dynamo::retrofit::IN_FLIGHT_DEFAULT;
use keyfold_edge::retrofit::RetrofitSettings;
use keyfold_edge::{Environment, SettingsError};

/// The retrofit's name in the manifest.
const RETROFIT: &str = "KEYFOLD_RETROFIT";
/// The number of items in flight.
const CONCURRENCY: &str = "KEYFOLD_CONCURRENCY";
/// How long the retrofit's row is cached, in milliseconds.
const STATE_CACHE: &str = "KEYFOLD_STATE_CACHE_MS";

/// Maximum number of items in flight.
const CONCURRENCY_MAX: usize = 256;

/// All settings.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The manifest's path.
    pub manifest: PathBuf,
    /// The settings of the DynamoDB client.
    pub dynamo: keyfold_dynamo::Settings,
    /// The retrofit's name in the manifest.
    pub retrofit: String,
    /// The control table.
    pub control_table: String,
    /// The number of items in flight.
    pub concurrency: usize,
    /// How long an allowing state row is cached.
    pub state_cache: Duration,
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
        let number = |name, from: u64, to: u64, default: u64| match environment.get(name) {
            None => Ok(default),
            Some(text) => text
                .parse()
                .ok()
                .filter(|number| (from..=to).contains(number))
                .ok_or_else(|| invalid(name, format!("a number from {from} to {to}"))),
        };
        Ok(Settings {
            manifest: shared.manifest,
            dynamo: shared.dynamo,
            retrofit: environment.get(RETROFIT).ok_or_else(unset)?,
            control_table: shared.control,
            concurrency: number(CONCURRENCY, 1, CONCURRENCY_MAX as u64, IN_FLIGHT_DEFAULT as u64)? as usize,
            state_cache: Duration::from_millis(number(
                STATE_CACHE,
                0,
                STATE_CACHE_MS_MAX,
                STATE_CACHE_MS_MAX,
            )?),
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
        assert_eq!(settings.state_cache, Duration::from_secs(1));
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

    #[test]
    fn the_state_is_not_cached_for_longer_than_commands_wait() {
        let state_cache = |text| {
            read(&[(RETROFIT, "r"), (STATE_CACHE, text)]).map(|settings| settings.state_cache.as_millis())
        };
        assert_eq!((state_cache("0"), state_cache("1000")), (Ok(0), Ok(1_000)));
        for text in ["1001", "-1", "1s"] {
            assert_eq!(
                state_cache(text).unwrap_err(),
                "`KEYFOLD_STATE_CACHE_MS` is not a number from 0 to 1000"
            );
        }
    }
}
