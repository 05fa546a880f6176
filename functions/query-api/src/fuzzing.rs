//! What fuzz targets call of the query API that needs no database. It is compiled for them only (`--cfg fuzzing`).

use keyfold_core::query::question;

use crate::{Api, params};

/// Reads a query string as the parameters of every question.
pub fn questions(api: &Api, query: &str) {
    for table in &api.model.tables {
        for asked in api.model.questions_of(table) {
            let Some(params) = params::read(query) else { return };
            let _ = question::request(table, asked, params);
        }
    }
}
