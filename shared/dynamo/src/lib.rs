//! The only crate that calls DynamoDB.
//!
//! Its callers use keyfold-core's types: tables of the model, items, attribute values. The SDK's own types stay within
//! this crate, except for its [`Client`], which a caller only passes on.
//!
//! Nothing is decided here. A plan chooses the index and the expressions; this crate sends them, page by page, and
//! returns the answer and its cost. Every loop has a named limit.
//!
//! Start with [`client()`] and [`Settings`]; then [`plan_table`] and [`TablePlan::carry_out`], [`put`],
//! [`put_new_all`], [`update`], [`delete`] and [`load`] (a struct becomes an item with [`item_of`]), [`query_page`],
//! [`scan_page`] and [`batch_get`]. All of them fail with a [`DynamoError`]. [`run`] executes a whole query plan, page
//! by page, and [`TokenKeys`] encrypts the position of the next page.

mod backoff;
mod budget;
mod client;
mod consumed;
mod error;
#[cfg(fuzzing)]
pub mod fuzzing;
mod guarded;
mod policy;
mod query;
mod read;
pub mod retrofit;
mod sample;
mod secret;
mod service;
mod signed;
mod state_machine;
mod stream;
mod table;
mod token;
mod values;
mod wire;
mod write;

pub use aws_sdk_dynamodb::Client;
pub use backoff::{BACKOFF_ATTEMPTS_MAX, BACKOFF_BASE, BACKOFF_CAP, delay};
pub use budget::{BUDGET_FORMAT, BUDGET_KEY, BUDGET_TTL, BudgetError, CallerBudget, ReservedUnits};
pub use client::{
    ATTEMPT_TIMEOUT, ATTEMPTS_MAX, CONNECT_TIMEOUT, Endpoint, EndpointError, OPERATION_TIMEOUT, Roots,
    RootsError, Settings, SettingsError, client, plain_client,
};
pub use consumed::Consumed;
pub use error::{Call, DynamoError, Hidden, Obstacle, Throttle};
pub use guarded::{STATEMENT_CHARS_MAX, STATEMENTS_MAX};
pub use query::{
    Answer, AnswerError, CONCURRENCY_DEFAULT, Position, QueryError, READ_ATTEMPTS_MAX, REQUESTS_MAX,
    RunOptions, cap_overrun, run, run_counting,
};
pub use read::{
    BATCH_GET_KEYS_MAX, BatchGet, BatchItems, Fetch, PAGE_ITEMS_MAX, Page, PageRequest, QueryPage, ScanPage,
    Segment, batch_get, query_page, scan_page,
};
pub use sample::{Described, Sample, SampleOptions, sample, table_description};
pub use secret::{Secret, SecretError, SecretLabel, SecretVersion};
pub use service::{Service, ServiceError};
pub use state_machine::{FailedSegment, Run as StateMachineRun, StateMachines};
pub use table::{
    AddIndexError, ApplyError, Difference, EnsureError, INDEX_ACTIVE_WAIT_MAX, IndexPhase, KeyNames,
    LiveIndex, LiveIndexes, Mismatch, TABLE_ACTIVE_WAIT_MAX, TableDiff, TableOptions, TablePlan, TableStep,
    WarmThroughput, add_indexes, create_table, create_table_input, describe, enable_stream, enable_ttl,
    ensure_table, live_indexes, plan_existing, plan_table, table_id, table_names, table_options,
};
pub use token::{
    BadToken, Binding, KEYS_MAX, KeysParseError, SECRET_CHARS_MIN, SealError, TOKEN_CHARS_MAX, TokenKeys,
    model_version,
};
pub use write::{
    BATCH_INSERT_BYTES_MAX, BATCH_WRITE_ITEMS_MAX, Collection, Deleted, Expected, INSERT_REQUESTS_IN_FLIGHT,
    Inserted, LOAD_BATCHES_IN_FLIGHT_MAX, LoadError, Loaded, PutNew, PutNewOptions, UPDATE_ATTEMPTS_MAX,
    Update, UpdateError, UpdateRefusal, Updated, WriteError, delete, item_of, load, primary_key, put, put_if,
    put_new, put_new_all, update,
};
