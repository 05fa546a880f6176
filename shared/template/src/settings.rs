//! A template for machines: as JSON, and each function's rights, environment and mappings alone.

use serde_json::{Value, json};

use super::cloudformation::{Kind, Node};

/// The rights, environment and mappings of each function, for those who deploy them by other means. Intrinsic functions have
/// their long form.
pub fn settings(template: &Node) -> Value {
    let resources = template.get("Resources").map(Node::members).unwrap_or_default();
    let globals = template.at(&["Globals", "Function", "Environment", "Variables"]).map(as_json);
    let functions =
        resources.iter().filter(|(_, node)| node.text_of("Type") == Some("AWS::Serverless::Function"));
    let one = |(id, node): &(String, Node)| {
        let mut environment = globals.clone().unwrap_or_default();
        if let (Some(all), Some(Value::Object(own))) =
            (environment.as_object_mut(), node.at(&["Properties", "Environment", "Variables"]).map(as_json))
        {
            all.extend(own);
        }
        let role = id.strip_suffix("Function").map(|id| format!("{id}Role")).unwrap_or_default();
        let policies =
            template.at(&["Resources", &role, "Properties", "Policies"]).map(Node::nodes).unwrap_or_default();
        let rights = policies.iter().filter_map(|policy| policy.at(&["PolicyDocument", "Statement"]));
        let mappings = resources.iter().filter(|(_, node)| {
            let of = node.at(&["Properties", "FunctionName", "Ref"]).and_then(Node::as_text);
            node.text_of("Type") == Some("AWS::Lambda::EventSourceMapping") && of == Some(id)
        });
        let property = |name: &str| node.at(&["Properties", name]).map(as_json);
        let settings = json!({
            "binary": node.at(&["Metadata", "BuildProperties", "Binary"]).map(as_json),
            "memory": property("MemorySize"),
            "timeout": property("Timeout"),
            "environment": environment,
            "rights": rights.flat_map(Node::nodes).map(as_json).collect::<Vec<_>>(),
            "mappings": mappings.filter_map(|(_, node)| node.get("Properties")).map(as_json).collect::<Vec<_>>(),
        });
        (id.clone(), settings)
    };
    Value::Object(functions.map(one).collect())
}

/// The node as JSON.
pub fn as_json(node: &Node) -> Value {
    match &node.kind {
        Kind::Text { text, plain: true } => {
            serde_json::from_str(text).unwrap_or_else(|_| text.as_str().into())
        }
        Kind::Text { text, plain: false } => text.as_str().into(),
        Kind::List(nodes) => nodes.iter().map(as_json).collect(),
        Kind::Map(members) => members.iter().map(|(name, node)| (name.clone(), as_json(node))).collect(),
    }
}
