//! A part of a template: what YAML and JSON have in common, with the line it came from.

/// One value and its line. Built values have line 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The line, from 1.
    pub line: usize,
    /// Its kind.
    pub kind: Kind,
}

/// The kind of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A scalar. A plain one may be a number or a boolean; CloudFormation takes both for their texts.
    Text {
        /// The text.
        text: String,
        /// Written without quotes?
        plain: bool,
    },
    /// A sequence.
    List(Vec<Node>),
    /// A mapping, in its order.
    Map(Vec<(String, Node)>),
}

impl Node {
    /// A text.
    pub fn text(text: impl Into<String>) -> Node {
        Node { line: 0, kind: Kind::Text { text: text.into(), plain: false } }
    }

    /// A boolean.
    pub fn flag(flag: bool) -> Node {
        Node { line: 0, kind: Kind::Text { text: flag.to_string(), plain: true } }
    }

    /// A list.
    pub fn list(nodes: impl IntoIterator<Item = Node>) -> Node {
        Node { line: 0, kind: Kind::List(nodes.into_iter().collect()) }
    }

    /// A mapping.
    pub fn map<const N: usize>(members: [(&str, Node); N]) -> Node {
        let members = members.into_iter().map(|(name, node)| (name.to_owned(), node));
        Node { line: 0, kind: Kind::Map(members.collect()) }
    }

    /// The member of a mapping.
    pub fn get(&self, name: &str) -> Option<&Node> {
        self.members().iter().find(|(known, _)| known == name).map(|(_, node)| node)
    }

    /// The member at the end of a path.
    pub fn at(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(self, |node, name| node.get(name))
    }

    /// The text of a scalar.
    pub fn as_text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text { text, .. } => Some(text),
            Kind::List(_) | Kind::Map(_) => None,
        }
    }

    /// The text of a member.
    pub fn text_of(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_text()
    }

    /// The nodes of a list; none if it is no list.
    pub fn nodes(&self) -> &[Node] {
        match &self.kind {
            Kind::List(nodes) => nodes,
            Kind::Text { .. } | Kind::Map(_) => &[],
        }
    }

    /// The members of a mapping; none if it is no mapping.
    pub fn members(&self) -> &[(String, Node)] {
        match &self.kind {
            Kind::Map(members) => members,
            Kind::Text { .. } | Kind::List(_) => &[],
        }
    }

    /// The members of a mapping, to add to.
    pub fn push(&mut self, name: &str, node: Node) {
        if let Kind::Map(members) = &mut self.kind {
            members.push((name.to_owned(), node));
        }
    }
}
