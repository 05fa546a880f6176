//! What becomes of a value that does not fit: the remedies that the manifest gives it, one after the other, until the item fits.
//!
//! Items that fit are not looked at twice: a remedy touches nothing that is right.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::index::{ItemError, ItemProblem};
use crate::model::{KeyAttribute, MisfitOf, Remedy, Retrofit, Table};
use crate::value::{AttributeValue, Item, Name, Number};

/// From this number on, a time is in milliseconds: as seconds it would be in the year 5138.
const MILLISECONDS_FROM: i64 = 100_000_000_000;

/// A remedy that was used on an item, with the attribute that it was for.
pub(super) type Used<'r> = (&'r str, &'r Remedy);

/// The item with its keys, and what was done so that it has them. Attributes in `not_stored` are not stored unless a remedy
/// changes them.
pub(super) fn fitted<'r>(
    retrofit: &'r Retrofit,
    target: &'r Table,
    item: Item,
    not_stored: &[Name],
) -> Result<(Item, Vec<Used<'r>>), ItemError> {
    let entity = target.entity_of(&item).ok().flatten().map(|id| target.entities[id.0].name.as_str());
    let mut mending = Mending { item, entity, hidden: Vec::new(), used: Vec::new(), left: BTreeMap::new() };
    loop {
        let is_changed = |name: &Name| mending.used.iter().any(|(used, _)| name == used);
        let unchanged: Vec<Name> = not_stored.iter().filter(|name| !is_changed(name)).cloned().collect();
        let error = match target.with_keys_of(mending.item.clone(), &unchanged) {
            Ok(fitted) => return mending.finished(target, fitted, not_stored),
            Err(error) => error,
        };
        let remedy = concerned(target, &error).find_map(|attribute| mending.next(retrofit, attribute));
        match remedy {
            Some((attribute, remedy)) => mending.apply(attribute, remedy),
            None => return Err(error),
        }
    }
}

/// The attributes of an error: the named one, or those that the key it names is made of.
fn concerned<'a>(target: &'a Table, error: &'a ItemError) -> impl Iterator<Item = &'a str> {
    let place = error.at.attribute.as_deref();
    let named = match &error.problem {
        ItemProblem::Fold(error) => error.attribute.as_deref().or(place),
        _ => place,
    };
    let key = target.every_key().map(|(_, key)| key).find(move |key| Some(key.name.as_str()) == named);
    named.into_iter().chain(key.into_iter().flat_map(KeyAttribute::inputs))
}

/// An item on its way to fit.
struct Mending<'r> {
    item: Item,
    /// Its original value.
    entity: Option<&'r str>,
    /// Attributes that count as absent, with what they hold.
    hidden: Vec<(&'r str, AttributeValue)>,
    used: Vec<Used<'r>>,
    /// The remedies of an attribute that were not tried yet.
    left: BTreeMap<&'r str, &'r [Remedy]>,
}

impl<'r> Mending<'r> {
    fn next(&mut self, retrofit: &'r Retrofit, attribute: &str) -> Option<Used<'r>> {
        let of = |entity: Option<&str>| {
            let mut all = retrofit.misfits.iter();
            all.find(|(of, _)| of.attribute == attribute && of.entity.as_deref() == entity)
        };
        let own = self.entity.and_then(|entity| of(Some(entity)));
        let (MisfitOf { attribute: name, .. }, remedies) = own.or_else(|| of(None))?;
        let left = self.left.entry(name).or_insert(remedies);
        let (first, rest) = left.split_first()?;
        *left = rest;
        Some((name, first))
    }

    fn apply(&mut self, attribute: &'r str, remedy: &'r Remedy) {
        let before = self.item.get(attribute).cloned();
        let after = match (remedy, &before) {
            (Remedy::Absent, Some(value)) => {
                self.hidden.push((attribute, value.clone()));
                self.item.remove(attribute);
                self.used.push((attribute, remedy));
                return;
            }
            (Remedy::Default(value), _) => Some(value.clone()),
            (remedy, Some(value)) => converted(remedy, value),
            (_, None) => None,
        };
        if let Some(after) = after.filter(|after| before.as_ref() != Some(after)) {
            self.item.insert(attribute, after);
            self.used.push((attribute, remedy));
        }
    }

    /// A value that counts as absent is carried along unchanged, if DynamoDB takes it.
    fn finished(
        self,
        target: &Table,
        mut fitted: Item,
        not_stored: &[Name],
    ) -> Result<(Item, Vec<Used<'r>>), ItemError> {
        if !self.hidden.is_empty() {
            let is_stored = |(name, _): &(&str, AttributeValue)| !not_stored.iter().any(|left| left == name);
            fitted.extend(self.hidden.into_iter().filter(is_stored));
            target.check_item(&fitted)?;
        }
        Ok((fitted, self.used))
    }
}

/// The value in another form; `None` if it has none.
fn converted(remedy: &Remedy, value: &AttributeValue) -> Option<AttributeValue> {
    let (AttributeValue::S(text) | AttributeValue::N(text)) = value else { return None };
    let is_text = matches!(value, AttributeValue::S(_));
    match remedy {
        Remedy::Trim if is_text => Some(AttributeValue::S(text.trim().to_owned())),
        Remedy::Lower if is_text => Some(AttributeValue::S(text.to_lowercase())),
        Remedy::Upper if is_text => Some(AttributeValue::S(text.to_uppercase())),
        Remedy::ToNumber => {
            let number: Number = text.trim().parse().ok()?;
            Some(AttributeValue::N(number.to_string()))
        }
        Remedy::ToText => Some(AttributeValue::S(text.clone())),
        Remedy::ToTimestamp => timestamp(text.trim()).map(AttributeValue::S),
        _ => None,
    }
}

/// Seconds or milliseconds since 1970, as a timestamp.
fn timestamp(text: &str) -> Option<String> {
    let number: i64 = text.parse().ok()?;
    let time = match number.abs() < MILLISECONDS_FROM {
        true => Timestamp::from_second(number),
        false => Timestamp::from_millisecond(number),
    };
    time.ok().map(|time| time.to_string())
}
