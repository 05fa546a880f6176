//! The options that every command has, and how DynamoDB is reached with them.

use std::path::PathBuf;

use keyfold_core::model::Model;
use keyfold_dynamo::retrofit::CONTROL_TABLE_DEFAULT;
use keyfold_dynamo::{Client, Endpoint, Settings, client};

use crate::made_manifest::MANIFEST_DEFAULT;
use crate::output::Output;

/// The options that every command has.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    /// The path of the manifest.
    #[arg(
        long,
        short,
        global = true,
        default_value = MANIFEST_DEFAULT,
        env = "KEYFOLD_MANIFEST",
        value_name = "FILE"
    )]
    pub(crate) manifest: PathBuf,
    /// The endpoint of DynamoDB [default: AWS, as your environment configures it].
    #[arg(long, global = true, value_name = "URL", env = "AWS_ENDPOINT_URL_DYNAMODB")]
    pub(crate) endpoint: Option<String>,
    /// The name of the control table, in which retrofits keep their state.
    #[arg(long, global = true, value_name = "NAME", env = "KEYFOLD_CONTROL_TABLE", default_value = CONTROL_TABLE_DEFAULT)]
    pub(crate) control: String,
    /// Print JSON for programs.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

impl Globals {
    /// How to reach DynamoDB: at the endpoint, or as the environment configures AWS.
    pub(crate) fn settings(&self) -> anyhow::Result<Settings> {
        match &self.endpoint {
            Some(url) => Ok(Settings::at(Endpoint::parse(url)?).trusting(&|name| std::env::var(name).ok())?),
            None => Ok(Settings::from_env()?),
        }
    }

    /// A client for that.
    pub(crate) async fn client(&self) -> anyhow::Result<Client> {
        Ok(client(&self.settings()?).await)
    }
}

/// The manifest, the global options and the output of a command.
pub(crate) struct Env<'a> {
    pub(crate) model: &'a Model,
    pub(crate) globals: &'a Globals,
    pub(crate) out: &'a Output,
}
