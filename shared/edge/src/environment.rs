//! Variables of the environment, and the two settings that every function has.

use std::path::PathBuf;

use keyfold_dynamo::{Endpoint, EndpointError, Roots, RootsError};

/// The manifest's path; `keyfold.toml` beside the binary if unset.
pub const MANIFEST: &str = "KEYFOLD_MANIFEST";
/// Where DynamoDB is; `AWS_ENDPOINT_URL_DYNAMODB`, `AWS_ENDPOINT_URL`, or else AWS if unset.
pub const ENDPOINT: &str = "KEYFOLD_ENDPOINT";
/// The manifest's file name, where no path is given.
pub const MANIFEST_FILE: &str = "keyfold.toml";

/// Why a function does not start.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A variable with a value that means nothing. The value is not shown: it could be a secret.
    #[error("`{name}` is not {wanted}")]
    Invalid {
        /// The variable.
        name: &'static str,
        /// What it should be.
        wanted: String,
    },
    /// An endpoint that is none.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// Certificates that cannot be used.
    #[error(transparent)]
    Roots(#[from] RootsError),
}

/// The variables of a process, or of a test. An empty one counts as unset.
#[derive(Clone, Copy)]
pub struct Environment<'v>(&'v dyn Fn(&str) -> Option<String>);

impl<'v> Environment<'v> {
    /// These variables.
    pub fn new(variable: &'v dyn Fn(&str) -> Option<String>) -> Environment<'v> {
        Environment(variable)
    }

    /// A variable that is set.
    pub fn get(&self, name: &str) -> Option<String> {
        (self.0)(name).filter(|value| !value.is_empty())
    }

    /// The manifest's path.
    pub fn manifest(&self) -> PathBuf {
        let beside = || std::env::current_exe().unwrap_or_default().with_file_name(MANIFEST_FILE);
        self.get(MANIFEST).map_or_else(beside, PathBuf::from)
    }

    /// How DynamoDB is reached.
    pub fn dynamo(&self) -> Result<keyfold_dynamo::Settings, SettingsError> {
        let names = [ENDPOINT, "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL"];
        let url = names.into_iter().find_map(|name| self.get(name));
        let endpoint = url.map_or(Ok(Endpoint::Aws), |url| Endpoint::parse(&url))?;
        let settings = keyfold_dynamo::Settings::at(endpoint);
        Ok(keyfold_dynamo::Settings { roots: Roots::Mozilla, ..settings }.trusting(&|name| self.get(name))?)
    }
}

impl Environment<'static> {
    /// The variables of this process.
    pub fn of_process() -> Environment<'static> {
        Environment(&|name| std::env::var(name).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_variable_counts_as_unset_and_the_first_endpoint_wins() {
        let variables = |name: &str| match name {
            ENDPOINT => Some(String::new()),
            "AWS_ENDPOINT_URL_DYNAMODB" => Some("http://127.0.0.1:8000".to_owned()),
            "AWS_ENDPOINT_URL" => Some("http://127.0.0.1:9".to_owned()),
            _ => None,
        };
        let environment = Environment::new(&variables);
        let endpoint = environment.dynamo().unwrap().endpoint;
        assert_eq!(endpoint, Endpoint::Plain("http://127.0.0.1:8000".to_owned()));
        assert_eq!(environment.manifest().file_name().unwrap(), MANIFEST_FILE);
    }
}
