//! The lines in Rust of docs/writing.md: they are the lines of this test.

use std::collections::BTreeMap;

use keyfold_core::query::check::Caller;
use keyfold_core::query::{QueryRequest, Readiness, check, plan};
use keyfold_dynamo::{RunOptions, TableOptions, create_table, item_of, put, run};
use keyfold_local::EmbeddedDynamo;
use serde_json::json;

const PAGE: &str = include_str!("../../../../docs/writing.md");

/// Without white space, and without the comma that only a broken line has.
fn bare(text: &str) -> String {
    text.split_whitespace().collect::<String>().replace(",)", ")")
}

#[tokio::test]
async fn the_pages_lines_write_and_ask() -> Result<(), Box<dyn std::error::Error>> {
    let model = keyfold_core::manifest::model("keyfold.toml", include_str!("../../../../keyfold.toml"))?;
    let table = model.table("audit").ok_or("the sample has a table `audit`")?;
    let dynamo = EmbeddedDynamo::memory()?;
    let (client, readiness) = (dynamo.client(), Readiness::complete());
    create_table(&client, table, TableOptions::default()).await?;
    let pairs = [("id", "1"), ("resourceId", "123bbb"), ("action", "viewed"), ("accessedBy", "ann")];
    let event: BTreeMap<_, _> = pairs.into_iter().chain([("timestamp", "2017-03-05T10:00:00Z")]).collect();
    let asked = json!({ "table": "audit", "where": { "resourceId": "123bbb", "action": "viewed", "accessedBy": "ann" } });
    let request: QueryRequest = serde_json::from_value(asked)?;

    put(&client, table, item_of(table, &event)?).await?;
    let answer = run(
        &client,
        table,
        &plan(&check(&model, &request, &Caller::Trusted)?, &readiness)?,
        None,
        &RunOptions::default(),
    )
    .await?;

    assert_eq!(answer.count, 1);
    let block =
        PAGE.split_once("```rust\n").and_then(|(_, rest)| rest.split_once("```")).ok_or("a block in Rust")?.0;
    let lines: Vec<&str> = block.lines().map(|line| line.split(" // ").next().unwrap_or_default()).collect();
    assert!(lines.len() == 2 && bare(include_str!("page.rs")).contains(&bare(&lines.concat())), "{block}");
    Ok(())
}
