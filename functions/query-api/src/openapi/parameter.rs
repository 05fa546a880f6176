//! The parameters of a question: its conditions, typed by the manifest, and the API's own.

use keyfold_core::model::{AttributeKind, Operator, Question, QuestionCondition, Table};
use keyfold_core::query::limits::{IN_VALUES_MAX, PAGE_ITEMS_MAX};
use serde_json::{Value, json};

use super::schema;
use keyfold_core::query::question::param_name;

/// The parameter of one condition.
pub(super) fn of_condition(
    table: &Table,
    question: &Question,
    condition: &QuestionCondition,
) -> Option<Value> {
    let attribute = table.attribute_of(question.entities_of(condition), &condition.attribute)?;
    let value = match (condition.operator, attribute.kind) {
        // A prefix or part of a value need not be a timestamp or a listed value.
        (Operator::BeginsWith | Operator::Contains, kind) => match kind {
            AttributeKind::NumberSet => json!({ "type": "number" }),
            AttributeKind::Binary | AttributeKind::BinarySet => schema::of_kind(AttributeKind::Binary),
            _ => json!({ "type": "string" }),
        },
        (Operator::Exists, _) => json!({ "type": "boolean" }),
        _ => schema::of_attribute(attribute),
    };
    let mut parameter = json!({
        "name": param_name(condition),
        "in": "query",
        "required": !condition.optional,
        "schema": value,
    });
    match condition.operator {
        Operator::In => {
            parameter["schema"] =
                json!({ "type": "array", "items": value, "minItems": 1, "maxItems": IN_VALUES_MAX });
            parameter["style"] = json!("form");
            parameter["explode"] = json!(false);
        }
        Operator::Between => {
            parameter["schema"] = json!({ "type": "array", "items": value, "minItems": 2, "maxItems": 2 });
            parameter["style"] = json!("form");
            parameter["explode"] = json!(true);
            parameter["description"] =
                json!("the parameter twice, or once as `low..high`; both ends are included");
        }
        _ => {}
    }
    Some(parameter)
}

/// The API's own parameters.
pub(super) fn own(question: &Question) -> Vec<Value> {
    let most = question.limit.unwrap_or(PAGE_ITEMS_MAX);
    vec![
        own_parameter(
            "limit",
            &json!({ "type": "integer", "minimum": 1, "maximum": most }),
            "the maximum number of items",
        ),
        own_parameter(
            "page",
            &json!({ "type": "string" }),
            "the token of the page, from the previous answer",
        ),
        own_parameter(
            "order",
            &json!({ "type": "string" }),
            "attributes separated by commas; `-attribute` sorts descending",
        ),
        own_parameter("count", &json!({ "type": "boolean" }), "only the number of items"),
        own_parameter("explain", &json!({ "type": "boolean" }), "the plan with the answer"),
        format(),
    ]
}

/// The format of items.
pub(super) fn format() -> Value {
    let schema = json!({ "type": "string", "enum": ["plain", "dynamodb"], "default": "plain" });
    own_parameter("format", &schema, "plain JSON, or DynamoDB's JSON notation, which keeps every type")
}

fn own_parameter(name: &str, schema: &Value, description: &str) -> Value {
    json!({ "name": name, "in": "query", "required": false, "schema": schema, "description": description })
}
