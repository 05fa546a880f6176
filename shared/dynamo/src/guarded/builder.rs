//! Sets the expressions of a write on the SDK's builders.

/// Sets the write's table, condition and placeholders on an SDK builder. The six builders of guarded writes have these
/// setters, but no common trait.
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
