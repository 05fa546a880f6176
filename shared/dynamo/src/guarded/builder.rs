//! The expressions of a write, given to the SDK.

/// Gives a builder of the SDK the write's table, condition and placeholders. The six builders of guarded writes have these
/// setters, and no trait in common.
macro_rules! guarded {
    ($builder:expr, $table:expr, $expressions:expr) => {
        $builder
            .table_name(&$table.name)
            .set_condition_expression($expressions.condition)
            .set_expression_attribute_names(crate::values::names_to_sdk(&$expressions.names))
            .set_expression_attribute_values(crate::values::values_to_sdk(&$expressions.values))
    };
}
pub(super) use guarded;
