//! Which items have a key, and which cannot.

use super::*;
use crate::key::FoldError;

fn refused(text: &str, values: &[(&str, &str)]) -> FoldError {
    template(text).fold(&item(values)).unwrap_err()
}

#[test]
fn an_item_that_lacks_a_part_has_no_key() {
    assert_eq!(template("{a}#{b}").fold(&item(&[("a", "x")])).unwrap(), None);
    assert_eq!(template("{a}[#{b}]").fold(&item(&[("b", "x")])).unwrap(), None);
}

#[test]
fn optional_tails_are_left_out_from_the_right() {
    let text = "{a}[#{b}[/{c}]]";
    assert_eq!(key(text, &[("a", "x")]), "x");
    assert_eq!(key(text, &[("a", "x"), ("b", "y")]), "x#y");
    assert_eq!(key(text, &[("a", "x"), ("b", "")]), "x#");
    assert_eq!(key(text, &[("a", "x"), ("b", "y"), ("c", "z")]), "x#y/z");
    assert_eq!(key(text, &[("a", "x#y"), ("b", "/"), ("c", "#/")]), "x%23y#%2F/#/");
}

#[test]
fn a_tail_with_a_gap_is_refused() {
    let gap = |text, values: &[(&str, &str)]| {
        let error = refused(text, values);
        assert_eq!(error.problem, FoldProblem::OptionalGap);
        error.attribute.unwrap()
    };
    assert_eq!(gap("{a}[#{b}[/{c}]]", &[("a", "x"), ("c", "z")]), "c");
    assert_eq!(gap("{a}[#{b}/{c}]", &[("a", "x"), ("c", "z")]), "c");
    assert_eq!(gap("{a}[#{b}/{c}]", &[("a", "x"), ("b", "y")]), "b");
}

#[test]
fn a_tail_that_begins_with_an_attribute_must_add_something() {
    assert_eq!(key("{n:03}[{a}]", &[("n", "5")]), "005");
    assert_eq!(key("{n:03}[{a}]", &[("n", "5"), ("a", "x")]), "005x");
    assert_eq!(problem("{n:03}[{a}]", &[("n", "5"), ("a", "")]), FoldProblem::EmptyOptional);
    assert_eq!(problem("{n:03}[{a}-{b}]", &[("n", "5"), ("a", ""), ("b", "x")]), FoldProblem::EmptyOptional);
    assert_eq!(key("{n:03}[-{a}]", &[("n", "5"), ("a", "")]), "005-");
}

#[test]
fn a_value_of_another_type_is_refused() {
    let wrong = |expected, found| FoldProblem::WrongType { expected, found };
    let typed = |text: &str, name: &str, value: AttributeValue| {
        let item = Item::from(HashMap::from([(name.to_owned(), value)]));
        template(text).fold(&item).unwrap_err().problem
    };
    assert_eq!(typed("{a}", "a", number("1")), wrong("S", "N"));
    assert_eq!(typed("{a|lower}", "a", number("1")), wrong("S", "N"));
    assert_eq!(typed("{a|shard:4}", "a", number("1")), wrong("S", "N"));
    assert_eq!(typed("{a|map:short}", "a", number("1")), wrong("S", "N"));
    assert_eq!(typed("{n}", "n", text("1")), wrong("N", "S"));
    assert_eq!(typed("{n:06}", "n", text("1")), wrong("N", "S"));
    assert_eq!(typed("{n:number}", "n", text("1")), wrong("N", "S"));
    assert_eq!(typed("{at}#", "at", number("1")), wrong("S", "N"));
    assert_eq!(typed("{day}#", "day", AttributeValue::Null(true)), wrong("S", "NULL"));
    assert_eq!(typed("{bytes|hex}", "bytes", text("1")), wrong("B", "S"));
    assert_eq!(typed("{flag}#", "flag", text("true")), wrong("BOOL", "S"));
    assert_eq!(typed("{action}", "action", AttributeValue::L(vec![])), wrong("S", "L"));
}

#[test]
fn a_value_that_is_not_listed_is_refused() {
    assert_eq!(problem("{action}", &[("action", "copied")]), FoldProblem::NotListed);
    let not_in_map = |map: &str| FoldProblem::NotInMap { map: map.to_owned() };
    assert_eq!(problem("{a|map:short}", &[("a", "white")]), not_in_map("short"));
    assert_eq!(problem("{level|map:names}", &[("level", "3")]), not_in_map("names"));
}

#[test]
fn bytes_are_text_or_hexadecimal() {
    let of = |text: &str, bytes: &[u8]| {
        template(text).fold(&HashMap::from([("bytes".to_owned(), AttributeValue::B(bytes.to_vec()))]).into())
    };
    assert_eq!(of("{bytes}#", "é#".as_bytes()).unwrap().unwrap(), "é%23#");
    assert_eq!(of("{bytes}#", &[0xff]).unwrap_err().problem, FoldProblem::NotText);
    assert_eq!(of("{bytes|hex}#", &[0, 0x1f, 0xff]).unwrap().unwrap(), "001fff#");
}

#[test]
fn letter_case_is_mapped_letter_by_letter() {
    assert_eq!(key("{a|lower}#", &[("a", "ÀΣ ODYSSEUΣ#")]), "àσ odysseuσ%23#");
    assert_eq!(key("{a|upper}#", &[("a", "straße")]), "STRASSE#");
    assert_eq!(key("{a|lower}#", &[("a", "İ")]), "i\u{307}#");
}

#[test]
fn a_verbatim_key_refuses_what_it_could_not_be_read_back_from() {
    let of = |text: &str, a: &str| verbatim(text).fold(&item(&[("a", a), ("b", "x-y%")]));
    let refused = |separator: &str| FoldProblem::Separator { separator: separator.to_owned() };
    assert_eq!(of("{a}-{b}", "50%").unwrap().unwrap(), "50%-x-y%");
    assert_eq!(of("{a}-{b}", "x-").unwrap_err().problem, refused("-"));
    assert_eq!(of("{a}--{b}", "x-y").unwrap().unwrap(), "x-y--x-y%");
    assert_eq!(of("{a}--{b}", "x-").unwrap_err().problem, refused("--"));
    assert_eq!(of("{a}--{b}", "x--y").unwrap_err().problem, refused("--"));
    assert_eq!(of("{a}aba{b}", "xab").unwrap_err().problem, refused("aba"));
    assert_eq!(of("{a}aba{b}", "xa").unwrap().unwrap(), "xaabax-y%");
    assert_eq!(of("{a}%{b}", "x").unwrap().unwrap(), "x%x-y%");
}

#[test]
fn a_key_is_neither_empty_nor_too_long() {
    assert_eq!(problem("{a}", &[("a", "")]), FoldProblem::EmptyKey);
    let fold = |role, length: usize| {
        let template = Template::parse("{a}", &attributes(), role, KeyMode::Escaped).unwrap();
        template.fold(&item(&[("a", &"é".repeat(length / 2))])).map(|key| key.unwrap().len())
    };
    let too_long = |error: FoldError| error.problem;
    assert_eq!(fold(KeyRole::Sort, 1024).unwrap(), 1024);
    assert_eq!(
        fold(KeyRole::Sort, 1026).map_err(too_long),
        Err(FoldProblem::TooLong { bytes: 1026, bytes_max: 1024 })
    );
    assert_eq!(fold(KeyRole::Partition, 2048).unwrap(), 2048);
    assert_eq!(
        fold(KeyRole::Partition, 2050).map_err(too_long),
        Err(FoldProblem::TooLong { bytes: 2050, bytes_max: 2048 })
    );
}

#[test]
fn an_error_names_template_and_attribute_and_no_contents() {
    let error = refused("{n:06}#{a}", &[("n", "secret"), ("a", "x")]);
    assert_eq!(error.attribute.as_deref(), Some("n"));
    assert_eq!(error.to_string(), "template `{n:06}#{a}`: attribute `n` is not a DynamoDB number");
    let error = refused("{a}", &[("a", "")]);
    assert_eq!(
        (error.attribute.as_deref(), error.to_string().as_str()),
        (None, "template `{a}`: the key is empty")
    );
}
