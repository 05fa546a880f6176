//! Why a path does not answer a request.
//!
//! Most indexes of a table are rejected. So a rejection is data without allocations (short names are stored inline),
//! and its text is formatted only on demand.

use smol_str::SmolStr;

use crate::query::limits::FAN_OUT_MAX;
use crate::query::readiness::Pending;

/// One reason. The messages name attributes, never values.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum RejectReason {
    #[error("its partition key needs `{attribute}` by equality")]
    PartitionOpen { attribute: SmolStr },
    #[error("items without `{attribute}` are not in it, and one of them could match")]
    Sparse { attribute: SmolStr },
    #[error("some of the requested items are not in it, because they have no `{attribute}`")]
    EntityAbsent { attribute: SmolStr },
    #[error("it would take more than {} queries", FAN_OUT_MAX)]
    FanOut,
    #[error("a global index cannot be read with strong consistency")]
    Consistency,
    #[error(
        "its partition key does not fix `{attribute}`, so what it costs would depend on items outside the caller's scope"
    )]
    Scope { attribute: SmolStr },
    #[error("it {0}")]
    Pending(Box<Pending>),
    #[error("it does not give the requested order")]
    Order,
    #[error("it could only be scanned, and the request does not allow a scan")]
    Scan,
    #[error("it costs more: about {units} read units")]
    Costlier { units: f64 },
    #[error("it costs the same; the chosen one comes first")]
    Equal,
}

/// A rejected table or index, with the reason.
#[derive(Debug, Clone, PartialEq)]
pub struct RejectedPath {
    /// The index's name; `None` for the table itself.
    pub index: Option<SmolStr>,
    /// Would it have been scanned?
    pub scan: bool,
    /// The reason.
    pub reason: RejectReason,
}
