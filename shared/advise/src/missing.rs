//! The attribute that would have to exist for a question that no index can serve.

use keyfold_core::model::{Operator, Question, Table};

use crate::shape::Part;

/// A remedy for a question that nothing serves, or only at a high price.
pub(crate) fn missing_attribute(table: &Table, question: &Question) -> String {
    let contains = question.parameters().into_iter().find(|asked| asked.operator == Operator::Contains);
    if let Some(asked) = contains {
        let name = asked.attribute;
        return format!(
            "an index cannot look into `{name}`: store one item for each value in it, with an attribute (for example \
             `{name}Value`) that holds this value, and ask for that attribute by equality"
        );
    }
    for part in Part::all(table, question) {
        let (ranged, order) = part.ranges_and_order();
        if part.equal.is_empty() {
            let of = ranged.iter().chain(order).next();
            let example = of.map_or_else(String::new, |name| format!(", for example the month of `{name}`"));
            return format!(
                "nothing is asked by equality: add an attribute that divides the items into groups{example}, and ask for it \
                 by equality"
            );
        }
        if let Some(second) = ranged.iter().find(|name| !order.is_empty() && !order.contains(name)) {
            return format!(
                "the order by `{}` takes the sort key, so the range of `{second}` is filtered: add an attribute that divides \
                 `{second}` into steps (for example `{second}Step`), and ask for it by equality",
                order[0]
            );
        }
        if let [_, second, ..] = ranged {
            return format!(
                "a sort key answers one range, so the range of `{second}` is filtered: add an attribute that divides `{second}` \
                 into steps (for example `{second}Step`), and ask for it by equality"
            );
        }
    }
    "its partitions hold many items: ask for one more attribute by equality, or set a `limit`".to_owned()
}
