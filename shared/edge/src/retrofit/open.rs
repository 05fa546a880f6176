//! The start of a retrofit's functions, and the sender of an open retrofit.

use std::path::PathBuf;

use keyfold_core::model::Model;
use keyfold_core::retrofit::control::ControlError;
use keyfold_core::retrofit::gates::VERDICT_SECONDS_MAX;
use keyfold_core::retrofit::operate::Limits;
use keyfold_core::retrofit::{Epoch, Job, Mapping, TableRole};
use keyfold_dynamo::retrofit::{Operator, PassOptions, RequestSender, RetrofitError, RetrofitState, limits};
use keyfold_dynamo::{Client, DynamoError};
use lambda_runtime::Error;
use serde_json::Value;

use super::{Failure, SliceRecord};
use crate::{Environment, Handling, Invocation, ManifestError, SettingsError};

/// The number of items that a dry run samples.
const SAMPLE_ITEMS: u32 = 500;

/// All settings.
#[derive(Debug, Clone)]
pub struct RetrofitSettings {
    /// The manifest's path.
    pub manifest: PathBuf,
    /// The settings of the DynamoDB client.
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
        // The retrofit retries by itself. Retries by the SDK would hide throttling, and the rate would not go down.
        let dynamo = keyfold_dynamo::Settings { attempts_max: 1, ..environment.dynamo()? };
        Ok(RetrofitSettings {
            manifest: environment.manifest(),
            dynamo,
            control: environment.control_table(),
        })
    }
}

/// The state of the process, built once before the first event.
#[derive(Debug)]
pub struct Retrofits {
    model: Model,
    client: Client,
    dynamo: keyfold_dynamo::Settings,
    control: String,
}

/// Why a function does not start.
#[derive(Debug, thiserror::Error)]
pub enum RetrofitStartError {
    /// An invalid setting.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// No usable manifest.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
}

impl Retrofits {
    /// The retrofits of these settings' manifest.
    pub async fn start(settings: RetrofitSettings) -> Result<Retrofits, RetrofitStartError> {
        let model = crate::load(&settings.manifest)?;
        let client = keyfold_dynamo::client(&settings.dynamo).await;
        Ok(Retrofits { model, client, dynamo: settings.dynamo, control: settings.control })
    }

    /// Does the manifest have this retrofit?
    pub fn has(&self, retrofit: &str) -> bool {
        self.model.retrofits.iter().any(|known| known.name == retrofit)
    }

    /// The mapping of a retrofit.
    pub fn mapping(&self, retrofit: &str) -> Result<Mapping, Failure> {
        Ok(Mapping::of(&self.model, retrofit)?)
    }

    /// The operator that performs the effects of operations on a retrofit.
    pub async fn operator(&self, mapping: &Mapping, passes: PassOptions) -> Operator {
        Operator::new(&self.dynamo, mapping, &self.control, passes).await
    }

    /// Does a comparison without differences still count?
    pub async fn is_compared(&self, retrofit: &str) -> Result<bool, Failure> {
        let mapping = self.mapping(retrofit)?;
        let (sender, _) = RequestSender::started(self.client.clone(), mapping, &self.control).await?;
        let verdict = sender.verdict().await?;
        Ok(verdict
            .is_some_and(|verdict| verdict.differences == 0 && verdict.age_seconds <= VERDICT_SECONDS_MAX))
    }

    /// The waits of operations' steps.
    pub fn limits(&self) -> Limits {
        limits(&self.dynamo.endpoint)
    }

    /// A sender for a retrofit whose state is not known yet.
    fn unstarted(&self, retrofit: &str) -> Result<RequestSender, Failure> {
        Ok(self.sender(Job::new(self.mapping(retrofit)?, Epoch::FIRST)))
    }

    fn sender(&self, job: Job) -> RequestSender {
        RequestSender::new(self.client.clone(), job, &self.control)
    }

    /// The estimated cost of a retrofit, which need not have started.
    pub async fn estimate(&self, retrofit: &str) -> Result<Value, Failure> {
        let sender = self.unstarted(retrofit)?;
        let estimate = sender.estimate(None, SAMPLE_ITEMS).await?.ok_or_else(Failure::nothing_to_judge_by)?;
        Ok(estimate.document(sender.job().mapping(), &self.model.prices))
    }

    /// A sender for a retrofit that was started with this mapping, after checks of its tables and stream. With
    /// `writes`, the retrofit must still copy changes. `rate`: maximum capacity units in a second.
    pub async fn open(
        &self,
        retrofit: &str,
        writes: bool,
        rate: Option<f64>,
    ) -> Result<RequestSender, Failure> {
        let sender = self.unstarted(retrofit)?;
        let head = head(&sender).await?;
        let mapping = sender.job().mapping();
        let checked = if writes { head.check_filling(mapping) } else { head.check(mapping) };
        checked.map_err(RetrofitError::from)?;
        let stream = sender.preflight(head.stream.is_some()).await?;
        if let Some(stream) = stream {
            head.check_stream(&stream).map_err(RetrofitError::from)?;
        }
        Ok(self.sender(head.job(mapping.clone())).paced(rate))
    }
}

/// Starts the function with this name and handles invocations until Lambda ends the process.
pub async fn serve<F>(name: &str, handle: F) -> Result<(), Error>
where
    F: for<'a> Fn(&'a Retrofits, Invocation<'a>) -> Handling<'a, SliceRecord>,
{
    crate::serve(name, async { Retrofits::start(RetrofitSettings::from_env()?).await }, handle).await
}

/// The retrofit's row. Without a control table, no retrofit was started.
async fn head(sender: &RequestSender) -> Result<RetrofitState, RetrofitError> {
    let control = &sender.table(TableRole::Control).name;
    match sender.head().await {
        Err(RetrofitError::Dynamo(DynamoError::NotFound { call })) if *call.table == **control => {
            let retrofit = sender.job().mapping().name().to_owned();
            Err(ControlError::NotStarted { retrofit }.into())
        }
        head => head,
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
