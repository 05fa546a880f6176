//! What is asked.

/// How many items an answer has.
pub(super) const LIMIT: u32 = 20;
/// And that of the largest.
pub(super) const TOP: u32 = 10;
/// The resource that is asked about.
pub(super) const RESOURCE: &str = "r0007";
/// The shards of the index by action.
pub(super) const SHARDS: u32 = 10;

/// A kind of question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    /// A page of one partition of a folded index.
    OnePage,
    /// Ten shards, merged in order.
    FanOut,
    /// The latest of a large collection.
    Top,
    /// An index with keys only: the items are read by primary key.
    Hydration,
}

/// All of them.
pub(super) const REQUESTS: [(&str, Question); 4] = [
    ("one page of 20", Question::OnePage),
    ("20 merged from 10 shards", Question::FanOut),
    ("the latest 10 of many", Question::Top),
    ("20 through a keys-only index", Question::Hydration),
];

impl Question {
    /// The request.
    pub(super) fn request(self) -> String {
        match self {
            Question::OnePage => format!(
                r#"{{"table":"events","where":{{"resourceId":"{RESOURCE}","action":"viewed","accessedBy":"joe1"}},"order":"timestamp","limit":{LIMIT}}}"#
            ),
            Question::FanOut => format!(
                r#"{{"table":"events","where":{{"action":"viewed"}},"order":"-timestamp","limit":{LIMIT}}}"#
            ),
            Question::Top => format!(
                r#"{{"table":"events","where":{{"accessedBy":"joe1"}},"order":"-timestamp","limit":{TOP}}}"#
            ),
            Question::Hydration => format!(
                r#"{{"table":"events","where":{{"resourceId":"{RESOURCE}"}},"order":"timestamp","limit":{LIMIT}}}"#
            ),
        }
    }

    /// Why the SDK stays ahead where it is.
    pub(super) fn why(self) -> &'static str {
        match self {
            Question::OnePage | Question::Top => {
                "Keyfold also checks the request, plans it and converts every item to its own values. That takes microseconds; a network takes milliseconds."
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
