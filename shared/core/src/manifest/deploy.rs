//! `[deploy]`: the parts of the template besides tables. Each table's `managed` decides whether it is included.

use toml::de::DeValue;

use super::code::Code;
use super::diagnostic::Findings;
use super::fields::Fields;
use super::grammar;
use super::name::check_dynamo_name;
use super::node::TomlEntry;
use super::questions::find_table;
use super::suggest::did_you_mean;
use super::table_text::TableText;
use crate::model::{Deploy, Retrofit, Table};

/// The maximum retention of audit events: a hundred years.
const KEEP_DAYS_MAX: u64 = 36_500;

/// The parts to deploy: without `[deploy]`, tables and retrofits.
pub(super) fn deploy(
    tables: &[TableText<'_>],
    built: &[Option<Table>],
    retrofits: &[Retrofit],
    entry: Option<&TomlEntry<'_>>,
    findings: &mut Findings<'_>,
) -> Deploy {
    let existing =
        tables.iter().filter(|table| !table.managed).map(|table| table.id.value.to_owned()).collect();
    let all = retrofits.iter().map(|retrofit| retrofit.name.clone()).collect();
    let mut deploy = Deploy { existing, retrofits: all, ..Deploy::default() };
    let Some(entry) = entry else { return deploy };
    let fields = Fields::read(entry, "`deploy`", grammar::DEPLOY, findings);
    deploy.audit_writer = fields
        .text("audit-writer", findings)
        .and_then(|id| find_table(tables, &id, findings))
        .map(|table| table.id.value.to_owned());
    deploy.audit_journal = audit_journal(tables, &fields, findings);
    deploy.audit_keep_days = audit_keep_days(&deploy, tables, &fields, findings);
    deploy.query_api = query_api(tables, &fields, findings);
    deploy.query_api_writes = query_api_writes(&deploy, tables, built, &fields, findings);
    if fields.node("retrofits").is_some() {
        deploy.retrofits.clear();
        for name in fields.texts("retrofits", findings) {
            let known = || retrofits.iter().map(|retrofit| retrofit.name.as_str());
            if deploy.retrofits.iter().any(|before| before == name.value) {
                let message = format!("{} has `{}` twice", fields.what("retrofits"), name.value);
                findings.report(Code::DuplicateName, name.span, message);
            } else if known().any(|retrofit| retrofit == name.value) {
                deploy.retrofits.push(name.value.to_owned());
            } else {
                let message = format!("the manifest has no retrofit `{}`", name.value);
                findings
                    .report(Code::BadValue, name.span, message)
                    .maybe_hint(did_you_mean(name.value, known()));
            }
        }
    }
    deploy
}

/// The journal of the audit writer: a separate table.
fn audit_journal(
    tables: &[TableText<'_>],
    fields: &Fields<'_>,
    findings: &mut Findings<'_>,
) -> Option<String> {
    let name = fields.text("audit-journal", findings)?;
    check_dynamo_name(name.value, name.span.clone(), "the journal's table", findings);
    if fields.node("audit-writer").is_none() {
        let message = "`deploy` has `audit-journal`, but no `audit-writer` that would keep it";
        findings
            .report(Code::MissingField, name.span.clone(), message)
            .hint("add `audit-writer`, or leave the journal out");
    }
    if let Some(table) = tables.iter().find(|table| table.name.value == name.value) {
        let message = format!("the journal's table `{}` is also table `{}`", name.value, table.id.value);
        findings.report(Code::DuplicateName, name.span, message).hint("the journal needs a separate table");
    }
    Some(name.value.to_owned())
}

/// The retention of events in the audit writer's table.
fn audit_keep_days(
    deploy: &Deploy,
    tables: &[TableText<'_>],
    fields: &Fields<'_>,
    findings: &mut Findings<'_>,
) -> Option<u32> {
    let node = fields.node("audit-keep-days")?;
    let days = node.whole(findings, &fields.what("audit-keep-days"), 1..=KEEP_DAYS_MAX)?;
    let is_of = |table: &&TableText<'_>| Some(table.id.value) == deploy.audit_writer.as_deref();
    if tables.iter().find(is_of).is_none_or(|table| table.ttl.is_none()) {
        let message = "`deploy` has `audit-keep-days`, but the audit writer's table has no `ttl`";
        findings
            .report(Code::MissingField, node.span.clone(), message)
            .hint("declare a number attribute and name it as the table's `ttl`");
    }
    u32::try_from(days).ok()
}

/// `true` for all tables, or the tables that it may read.
fn query_api(tables: &[TableText<'_>], fields: &Fields<'_>, findings: &mut Findings<'_>) -> Vec<String> {
    let Some(node) = fields.node("query-api") else { return Vec::new() };
    let id = |table: &TableText<'_>| table.id.value.to_owned();
    match node.value {
        DeValue::Boolean(true) => tables.iter().map(id).collect(),
        DeValue::Boolean(false) => Vec::new(),
        DeValue::Array(_) => {
            let named = node.texts(findings, &fields.what("query-api"));
            named.iter().filter_map(|name| find_table(tables, name, findings)).map(id).collect()
        }
        _ => {
            node.wrong_type(findings, &fields.what("query-api"), "`true`, `false` or a list of tables");
            Vec::new()
        }
    }
}

/// The tables that the query API may write: a subset of those it reads, without the audit writer's. If callers have a
/// scope, the owner of each item must be provable.
fn query_api_writes(
    deploy: &Deploy,
    tables: &[TableText<'_>],
    built: &[Option<Table>],
    fields: &Fields<'_>,
    findings: &mut Findings<'_>,
) -> Vec<String> {
    let mut written = Vec::new();
    for name in fields.texts("query-api-writes", findings) {
        let Some(table) = find_table(tables, &name, findings) else { continue };
        let id = table.id.value;
        let model = built.iter().flatten().find(|model| model.id == id);
        if let Some(attribute) = model.and_then(Table::unproven_scope) {
            let message = format!(
                "the query API may write table `{id}`, but no key of an item proves its `{attribute}`, which is the scope of callers"
            );
            findings.report(Code::ScopeUnproven, name.span, message).hint(format!(
                "store `{attribute}` on the items, or let a key begin with it: the primary key, or the key of an index"
            ));
        } else if deploy.audit_writer.as_deref() == Some(id) {
            let message = format!("table `{id}` is the audit writer's: nothing else writes it");
            findings.report(Code::BadValue, name.span, message).hint("send events to `POST /audit`");
        } else if !deploy.query_api.iter().any(|read| read == id) {
            let message = format!("the query API may write table `{id}`, but does not read it");
            findings.report(Code::BadValue, name.span, message).hint(format!("add `{id}` to `query-api`"));
        } else {
            written.push(id.to_owned());
        }
    }
    written
}
