//! How much one caller may ask: requests in a minute, read units in a day, counted in a table of its own.
//!
//! Each caller has one row for each window, which DynamoDB's time-to-live removes afterwards. A row's key has a digest of the caller,
//! never the claim. Units are reserved before a request reads and corrected after it, each on a condition: so callers that ask
//! at once cannot exceed the budget together, and a request that never came back counts with all that it could have consumed.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValuesOnConditionCheckFailure};
use keyfold_core::format::{StoredFormat, VERSION_NAME};
use sha2::{Digest, Sha256};

use crate::error::{Call, DynamoError};

/// The partition key of the table, a string. It has no sort key.
pub const BUDGET_KEY: &str = "window";
/// The attribute by which DynamoDB may delete rows, in seconds since 1970.
pub const BUDGET_TTL: &str = "expires";
/// The form of a row.
pub const BUDGET_FORMAT: StoredFormat = StoredFormat { name: "a row of the callers' budgets", version: 1 };
/// How many times units are reserved anew while others reserve some of what is left.
const RESERVE_ATTEMPTS_MAX: u32 = 3;
/// The least that a read consumes: below that nothing is left.
const UNITS_LEAST: f64 = 0.5;
const MINUTE: u64 = 60;
const DAY: u64 = 24 * 60 * MINUTE;

/// What each caller may do.
#[derive(Debug, Clone, PartialEq)]
pub struct CallerBudget {
    /// The table of the rows.
    pub table: String,
    /// The most requests in a minute.
    pub requests_per_minute: Option<u32>,
    /// The most read units in a day, in UTC.
    pub units_per_day: Option<f64>,
}

/// Units that a request may consume.
#[derive(Debug, Clone, PartialEq)]
pub struct ReservedUnits {
    row: String,
    expires: u64,
    /// So many.
    pub units: f64,
}

/// Why a caller is not answered.
#[derive(Debug, thiserror::Error)]
pub enum BudgetError {
    /// Too many requests in this minute.
    #[error("the caller has sent more than {most} requests in this minute")]
    Requests {
        /// The most.
        most: u32,
        /// When the next minute begins.
        retry_after_seconds: u64,
    },
    /// The day's units are consumed, or reserved by requests under way.
    #[error("the caller has consumed its {most} read units of this day")]
    Units {
        /// The most.
        most: f64,
        /// When the next day begins.
        retry_after_seconds: u64,
    },
    /// The rows could not be read or written. Then nobody is answered.
    #[error(transparent)]
    Dynamo(#[from] DynamoError),
}

impl BudgetError {
    /// The stable code, as docs/errors.md lists it.
    pub fn code(&self) -> &'static str {
        match self {
            BudgetError::Requests { .. } => "caller-requests-exceeded",
            BudgetError::Units { .. } => "caller-units-exceeded",
            BudgetError::Dynamo(error) => error.code(),
        }
    }
}

impl CallerBudget {
    /// Counts a request of the caller, if it may send one more. `now`: seconds since 1970.
    pub async fn count(&self, client: &Client, caller: &str, now: u64) -> Result<(), BudgetError> {
        let Some(most) = self.requests_per_minute else { return Ok(()) };
        let window =
            Window { row: row(caller, "minute", now / MINUTE), attribute: "requests", expires: now + DAY };
        match self.add(client, &window, 1.0, Some(f64::from(most))).await? {
            true => Ok(()),
            false => Err(BudgetError::Requests { most, retry_after_seconds: MINUTE - now % MINUTE }),
        }
    }

    /// Reserves units for a request: what it wants, or what is left of the day's. `None`: units are not counted.
    pub async fn reserve(
        &self,
        client: &Client,
        caller: &str,
        wanted: f64,
        now: u64,
    ) -> Result<Option<ReservedUnits>, BudgetError> {
        let Some(most) = self.units_per_day else { return Ok(None) };
        // A row outlives its day, so that a correction of a request that began before midnight finds it.
        let (row, expires) = (row(caller, "day", now / DAY), now + 2 * DAY);
        let window = Window { row: row.clone(), attribute: "units", expires };
        let mut units = wanted.min(most);
        for _ in 0..RESERVE_ATTEMPTS_MAX {
            if self.add(client, &window, units, Some(most)).await? {
                return Ok(Some(ReservedUnits { row, expires, units }));
            }
            let left = most - self.counted(client, &window).await?;
            if left < UNITS_LEAST {
                break;
            }
            units = wanted.min(left);
        }
        Err(units_exceeded(most, now))
    }

    /// The refusal of a request for which too few units are left.
    pub fn units_exceeded(&self, now: u64) -> Option<BudgetError> {
        self.units_per_day.map(|most| units_exceeded(most, now))
    }

    /// Corrects what was reserved by what was consumed.
    pub async fn settle(
        &self,
        client: &Client,
        reserved: ReservedUnits,
        consumed: f64,
    ) -> Result<(), BudgetError> {
        let window = Window { row: reserved.row, attribute: "units", expires: reserved.expires };
        self.add(client, &window, consumed - reserved.units, None).await?;
        Ok(())
    }

    /// Adds to a row, if it comes to no more than `most`.
    async fn add(
        &self,
        client: &Client,
        window: &Window,
        amount: f64,
        most: Option<f64>,
    ) -> Result<bool, DynamoError> {
        let number = |number: f64| AttributeValue::N(number.to_string());
        let mut update = client
            .update_item()
            .table_name(&self.table)
            .key(BUDGET_KEY, AttributeValue::S(window.row.clone()))
            .update_expression("SET #e = :e, #v = :v ADD #n :n")
            .expression_attribute_names("#e", BUDGET_TTL)
            .expression_attribute_names("#n", window.attribute)
            .expression_attribute_names("#v", VERSION_NAME)
            .expression_attribute_names("#k", BUDGET_KEY)
            .expression_attribute_values(":v", AttributeValue::N(BUDGET_FORMAT.version.to_string()))
            .expression_attribute_values(":e", AttributeValue::N(window.expires.to_string()))
            .expression_attribute_values(":n", number(amount))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let mut condition = "(attribute_not_exists(#k) OR #v = :v)".to_owned();
        if let Some(most) = most {
            condition.push_str(" AND (attribute_not_exists(#n) OR #n <= :most)");
            update = update.expression_attribute_values(":most", number(most - amount));
        }
        let call = || Call::new("UpdateItem", &self.table);
        match update
            .condition_expression(condition)
            .send()
            .await
            .map_err(|error| DynamoError::of(call(), error))
        {
            Ok(_) => Ok(true),
            Err(DynamoError::ConditionFailed { item, .. }) => {
                let known = item.into_revealed().map_or(Ok(()), |row| BUDGET_FORMAT.check_row(&row));
                known.map(|()| false).map_err(|source| DynamoError::UnknownFormat { call: call(), source })
            }
            Err(error) => Err(error),
        }
    }

    /// What a row has come to.
    async fn counted(&self, client: &Client, window: &Window) -> Result<f64, DynamoError> {
        let call = || Call::new("GetItem", &self.table);
        let key = AttributeValue::S(window.row.clone());
        let read = client.get_item().table_name(&self.table).key(BUDGET_KEY, key).consistent_read(true);
        let item = read.send().await.map_err(|error| DynamoError::of(call(), error))?.item;
        match item.and_then(|mut item| item.remove(window.attribute)) {
            None => Ok(0.0),
            Some(AttributeValue::N(text)) => {
                text.parse().map_err(|_| DynamoError::Unreadable { call: call() })
            }
            Some(_) => Err(DynamoError::Unreadable { call: call() }),
        }
    }
}

fn units_exceeded(most: f64, now: u64) -> BudgetError {
    BudgetError::Units { most, retry_after_seconds: DAY - now % DAY }
}

/// A row, and the attribute that counts.
struct Window {
    row: String,
    attribute: &'static str,
    expires: u64,
}

fn row(caller: &str, kind: &str, number: u64) -> String {
    let digest = Sha256::digest(caller);
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{digest}#{kind}#{number}")
}
