use crate::cost::Consistency::{Eventual, Strong, Transactional};
use crate::cost::{
    QUERY_PAGE_BYTES_MAX, ReadUnits, get_read_units, lsi_fetch_read_units, query_read_units, scan_read_units,
};

const KB: u64 = 1024;

fn units(units: u64) -> ReadUnits {
    ReadUnits::from_halves(2 * units)
}

#[test]
fn an_eventually_consistent_read_costs_half_and_a_transactional_one_double() {
    assert_eq!(get_read_units(Some(8 * KB), Strong), units(2));
    assert_eq!(get_read_units(Some(8 * KB), Eventual), units(1));
    assert_eq!(get_read_units(Some(8 * KB), Transactional), units(4));
    assert_eq!(get_read_units(Some(100), Eventual), ReadUnits::from_halves(1));
}

#[test]
fn a_get_rounds_up_to_4_kb() {
    assert_eq!(get_read_units(Some(7 * KB / 2), Strong), units(1));
    assert_eq!(get_read_units(Some(10 * KB), Strong), units(3));
    assert_eq!(get_read_units(None, Strong), units(1));
}

#[test]
fn a_query_adds_the_sizes_and_rounds_the_sum() {
    assert_eq!(query_read_units([3 * KB / 2, 13 * KB / 2], Strong), units(2));
    assert_eq!(query_read_units([4178; 10], Strong), units(11));
    assert_eq!(query_read_units([64; 1500], Strong), units(24));
    assert_eq!(query_read_units([64; 1500], Eventual), units(12));
    assert_eq!(query_read_units([], Eventual), ReadUnits::from_halves(1));
}

#[test]
fn the_published_fetch_of_20_kb_costs_5_units() {
    let (entries, items) = ([200; 4], [300; 4]);
    assert_eq!(lsi_fetch_read_units(entries, items, Strong), units(5));
    assert_eq!(lsi_fetch_read_units(entries, items, Eventual).to_string(), "2.5");
}

#[test]
fn a_fetch_reads_entire_items_and_what_is_projected_reads_none() {
    assert_eq!(lsi_fetch_read_units([200; 4], [5000; 4], Strong), units(1 + 4 * 2));
    assert_eq!(lsi_fetch_read_units([200; 4], [], Strong), query_read_units([200; 4], Strong));
    assert_eq!(lsi_fetch_read_units([], [], Strong), units(1));
}

#[test]
fn a_page_is_1_mb() {
    assert_eq!(scan_read_units(QUERY_PAGE_BYTES_MAX, Strong), units(256));
    assert_eq!(scan_read_units(QUERY_PAGE_BYTES_MAX + 1, Eventual), ReadUnits::from_halves(257));
}

#[test]
fn sizes_beyond_counting_do_not_panic() {
    let most = query_read_units([u64::MAX, u64::MAX], Transactional);
    assert!(most >= query_read_units([u64::MAX], Strong));
    lsi_fetch_read_units([u64::MAX], [u64::MAX], Strong);
}
