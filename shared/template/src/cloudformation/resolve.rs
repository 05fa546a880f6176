//! Intrinsic functions: what a value is with the parameters' defaults, and what else it could be.
//!
//! Values known only after a deployment (a resource's ARN, the region) stay as written.

use super::node::{Kind, Node};

/// The deepest chain of conditions that name each other.
const CONDITION_DEPTH_MAX: usize = 16;

/// A template, with the means to work its values out.
#[derive(Debug)]
pub struct Template {
    root: Node,
}

/// A resource.
#[derive(Debug, Clone)]
pub struct Resource<'t> {
    /// Its logical id.
    pub id: &'t str,
    /// Where it stands.
    pub line: usize,
    /// Its type, `AWS::DynamoDB::Table`.
    pub kind: &'t str,
    /// As it is written.
    pub node: &'t Node,
}

impl Template {
    /// The template whose nodes these are.
    pub fn of(root: Node) -> Template {
        Template { root }
    }

    /// All resources, in their order.
    pub fn resources<'t>(&'t self) -> Vec<Resource<'t>> {
        let resources = self.root.get("Resources").map(Node::members).unwrap_or_default();
        let resource = |(id, node): &'t (String, Node)| {
            Some(Resource { id, line: node.line, kind: node.text_of("Type")?, node })
        };
        resources.iter().filter_map(resource).collect()
    }

    /// The value with the parameters' defaults; `None` where it is no value at all (`AWS::NoValue`).
    pub fn resolved(&self, node: &Node) -> Option<Node> {
        if let Some((name, argument)) = intrinsic(node) {
            return self.call(name, argument, node);
        }
        let kind = match &node.kind {
            Kind::Text { .. } => return Some(node.clone()),
            Kind::List(nodes) => Kind::List(nodes.iter().filter_map(|node| self.resolved(node)).collect()),
            Kind::Map(members) => {
                let member = |(name, node): &(String, Node)| Some((name.clone(), self.resolved(node)?));
                Kind::Map(members.iter().filter_map(member).collect())
            }
        };
        Some(Node { line: node.line, kind })
    }

    fn call(&self, name: &str, argument: &Node, node: &Node) -> Option<Node> {
        let line = node.line;
        let known = match (name, argument.nodes()) {
            ("Ref", _) if argument.as_text() == Some("AWS::NoValue") => return None,
            ("Ref", _) => argument.as_text().and_then(|name| self.default(name)).map(str::to_owned),
            ("Fn::Sub", [text, variables]) => {
                text.as_text().map(|text| self.substituted(text, Some(variables)))
            }
            ("Fn::Sub", _) => argument.as_text().map(|text| self.substituted(text, None)),
            ("Fn::Join", [between, parts]) => self.joined(between, parts),
            ("Fn::FindInMap", [map, first, second]) => {
                return self.found(map, first, second).or_else(|| Some(node.clone()));
            }
            ("Fn::If", [condition, then, otherwise]) => {
                return match condition.as_text().and_then(|name| self.condition(name)) {
                    Some(true) => self.resolved(then),
                    Some(false) => self.resolved(otherwise),
                    None => Some(node.clone()),
                };
            }
            _ => None,
        };
        Some(match known {
            Some(text) => Node { line, kind: Kind::Text { text, plain: false } },
            None => node.clone(),
        })
    }

    /// A parameter's default.
    fn default(&self, name: &str) -> Option<&str> {
        self.root.at(&["Parameters", name, "Default"])?.as_text()
    }

    /// A text with `${NAME}` replaced by what is known.
    fn substituted(&self, text: &str, variables: Option<&Node>) -> String {
        let mut done = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let Some((name, behind)) = after.split_once('}') else { break };
            done.push_str(before);
            let own =
                variables.and_then(|variables| variables.get(name)).and_then(|node| self.resolved(node));
            match (
                name.strip_prefix('!'),
                own.as_ref().and_then(Node::as_text).or_else(|| self.default(name)),
            ) {
                (Some(literal), _) => done.push_str(&format!("${{{literal}}}")),
                (None, Some(value)) => done.push_str(value),
                (None, None) => done.push_str(&format!("${{{name}}}")),
            }
            rest = behind;
        }
        done.push_str(rest);
        done
    }

    fn joined(&self, between: &Node, parts: &Node) -> Option<String> {
        let parts = self.resolved(parts)?;
        let texts: Option<Vec<&str>> = parts.nodes().iter().map(Node::as_text).collect();
        Some(texts?.join(between.as_text()?))
    }

    fn found(&self, map: &Node, first: &Node, second: &Node) -> Option<Node> {
        let (first, second) = (self.resolved(first)?, self.resolved(second)?);
        self.root.at(&["Mappings", map.as_text()?, first.as_text()?, second.as_text()?]).cloned()
    }

    /// Does a condition hold, with the parameters' defaults? `None` if that is not known here.
    fn condition(&self, name: &str) -> Option<bool> {
        self.holds(self.root.at(&["Conditions", name])?, 0)
    }

    fn holds(&self, node: &Node, depth: usize) -> Option<bool> {
        if depth > CONDITION_DEPTH_MAX {
            return None;
        }
        let (name, argument) = intrinsic(node)?;
        let parts = || argument.nodes().iter().map(|part| self.holds(part, depth + 1));
        match name {
            "Condition" => self.holds(self.root.at(&["Conditions", argument.as_text()?])?, depth + 1),
            "Fn::Not" => parts().next()?.map(|holds| !holds),
            "Fn::And" => parts().try_fold(true, |all, holds| Some(all && holds?)),
            "Fn::Or" => parts().try_fold(false, |any, holds| Some(any || holds?)),
            "Fn::Equals" => {
                let [left, right] = argument.nodes() else { return None };
                let (left, right) = (self.resolved(left)?, self.resolved(right)?);
                Some(left.as_text()? == right.as_text()?)
            }
            _ => None,
        }
    }

    /// Everything that a value can be: both sides of every condition, and whatever a parameter allows.
    pub fn possible(&self, node: &Node) -> Vec<Node> {
        match intrinsic(node) {
            Some(("Fn::If", argument)) => {
                argument.nodes().iter().skip(1).flat_map(|side| self.possible(side)).collect()
            }
            Some(("Ref", argument)) if argument.as_text() != Some("AWS::NoValue") => {
                let parameter = argument.as_text().and_then(|name| self.root.at(&["Parameters", name]));
                let allowed = parameter.and_then(|parameter| parameter.get("AllowedValues"));
                let limits =
                    ["Default", "MinValue", "MaxValue"].into_iter().filter_map(|name| parameter?.get(name));
                let values: Vec<Node> =
                    allowed.map(Node::nodes).unwrap_or_default().iter().chain(limits).cloned().collect();
                if values.is_empty() { vec![node.clone()] } else { values }
            }
            _ => self.resolved(node).into_iter().collect(),
        }
    }
}

/// The name and the argument of an intrinsic function, if it is one.
pub fn intrinsic(node: &Node) -> Option<(&str, &Node)> {
    match node.members() {
        [(name, argument)] if name == "Ref" || name == "Condition" || name.starts_with("Fn::") => {
            Some((name, argument))
        }
        _ => None,
    }
}
