//! The answers and the effects of a scoped caller's writes do not depend on other tenants' items: 10,000 random
//! requests, each in two worlds.
//!
//! `KEYFOLD_PAIRS`: the number of pairs of worlds; `KEYFOLD_SEED`: the first seed.

use std::collections::BTreeMap;

use keyfold_core::model::Table;
use keyfold_core::value::{Item, injective};
use keyfold_dynamo::{PageRequest, ScanPage, TableOptions, scan_page};
use keyfold_local::EmbeddedDynamo;
use keyfold_query_api::{Api, Limits};
use keyfold_testkit::case::setting;
use keyfold_testkit::write_worlds::{WriteRequest, WriteWorlds};

use crate::request::{Got, Sent, api_of, member, send};

const PAIRS_DEFAULT: u64 = 200;
const REQUESTS_OF_PAIR: usize = 50;

/// A database with the caller's items and some of the others.
struct World {
    dynamo: EmbeddedDynamo,
    api: Api,
    others: Vec<Item>,
}

impl World {
    async fn new(pair: &WriteWorlds, number: usize) -> World {
        let dynamo = EmbeddedDynamo::memory().unwrap();
        let api = api_of(&pair.manifest, dynamo.endpoint(), Limits::default()).with_complete_indexes();
        dynamo.create_tables(&api.model().tables, TableOptions::default()).await.unwrap();
        let (others, unfolded) = (pair.others[number].clone(), pair.unfolded());
        for item in pair.own.iter().chain(&others) {
            keyfold_dynamo::put(&dynamo.client(), &unfolded, item.clone()).await.unwrap();
        }
        World { dynamo, api, others }
    }

    fn table(&self) -> &Table {
        &self.api.model().tables[0]
    }

    async fn answer(&self, request: &WriteRequest, organisation: &str) -> Got {
        let sent = Sent::post(request.path, request.body.to_string());
        send(&self.api, &sent.by(member("someone", organisation))).await
    }

    /// The caller's items. Panics if one of the others is not as it was.
    async fn own(&self, why: &str) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let name = self.table().name.clone();
        let page = PageRequest { table: name, consistent: true, ..PageRequest::default() };
        let page = scan_page(&self.dynamo.client(), &ScanPage { page, segment: None }).await.unwrap();
        // Sets have no order, and numbers several texts.
        let content = |item: &Item| injective(item.iter());
        let key = |item: &Item| content(&self.table().key_of(item).unwrap());
        let mut all: BTreeMap<Vec<u8>, Item> =
            page.items.into_iter().map(|item| (key(&item), item)).collect();
        for other in &self.others {
            let stored = all.remove(&key(other)).unwrap_or_default();
            assert!(
                content(&stored) == content(other),
                "another's item is not as it was\n{why}\n{stored:?}\n{other:?}"
            );
        }
        all.iter().map(|(key, item)| (key.clone(), content(item))).collect()
    }
}

#[tokio::test]
#[expect(clippy::print_stdout, reason = "the person who runs the test reads the tally")]
async fn writes_do_not_tell_two_worlds_apart() {
    let (first, pairs) = (setting("KEYFOLD_SEED", 0), setting("KEYFOLD_PAIRS", PAIRS_DEFAULT));
    let mut tally: BTreeMap<(&str, u16, String), u64> = BTreeMap::new();
    let mut from_keys = 0;
    for seed in first..first + pairs {
        let mut pair = WriteWorlds::new(seed);
        from_keys += u64::from(pair.from_key);
        let worlds = [World::new(&pair, 0).await, World::new(&pair, 1).await];
        for _ in 0..REQUESTS_OF_PAIR {
            let request = pair.request();
            let [one, other] = [
                worlds[0].answer(&request, &pair.organisation).await,
                worlds[1].answer(&request, &pair.organisation).await,
            ];
            let why = format!(
                "seed {seed}, scope {}={:?}, {request:?}\n{}",
                pair.attribute, pair.organisation, pair.manifest
            );
            let told = |got: &Got| (got.status, got.headers.clone(), got.text.clone());
            assert_eq!(told(&one), told(&other), "the caller can distinguish the worlds\n{why}");
            assert!(one.status < 500, "{}\n{why}", one.text);
            let code =
                one.body["code"].as_str().map_or_else(|| one.body["deleted"].to_string(), str::to_owned);
            *tally.entry((request.path, one.status, code)).or_default() += 1;
        }
        let why = format!("seed {seed}\n{}", pair.manifest);
        assert_eq!(worlds[0].own(&why).await, worlds[1].own(&why).await, "the caller's items differ\n{why}");
    }
    for ((path, status, code), requests) in &tally {
        println!("{requests:>6}  {path} {status} {code}");
    }
    println!("{pairs} pairs, {from_keys} with a scope that only keys hold");
    let of = |path: &str, status: u16| -> u64 {
        let found =
            tally.iter().filter(|((of, told, code), _)| *of == path && *told == status && code != "false");
        found.map(|(_, requests)| requests).sum()
    };
    // An API that refuses everything would prove nothing.
    let few = pairs * REQUESTS_OF_PAIR as u64 / 100;
    for (path, status) in [("/put", 201), ("/put", 403), ("/update", 200), ("/update", 404), ("/delete", 200)]
    {
        assert!(of(path, status) >= few, "too few {path} {status}: {tally:?}");
    }
    assert!(from_keys * 3 >= pairs, "{from_keys} of {pairs} scopes are only in keys");
}
