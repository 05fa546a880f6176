//! Budgets of callers: requests in a minute, read units in a day, counted in a separate table.
//!
//! Each caller has one row for each window, removed later by DynamoDB's time to live. A row's key contains a digest of
//! the caller, never the claim.
//!
//! Before a request reads, it reserves its maximum consumption: its cap, and the page by which it can exceed the cap.
//! Afterwards the actual consumption replaces the reservation. If less is left, a request may still run alone, with the
//! rest as its cap. So a caller consumes at most its budget and one page in a day, with any number of concurrent
//! requests. A request that never returned counts with its reservation; after 15 minutes it no longer prevents others
//! from running alone.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValuesOnConditionCheckFailure};
use keyfold_core::format::{StoredFormat, VERSION_NAME};
use keyfold_core::value::{AttributeValue as Value, Hex};
use sha2::{Digest, Sha256};

use crate::error::{Call, DynamoError};

/// The partition key of the table, a string. It has no sort key.
pub const BUDGET_KEY: &str = "window";
/// The attribute by which DynamoDB may delete rows, in seconds since 1970.
pub const BUDGET_TTL: &str = "expires";
/// The form of a row.
pub const BUDGET_FORMAT: StoredFormat = StoredFormat { name: "a row of the callers' budgets", version: 1 };
/// The attribute with the consumed and reserved units.
const UNITS: &str = "units";
/// The attribute with the reservations among them, one text for each request in flight: its units, the second at which
/// it expires, and a random part.
const RESERVATIONS: &str = "reservations";
/// Maximum attempts to reserve while other requests reserve too.
const RESERVE_ATTEMPTS_MAX: u32 = 3;
/// The minimum consumption of a read; with less left the budget is exhausted.
const UNITS_LEAST: f64 = 0.5;
const MINUTE: u64 = 60;
const DAY: u64 = 24 * 60 * MINUTE;

/// The limits of each caller.
#[derive(Debug, Clone, PartialEq)]
pub struct CallerBudget {
    /// The table of the rows.
    pub table: String,
    /// Maximum requests in a minute.
    pub requests_per_minute: Option<u32>,
    /// Maximum read units in a day, in UTC.
    pub units_per_day: Option<f64>,
}

/// Read units reserved for a request in flight.
#[derive(Debug, Clone, PartialEq)]
pub struct ReservedUnits {
    window: Window,
    /// Its maximum consumption.
    most: f64,
    /// Its text in [`RESERVATIONS`]: a call repeated by the SDK is counted once.
    id: String,
    /// The cap of its reads.
    pub cap: f64,
}

/// Why a caller is refused.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum BudgetError {
    /// Too many requests in this minute.
    #[error("the caller has sent more than {most} requests in this minute")]
    Requests { most: u32, retry_after_seconds: u64 },
    /// The day's units are consumed, or reserved by requests in flight.
    #[error("the caller has consumed its {most} read units of this day")]
    Units { most: f64, retry_after_seconds: u64 },
    /// The caller's requests in flight have reserved the remaining units.
    #[error(
        "the caller's requests in flight have reserved what is left of its {most} read units of this day"
    )]
    Reserved { most: f64 },
    /// No random bytes are available.
    #[error("the system gives no random bytes")]
    NoRandom,
    /// The rows could not be read or written, so no caller is answered.
    #[error(transparent)]
    Dynamo(#[from] DynamoError),
}

impl BudgetError {
    /// The stable code, as docs/errors.md lists it.
    pub fn code(&self) -> &'static str {
        match self {
            BudgetError::Requests { .. } => "caller-requests-exceeded",
            BudgetError::Units { .. } => "caller-units-exceeded",
            BudgetError::Reserved { .. } => "caller-units-reserved",
            BudgetError::NoRandom => "no-random",
            BudgetError::Dynamo(error) => error.code(),
        }
    }
}

/// Maximum time of a request in flight: the longest invocation of a Lambda function.
const IN_FLIGHT_SECONDS_MAX: u64 = 900;

impl CallerBudget {
    /// Counts a request of the caller, if one more is allowed. `now`: seconds since 1970.
    pub async fn count(&self, client: &Client, caller: &str, now: u64) -> Result<(), BudgetError> {
        let Some(most) = self.requests_per_minute else { return Ok(()) };
        let row = Window { row: row(caller, "minute", now / MINUTE), expires: now + DAY };
        let update = self
            .update(client, &row, "ADD #n :n", "(attribute_not_exists(#n) OR #n < :most)")
            .expression_attribute_names("#n", "requests")
            .expression_attribute_values(":n", number(1.0))
            .expression_attribute_values(":most", number(f64::from(most)));
        match self.sent(update, None).await? {
            true => Ok(()),
            false => Err(BudgetError::Requests { most, retry_after_seconds: MINUTE - now % MINUTE }),
        }
    }

    /// Reserves units for a request with this cap, which it can exceed by `overrun`. `None`: units are not counted.
    pub async fn reserve(
        &self,
        client: &Client,
        caller: &str,
        wanted: f64,
        overrun: f64,
        now: u64,
    ) -> Result<Option<ReservedUnits>, BudgetError> {
        let Some(most) = self.units_per_day else { return Ok(None) };
        // A row outlives its day, so that a request that started before midnight finds it at its end.
        let window = Window { row: row(caller, "day", now / DAY), expires: now + 2 * DAY };
        let (random, until) = (random_text()?, now + IN_FLIGHT_SECONDS_MAX);
        let reserved = |cap: f64| {
            let most = cap + overrun;
            ReservedUnits { window: window.clone(), most, id: format!("{most}/{until}/{random}"), cap }
        };
        for _ in 0..RESERVE_ATTEMPTS_MAX {
            let beside = reserved(wanted);
            if self.add(client, &beside, most - beside.most, false).await? {
                return Ok(Some(beside));
            }
            let Counted { units, in_flight, ended } = self.counted(client, &window, now).await?;
            if most - (units - in_flight) < UNITS_LEAST {
                return Err(self.units_exceeded(now));
            }
            if !ended.is_empty() {
                self.forget(client, &window, ended).await?;
            }
            let alone = reserved(wanted.min(most - units));
            if in_flight == 0.0 && self.add(client, &alone, most - alone.cap, true).await? {
                return Ok(Some(alone));
            }
        }
        Err(BudgetError::Reserved { most })
    }

    /// The refusal of a request for which too few units are left.
    pub fn units_exceeded(&self, now: u64) -> BudgetError {
        let most = self.units_per_day.unwrap_or_default();
        BudgetError::Units { most, retry_after_seconds: DAY - now % DAY }
    }

    /// Replaces a request's reservation by its consumption.
    pub async fn correct(
        &self,
        client: &Client,
        reserved: &ReservedUnits,
        consumed: f64,
    ) -> Result<(), BudgetError> {
        let update = self
            .update(client, &reserved.window, "ADD #u :u DELETE #r :ids", "contains(#r, :id)")
            .expression_attribute_names("#u", UNITS)
            .expression_attribute_names("#r", RESERVATIONS)
            .expression_attribute_values(":u", number(consumed - reserved.most))
            .expression_attribute_values(":id", AttributeValue::S(reserved.id.clone()))
            .expression_attribute_values(":ids", AttributeValue::Ss(vec![reserved.id.clone()]));
        self.sent(update, None).await?;
        Ok(())
    }

    /// Adds a reservation, if the row has counted at most `limit` units; `alone`: and has no other reservation.
    async fn add(
        &self,
        client: &Client,
        reserved: &ReservedUnits,
        limit: f64,
        alone: bool,
    ) -> Result<bool, DynamoError> {
        if limit < 0.0 {
            return Ok(false);
        }
        let others = if alone { "attribute_not_exists(#r)" } else { "NOT contains(#r, :id)" };
        let condition = format!("(attribute_not_exists(#u) OR #u <= :limit) AND {others}");
        let update = self
            .update(client, &reserved.window, "ADD #u :most, #r :ids", &condition)
            .expression_attribute_names("#u", UNITS)
            .expression_attribute_names("#r", RESERVATIONS)
            .expression_attribute_values(":most", number(reserved.most))
            .expression_attribute_values(":limit", number(limit))
            .expression_attribute_values(":ids", AttributeValue::Ss(vec![reserved.id.clone()]));
        // DynamoDB refuses values that no expression uses.
        let update = match alone {
            true => update,
            false => update.expression_attribute_values(":id", AttributeValue::S(reserved.id.clone())),
        };
        self.sent(update, Some(&reserved.id)).await
    }

    /// A conditional update of a row in our version.
    fn update(
        &self,
        client: &Client,
        window: &Window,
        action: &str,
        condition: &str,
    ) -> UpdateItemFluentBuilder {
        client
            .update_item()
            .table_name(&self.table)
            .key(BUDGET_KEY, AttributeValue::S(window.row.clone()))
            .update_expression(format!("SET #e = :e, #v = :v {action}"))
            .condition_expression(format!("(attribute_not_exists(#k) OR #v = :v) AND {condition}"))
            .expression_attribute_names("#e", BUDGET_TTL)
            .expression_attribute_names("#v", VERSION_NAME)
            .expression_attribute_names("#k", BUDGET_KEY)
            .expression_attribute_values(":e", AttributeValue::N(window.expires.to_string()))
            .expression_attribute_values(":v", AttributeValue::N(BUDGET_FORMAT.version.to_string()))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
    }

    /// Sends an update. `false`: its condition failed. If the row has the reservation `id`, the SDK repeated a call
    /// that had succeeded.
    async fn sent(&self, update: UpdateItemFluentBuilder, id: Option<&str>) -> Result<bool, DynamoError> {
        let call = || Call::new("UpdateItem", &self.table);
        match update.send().await.map_err(|error| DynamoError::of(call(), error)) {
            Ok(_) => Ok(true),
            Err(DynamoError::ConditionFailed { item, .. }) => {
                let Some(row) = item.into_revealed() else { return Ok(false) };
                let unknown = |source| DynamoError::UnknownFormat { call: call(), source };
                BUDGET_FORMAT.check_row(&row).map_err(unknown)?;
                let ids = match row.get(RESERVATIONS) {
                    Some(Value::Ss(ids)) => ids.as_slice(),
                    _ => &[],
                };
                Ok(id.is_some_and(|id| ids.iter().any(|known| known == id)))
            }
            Err(error) => Err(error),
        }
    }

    /// Removes reservations from the row. Their units stay counted.
    async fn forget(&self, client: &Client, window: &Window, ids: Vec<String>) -> Result<(), DynamoError> {
        let update = self
            .update(client, window, "DELETE #r :ids", "attribute_exists(#r)")
            .expression_attribute_names("#r", RESERVATIONS)
            .expression_attribute_values(":ids", AttributeValue::Ss(ids));
        self.sent(update, None).await.map(drop)
    }

    /// The counts of a row.
    async fn counted(&self, client: &Client, window: &Window, now: u64) -> Result<Counted, DynamoError> {
        let call = || Call::new("GetItem", &self.table);
        let key = AttributeValue::S(window.row.clone());
        let read = client.get_item().table_name(&self.table).key(BUDGET_KEY, key).consistent_read(true);
        let item = read.send().await.map_err(|error| DynamoError::of(call(), error))?.item;
        let unreadable = || DynamoError::Unreadable { call: call() };
        let attribute = |name: &str| item.as_ref().and_then(|item| item.get(name));
        let read = |text: &str| text.parse::<f64>().map_err(|_| unreadable());
        let units = match attribute(UNITS) {
            None => 0.0,
            Some(AttributeValue::N(text)) => read(text)?,
            Some(_) => return Err(unreadable()),
        };
        let ids = match attribute(RESERVATIONS) {
            None => &[],
            Some(AttributeValue::Ss(ids)) => ids.as_slice(),
            Some(_) => return Err(unreadable()),
        };
        let mut counted = Counted { units, in_flight: 0.0, ended: Vec::new() };
        for id in ids {
            let mut parts = id.split('/');
            let reserved = read(parts.next().unwrap_or_default())?;
            let until: u64 = parts.next().and_then(|text| text.parse().ok()).ok_or_else(unreadable)?;
            match until < now {
                true => counted.ended.push(id.clone()),
                false => counted.in_flight += reserved,
            }
        }
        Ok(counted)
    }
}

/// The counts of a row.
struct Counted {
    /// All units, including reserved ones.
    units: f64,
    /// The units that requests in flight have reserved.
    in_flight: f64,
    /// Reservations of requests that ended without releasing them: their functions were killed.
    ended: Vec<String>,
}

fn random_text() -> Result<String, BudgetError> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|_| BudgetError::NoRandom)?;
    Ok(u64::from_le_bytes(bytes).to_string())
}

fn number(number: f64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

/// A caller's row for a minute or a day.
#[derive(Debug, Clone, PartialEq)]
struct Window {
    row: String,
    /// When DynamoDB may delete it, in seconds since 1970.
    expires: u64,
}

fn row(caller: &str, kind: &str, number: u64) -> String {
    format!("{}#{kind}#{number}", Hex(&Sha256::digest(caller)))
}
