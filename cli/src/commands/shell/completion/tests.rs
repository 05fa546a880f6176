//! Lines, and the candidates for their last word.

use super::*;

const MANIFEST: &str = r#"
[tables.pets]
partition = "owner"
sort = "petId"
entity-attribute = "kind"

[tables.pets.attributes]
owner = "string"
petId = "string"
kind = "string"
mood = { type = "string", values = ["calm", "can't say", "wild"] }
tame = "boolean"
born = "date"

[tables.pets.entities.parrot]
[tables.pets.entities.dog]

[tables.pets.indexes.byMood]
partition = "mood"
sort = "born"

[questions.pets.ofMood]
where = ["mood", "born beginsWith?"]

[tables.visits]
partition = "id"
attributes = { id = "string", mood = "number" }
"#;

fn grammar() -> Command {
    crate::commands::shell::grammar(&<crate::commands::Args as clap::CommandFactory>::command())
}

/// The candidates for a line with the cursor at its end, and the line without the word that they replace.
fn of(line: &str) -> (String, String) {
    let parsed = keyfold_core::manifest::parse("keyfold.toml", MANIFEST);
    let model = parsed.model.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
    let (start, candidates) = complete(&grammar(), Some(&model), line);
    (line[..start].to_owned(), candidates.join("|"))
}

#[test]
fn each_place_has_its_own_candidates() {
    for (line, expected) in [
        ("qu", "query "),
        ("retrofit re", "revise "),
        ("demo", ""),
        ("ex", "exit |explain "),
        ("put ", "pets |visits "),
        ("--json put v", "visits "),
        ("tables apply pets ", "pets |visits "),
        ("query -t ", "pets |visits "),
        ("query --table=pets --where bo", "born"),
        ("query --table visits --where ", "id|mood"),
        ("query --output ", "csv |jsonl |table "),
        ("query --out", "--output "),
        ("explain -t pets -o -b", "-born "),
        ("explain -t pets --entity d", "dog "),
        ("index add pets ", "byMood "),
        ("unfold -t visits --index ", ""),
        ("ask ", "ofMood "),
        ("ask ofMood ", "born.beginsWith=|count=|limit=|mood=|order="),
        ("ask ofMood limit=1 mood=calm ", "born.beginsWith=|count=|order="),
        ("ask ofMood mood=c", "mood=calm |mood=can\\'t\\ say "),
        ("ask -t visits ", ""),
        ("query -t pets --where mood", "mood!?|mood*=|mood<|mood<=|mood<>|mood=|mood>|mood>=|mood?|mood^="),
        ("query -t pets --where mood<", "mood<=|mood<>|mood<calm |mood<can\\'t\\ say |mood<wild "),
        ("query -t pets --where tame=", "tame=false |tame=true "),
        ("query -t pets --where kind=", "kind=dog |kind=parrot "),
        ("query -t visits --where mood=", ""),
        ("update pets --key ow", "owner"),
        ("update pets --key owner=ann --set mood", "mood:=|mood="),
        ("delete pets --if mood", "mood!?|mood:=|mood="),
        ("update pets --remove ta", "tame "),
    ] {
        assert_eq!(of(line).1, expected, "{line}");
    }
}

#[test]
fn a_word_is_replaced_from_its_beginning_also_within_quotes() {
    for (line, before, expected) in [
        ("query -t pets --where 'mood=ca", "query -t pets --where ", "mood=calm |mood=can\\'t\\ say "),
        ("query -t pets --where \"mood=can't s", "query -t pets --where ", "mood=can\\'t\\ say "),
        ("query -t pets --where mood=can\\'t\\ ", "query -t pets --where ", "mood=can\\'t\\ say "),
        (
            "query -t 'pets' --where born='a b' --where ta",
            "query -t 'pets' --where born='a b' --where ",
            "tame",
        ),
        ("put pets '{\"mood\": ", "put pets ", ""),
    ] {
        assert_eq!(of(line), (before.to_owned(), expected.to_owned()), "{line}");
    }
}

#[test]
fn without_a_manifest_commands_and_flags_are_completed() {
    let grammar = grammar();
    assert_eq!(complete(&grammar, None, "put ").1, [""; 0]);
    assert_eq!(complete(&grammar, None, "put pets --rep").1, ["--replace "]);
}
