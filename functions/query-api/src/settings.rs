//! What the environment says, read once at the start. Every variable has its name and its default here.

use std::path::PathBuf;
use std::time::Duration;

use keyfold_dynamo::retrofit::CONTROL_TABLE_DEFAULT;
use keyfold_dynamo::{Endpoint, EndpointError, KeysParseError, RootsError, TokenKeys};

/// The manifest's path; `keyfold.toml` beside the binary if unset.
pub const MANIFEST: &str = "KEYFOLD_MANIFEST";
/// Where DynamoDB is; `AWS_ENDPOINT_URL_DYNAMODB`, `AWS_ENDPOINT_URL`, or else AWS if unset.
pub const ENDPOINT: &str = "KEYFOLD_ENDPOINT";
/// The keys that seal page tokens. There is no default: a key that each process makes for itself would refuse the
/// tokens of every other.
pub const TOKEN_KEYS: &str = "KEYFOLD_TOKEN_KEYS";
/// `claims` (the default): whoever asks must come with claims. `open`: tables without a scope answer everybody.
pub const AUTH: &str = "KEYFOLD_AUTH";
/// `1`: a request may allow a scan. Otherwise nothing over HTTP scans.
pub const ALLOW_SCAN: &str = "KEYFOLD_ALLOW_SCAN";
/// `on`: the console is served at `/`. Otherwise there is nothing at its paths.
pub const CONSOLE: &str = "KEYFOLD_CONSOLE";
/// The table where retrofits keep how far they are: for the console.
pub const CONTROL_TABLE: &str = "KEYFOLD_CONTROL_TABLE";
/// The most read units that one request may consume.
pub const READ_UNITS_MAX: &str = "KEYFOLD_READ_UNITS_MAX";

/// The manifest's file name, where no path is given.
pub const MANIFEST_FILE: &str = "keyfold.toml";
/// The read units of one request, where nothing else is set: about 4 MB of items, read with eventual consistency.
pub const READ_UNITS_MAX_DEFAULT: f64 = 500.0;
/// The largest request body, in bytes. The longest request within core's limits stays well below.
pub const BODY_BYTES_MAX: usize = 64 * 1024;
/// The longest query string, in bytes.
pub const QUERY_STRING_BYTES_MAX: usize = 16 * 1024;
/// How long a page token is good for, in seconds.
pub const PAGE_TOKEN_SECONDS: u64 = 3600;
/// The largest answer, in bytes: Lambda returns at most 6 MB, and what wraps the body needs a part of that.
/// <https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>
pub const ANSWER_BYTES_MAX: usize = 5 * 1024 * 1024;
/// The longest time that an answer may take: an HTTP API waits for 30 seconds.
/// <https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html>
pub const ANSWER_TIME_MAX: Duration = Duration::from_secs(28);

/// Who is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Auth {
    /// Callers with claims.
    #[default]
    Claims,
    /// Everybody, where the table has no scope.
    Open,
}

/// Everything that can be set.
#[derive(Debug)]
pub struct Settings {
    /// The manifest's path.
    pub manifest: PathBuf,
    /// Where DynamoDB is.
    pub dynamo: keyfold_dynamo::Settings,
    /// The keys of page tokens.
    pub token_keys: TokenKeys,
    /// What a request may do.
    pub limits: Limits,
    /// The table where retrofits keep how far they are.
    pub control_table: String,
}

/// What a request may do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Who is answered.
    pub auth: Auth,
    /// May a request allow a scan?
    pub allow_scan: bool,
    /// The most read units that one request may consume.
    pub read_units_max: f64,
    /// Is the console served?
    pub console: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            auth: Auth::Claims,
            allow_scan: false,
            read_units_max: READ_UNITS_MAX_DEFAULT,
            console: false,
        }
    }
}

/// Why the function does not start.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A variable that has no default.
    #[error("`{name}` is not set: {hint}")]
    Missing {
        /// The variable.
        name: &'static str,
        /// What it is for.
        hint: &'static str,
    },
    /// A variable with a value that means nothing. The value is not shown: it could be a key.
    #[error("`{name}` is not {wanted}")]
    Invalid {
        /// The variable.
        name: &'static str,
        /// What it should be.
        wanted: &'static str,
    },
    /// An endpoint that is none.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// Certificates that cannot be used.
    #[error(transparent)]
    Roots(#[from] RootsError),
    /// Keys of page tokens that cannot be used.
    #[error("`{TOKEN_KEYS}`: {0}")]
    TokenKeys(#[from] KeysParseError),
}

impl Settings {
    /// The settings of this process.
    pub fn from_env() -> Result<Settings, SettingsError> {
        Settings::read(&|name| std::env::var(name).ok())
    }

    /// The settings that these variables hold; an empty one counts as unset.
    pub fn read(variable: &dyn Fn(&str) -> Option<String>) -> Result<Settings, SettingsError> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let endpoint = [ENDPOINT, "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL"].into_iter().find_map(set);
        let endpoint = endpoint.map_or(Ok(Endpoint::Aws), |url| Endpoint::parse(&url))?;
        Ok(Settings {
            manifest: set(MANIFEST).map_or_else(beside_the_binary, PathBuf::from),
            dynamo: keyfold_dynamo::Settings::at(endpoint).trusting(variable)?,
            token_keys: token_keys(set(TOKEN_KEYS))?,
            limits: Limits {
                auth: auth(set(AUTH).as_deref())?,
                allow_scan: allow_scan(set(ALLOW_SCAN).as_deref())?,
                read_units_max: read_units_max(set(READ_UNITS_MAX).as_deref())?,
                console: console(set(CONSOLE).as_deref())?,
            },
            control_table: set(CONTROL_TABLE).unwrap_or_else(|| CONTROL_TABLE_DEFAULT.to_owned()),
        })
    }
}

fn beside_the_binary() -> PathBuf {
    std::env::current_exe().unwrap_or_default().with_file_name(MANIFEST_FILE)
}

fn token_keys(text: Option<String>) -> Result<TokenKeys, SettingsError> {
    let text = text.ok_or(SettingsError::Missing {
        name: TOKEN_KEYS,
        hint: "page tokens are sealed with it; every instance of the function needs the same keys",
    })?;
    Ok(TokenKeys::parse(&text)?)
}

fn auth(text: Option<&str>) -> Result<Auth, SettingsError> {
    match text {
        None | Some("claims") => Ok(Auth::Claims),
        Some("open") => Ok(Auth::Open),
        Some(_) => Err(SettingsError::Invalid { name: AUTH, wanted: "`claims` or `open`" }),
    }
}

fn allow_scan(text: Option<&str>) -> Result<bool, SettingsError> {
    match text {
        None | Some("0") => Ok(false),
        Some("1") => Ok(true),
        Some(_) => Err(SettingsError::Invalid { name: ALLOW_SCAN, wanted: "`0` or `1`" }),
    }
}

fn console(text: Option<&str>) -> Result<bool, SettingsError> {
    match text {
        None | Some("off") => Ok(false),
        Some("on") => Ok(true),
        Some(_) => Err(SettingsError::Invalid { name: CONSOLE, wanted: "`on` or `off`" }),
    }
}

fn read_units_max(text: Option<&str>) -> Result<f64, SettingsError> {
    let invalid = SettingsError::Invalid { name: READ_UNITS_MAX, wanted: "a number of read units above 0" };
    match text.map(str::parse::<f64>) {
        None => Ok(READ_UNITS_MAX_DEFAULT),
        Some(Ok(units)) if units.is_finite() && units > 0.0 => Ok(units),
        Some(_) => Err(invalid),
    }
}

#[cfg(test)]
mod tests;
