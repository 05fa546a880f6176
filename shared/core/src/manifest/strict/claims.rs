//! `scope` and `written-by`: a path that no authorizer supplies locks every caller out.

use crate::manifest::code::Code;
use crate::manifest::diagnostic::Findings;
use crate::manifest::places::Places;
use crate::model::Model;

/// The prefixes of a claim's path: the authorizers of API Gateway and of function URLs.
const AUTHORIZERS: [&str; 3] = ["jwt.", "iam.", "lambda."];

pub(super) fn check(model: &Model, places: &Places, findings: &mut Findings<'_>) {
    for table in &model.tables {
        for (field, claims) in [("scope", &table.scope), ("written-by", &table.written_by)] {
            for (attribute, claim) in claims {
                if AUTHORIZERS.iter().any(|authorizer| claim.starts_with(authorizer)) {
                    continue;
                }
                let span =
                    places.get(&format!("tables.{}.{field}.{attribute}", table.id)).unwrap_or_default();
                let message = format!(
                    "`{field}` of table `{}` binds `{attribute}` to `{claim}`, which no authorizer gives: every caller is refused",
                    table.id
                );
                findings.report(Code::ClaimPath, span, message).hint(format!(
                    "write the whole path of the claim: `jwt.{claim}`, or one that begins with `iam.` or `lambda.`"
                ));
            }
        }
    }
}
