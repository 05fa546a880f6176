//! How much is taken.

use std::time::Duration;

/// The most audit events of one request, of one message, of one invocation by hand.
pub const EVENTS_MAX: usize = 100;
/// The largest body. Lambda takes no larger event.
/// <https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>
pub const BODY_BYTES_MAX: usize = 6 * 1024 * 1024;
/// The most attributes of an audit event.
pub const ATTRIBUTES_MAX: usize = 100;
/// The longest name of an attribute, or of a member at any depth.
pub const NAME_BYTES_MAX: usize = 255;
/// The longest that all attributes' names may be together: they and the folded keys' have to fit into one statement, so
/// that nothing but `INSERT`, which cannot overwrite, needs to be allowed.
pub const NAMES_BYTES_MAX: usize = 4096;
/// The most values of an audit event, at all depths together.
pub const VALUES_MAX: u32 = 5000;
/// The most values of all events of an invocation: each takes memory many times its text, until all events are written.
pub const VALUES_TOGETHER_MAX: u32 = 50_000;
/// The longest that writing may take: an HTTP API waits for 30 seconds.
/// <https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html>
pub const WRITE_TIME_MAX: Duration = Duration::from_secs(28);
/// How long before Lambda ends the invocation writing stops, so that there is an answer that names what was not written.
pub const DEADLINE_MARGIN: Duration = Duration::from_millis(500);
