//! A trial of the way back before a switch: items of the source are mapped to the target and back again. Nothing is written.
//!
//! The manifest decides whether a retrofit has a way back. Single items can still lack one, because of what they hold.

use super::context::OperationContext;
use super::effect::{Effect, PageSource, Reply};
use super::outcome::Outcome;
use super::parts::{Part, PartStep};
use crate::retrofit::request::TableRole;
use crate::retrofit::there_and_back::{NotCarriedBack, ThereAndBack};
use crate::value::Item;

/// Items of one page.
const PAGE_ITEMS: u32 = 500;
/// The most pages that are read to find an item of every entity.
const PAGES_MAX: u32 = 8;

/// A trial at work.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Trial {
    tried: ThereAndBack,
    items: u64,
    pages: u32,
    after: Option<Item>,
    is_over: bool,
}

impl Trial {
    /// A trial for a retrofit with a way back; `None` for others.
    pub(super) fn of(context: &OperationContext) -> Option<Trial> {
        let tried = ThereAndBack::of(&context.mapping)?;
        Some(Trial { tried, items: 0, pages: 0, after: None, is_over: false })
    }

    /// Refused where no item of an entity comes back.
    fn end(&self, context: &OperationContext) -> Result<(), Box<Outcome>> {
        // Only whole entities: a single odd item among millions is no reason to refuse, and the notes name it.
        let lost = listed(self.tried.lost());
        if lost.is_empty() {
            return Ok(());
        }
        let (retrofit, source) = (context.mapping.name(), &context.mapping.source().name);
        let message = format!(
            "retrofit `{retrofit}` is not moved: of {} items of table `{source}` that were tried, none of these would be carried back after a \
             change in the target: {lost}",
            self.items
        );
        Err(Box::new(Outcome::refused("entity-without-way-back", message).hinted(format!(
            "`keyfold retrofit plan {retrofit} --full` lists all such items; `switch --for-good` moves the writers without a way back"
        ))))
    }

    /// Notes for a switch that continues.
    fn notes(&self) -> impl Iterator<Item = String> {
        let untried: Vec<&str> = self.tried.untried().collect();
        let untried = (!untried.is_empty()).then(|| {
            let untried = untried.join(", ");
            format!(
                "the way back was not tried for these entities, because no item of them was read: {untried}"
            )
        });
        let refused = listed(self.tried.refused());
        let refused = (!refused.is_empty()).then(|| {
            format!("these items would not be carried back after a change in the target, and keep `switch --back` from ending: {refused}")
        });
        untried.into_iter().chain(refused)
    }
}

fn listed<'t>(all: impl Iterator<Item = NotCarriedBack<'t>>) -> String {
    all.map(|one| one.to_string()).collect::<Vec<_>>().join("; ")
}

impl Part for Trial {
    type End = Result<(), Box<Outcome>>;

    fn next(&self, context: &OperationContext) -> PartStep<Result<(), Box<Outcome>>> {
        if self.is_over {
            return PartStep::Over(self.end(context));
        }
        let of = PageSource::Scan(TableRole::Source);
        PartStep::Ask(Effect::Page { of, after: self.after.clone(), limit: PAGE_ITEMS })
    }

    fn take(&mut self, context: &mut OperationContext, reply: Reply) {
        let Reply::Page { items, last } = reply else { unreachable!("{reply:?} is no page") };
        for item in &items {
            // An item that does not fit is in the quarantine, and one that is not selected stays where it is.
            if let Ok(Some(mapped)) = context.mapping.target_item(item) {
                self.tried.add(item, &mapped);
                self.items += 1;
            }
        }
        // Bounded: in a table without items of one entity, the whole table would be read for it.
        self.pages += 1;
        self.is_over = last.is_none() || self.pages == PAGES_MAX || self.tried.untried().next().is_none();
        // A refusal names the lost items itself: the notes would repeat them.
        if self.is_over && self.tried.lost().next().is_none() {
            context.notes.extend(self.notes());
        }
        self.after = last;
    }
}
