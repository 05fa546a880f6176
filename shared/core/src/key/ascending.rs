//! By which attributes keys ascend.

use super::template::{Element, Template};

impl Template {
    /// The attributes by whose values the keys ascend, outermost first, among items in which the `fixed` attributes
    /// have one value each. Fixed attributes are left out.
    pub fn ascending(&self, fixed: &dyn Fn(&str) -> bool) -> Vec<&str> {
        let mut ascending = Vec::new();
        for element in &self.elements {
            let Element::Field { field, .. } = element else { continue };
            if fixed(&field.attribute) {
                continue;
            }
            if !field.is_ordered() {
                break;
            }
            if !ascending.contains(&field.attribute.as_str()) {
                ascending.push(field.attribute.as_str());
            }
        }
        ascending
    }
}
