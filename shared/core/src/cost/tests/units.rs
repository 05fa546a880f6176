use crate::cost::{ReadUnits, WriteUnits};

#[test]
fn units_are_shown_without_noise() {
    let shown = |halves| ReadUnits::from_halves(halves).to_string();
    assert_eq!([shown(0), shown(1), shown(2), shown(5)], ["0", "0.5", "1", "2.5"]);
    assert_eq!(WriteUnits::new(3).to_string(), "3");
    assert!((ReadUnits::from_halves(5).as_f64() - 2.5).abs() < f64::EPSILON);
}

#[test]
fn a_write_takes_one_unit_for_each_kb_begun() {
    let units = |bytes| WriteUnits::of(bytes).get();
    assert_eq!([units(0), units(500), units(1024), units(1025), units(3 * 1024)], [1, 1, 1, 2, 3]);
}

#[test]
fn a_failed_condition_costs_as_much_as_the_larger_item() {
    let units = |old, new| WriteUnits::of_change(old, new).get();
    assert_eq!(units(None, None), 1);
    assert_eq!(units(Some(3000), None), 3);
    assert_eq!(units(None, Some(3000)), 3);
    assert_eq!(units(Some(100), Some(3000)), 3);
}

#[test]
fn a_transactional_write_counts_twice() {
    assert_eq!(WriteUnits::of(3 * 1024).transactional(), WriteUnits::new(6));
}

#[test]
fn units_do_not_overflow() {
    let most = ReadUnits::from_halves(u64::MAX);
    assert_eq!(most + most, most);
    assert_eq!(WriteUnits::new(u64::MAX) * 2, WriteUnits::new(u64::MAX));
}
