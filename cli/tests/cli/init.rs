//! `keyfold init`: the walk-through of docs/init.md, and its refusals.

use std::path::Path;

use keyfold_core::key::KeyMode;
use keyfold_core::manifest;
use keyfold_core::model::KeySource;
use keyfold_core::value::AttributeValue;
use keyfold_dynamo::{SampleOptions, sample, table_description};
use serde_json::{Value, json};

use crate::support::{
    Site, assert_words, event, item_of, json_of, keyfold_in, refusal_of, root, stderr, stdout,
};

const ITEMS: usize = 300;
/// The table as it is before Keyfold.
const OLD: &str = r#"
[tables.audit]
name = "ResourceAccessAudit"
partition = "id"
attributes = { id = "string" }
"#;

fn done(folder: &Path, words: &[&str]) -> Value {
    json_of(&keyfold_in(folder, words).output().unwrap())
}

fn refused(folder: &Path, words: &[&str]) -> String {
    refusal_of(&keyfold_in(folder, words).output().unwrap())
}

async fn audit(items: usize) -> Site {
    let site = Site::new(OLD);
    site.create(site.table("audit"), true).await;
    site.load(site.table("audit"), (0..items).map(event)).await;
    site
}

/// The commands of the walk-through, as docs/init.md has them: words, without comments.
fn walk_through() -> Vec<Vec<String>> {
    let page = std::fs::read_to_string(root().join("docs/init.md")).unwrap();
    let block = page.split("## From a live table to an answer").nth(1).unwrap();
    let block = block.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    let commands = block.lines().flat_map(|line| line.split(" #").next().unwrap_or(line).split(" && "));
    let words = |command: &str| {
        let parts = command.trim().split('"').enumerate();
        let words = parts.flat_map(|(at, part)| match at % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect::<Vec<_>>(),
            _ => vec![part.to_owned()],
        });
        words.skip(1).collect()
    };
    commands.filter(|command| !command.trim().is_empty()).map(words).collect()
}

#[tokio::test]
async fn the_walk_through_of_the_page_goes_from_a_live_table_to_the_answer() {
    let site = audit(ITEMS).await;
    std::fs::remove_file(site.folder.path().join("keyfold.toml")).unwrap();
    let step = |words: &[String]| {
        let mut command = keyfold_in(site.folder.path(), &[]);
        command.env("AWS_ENDPOINT_URL_DYNAMODB", site.dynamo().endpoint()).args(words).output().unwrap()
    };
    let commands = walk_through();
    let question = commands.last().unwrap();
    let counted =
        |more: &[&str]| [question.clone(), more.iter().map(|&word| word.to_owned()).collect()].concat();
    for words in &commands {
        let output = step(words);
        assert!(output.status.success(), "{words:?}: {} {}", stdout(&output), stderr(&output));
    }
    let wanted = (0..ITEMS).filter(|number| number % 7 == 1 && number % 11 == 1).count();
    let answer = json_of(&step(&counted(&["--json", "--count"])));
    assert_eq!(answer["count"].as_u64(), Some(wanted as u64), "{answer}");
    assert_words(&stdout(&step(&counted(&["--explain"]))), &["byResourceIdActionAccessedBy"]);
}

#[tokio::test]
async fn a_sample_stays_within_its_read_units_and_reads_nothing_it_may_not() {
    let items = std::env::var("KEYFOLD_ITEMS").ok().and_then(|text| text.parse().ok()).unwrap_or(2_000);
    let site = audit(items).await;
    let client = site.client();
    let described = table_description(&client, "ResourceAccessAudit").await.unwrap();
    for units in [50.0, 60.0, 200.0] {
        let options = SampleOptions { read_units_max: units, ..SampleOptions::default() };
        let taken = sample(&client, "ResourceAccessAudit", &described, options).await.unwrap();
        assert!(
            taken.read_units <= units && taken.pages > 0 && !taken.items.is_empty(),
            "{units}: {taken:?}"
        );
    }
    // Less than the largest item costs: no page at all.
    let options = SampleOptions { read_units_max: 49.0, ..SampleOptions::default() };
    assert_eq!(sample(&client, "ResourceAccessAudit", &described, options).await.unwrap().pages, 0);
}

#[test]
fn a_file_that_exists_is_kept_and_bad_sources_are_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(
        at.join("model.json"),
        "{\"KeySchema\":[{\"AttributeName\":\"id\",\"KeyType\":\"HASH\"}],\"TableName\":\"Notes\"}",
    )
    .unwrap();
    std::fs::write(at.join("other.json"), "{\"a\":1}").unwrap();
    done(at, &["init", "model.json"]);
    let before = std::fs::read_to_string(at.join("keyfold.toml")).unwrap();
    assert!(refused(at, &["init", "model.json"]).contains("--force"));
    done(at, &["init", "model.json", "--force"]);
    assert_eq!(std::fs::read_to_string(at.join("keyfold.toml")).unwrap(), before);
    let error = refused(at, &["init", "other.json", "--out", "new.toml"]);
    assert_eq!(error.trim_end().lines().count(), 1);
    assert!(error.contains("init-not-a-model") && !at.join("new.toml").exists(), "{error}");
    let huge = std::fs::File::create(at.join("huge.json")).unwrap();
    huge.set_len(1 << 30).unwrap();
    assert!(refused(at, &["init", "huge.json", "--out", "new.toml"]).contains("init-too-large"));
    assert!(refused(at, &["init", "--out", "new.toml"]).contains("--table"));
}

#[test]
fn a_new_index_of_single_attributes_needs_no_retrofit_and_wrong_ones_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let text = "[tables.notes]\npartition = \"id\"\nattributes = { id = \"string\", owner = \"string\", tags = \"string-set\" }\n";
    std::fs::write(at.join("keyfold.toml"), text).unwrap();
    for (wanted, why) in [
        ("nobody", "does not declare"),
        ("tags", "cannot be part of a key"),
        ("/ id", "partition key"),
        ("id, id", "twice"),
    ] {
        assert!(refused(at, &["init", "--new-index", wanted]).contains(why), "{wanted}");
    }
    assert_eq!(std::fs::read_to_string(at.join("keyfold.toml")).unwrap(), text);
    let added = done(at, &["--json", "init", "--new-index", "owner / id"]);
    assert!(
        added["retrofit"].is_null() && added["why"].as_str().unwrap().contains("DynamoDB itself"),
        "{added}"
    );
    done(at, &["check"]);
}

#[test]
fn a_new_index_is_for_the_entity_that_has_its_attributes() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let text = "[tables.shop]\npartition = \"PK\"\n[tables.shop.attributes]\nPK = \"string\"\nkind = \"string\"\nmail = \"string\"\n\
                [tables.shop.entities.order]\nwhen = { kind = \"order\" }\nattributes.day = \"string\"\nattributes.size = \"number\"\n\
                [tables.shop.entities.customer]\nwhen = { kind = \"customer\" }\nattributes.name = \"string\"\n";
    std::fs::write(at.join("keyfold.toml"), text).unwrap();
    for (arguments, why) in [
        (["--new-index", "day / name"].as_slice(), "no entity of table `shop` has all"),
        (
            &["--new-index", "day", "--entity", "customer"],
            "entity `customer` of table `shop` has no attribute `day`",
        ),
        (&["--new-index", "day", "--entity", "nobody"], "its entities: order, customer"),
    ] {
        let refused = refused(at, &[&["init"], arguments].concat());
        assert!(refused.contains(why), "{refused}");
    }
    assert_eq!(std::fs::read_to_string(at.join("keyfold.toml")).unwrap(), text);
    for (arguments, entity) in [
        (["--new-index", "day"].as_slice(), Some("order")),
        (&["--new-index", "mail", "--entity", "customer"], Some("customer")),
        (&["--new-index", "mail / PK"], None),
    ] {
        let added = done(at, &[&["--json", "init"], arguments].concat());
        let line = entity.map(|entity| format!("entity = {entity:?}\n"));
        let added = added["added"].as_str().unwrap();
        assert!(line.map_or(!added.contains("entity"), |line| added.contains(&line)), "{added}");
    }
    done(at, &["check", "--strict"]);
}

#[test]
fn a_new_index_has_no_folded_key_where_a_native_one_would_do() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let text = "[tables.notes]\npartition = \"id\"\n[tables.notes.attributes]\nid = \"string\"\nowner = \"string\"\nkind = \"string\"\n\
                size = \"number\"\n";
    std::fs::write(at.join("keyfold.toml"), text).unwrap();
    let native = done(at, &["--json", "init", "--new-index", "owner, kind / id"]);
    assert!(native["added"].as_str().unwrap().contains("partition = [\"owner\", \"kind\"]"), "{native}");
    assert!(native["retrofit"].is_null());
    // Numbers in one key with texts are folded: a native key would have another order.
    let folded = done(at, &["--json", "init", "--new-index", "owner, size / id"]);
    assert!(folded["retrofit"].is_string(), "{folded}");
    done(at, &["check", "--strict"]);
}

/// Every question that is added has a plan, and `check` has nothing to say.
#[test]
fn a_new_index_with_an_optional_attribute_has_a_tail_or_asks_for_items_that_have_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let manifest = "[tables.notes]\npartition = \"id\"\n[tables.notes.attributes]\nid = \"string\"\nowner = \"string\"\n\
                    kind = { type = \"string\", required = true }\nat = \"timestamp\"\nsize = \"number\"\n";
    let cases: [(&str, &[&str], &str); 6] = [
        ("owner / at", &["sort = \"at\"", "\"at exists\", \"at between?\""], "not in the index"),
        (
            "owner, size / at",
            &["{owner}#{size:number}", "sort = \"at\"", "\"at exists\""],
            "not in the index",
        ),
        ("owner / kind, at", &["sort = \"{kind}[#{at}]\"", "\"kind?\", \"at between?\""], "optional tail"),
        ("owner / kind, at, size", &["sort = \"{kind}[#{at}[#{size:number}]]\""], "optional tail"),
        ("owner / at, kind", &["sort = [\"at\", \"kind\"]", "\"at exists\", \"at between?\""], "`required`"),
        ("owner / kind", &["sort = \"kind\"", "where = [\"owner\", \"kind?\"]"], "No retrofit"),
    ];
    for (wanted, lines, why) in cases {
        std::fs::write(at.join("keyfold.toml"), manifest).unwrap();
        let added = done(at, &["--json", "init", "--new-index", wanted]);
        let text = added["added"].as_str().unwrap();
        assert!(lines.iter().all(|line| text.contains(line)), "{wanted}: {text}");
        assert!(added["why"].as_str().unwrap().contains(why), "{wanted}: {added}");
        done(at, &["check", "--strict"]);
        done(at, &["plan"]);
    }
}

#[test]
fn a_new_index_of_an_entity_knows_what_its_items_can_lack() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let manifest = "[tables.shop]\npartition = { attribute = \"PK\" }\nsort = { attribute = \"SK\" }\n\
                    [tables.shop.entities.order]\nwhen = { SK = { begins-with = \"O#\" } }\npartition = \"C#{customer}\"\nsort = \"O#{id}\"\n\
                    attributes = { customer = \"string\", id = \"string\", kind = { type = \"string\", required = true }, day = \"date\" }\n\
                    [tables.shop.entities.note]\nwhen = { SK = { begins-with = \"N#\" } }\npartition = \"C#{customer}\"\nsort = \"N#{id}\"\n\
                    attributes = { customer = \"string\", id = \"string\", text = \"string\" }\n";
    for (wanted, line) in [
        ("kind / day", "where = [\"kind\", \"day exists\", \"day between?\"]"),
        ("day / kind", "where = [\"day\", \"kind?\"]"),
        ("customer / kind, day", "{kind}[#{day}]"),
        ("customer / day, kind", "where = [\"customer\", \"day exists\", \"day between?\", \"kind?\"]"),
    ] {
        std::fs::write(at.join("keyfold.toml"), manifest).unwrap();
        let added = done(at, &["--json", "init", "--new-index", wanted, "--entity", "order"]);
        assert!(added["added"].as_str().unwrap().contains(line), "{wanted}: {added}");
        done(at, &["check", "--strict"]);
        done(at, &["plan"]);
    }
}

/// Orders and their lines: both have an order number and a size.
const LINES: &str = "[tables.shop]\npartition = { attribute = \"PK\" }\nsort = { attribute = \"SK\" }\n\
                     [tables.shop.entities.order]\nwhen = { SK = { begins-with = \"META\" } }\npartition = \"O#{order}\"\nsort = \"META\"\n\
                     attributes = { order = \"string\", size = { type = \"number\", required = true } }\n\
                     [tables.shop.entities.line]\nwhen = { SK = { begins-with = \"L#\" } }\npartition = \"O#{order}\"\nsort = \"L#{line}\"\n\
                     [tables.shop.entities.line.attributes]\norder = \"string\"\nline = \"string\"\n\
                     size = { type = \"number\", required = true }\nproduct = { type = \"string\", required = true }\n";

#[tokio::test]
async fn the_templates_of_an_index_of_one_entity_give_keys_to_its_items_only() {
    let site = Site::new(
        "[tables.shop]\npartition = \"PK\"\nsort = \"SK\"\nattributes = { PK = \"string\", SK = \"string\" }\n",
    );
    site.create(site.table("shop"), true).await;
    let item = |at: usize, sort: String| {
        let keys = [("PK", format!("O#{}", at / 4)), ("SK", sort)];
        let mut item = item_of(keys);
        item.insert("order", AttributeValue::S((at / 4).to_string()));
        item.insert("size", AttributeValue::N(at.to_string()));
        item
    };
    let orders = (0..5).map(|at| item(at * 4, "META".to_owned()));
    let lines = (0..20).map(|at| {
        let mut line = item(at, format!("L#{at}"));
        line.insert("line", AttributeValue::S(at.to_string()));
        line.insert("product", AttributeValue::S(format!("p{}", at % 3)));
        line
    });
    site.load(site.table("shop"), orders.chain(lines)).await;
    for (wanted, templates, keys) in [
        ("order, size / product", "partition = \"{order}#{size:number}\"\n", 1),
        ("product / order, size", "sort = \"{order}#{size:number}\"\n", 1),
        (
            "product, size / line, order",
            "partition = \"{product}#{size:number}\"\nsort = \"{line}[#{order}]\"\n",
            2,
        ),
    ] {
        site.rewrite(LINES);
        let added = site.done(&["init", "--new-index", wanted, "--entity", "line"]);
        let section = format!(
            "\n[tables.shop.entities.line.indexes.{}]\n{templates}",
            added["index"].as_str().unwrap()
        );
        assert!(added["added"].as_str().unwrap().contains(&section), "{added}");
        site.done(&["check", "--strict"]);
        let plan = site.done(&["retrofit", "plan", added["retrofit"].as_str().unwrap(), "--full"]);
        let found = plan["diff"]["found"].as_array().unwrap();
        let changes: Vec<_> =
            found.iter().map(|one| (&one["entity"], &one["change"], &one["items"])).collect();
        assert_eq!(changes, vec![(&json!("line"), &json!("added"), &json!(20)); keys], "{wanted}");
        assert_eq!(plan["counts"]["written"], json!(20), "{plan}");
    }
}

/// The keys of an index answer the same question a second time, and the table's own keys too.
#[test]
fn a_new_index_that_makes_nothing_cheaper_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let notes = "[tables.notes]\npartition = \"id\"\nsort = \"at\"\n[tables.notes.attributes]\nid = \"string\"\nat = \"timestamp\"\n\
                 owner = { type = \"string\", required = true }\nsize = { type = \"number\", required = true }\n\
                 kind = { type = \"string\", required = true }\n";
    for (manifest, wanted, more, from) in [
        (notes, "id / at", &[][..], "its own key"),
        (notes, "owner, kind / at", &[], "index `byOwnerKind`"),
        (notes, "owner, size / at", &[], "index `byOwnerSize`"),
        (LINES, "order", &["--entity", "order"], "its own key"),
        (LINES, "product / size, order", &["--entity", "line"], "index `byProduct`"),
    ] {
        std::fs::write(at.join("keyfold.toml"), manifest).unwrap();
        let words = [&["init", "--new-index", wanted], more].concat();
        if from != "its own key" {
            done(at, &[&["--json"], words.as_slice()].concat());
        }
        let before = std::fs::read_to_string(at.join("keyfold.toml")).unwrap();
        let refusal = refused(at, &words);
        let says = format!(
            "answers this question from {from}, and an index would not make it cheaper; nothing was changed"
        );
        assert!(refusal.contains(&says), "{wanted}: {refusal}");
        assert_eq!(std::fs::read_to_string(at.join("keyfold.toml")).unwrap(), before);
        // The hint can be pasted.
        let question = refusal.split("the question alone:\n").nth(1).unwrap();
        std::fs::write(at.join("keyfold.toml"), format!("{before}{question}")).unwrap();
        done(at, &["check", "--strict"]);
    }
    // A whole projection saves the reads of the table.
    let keys_only = "\n[tables.notes.indexes.byOwner]\npartition = \"owner\"\nsort = \"at\"\nprojection = \"keys-only\"\n";
    std::fs::write(at.join("keyfold.toml"), format!("{notes}{keys_only}")).unwrap();
    done(at, &["init", "--new-index", "owner / at"]);
    done(at, &["check", "--strict"]);
}

#[test]
fn an_index_that_would_not_fit_or_not_answer_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let inline = "[tables.shop]\npartition = \"id\"\nentity-attribute = \"kind\"\n\
                  attributes = { id = \"string\", kind = \"string\", size = \"number\" }\n\
                  entities = { order = { attributes = { day = { type = \"date\", required = true } } } }\n";
    let scoped = "[tables.shop]\npartition = \"id\"\nscope = { owner = \"jwt.sub\" }\n\
                  attributes = { id = \"string\", owner = \"string\", day = { type = \"date\", required = true } }\n";
    for (manifest, wanted, why) in [
        (inline, "day, size", "hint: write inline tables as sections, like [tables.shop.indexes.NAME]"),
        (scoped, "day / id", "an index with this key does not answer its question"),
    ] {
        std::fs::write(at.join("keyfold.toml"), manifest).unwrap();
        let refusal = refused(at, &["init", "--new-index", wanted]);
        assert!(refusal.contains(why) && refusal.contains("nothing was changed"), "{refusal}");
        assert_eq!(std::fs::read_to_string(at.join("keyfold.toml")).unwrap(), manifest);
    }
}

#[test]
fn a_table_with_all_the_indexes_it_may_have_gets_a_second_table_for_a_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut text =
        "[tables.notes]\nname = \"Notes\"\npartition = \"id\"\nsort = \"at\"\n\n[tables.notes.attributes]\n\
                    id = \"string\"\nat = \"timestamp\"\nname = \"string\"\nowner = \"string\"\n"
            .to_owned();
    for number in 0..20 {
        let index = format!("\n[tables.notes.indexes.by{number:02}]\npartition = \"owner\"\nsort = \"id\"\n");
        text.push_str(&index);
    }
    std::fs::write(at.join("keyfold.toml"), text).unwrap();
    let added = done(at, &["--json", "init", "--new-index", "owner, name / at"]);
    assert!(added["why"].as_str().unwrap().contains("has 20 global indexes"), "{added}");
    let text = std::fs::read_to_string(at.join("keyfold.toml")).unwrap();
    let model = manifest::parse("keyfold.toml", &text).model.unwrap();
    let (first, second) = (model.table("notes").unwrap(), model.table("notesV2").unwrap());
    assert_eq!((second.name.as_str(), second.indexes.len()), ("Notes-v2", 1));
    assert!(second.attributes.keys().eq(first.attributes.keys()));
    let retrofit = model.retrofits.first().map(|retrofit| retrofit.name.as_str());
    assert_eq!((retrofit, added["retrofit"].as_str()), (Some("notesByOwnerNameCopy"), retrofit));
    done(at, &["check"]);
    done(at, &["plan"]);
}

#[test]
fn a_second_table_has_the_entities_without_their_keys_of_other_indexes() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut text = "[tables.shop]\nverbatim = true\npartition = { attribute = \"PK\" }\n\n[tables.shop.attributes]\n\
                    kind = { type = \"string\", required = true }\n\n[tables.shop.attributes.indexes]\ntype = \"string\"\n\n\
                    [tables.shop.entities.order]\npartition = \"O#{order}\"\n\
                    attributes = { order = \"string\", size = { type = \"number\", required = true } }\n\n\
                    [tables.shop.entities.order.indexes.by00]\npartition = \"S#{kind}\"\n\n\
                    [tables.shop.indexes.by00]\npartition = { attribute = \"key00\" }\n"
        .to_owned();
    for number in 1..20 {
        text.push_str(&format!("\n[tables.shop.indexes.by{number:02}]\npartition = \"indexes\"\n"));
    }
    std::fs::write(at.join("keyfold.toml"), text).unwrap();
    done(at, &["--json", "init", "--new-index", "kind, size"]);
    let text = std::fs::read_to_string(at.join("keyfold.toml")).unwrap();
    let model = manifest::parse("keyfold.toml", &text).model.unwrap();
    let second = model.table("shopV2").unwrap();
    assert!(second.indexes.len() == 1 && second.attributes.contains_key("indexes"), "{text}");
    let KeySource::Folded(rules) = &second.indexes[0].partition[0].source else { panic!("{text}") };
    assert_eq!((rules.len(), rules[0].template.mode()), (1, KeyMode::Escaped), "{text}");
    assert!(rules[0].entity.is_some(), "{text}");
}
