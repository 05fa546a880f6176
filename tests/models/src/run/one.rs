//! One case: loaded, queried, compared.

use keyfold_core::model::Model;
use keyfold_core::query::QueryRequest;
use keyfold_core::query::limits::PAGE_ITEMS_MAX;

use crate::case::{Case, Meaning, Pattern};
use crate::compare::Identities;
use crate::report::{CaseReport, PatternResult, Row, State};
use crate::request::request;
use crate::subject::{Answered, AskError, Subject, chain};
use crate::summary::summary;

/// The page size of a second run of every pattern.
const SMALL_PAGE_ITEMS: u32 = 3;

/// Runs one case.
pub(super) async fn run(case: &Case, model: Model, allow_scan: bool) -> CaseReport {
    let name = case.name.clone();
    let subject = match Subject::load(case, model).await {
        Ok(subject) => subject,
        Err(error) => {
            return CaseReport { name, state: State::Unusable { what: chain(&error) }, rows: Vec::new() };
        }
    };
    let identities = Identities::new(case, subject.table());
    let runner = Runner { case, subject: &subject, identities: &identities, allow_scan };
    let mut rows = Vec::new();
    for pattern in &case.patterns {
        rows.push(runner.row(pattern).await);
    }
    CaseReport { name, state: State::Asked, rows }
}

struct Runner<'a> {
    case: &'a Case,
    subject: &'a Subject,
    identities: &'a Identities<'a>,
    allow_scan: bool,
}

impl Runner<'_> {
    async fn row(&self, pattern: &Pattern) -> Row {
        let mut row = Row { pattern: pattern.id.clone(), ..Row::default() };
        let Some(meaning) = &pattern.meaning else {
            // Without a meaning there is only a request that DynamoDB would refuse, and that cannot be expressed here.
            row.verdict = PatternResult::Refused { what: "it has no meaning to be asked by".to_owned() };
            row.is_right_to_refuse = pattern.expect_error;
            return row;
        };
        let asked = self.asked(pattern, meaning);
        match self.subject.ask(&asked, meaning.limit).await {
            Ok(answered) => {
                row.plan = summary(&answered.plan);
                row.scans = answered.plan.scans();
                row.units = Some(answered.units);
                row.verdict = match self.fault(pattern, meaning, &asked, &answered).await {
                    None => PatternResult::Right,
                    Some(what) => PatternResult::Wrong { what },
                };
            }
            Err(error) if error.is_refusal() => {
                row.verdict = PatternResult::Refused { what: error.to_string() };
                row.is_right_to_refuse = pattern.expect_error;
            }
            Err(error) => row.verdict = PatternResult::Wrong { what: error.to_string() },
        }
        row
    }

    /// The request; with a scan allowed if there is no other plan, and the published model scans too.
    fn asked(&self, pattern: &Pattern, meaning: &Meaning) -> QueryRequest {
        let mut asked = request(self.subject.table(), self.case, meaning);
        // The whole answer is needed, so the pages are as large as possible.
        asked.limit = asked.limit.or(Some(PAGE_ITEMS_MAX));
        let may_scan = pattern.is_published_scan || self.allow_scan;
        if may_scan && matches!(self.subject.plan(&asked), Err(AskError::Plan(_))) {
            asked.scan = true;
        }
        asked
    }

    /// The error in the answer, in the same answer in small pages, or in the count.
    async fn fault(
        &self,
        pattern: &Pattern,
        meaning: &Meaning,
        asked: &QueryRequest,
        answered: &Answered,
    ) -> Option<String> {
        let expected = pattern.expected.as_ref();
        if let Some(fault) = self.identities.fault(meaning, expected, &answered.items) {
            return Some(fault);
        }
        let pages = QueryRequest { limit: Some(SMALL_PAGE_ITEMS), ..asked.clone() };
        match self.subject.ask(&pages, meaning.limit).await {
            Ok(answered) => {
                if let Some(fault) = self.identities.fault(meaning, expected, &answered.items) {
                    return Some(format!("in pages of {SMALL_PAGE_ITEMS}: {fault}"));
                }
            }
            Err(error) => return Some(format!("in pages of {SMALL_PAGE_ITEMS}: {error}")),
        }
        let count = QueryRequest { count: true, limit: None, ..asked.clone() };
        let matches = self.identities.matches(meaning) as u64;
        match self.subject.ask(&count, None).await {
            Ok(answered) if answered.count == matches => None,
            Ok(answered) => Some(format!("counted {}, {matches} expected", answered.count)),
            Err(error) => Some(format!("as a count: {error}")),
        }
    }
}
