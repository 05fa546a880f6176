//! A switch whose stream has a thousand shards, each of which splits while it is read; and one whose stream was disabled.

use std::collections::BTreeSet;

use super::faults_tests::played;
use super::*;

const SHARDS: usize = 1_000;
/// Shards of one `DescribeStream` page.
const LISTED: usize = 100;
/// DynamoDB answers ten calls a second to all readers of an account together.
const LISTINGS_A_SECOND_MAX: usize = 5;
/// All shards before the split, all of them after it, once more when the last parent has ended, and before the last look.
const LISTINGS_MAX: usize = (SHARDS + 3 * 3 * SHARDS) / LISTED + 10;

/// The source's stream.
struct Splitting {
    shards: Vec<Shard>,
    /// Children that were read.
    read: BTreeSet<String>,
    listed_ms: Vec<u64>,
}

impl Splitting {
    fn new() -> Splitting {
        let shard = |number: usize| Shard { name: format!("{number:04}"), parent: None };
        Splitting { shards: (0..SHARDS).map(shard).collect(), read: BTreeSet::new(), listed_ms: Vec::new() }
    }

    fn list(&mut self, now_ms: u64, after: Option<&str>) -> Reply {
        self.listed_ms.push(now_ms);
        let at = |name: &str| self.shards.iter().position(|shard| shard.name == name);
        let from = after.and_then(at).map_or(0, |at| at + 1);
        let shards: Vec<Shard> = self.shards[from..].iter().take(LISTED).cloned().collect();
        let more = from + shards.len() < self.shards.len();
        let last = shards.last().filter(|_| more).map(|shard| shard.name.clone());
        Reply::Shards { shards, last }
    }

    /// A parent ends with its first page, and then its children are listed.
    fn read(&mut self, from: &[ShardPosition]) -> Reply {
        let mut pages = Vec::new();
        for ShardPosition { shard, .. } in from {
            let ended = !shard.contains('.');
            if ended {
                let child = |half| Shard { name: format!("{shard}.{half}"), parent: Some(shard.clone()) };
                self.shards.extend([child(0), child(1)]);
            } else {
                self.read.insert(shard.clone());
            }
            pages.push(Ok(ShardPage { ended, ..ShardPage::default() }));
        }
        Reply::Records(pages)
    }
}

#[test]
fn a_thousand_shards_that_split_are_listed_within_a_rate_and_all_read() {
    let (mut world, mut stream) = (ready("moved"), Splitting::new());
    let command = Command::Switch(by_policy());
    let mut operation = Operation::new(world.mapping.clone(), command, "nonce", world.now_ms);
    let outcome = loop {
        let effect = match operation.next() {
            Step::Over(outcome) => break outcome,
            Step::Ask(effect) => effect,
        };
        let reply = match &effect {
            Effect::Shards { after, .. } => Ok(stream.list(world.now_ms, after.as_deref())),
            Effect::Records { from, .. } => Ok(stream.read(from)),
            effect => world.perform(effect),
        };
        world.now_ms += 1;
        operation.answer(world.now_ms, reply);
    };
    assert_eq!(outcome.end, End::Done, "{}", outcome.text());
    assert_eq!(stream.read.len(), 2 * SHARDS, "every child is read");
    let listings = stream.listed_ms.len();
    assert!(listings <= LISTINGS_MAX, "{listings} listings");
    let busiest = stream.listed_ms.iter().map(|from| {
        let within = |at: &&u64| (*from..from + 1_000).contains(*at);
        stream.listed_ms.iter().filter(within).count()
    });
    assert!(busiest.max().unwrap() <= LISTINGS_A_SECOND_MAX, "{:?}", stream.listed_ms);
}

/// All shards have ended, and none goes on from them.
#[test]
fn the_reading_of_a_disabled_stream_ends() {
    let mut world = ready("moved");
    let limits = Limits { read_max_ms: 5_000, ..Limits::LOCAL };
    let outcome =
        played(&mut world, Command::Switch(Switch { limits, ..by_policy() }), |_, _, effect| match effect {
            Effect::Records { from, .. } => {
                let ended = ShardPage { ended: true, ..ShardPage::default() };
                Some(Ok(Reply::Records(vec![Ok(ended); from.len()])))
            }
            _ => None,
        });
    assert_eq!((outcome.end, &*outcome.code), (End::Refused, "stream-too-long"), "{}", outcome.text());
    assert_eq!(outcome.open, OpenTable::Source);
}
