//! HCL: blocks become the values that `terraform show -json` would print, as far as they are literal.

use std::collections::BTreeMap;

use hcl::expr::{Expression, ObjectKey, TraversalOperator};
use hcl::structure::{Block, Body, Structure};
use hcl::template::{Element, Template};
use serde_json::{Map, Value, json};

use super::super::cursor::At;
use super::super::draft::Draft;
use super::super::error::{Problem, ReadError};
use super::{Found, collect};

/// Maximum depth of evaluated expressions.
const DEPTH_MAX: usize = 32;
/// Attributes of the community module, and the corresponding blocks.
const MODULE_LISTS: [(&str, &str); 3] = [
    ("attributes", "attribute"),
    ("global_secondary_indexes", "global_secondary_index"),
    ("local_secondary_indexes", "local_secondary_index"),
];

/// Does a text contain a table in HCL?
pub(crate) fn is_hcl(text: &str) -> bool {
    text.contains("\"aws_dynamodb_table\"") || text.contains("/dynamodb-table/aws")
}

/// The tables and items of a text in HCL.
pub(crate) fn read_hcl(text: &str, source: &str) -> Result<Draft, ReadError> {
    let body: Body = hcl::parse(text).map_err(|error| ReadError {
        source_name: source.to_owned(),
        place: String::new(),
        problem: Problem::Syntax(place(&error)),
    })?;
    let known = Known::of(&body);
    let mut resources = Vec::new();
    for block in blocks(&body) {
        let labels: Vec<&str> = block.labels.iter().map(hcl::BlockLabel::as_str).collect();
        match (block.identifier.as_str(), labels.as_slice()) {
            ("resource", [kind, name]) => {
                resources.push(json!({ "type": kind, "name": name, "values": known.values(&block.body, 0) }));
            }
            ("module", [name]) => {
                let mut values = known.values(&block.body, 0);
                let source = values.get("source").and_then(Value::as_str).unwrap_or_default();
                if source.contains("dynamodb-table") {
                    as_resource(&mut values);
                    resources.push(json!({ "type": "aws_dynamodb_table", "name": name, "values": values }));
                }
            }
            _ => {}
        }
    }
    let module = json!({ "resources": resources });
    let root = At::root(source, &module);
    let mut found = Found::default();
    collect(&root, 0, &mut found)?;
    found.draft(&root)
}

/// The line in the parser's error, without the text around it.
fn place(error: &hcl::Error) -> String {
    match error {
        hcl::Error::Parse(error) => {
            let at = error.location();
            format!("it is not HCL (line {}, column {})", at.line(), at.column())
        }
        _ => "it is not HCL".to_owned(),
    }
}

fn blocks(body: &Body) -> impl Iterator<Item = &Block> {
    body.iter().filter_map(Structure::as_block)
}

/// The module's lists are the resource's blocks.
fn as_resource(values: &mut Map<String, Value>) {
    for (from, to) in MODULE_LISTS {
        if let Some(list) = values.remove(from) {
            values.insert(to.to_owned(), list);
        }
    }
    if values.get("ttl_enabled") == Some(&Value::Bool(true)) {
        let name = values.get("ttl_attribute_name").cloned().unwrap_or_default();
        values.insert("ttl".to_owned(), json!([{ "attribute_name": name, "enabled": true }]));
    }
}

/// Defaults of variables, and locals.
struct Known {
    variables: BTreeMap<String, Expression>,
    locals: BTreeMap<String, Expression>,
}

impl Known {
    fn of(body: &Body) -> Known {
        let mut known = Known { variables: BTreeMap::new(), locals: BTreeMap::new() };
        for block in blocks(body) {
            match block.identifier.as_str() {
                "variable" => {
                    let default = block.body.attributes().find(|one| one.key.as_str() == "default");
                    let name = block.labels.first().map(|label| label.as_str().to_owned());
                    known.variables.extend(name.zip(default.map(|one| one.expr.clone())));
                }
                "locals" => known.locals.extend(
                    block.body.attributes().map(|one| (one.key.as_str().to_owned(), one.expr.clone())),
                ),
                _ => {}
            }
        }
        known
    }

    /// Attributes as members, blocks as lists of objects. Unknown values are omitted.
    fn values(&self, body: &Body, depth: usize) -> Map<String, Value> {
        let mut values = Map::new();
        if depth > DEPTH_MAX {
            return values;
        }
        for attribute in body.attributes() {
            if let Some(value) = self.value(&attribute.expr, depth) {
                values.insert(attribute.key.as_str().to_owned(), value);
            }
        }
        for block in blocks(body) {
            let inner = Value::Object(self.values(&block.body, depth + 1));
            match values.entry(block.identifier.as_str()).or_insert_with(|| json!([])) {
                Value::Array(list) => list.push(inner),
                other => *other = json!([inner]),
            }
        }
        values
    }

    fn value(&self, expression: &Expression, depth: usize) -> Option<Value> {
        if depth > DEPTH_MAX {
            return None;
        }
        match expression {
            Expression::Null => Some(Value::Null),
            Expression::Bool(flag) => Some(Value::Bool(*flag)),
            Expression::Number(number) => serde_json::from_str(&number.to_string()).ok(),
            Expression::String(text) => Some(Value::String(text.clone())),
            Expression::Array(list) => list
                .iter()
                .map(|one| self.value(one, depth + 1))
                .collect::<Option<Vec<_>>>()
                .map(Value::Array),
            Expression::Object(object) => {
                let member = |(key, value): (&ObjectKey, &Expression)| {
                    let key = match key {
                        ObjectKey::Identifier(name) => name.as_str().to_owned(),
                        ObjectKey::Expression(key) => self.value(key, depth + 1)?.as_str()?.to_owned(),
                        _ => return None,
                    };
                    Some((key, self.value(value, depth + 1)?))
                };
                Some(Value::Object(object.iter().filter_map(member).collect()))
            }
            Expression::TemplateExpr(template) => {
                let template = Template::from_expr(template).ok()?;
                let mut text = String::new();
                for element in template.elements() {
                    match element {
                        Element::Literal(literal) => text.push_str(literal),
                        Element::Interpolation(part) => match self.value(&part.expr, depth + 1)? {
                            Value::String(part) => text.push_str(&part),
                            Value::Number(part) => text.push_str(&part.to_string()),
                            _ => return None,
                        },
                        Element::Directive(_) => return None,
                    }
                }
                Some(Value::String(text))
            }
            Expression::Parenthesis(inner) => self.value(inner, depth + 1),
            Expression::FuncCall(call) if call.name.name.as_str() == "jsonencode" => {
                let value = self.value(call.args.first()?, depth + 1)?;
                Some(Value::String(value.to_string()))
            }
            Expression::Traversal(traversal) => {
                let Expression::Variable(root) = &traversal.expr else { return None };
                let [TraversalOperator::GetAttr(name)] = traversal.operators.as_slice() else { return None };
                let known = match root.as_str() {
                    "var" => &self.variables,
                    "local" => &self.locals,
                    _ => return None,
                };
                self.value(known.get(name.as_str())?, depth + 1)
            }
            _ => None,
        }
    }
}
