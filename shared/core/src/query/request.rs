//! A request as it was sent: literal, not yet compared with any model.

use serde::{Deserialize, Serialize};

use crate::json::Json;

/// One question, in the words of JSON.
///
/// ```
/// use keyfold_core::query::QueryRequest;
/// let request: QueryRequest = serde_json::from_str(
///     r#"{"table":"audit","where":{"resourceId":"123bbb","timestamp":{"beginsWith":"2017-03"}},"order":"-timestamp"}"#,
/// )?;
/// assert_eq!(request.order, ["-timestamp"]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QueryRequest {
    /// The table's id in the manifest, or its name in DynamoDB.
    pub table: String,
    /// The entities that are wanted; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub entity: Vec<String>,
    /// The conditions: `{"attribute": value}`, `{"attribute": {"operator": value}}`, `and`, `or`, `not`.
    #[serde(default, rename = "where", skip_serializing_if = "Json::is_null")]
    pub conditions: Json,
    /// Attributes, outermost first; `-attribute` for the largest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub order: Vec<String>,
    /// Maximum items in this answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The attributes wanted; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub select: Option<Vec<String>>,
    /// Only the number of items is wanted.
    #[serde(default, skip_serializing_if = "is_false")]
    pub count: bool,
    /// Strongly consistent reads; never from a global index.
    #[serde(default, skip_serializing_if = "is_false")]
    pub consistent: bool,
    /// May a scan answer it?
    #[serde(default, skip_serializing_if = "is_false")]
    pub scan: bool,
    /// Maximum items to read and sort in memory, if no index yields the order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sort_in_memory: Option<u32>,
    /// The token of the page that is wanted, from the answer before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
    /// Maximum read units for the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_units_max: Option<f64>,
    /// Is the plan wanted with the answer?
    #[serde(default, skip_serializing_if = "is_false")]
    pub explain: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

fn one_or_many<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    struct OneOrMany;
    impl<'de> serde::de::Visitor<'de> for OneOrMany {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a text or a list of texts")
        }

        fn visit_str<E: serde::de::Error>(self, one: &str) -> Result<Vec<String>, E> {
            Ok(vec![one.to_owned()])
        }

        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut many: A) -> Result<Vec<String>, A::Error> {
            let mut all = Vec::new();
            while let Some(one) = many.next_element()? {
                all.push(one);
            }
            Ok(all)
        }
    }
    from.deserialize_any(OneOrMany)
}
