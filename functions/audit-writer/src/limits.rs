//! The limits of the audit writer.

use std::time::Duration;

/// Maximum audit events in one request, one message, or one direct invocation.
pub const EVENTS_MAX: usize = 100;
/// Maximum request body. Lambda accepts no larger event.
/// <https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>
pub const BODY_BYTES_MAX: usize = 6 * 1024 * 1024;
/// Maximum attributes of an audit event.
pub const ATTRIBUTES_MAX: usize = 100;
/// Maximum bytes of an attribute's name, or of a member's at any depth.
pub const NAME_BYTES_MAX: usize = 255;
/// Maximum total length of attribute names: together with those of folded keys they must fit into one statement, so
/// that the function needs no permission but `INSERT`, which cannot overwrite.
pub const NAMES_BYTES_MAX: usize = 4096;
/// Maximum values of an audit event, at all depths.
pub const VALUES_MAX: u32 = 5000;
/// Maximum values of all events of an invocation: each takes many times the memory of its text until all events are
/// written.
pub const VALUES_TOGETHER_MAX: u32 = 50_000;
/// Maximum time for writing: an HTTP API waits for 30 seconds.
/// <https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html>
pub const WRITE_TIME_MAX: Duration = Duration::from_secs(28);
/// How long before Lambda's timeout writing stops, so that the answer can name the events that were not written.
pub const DEADLINE_MARGIN: Duration = Duration::from_millis(500);
