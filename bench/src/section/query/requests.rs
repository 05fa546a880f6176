//! What is asked.

use crate::Goal;

/// How many items an answer has.
pub(super) const LIMIT: u32 = 20;
/// The resource that is asked about.
pub(super) const RESOURCE: &str = "r0007";
/// The shards of the index by action.
pub(super) const SHARDS: u32 = 10;

/// A kind of question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    /// A page of so many items, the latest of a large collection.
    Latest(u32),
    /// A page of one partition of a folded index.
    Folded,
    /// Ten shards, merged in order.
    FanOut,
    /// An index with keys only: the items are read by primary key.
    Hydration,
}

/// All of them.
pub(super) const REQUESTS: [(&str, Question); 7] = [
    ("a page of 1", Question::Latest(1)),
    ("a page of 10", Question::Latest(10)),
    ("a page of 20", Question::Latest(20)),
    ("a page of 100", Question::Latest(100)),
    ("20 of a folded index", Question::Folded),
    ("20 merged from 10 shards", Question::FanOut),
    ("20 through a keys-only index", Question::Hydration),
];

impl Question {
    /// The request.
    pub(super) fn request(self) -> String {
        match self {
            Question::Latest(limit) => format!(
                r#"{{"table":"events","where":{{"accessedBy":"joe1"}},"order":"-timestamp","limit":{limit}}}"#
            ),
            Question::Folded => format!(
                r#"{{"table":"events","where":{{"resourceId":"{RESOURCE}","action":"viewed","accessedBy":"joe1"}},"order":"timestamp","limit":{LIMIT}}}"#
            ),
            Question::FanOut => format!(
                r#"{{"table":"events","where":{{"action":"viewed"}},"order":"-timestamp","limit":{LIMIT}}}"#
            ),
            Question::Hydration => format!(
                r#"{{"table":"events","where":{{"resourceId":"{RESOURCE}"}},"order":"timestamp","limit":{LIMIT}}}"#
            ),
        }
    }

    /// What it is to cost beside the SDK alone.
    pub(super) fn goal(self) -> Option<Goal> {
        match self {
            Question::Latest(1) => Some(Goal::CpuAtMost(1.15)),
            Question::Latest(20) | Question::Folded => Some(Goal::CpuAtMost(0.95)),
            Question::Latest(100) => Some(Goal::CpuAtMost(0.75)),
            Question::Latest(_) | Question::FanOut | Question::Hydration => None,
        }
    }

    /// Why the SDK stays ahead where it is.
    pub(super) fn why(self) -> &'static str {
        match self {
            Question::Latest(_) | Question::Folded => {
                "Keyfold also checks the request and plans it. That takes microseconds; a network takes milliseconds."
            }
            Question::FanOut => {
                "The merge reads each shard only as far as necessary, which takes more steps than ten blind parallel reads."
            }
            Question::Hydration => {
                "The items are sorted back into the index's order and checked again, because they may have changed between the two reads."
            }
        }
    }
}
