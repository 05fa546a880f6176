//! The candidates for the word at the cursor. A function of the commands, the manifest and the line; it reads no database.
//!
//! The place of the word comes from clap: a command, a flag, or an argument. The name of an argument's value says what it takes:
//! `TABLE`, `QUESTION`, `CONDITION` and so on.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use clap::{Arg, ArgAction, Command};
use keyfold_core::model::{Attribute, AttributeKind, Model, QuestionCondition, Table, WhenTest};
use keyfold_core::query::question::param_name;
use keyfold_core::value::AttributeValue;

use crate::request::OPERATORS;

/// Candidates, with `true` if the word is complete then.
type Candidates = Vec<(String, bool)>;

/// The start of the line's last word, and the candidates for it, quoted.
pub(super) fn complete(grammar: &Command, model: Option<&Model>, line: &str) -> (usize, Vec<String>) {
    // The last space that is outside of quotes: what is before it can be split into words.
    let outside = |at: &usize| shlex::split(&line[..*at]).is_some();
    let spaces = line.rmatch_indices(char::is_whitespace);
    let (split, start) =
        spaces.map(|(at, space)| (at, at + space.len())).find(|(at, _)| outside(at)).unwrap_or((0, 0));
    let before = shlex::split(&line[..split]).unwrap_or_default();
    let closed = ["", "'", "\""].iter().find_map(|end| shlex::split(&format!("{}{end}", &line[start..])));
    let typed = closed.and_then(|mut words| words.pop()).unwrap_or_default();
    let candidates: BTreeSet<(String, bool)> = Place::of(grammar, &before)
        .candidates(model, &typed)
        .into_iter()
        .filter(|(text, complete)| text.starts_with(&typed) && (*complete || *text != typed))
        .collect();
    (start, candidates.iter().map(|(text, complete)| quoted(text, *complete)).collect())
}

/// A candidate with a backslash before special characters, and a space at the end if it is complete.
fn quoted(text: &str, complete: bool) -> String {
    let special = |letter: char| letter.is_whitespace() || "'\"\\#".contains(letter);
    let escape = |letter| special(letter).then_some('\\').into_iter().chain([letter]);
    text.chars().flat_map(escape).chain(complete.then_some(' ')).collect()
}

/// The place of a word.
struct Place<'l> {
    /// The innermost command before it.
    command: &'l Command,
    /// The arguments of that command before it.
    given: Vec<(&'l Arg, &'l str)>,
    /// The option that it is the value of.
    option: Option<&'l Arg>,
}

impl<'l> Place<'l> {
    fn of(grammar: &'l Command, before: &'l [String]) -> Place<'l> {
        let mut place = Place { command: grammar, given: Vec::new(), option: None };
        for word in before {
            if let Some(option) = place.option.take() {
                place.given.push((option, word));
            } else if word.starts_with('-') {
                let (name, value) =
                    word.split_once('=').map_or((&**word, None), |(name, value)| (name, Some(value)));
                let option = place.flag(name).filter(|arg| arg.get_action().takes_values());
                match (option, value) {
                    (Some(option), Some(value)) => place.given.push((option, value)),
                    (option, _) => place.option = option,
                }
            } else if let Some(command) = place.command.find_subcommand(word) {
                place.command = command;
            } else if let Some(argument) = place.argument() {
                place.given.push((argument, word));
            }
        }
        place
    }

    fn flag(&self, name: &str) -> Option<&'l Arg> {
        let long = |arg: &Arg| name.strip_prefix("--").is_some_and(|name| arg.get_long() == Some(name));
        let short = |arg: &Arg| arg.get_short().is_some_and(|short| name == format!("-{short}"));
        self.command.get_arguments().find(|arg| long(arg) || short(arg))
    }

    /// The argument without a flag that comes next.
    fn argument(&self) -> Option<&'l Arg> {
        let given = |arg: &Arg| self.given.iter().any(|(given, _)| given.get_id() == arg.get_id());
        self.command
            .get_positionals()
            .find(|arg| matches!(arg.get_action(), ArgAction::Append) || !given(arg))
    }

    fn candidates(&self, model: Option<&Model>, typed: &str) -> Candidates {
        if self.option.is_none() && typed.starts_with('-') {
            return self
                .command
                .get_arguments()
                .filter_map(Arg::get_long)
                .map(|long| (format!("--{long}"), true))
                .collect();
        }
        let mut candidates = Vec::new();
        if self.option.is_none() {
            let commands = self.command.get_subcommands().filter(|command| !command.is_hide_set());
            candidates.extend(commands.map(|command| (command.get_name().to_owned(), true)));
        }
        if let Some(argument) = self.option.or_else(|| self.argument()) {
            let listed = argument.get_possible_values();
            candidates.extend(listed.iter().map(|value| (value.get_name().to_owned(), true)));
            candidates.extend(model.into_iter().flat_map(|model| self.values(argument, model, typed)));
        }
        candidates
    }

    /// The manifest's names and values for an argument.
    fn values(&self, argument: &Arg, model: &Model, typed: &str) -> Candidates {
        let whole = |names: Vec<&String>| names.into_iter().map(|name| (name.clone(), true)).collect();
        let tables = self.tables(model);
        let in_tables = || tables.iter().copied();
        let attributes =
            || in_tables().flat_map(|table| table.attributes.values().map(move |one| (table, one)));
        let conditions = |signs: &[&str]| {
            compared(attributes().map(|(table, one)| (one.name.clone(), listed(table, one))), signs, typed)
        };
        match takes(argument) {
            "TABLE" => whole(model.tables.iter().map(|table| &table.id).collect()),
            "RETROFIT" => whole(model.retrofits.iter().map(|retrofit| &retrofit.name).collect()),
            "INDEX" => whole(in_tables().flat_map(|table| &table.indexes).map(|index| &index.name).collect()),
            "ENTITY" => whole(in_tables().flat_map(|table| &table.entities).map(|one| &one.name).collect()),
            "QUESTION" => {
                whole(in_tables().flat_map(|table| model.questions_of(table)).map(|one| &one.name).collect())
            }
            "ATTRIBUTE" => {
                let signed = argument.is_allow_hyphen_values_set() && typed.starts_with('-');
                let sign = if signed { "-" } else { "" };
                attributes().map(|(_, one)| (format!("{sign}{}", one.name), true)).collect()
            }
            "CONDITION" => {
                conditions(&OPERATORS.iter().map(|(sign, _)| *sign).chain(["?", "!?"]).collect::<Vec<_>>())
            }
            "NAME=VALUE" if self.command.get_name() == "ask" => {
                compared(self.parameters(model).into_iter(), &["="], typed)
            }
            "NAME=VALUE" if argument.get_long() == Some("if") => conditions(&["=", ":=", "!?"]),
            "NAME=VALUE" => conditions(&["=", ":="]),
            _ => Vec::new(),
        }
    }

    /// The tables that the line names, or all.
    fn tables<'m>(&self, model: &'m Model) -> Vec<&'m Table> {
        let named: Vec<&Table> = self.words("TABLE").filter_map(|name| model.table(name)).collect();
        if named.is_empty() { model.tables.iter().collect() } else { named }
    }

    /// The words that were given for arguments of this value name.
    fn words(&self, what: &str) -> impl Iterator<Item = &'l str> {
        self.given.iter().filter(move |(argument, _)| takes(argument) == what).map(|(_, word)| *word)
    }

    /// The parameters of the question that have no value yet, and those that every question has.
    fn parameters(&self, model: &Model) -> Vec<(String, Vec<String>)> {
        let mut parameters: Vec<(String, Vec<String>)> =
            [("count", &["true"][..]), ("limit", &[]), ("order", &[])]
                .map(|(name, values)| (name.to_owned(), values.iter().map(ToString::to_string).collect()))
                .to_vec();
        for table in self.tables(model) {
            for question in
                model.questions_of(table).filter(|one| self.words("QUESTION").any(|name| name == one.name))
            {
                let of = |condition: &QuestionCondition| {
                    let values = table.attributes.get(&condition.attribute).map(|one| listed(table, one));
                    (param_name(condition), values.unwrap_or_default())
                };
                parameters.extend(question.parameters().iter().map(of));
            }
        }
        let given = |name: &str| {
            self.words("NAME=VALUE").any(|word| word.split_once('=').is_some_and(|(given, _)| given == name))
        };
        parameters.retain(|(name, _)| !given(name));
        parameters
    }
}

/// The name of an argument's value.
fn takes(argument: &Arg) -> &str {
    argument.get_value_names().and_then(<[_]>::first).map_or("", |name| name.as_str())
}

/// Names, with an operator once the name is complete, with a value once the operator is. A single operator comes with the name.
fn compared(names: impl Iterator<Item = (String, Vec<String>)>, signs: &[&str], typed: &str) -> Candidates {
    let mut candidates = Vec::new();
    for (name, values) in names {
        if signs.len() > 1 {
            candidates.push((name.clone(), false));
        }
        for sign in signs.iter().filter(|_| signs.len() == 1 || typed.starts_with(&name)) {
            let prefix = format!("{name}{sign}");
            if typed.starts_with(&prefix) {
                candidates.extend(values.iter().map(|value| (format!("{prefix}{value}"), true)));
            }
            candidates.push((prefix, false));
        }
    }
    candidates
}

/// The values that the manifest lists for an attribute, and those that select an entity.
fn listed(table: &Table, attribute: &Attribute) -> Vec<String> {
    if attribute.kind == AttributeKind::Boolean {
        return ["true", "false"].map(str::to_owned).to_vec();
    }
    let whens = table.entities.iter().flat_map(|entity| &entity.when);
    let of_entities =
        whens.filter(|when| when.attribute == attribute.name).filter_map(|when| match &when.test {
            WhenTest::In(values) => Some(values),
            WhenTest::Exists(_) | WhenTest::BeginsWith(_) => None,
        });
    let plain = |value: &AttributeValue| match value {
        AttributeValue::S(text) | AttributeValue::N(text) => Some(text.clone()),
        _ => None,
    };
    attribute.values.iter().chain(of_entities).flatten().filter_map(plain).collect()
}
