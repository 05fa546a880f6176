//! Tables are created as in the model, and differences are found.

use keyfold_core::model::{IndexKind, Projection};
use keyfold_dynamo::{DynamoError, EnsureError, TableOptions, create_table, describe, ensure_table};
use keyfold_local::EmbeddedDynamo;

use crate::fixture::{index, table, visits};

const STREAM: TableOptions = TableOptions { stream: true };
const NO_STREAM: TableOptions = TableOptions { stream: false };

#[tokio::test]
async fn a_table_with_every_kind_of_index_is_as_the_model_says() {
    let dynamo = EmbeddedDynamo::memory().unwrap();
    let client = dynamo.client();
    create_table(&client, &visits(), STREAM).await.unwrap();
    let diff = describe(&client, &visits(), STREAM).await.unwrap();
    assert!(diff.is_empty(), "{diff}");
}

#[tokio::test]
async fn another_table_of_that_name_is_told_in_all_its_differences() {
    let dynamo = EmbeddedDynamo::memory().unwrap();
    let client = dynamo.client();
    let found = table(
        "VisitsOfPlaces",
        "user",
        None,
        vec![
            index("placeAll", IndexKind::Global, &["place"], &["at:S"], Projection::All),
            index("dayKeys", IndexKind::Global, &["day:N"], &[], Projection::All),
            index("byDay", IndexKind::Global, &["user"], &["day:N"], Projection::KeysOnly),
            index("other", IndexKind::Global, &["user"], &[], Projection::KeysOnly),
        ],
    );
    create_table(&client, &found, NO_STREAM).await.unwrap();
    let diff = describe(&client, &visits(), STREAM).await.unwrap();
    let differences: Vec<_> = diff.differences.iter().map(ToString::to_string).collect();
    assert_eq!(
        differences,
        [
            "its key is partition `user` instead of partition `user`, sort `at`",
            "key attribute `at` is of type `S` instead of `N`",
            "index `byDay` is of the other kind (local or global)",
            "index `byPlace` is missing",
            "index `byRoom` is missing",
            "index `dayKeys` holds everything instead of keys only",
            "index `native` is missing",
            "index `roomNote` is missing",
            "index `other` is not in the manifest",
            "it has no stream with both images",
        ]
    );
}

#[tokio::test]
async fn a_table_is_made_once_and_never_changed() {
    let dynamo = EmbeddedDynamo::memory().unwrap();
    let client = dynamo.client();
    assert!(ensure_table(&client, &visits(), NO_STREAM).await.unwrap());
    assert!(!ensure_table(&client, &visits(), NO_STREAM).await.unwrap());
    let error = ensure_table(&client, &visits(), STREAM).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "table `VisitsOfPlaces` exists and differs from the manifest: it has no stream with both images"
    );
    assert!(matches!(create_table(&client, &visits(), NO_STREAM).await, Err(DynamoError::InUse { .. })));
    assert!(matches!(error, EnsureError::Differs { .. }));
}

#[tokio::test]
async fn all_tables_are_made_and_those_that_exist_are_not_counted() {
    let dynamo = EmbeddedDynamo::memory().unwrap();
    let other = table("OrganisationsAndProjects", "org", Some("project"), Vec::new());
    assert_eq!(dynamo.create_tables(&[visits()], NO_STREAM).await.unwrap(), 1);
    assert_eq!(dynamo.create_tables(&[visits(), other], NO_STREAM).await.unwrap(), 1);
    assert_eq!(dynamo.database().table_count().unwrap(), 2);
}
