//! `[questions.TABLE.NAME]`: the questions of a table.

use super::code::Code;
use super::diagnostic::Findings;
use super::fields::Fields;
use super::grammar;
use super::name::check_id;
use super::node::{Text, TomlEntry};
use super::rate::rate;
use super::suggest::{did_you_mean, one_of};
use super::table_text::TableText;
use crate::model::{
    Attribute, AttributeKind, EntityId, Operator, OrderBy, Question, QuestionBranch, QuestionCondition,
};

/// All questions, in the manifest's order; invalid ones are reported and left out.
pub(super) fn questions(
    tables: &[TableText<'_>],
    entries: &[TomlEntry<'_>],
    findings: &mut Findings<'_>,
) -> Vec<Question> {
    let mut questions = Vec::new();
    for entry in entries {
        let what = format!("`questions.{}`", entry.name.value);
        let named = entry.node.entries(findings, &what);
        match find_table(tables, &entry.name, findings) {
            Some(table) => questions.extend(named.iter().map(|entry| question(table, entry, findings))),
            None => continue,
        }
    }
    questions
}

/// The table with this id, or a report.
pub(super) fn find_table<'t, 'a>(
    tables: &'t [TableText<'a>],
    id: &Text<'_>,
    findings: &mut Findings<'_>,
) -> Option<&'t TableText<'a>> {
    let found = tables.iter().find(|table| table.id.value == id.value);
    if found.is_none() {
        let near = did_you_mean(id.value, tables.iter().map(|table| table.id.value));
        let ids = one_of(tables.iter().map(|table| table.id.value)).replace(" or ", " and ");
        findings
            .report(Code::UnknownTable, id.span.clone(), format!("there is no table `{}`", id.value))
            .hint(format!("the manifest declares {ids}"))
            .maybe_hint(near);
    }
    found
}

fn question(table: &TableText<'_>, entry: &TomlEntry<'_>, findings: &mut Findings<'_>) -> Question {
    check_id(&entry.name, "a question", findings);
    let owner = format!("question `{}` of table `{}`", entry.name.value, table.id.value);
    let fields = Fields::read(entry, owner, grammar::QUESTION, findings);
    let select = fields.texts("select", findings);
    for name in &select {
        table.attributes.find_any(name, table.id.value, findings);
    }
    let limit = fields
        .node("limit")
        .and_then(|node| node.whole(findings, &fields.what("limit"), 1..=u64::from(u32::MAX)));
    let entities = entities(table, &fields, findings);
    let question = Question {
        table: table.id.value.to_owned(),
        name: entry.name.value.to_owned(),
        conditions: conditions(table, &entities, &fields, findings),
        branches: branches(table, &entities, &fields, findings),
        order: order(table, &entities, &fields, findings),
        entities,
        select: fields.node("select").map(|_| select.iter().map(|name| name.value.to_owned()).collect()),
        limit: limit.and_then(|limit| u32::try_from(limit).ok()),
        consistent: fields.boolean("consistent", findings).unwrap_or(false),
        scan: fields.boolean("scan", findings).unwrap_or(false),
        rate: rate(&fields, "rate", findings),
    };
    check_parameters(table, &question, &entry.name, findings);
    question
}

/// A parameter must have one type in all branches.
fn check_parameters(
    table: &TableText<'_>,
    question: &Question,
    name: &Text<'_>,
    findings: &mut Findings<'_>,
) {
    let of_branches =
        question.branches.iter().map(|branch| (&branch.conditions, branch.entities_or(&question.entities)));
    let asked: Vec<_> = [(&question.conditions, question.entities.as_slice())]
        .into_iter()
        .chain(of_branches)
        .flat_map(|(conditions, entities)| conditions.iter().map(move |one| (one, entities)))
        .collect();
    let kind = |attribute: &str, entities: &[EntityId]| {
        entities.iter().find_map(|id| Some(table.entities[id.0].attributes.get(attribute)?.kind))
    };
    for (at, (one, entities)) in asked.iter().enumerate() {
        let is_mixed = table.attributes.is_mixed(&one.attribute);
        let differs = |(other, others): &(&QuestionCondition, &[EntityId])| {
            other.attribute == one.attribute
                && other.operator == one.operator
                && kind(&one.attribute, others) != kind(&one.attribute, entities)
        };
        if is_mixed && asked[..at].iter().any(differs) {
            table.attributes.reports_mixed(&one.attribute, name.span.clone(), findings);
        }
    }
}

fn entities(table: &TableText<'_>, fields: &Fields<'_>, findings: &mut Findings<'_>) -> Vec<EntityId> {
    let Some(node) = fields.node("entity") else { return Vec::new() };
    let mut found = Vec::new();
    for name in node.text_or_texts(findings, &fields.what("entity")) {
        match table.entities.iter().position(|entity| entity.name.value == name.value) {
            Some(at) => found.push(EntityId(at)),
            None => {
                let near = did_you_mean(name.value, table.entities.iter().map(|entity| entity.name.value));
                let message = format!("table `{}` has no entity `{}`", table.id.value, name.value);
                findings.report(Code::UnknownEntity, name.span, message).maybe_hint(near);
            }
        }
    }
    found
}

/// `or = [{ entity = "order", where = [...] }, ...]`
fn branches(
    table: &TableText<'_>,
    of_question: &[EntityId],
    fields: &Fields<'_>,
    findings: &mut Findings<'_>,
) -> Vec<QuestionBranch> {
    let Some(node) = fields.node("or") else { return Vec::new() };
    let what = fields.what("or");
    let elements = node.elements(findings, &what).unwrap_or_default();
    if (elements.len() < 2 || elements.len() > BRANCHES_MAX) && node.value.as_array().is_some() {
        let message = format!("{what} has {} branches; it takes 2 to {BRANCHES_MAX}", elements.len());
        findings.report(Code::BadValue, node.span.clone(), message);
    }
    let mut branches = Vec::new();
    for element in &elements {
        let owner = format!("a branch of {what}");
        let entries = element.entries(findings, &owner);
        let branch = Fields::of(entries, owner, element.span.clone(), grammar::BRANCH, findings);
        let mut read =
            QuestionBranch { entities: entities(table, &branch, findings), conditions: Vec::new() };
        read.conditions = conditions(table, read.entities_or(of_question), &branch, findings);
        if read.entities.is_empty() && read.conditions.is_empty() {
            findings
                .report(Code::BadValue, element.span.clone(), format!("a branch of {what} asks for nothing"))
                .hint("such a branch holds for every item: give it a `where` or an `entity`");
        }
        branches.push(read);
    }
    branches
}

/// Maximum number of branches of one `or`: each is planned separately.
const BRANCHES_MAX: usize = 16;

fn conditions(
    table: &TableText<'_>,
    entities: &[EntityId],
    fields: &Fields<'_>,
    findings: &mut Findings<'_>,
) -> Vec<QuestionCondition> {
    let mut conditions: Vec<QuestionCondition> = Vec::new();
    for text in fields.texts("where", findings) {
        let Some(condition) = condition(table, entities, &text, findings) else { continue };
        let same = |before: &QuestionCondition| {
            before.attribute == condition.attribute && before.operator == condition.operator
        };
        if conditions.iter().any(same) {
            let message =
                format!("{} asks the same of `{}` twice", fields.what("where"), condition.attribute);
            findings.report(Code::DuplicateName, text.span, message);
            continue;
        }
        conditions.push(condition);
    }
    conditions
}

/// `attribute [operator][?]`
fn condition(
    table: &TableText<'_>,
    entities: &[EntityId],
    text: &Text<'_>,
    findings: &mut Findings<'_>,
) -> Option<QuestionCondition> {
    let (said, optional) = match text.value.trim().strip_suffix('?') {
        Some(said) => (said.trim_end(), true),
        None => (text.value.trim(), false),
    };
    let part = |value| Text { value, span: text.span.clone() };
    // An attribute's name may have a space in it.
    let (name, word) = match said.rsplit_once(char::is_whitespace) {
        Some((name, word)) if table.attributes.get(said).is_none() => (name.trim_end(), word),
        _ => (said, "="),
    };
    let attribute = table.attribute_of(entities, &part(name), findings)?;
    let Some(operator) = operator(word) else {
        let near = did_you_mean(word, grammar::OPERATORS.iter().copied());
        findings
            .report(Code::UnknownOperator, text.span.clone(), format!("there is no operator `{word}`"))
            .hint(format!("it is {}", one_of(grammar::OPERATORS.iter().copied())))
            .maybe_hint(near);
        return None;
    };
    check_fit(attribute, operator, word, text, findings);
    Some(QuestionCondition { attribute: attribute.name.clone(), operator, optional })
}

fn operator(word: &str) -> Option<Operator> {
    Some(match word {
        "=" => Operator::Equal,
        "<" => Operator::Less,
        "<=" => Operator::LessOrEqual,
        ">" => Operator::Greater,
        ">=" => Operator::GreaterOrEqual,
        "between" => Operator::Between,
        "beginsWith" => Operator::BeginsWith,
        "contains" => Operator::Contains,
        "in" => Operator::In,
        "exists" => Operator::Exists,
        _ => return None,
    })
}

/// DynamoDB orders strings, numbers and binaries, tests prefixes of strings and binaries, and searches within strings,
/// sets and lists.
fn check_fit(
    attribute: &Attribute,
    operator: Operator,
    word: &str,
    text: &Text<'_>,
    findings: &mut Findings<'_>,
) {
    let kind = attribute.kind;
    let fits = match operator {
        Operator::Equal | Operator::In | Operator::Exists => true,
        Operator::Contains => {
            !matches!(kind, AttributeKind::Number | AttributeKind::Boolean | AttributeKind::Map)
        }
        Operator::BeginsWith => ordered(kind) && kind != AttributeKind::Number,
        _ => ordered(kind),
    };
    if !fits {
        let message = format!("`{word}` does not apply to `{}`, a {}", attribute.name, kind.name());
        findings.report(Code::OperatorMisfit, text.span.clone(), message);
    }
}

fn order(
    table: &TableText<'_>,
    entities: &[EntityId],
    fields: &Fields<'_>,
    findings: &mut Findings<'_>,
) -> Vec<OrderBy> {
    let Some(node) = fields.node("order") else { return Vec::new() };
    let mut order: Vec<OrderBy> = Vec::new();
    for text in node.text_or_texts(findings, &fields.what("order")) {
        let descending = text.value.starts_with('-') && table.attributes.get(text.value).is_none();
        let value = if descending { &text.value[1..] } else { text.value };
        let name = Text { value, span: text.span.clone() };
        let Some(attribute) = table.attribute_of(entities, &name, findings) else { continue };
        if !ordered(attribute.kind) {
            let message =
                format!("cannot sort by `{value}`, a {}: its values have no order", attribute.kind.name());
            findings.report(Code::OrderMisfit, text.span, message);
        } else if order.iter().any(|before| before.attribute == value) {
            findings.report(
                Code::DuplicateName,
                text.span,
                format!("{} has `{value}` twice", fields.what("order")),
            );
        }
        order.push(OrderBy { attribute: value.to_owned(), descending });
    }
    order
}

fn ordered(kind: AttributeKind) -> bool {
    kind.scalar().is_some()
}
