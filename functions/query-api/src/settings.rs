//! The settings of the query API, read once at the start.

use std::path::PathBuf;
use std::time::Duration;

use keyfold_dynamo::{CallerBudget, Roots, Secret, TokenKeys};
use keyfold_edge::{Auth, Environment, SettingsError};

use crate::budget::Budget;
use crate::page_token::TokenKeySource;

/// The secret whose versions are the keys of page tokens: a name or an ARN. It has no default: with a generated key,
/// each process would refuse the tokens of all others.
const TOKEN_SECRET: &str = "KEYFOLD_TOKEN_SECRET";
/// The keys themselves, without Secrets Manager: for local use and tests. In AWS, the environment is visible to every
/// user who may read the function's configuration.
const TOKEN_KEYS: &str = "KEYFOLD_TOKEN_KEYS";
/// `1`: a request may allow a scan. Otherwise no HTTP request scans.
const ALLOW_SCAN: &str = "KEYFOLD_ALLOW_SCAN";
/// The OAuth scope that a reader's token must grant.
const READ_SCOPE: &str = "KEYFOLD_READ_SCOPE";
/// The OAuth scope that a writer's token must grant.
const WRITE_SCOPE: &str = "KEYFOLD_WRITE_SCOPE";
/// Maximum read units of one request.
const READ_UNITS_MAX: &str = "KEYFOLD_READ_UNITS_MAX";

/// The table in which callers' requests and units are counted.
const CALLER_TABLE: &str = "KEYFOLD_CALLER_TABLE";
/// The claim that identifies a caller there; if unset, the principal.
const CALLER_CLAIM: &str = "KEYFOLD_CALLER_CLAIM";
/// Maximum requests of one caller in a minute.
const CALLER_REQUESTS: &str = "KEYFOLD_CALLER_REQUESTS_PER_MINUTE";
/// Maximum read units of one caller in a day.
const CALLER_UNITS: &str = "KEYFOLD_CALLER_UNITS_PER_DAY";

/// Default maximum read units of one request: about 4 MB of items, read eventually consistently.
pub const READ_UNITS_MAX_DEFAULT: f64 = 500.0;
/// Maximum request body, in bytes. The longest request within core's limits stays well below.
pub const BODY_BYTES_MAX: usize = 64 * 1024;
/// Maximum query string, in bytes.
pub const QUERY_STRING_BYTES_MAX: usize = 16 * 1024;
/// The largest answer, in bytes: Lambda returns at most 6 MB, of which the response's envelope needs a part.
/// <https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>
pub const ANSWER_BYTES_MAX: usize = 5 * 1024 * 1024;
/// Maximum time of an answer: an HTTP API waits for 30 seconds.
/// <https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html>
pub const ANSWER_TIME_MAX: Duration = Duration::from_secs(28);

/// All settings.
#[derive(Debug)]
pub struct Settings {
    /// The manifest's path.
    pub manifest: PathBuf,
    /// The settings of the DynamoDB client.
    pub dynamo: keyfold_dynamo::Settings,
    /// The keys of page tokens.
    pub token_keys: TokenKeySource,
    /// The limits of a request.
    pub limits: Limits,
    /// The control table of retrofits.
    pub control_table: String,
    /// The OAuth scopes that a caller's token must grant.
    pub grants: Grants,
    /// The budget of each caller, if there is one.
    pub budget: Option<Budget>,
}

/// The OAuth scopes that a caller's token must grant; none by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    /// To read.
    pub read: Option<String>,
    /// To write.
    pub write: Option<String>,
}

/// The limits of a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// The allowed callers.
    pub auth: Auth,
    /// May a request allow a scan?
    pub allow_scan: bool,
    /// Maximum read units of one request.
    pub read_units_max: f64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { auth: Auth::Claims, allow_scan: false, read_units_max: READ_UNITS_MAX_DEFAULT }
    }
}

impl Settings {
    /// The settings of this process.
    pub fn from_env() -> Result<Settings, SettingsError> {
        Settings::read(Environment::of_process())
    }

    /// The settings that these variables hold.
    pub fn read(environment: Environment<'_>) -> Result<Settings, SettingsError> {
        Ok(Settings {
            manifest: environment.manifest(),
            dynamo: environment.dynamo()?,
            token_keys: token_keys(environment)?,
            limits: Limits {
                auth: environment.auth()?,
                allow_scan: environment.one_of(ALLOW_SCAN, [("0", false), ("1", true)])?,
                read_units_max: read_units_max(environment)?,
            },
            control_table: environment.control_table(),
            grants: Grants { read: environment.get(READ_SCOPE), write: environment.get(WRITE_SCOPE) },
            budget: budget(environment)?,
        })
    }
}

fn token_keys(environment: Environment<'_>) -> Result<TokenKeySource, SettingsError> {
    let keys = environment.get(TOKEN_KEYS);
    if let Some(id) = environment.get(TOKEN_SECRET) {
        if keys.is_some() {
            let reason = format!("`{TOKEN_SECRET}` names the secret with the keys; set one of the two");
            return Err(SettingsError::Unusable { name: TOKEN_KEYS, reason });
        }
        let variable = |name: &str| environment.get(name);
        let roots = Roots::named(&variable)?.unwrap_or(Roots::Mozilla);
        let secret = Secret::new(&id, &roots, &variable);
        return secret
            .map(TokenKeySource::from)
            .map_err(|error| SettingsError::Unusable { name: TOKEN_SECRET, reason: error.to_string() });
    }
    let text = keys.ok_or(SettingsError::Missing {
        name: TOKEN_SECRET,
        hint: "page tokens are encrypted with its keys, the same in every instance; on your own machine, set `KEYFOLD_TOKEN_KEYS`",
    })?;
    TokenKeys::parse(&text)
        .map(TokenKeySource::from)
        .map_err(|error| SettingsError::Unusable { name: TOKEN_KEYS, reason: error.to_string() })
}

fn read_units_max(environment: Environment<'_>) -> Result<f64, SettingsError> {
    let Some(text) = environment.get(READ_UNITS_MAX) else { return Ok(READ_UNITS_MAX_DEFAULT) };
    let units = text.parse().ok().filter(|units: &f64| units.is_finite() && *units > 0.0);
    let wanted = || "a number of read units above 0".to_owned();
    units.ok_or_else(|| SettingsError::Invalid { name: READ_UNITS_MAX, wanted: wanted() })
}

/// `None` if neither requests nor units are limited.
fn budget(environment: Environment<'_>) -> Result<Option<Budget>, SettingsError> {
    let requests_per_minute =
        above_zero(environment, CALLER_REQUESTS, "a number of requests above 0", |most: &u32| *most > 0)?;
    let units_per_day =
        above_zero(environment, CALLER_UNITS, "a number of read units above 0", |most: &f64| {
            most.is_finite() && *most > 0.0
        })?;
    if requests_per_minute.is_none() && units_per_day.is_none() {
        return Ok(None);
    }
    let table = environment.get(CALLER_TABLE).ok_or(SettingsError::Missing {
        name: CALLER_TABLE,
        hint: "callers' requests and units are counted in this table",
    })?;
    let of_caller = CallerBudget { table, requests_per_minute, units_per_day };
    Ok(Some(Budget { of_caller, claim: environment.get(CALLER_CLAIM) }))
}

fn above_zero<T: std::str::FromStr>(
    environment: Environment<'_>,
    name: &'static str,
    wanted: &str,
    fits: impl Fn(&T) -> bool,
) -> Result<Option<T>, SettingsError> {
    let Some(text) = environment.get(name) else { return Ok(None) };
    let most = text.parse().ok().filter(fits);
    most.map(Some).ok_or_else(|| SettingsError::Invalid { name, wanted: wanted.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: &str = "a:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

    fn read(variables: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        Settings::read(Environment::new(&|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        }))
    }

    #[test]
    fn the_defaults_let_nobody_in_without_claims_and_scan_nothing() {
        let settings = read(&[(TOKEN_KEYS, KEYS)]).unwrap();
        assert_eq!(settings.limits, Limits::default());
        assert_eq!(settings.limits.auth, Auth::Claims);
        assert!(!settings.limits.allow_scan);
        assert_eq!(settings.control_table, "keyfold-control");
    }

    #[test]
    fn a_secret_needs_what_lambda_sets_and_no_keys_beside_it() {
        let lambda =
            [("AWS_REGION", "eu-west-1"), ("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b")];
        let mut variables = vec![(TOKEN_SECRET, "page-token-key")];
        let message = read(&variables).unwrap_err().to_string();
        assert!(message.contains(TOKEN_SECRET) && message.contains("`AWS_REGION` is not set"), "{message}");
        variables.extend(lambda);
        let settings = read(&variables).unwrap();
        assert!(matches!(settings.token_keys, TokenKeySource::Secret(_)));
        variables.push((TOKEN_KEYS, KEYS));
        let message = read(&variables).unwrap_err().to_string();
        assert!(message.contains(TOKEN_KEYS) && message.contains("set one of the two"), "{message}");
        assert!(!format!("{:?}", read(&[(TOKEN_KEYS, KEYS)]).unwrap()).contains("MDEyMzQ1"));
    }

    #[test]
    fn every_variable_is_read() {
        let settings = read(&[
            (TOKEN_KEYS, KEYS),
            ("KEYFOLD_AUTH", "open"),
            (ALLOW_SCAN, "1"),
            (READ_UNITS_MAX, "12.5"),
            ("KEYFOLD_CONTROL_TABLE", "control"),
            (READ_SCOPE, "records/read"),
            (WRITE_SCOPE, "records/write"),
        ])
        .unwrap();
        assert_eq!(settings.limits, Limits { auth: Auth::Open, allow_scan: true, read_units_max: 12.5 });
        assert_eq!(settings.control_table, "control");
        let (read, write) = (Some("records/read".to_owned()), Some("records/write".to_owned()));
        assert_eq!(settings.grants, Grants { read, write });
    }

    #[test]
    fn an_error_names_the_variable_and_does_not_show_its_value() {
        for (name, value) in [
            (TOKEN_KEYS, ""),
            (TOKEN_KEYS, "a:c2hvcnQtc2VjcmV0"),
            ("KEYFOLD_AUTH", "Open"),
            (ALLOW_SCAN, "yes"),
            (READ_UNITS_MAX, "-1"),
            (READ_UNITS_MAX, "NaN"),
            (CALLER_REQUESTS, "-3"),
            (CALLER_UNITS, "-1"),
        ] {
            let message = read(&[(name, value), (TOKEN_KEYS, KEYS)]).unwrap_err().to_string();
            assert!(message.contains(name), "{message}");
            assert!(value.is_empty() || !message.contains(value), "{message}");
        }
    }
}
