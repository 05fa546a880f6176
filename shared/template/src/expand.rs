//! Plain CloudFormation from the SAM template, as SAM's transform expands it. CI compares both.
//!
//! It expands only the resource types that the generated template has, and panics at another one.

use std::collections::BTreeMap;

use super::cloudformation::{Kind, Node};

/// The parameters that a plain template has besides.
const BUCKET: &str = "CodeBucket";
const PREFIX: &str = "CodePrefix";

/// The processor that the functions' binaries are built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// Graviton.
    Arm64,
    /// Intel and AMD.
    X86,
}

/// The keys of what the template packs, below the prefix. Each contains a digest: CloudFormation only sees a change of the key.
#[derive(Debug, Clone)]
pub struct CodeKeys {
    /// Binary -> the key of its zip.
    pub functions: BTreeMap<String, String>,
    /// The manifest's layer.
    pub manifest: String,
    /// The definition of the state machines.
    pub machine: String,
}

/// The keys and the processor of a plain template, for a comparison that leaves the functions' code out. `None` for a SAM template.
pub fn code_of(plain: &Node, manifest: &str, machine: &str) -> Option<(CodeKeys, Architecture)> {
    plain.get("Parameters")?.get(BUCKET)?;
    let (mut functions, mut architecture) = (BTreeMap::new(), Architecture::Arm64);
    for (_, node) in plain.get("Resources")?.members() {
        let Some(key) = node.at(&["Properties", "Code", "S3Key", "Fn::Sub"]).and_then(Node::as_text) else {
            continue;
        };
        let key = key.strip_prefix("${CodePrefix}").unwrap_or(key);
        let (binary, _) = key.rsplit_once('-')?;
        functions.insert(binary.to_owned(), key.to_owned());
        let words = node.at(&["Properties", "Architectures"]).map(Node::nodes).unwrap_or_default();
        if words.iter().any(|word| word.as_text() == Some("x86_64")) {
            architecture = Architecture::X86;
        }
    }
    Some((CodeKeys { functions, manifest: manifest.to_owned(), machine: machine.to_owned() }, architecture))
}

/// The template as plain CloudFormation.
pub fn expand(template: &Node, keys: &CodeKeys, architecture: Architecture) -> Node {
    let empty = Node::map([]);
    let globals = template.at(&["Globals", "Function"]).unwrap_or(&empty);
    let mut plain = Vec::new();
    for (section, node) in template.members() {
        match section.as_str() {
            "Transform" | "Globals" => {}
            "Parameters" => plain.push((section.clone(), with_code(node))),
            "Resources" => {
                let resources = node.members().iter();
                let expanded =
                    resources.map(|(id, node)| (id.clone(), resource(globals, node, keys, architecture)));
                plain.push((section.clone(), of(expanded.collect())));
            }
            _ => plain.push((section.clone(), node.clone())),
        }
    }
    of(plain)
}

fn of(members: Vec<(String, Node)>) -> Node {
    Node { line: 0, kind: Kind::Map(members) }
}

fn with_code(parameters: &Node) -> Node {
    let parameter =
        |description: &str| [("Type", Node::text("String")), ("Description", Node::text(description))];
    let bucket =
        Node::map(parameter("The bucket with the zips of the functions, in the region of the stack"));
    let mut prefix = Node::map(parameter("The prefix of the keys in the bucket, with a slash at its end"));
    prefix.push("Default", Node::text(""));
    let code = [(BUCKET.to_owned(), bucket), (PREFIX.to_owned(), prefix)];
    of(code.into_iter().chain(parameters.members().iter().cloned()).collect())
}

fn resource(globals: &Node, node: &Node, keys: &CodeKeys, architecture: Architecture) -> Node {
    let empty = Node::map([]);
    let properties = node.get("Properties").unwrap_or(&empty);
    let kind = node.text_of("Type").unwrap_or_default();
    let (kind, properties) = match kind {
        "AWS::Serverless::Function" => {
            let binary = node.at(&["Metadata", "BuildProperties", "Binary"]).and_then(Node::as_text);
            let binary =
                binary.unwrap_or_else(|| unreachable!("every function of a template names its binary"));
            // A template that is compared can lack the function, and with it the key.
            let key = keys.functions.get(binary).cloned().unwrap_or_else(|| format!("{binary}.zip"));
            ("AWS::Lambda::Function", function(&merged(globals, properties), &key, architecture))
        }
        "AWS::Serverless::LayerVersion" => ("AWS::Lambda::LayerVersion", layer(properties, &keys.manifest)),
        "AWS::Serverless::StateMachine" => {
            ("AWS::StepFunctions::StateMachine", machine(properties, &keys.machine))
        }
        _ => {
            assert!(!kind.starts_with("AWS::Serverless"), "`{kind}` is not expanded");
            return node.clone();
        }
    };
    let mut members = vec![("Type".to_owned(), Node::text(kind)), ("Properties".to_owned(), properties)];
    let attributes = node
        .members()
        .iter()
        .filter(|(name, _)| !["Type", "Properties", "Metadata"].contains(&name.as_str()));
    members.extend(attributes.cloned());
    if kind == "AWS::Lambda::LayerVersion" {
        members.push(("DeletionPolicy".to_owned(), Node::text("Delete")));
    }
    of(members)
}

/// What all functions have, and what this one has; of both lists of variables, each.
fn merged(globals: &Node, own: &Node) -> Node {
    let mut members = globals.members().to_vec();
    for (name, node) in own.members() {
        match members.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) if !known.members().is_empty() => *known = merged(known, node),
            Some((_, known)) => *known = node.clone(),
            None => members.push((name.clone(), node.clone())),
        }
    }
    of(members)
}

fn in_bucket(names: [&str; 2], key: &str) -> Node {
    let reference = Node::map([("Ref", Node::text(BUCKET))]);
    Node::map([
        (names[0], reference),
        (names[1], Node::map([("Fn::Sub", Node::text(format!("${{{PREFIX}}}{key}")))])),
    ])
}

/// The properties under their names in CloudFormation.
fn renamed(properties: &Node, rename: impl Fn(&str, &Node) -> Option<(&'static str, Node)>) -> Node {
    let member = |(name, node): &(String, Node)| match rename(name, node) {
        Some((name, node)) => (name.to_owned(), node),
        None => (name.clone(), node.clone()),
    };
    of(properties.members().iter().map(member).collect())
}

fn function(properties: &Node, key: &str, architecture: Architecture) -> Node {
    let word = match architecture {
        Architecture::Arm64 => "arm64",
        Architecture::X86 => "x86_64",
    };
    renamed(properties, |name, node| {
        Some(match name {
            "CodeUri" => ("Code", in_bucket(["S3Bucket", "S3Key"], key)),
            "Tracing" => ("TracingConfig", Node::map([("Mode", node.clone())])),
            "Architectures" => ("Architectures", Node::list([Node::text(word)])),
            "DeadLetterQueue" => {
                let target = node.get("TargetArn").cloned().unwrap_or_else(|| Node::text(""));
                ("DeadLetterConfig", Node::map([("TargetArn", target)]))
            }
            _ => return None,
        })
    })
}

fn layer(properties: &Node, key: &str) -> Node {
    let kept = properties.members().iter().filter(|(name, _)| name != "RetentionPolicy");
    renamed(&of(kept.cloned().collect()), |name, _| {
        (name == "ContentUri").then(|| ("Content", in_bucket(["S3Bucket", "S3Key"], key)))
    })
}

fn machine(properties: &Node, key: &str) -> Node {
    renamed(properties, |name, node| {
        Some(match name {
            "Name" => ("StateMachineName", node.clone()),
            "Type" => ("StateMachineType", node.clone()),
            "Role" => ("RoleArn", node.clone()),
            "Logging" => ("LoggingConfiguration", node.clone()),
            "DefinitionUri" => ("DefinitionS3Location", in_bucket(["Bucket", "Key"], key)),
            _ => return None,
        })
    })
}
