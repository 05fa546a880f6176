use crate::cost::{Dollars, PriceOverrides, Prices, ReadUnits, WriteUnits};

fn million_each(prices: &Prices) -> Dollars {
    prices.dollars_for(ReadUnits::from_halves(2_000_000), WriteUnits::new(1_000_000))
}

#[test]
fn a_million_reads_and_writes_cost_75_cents_in_virginia() {
    assert_eq!(million_each(&Prices::default()).to_string(), "$0.75");
    assert_eq!(Prices::default().dollars_for_month(4 << 30).to_string(), "$1.00");
    assert_eq!(Prices::default().dollars_for_month(-(4 << 30)).to_string(), "-$1.00");
}

#[test]
fn a_region_with_built_in_prices_brings_its_own() {
    let ireland = PriceOverrides { region: Some("eu-west-1".to_owned()), ..PriceOverrides::default() };
    let prices = Prices::default().with(ireland);
    assert_eq!(Some(&prices), Prices::of_region("eu-west-1").as_ref());
    assert_eq!(prices.borrowed_from, None);
    assert!((prices.write_million - 0.705).abs() < f64::EPSILON);
}

#[test]
fn another_region_says_whose_prices_it_borrows() {
    let mut overrides = PriceOverrides {
        region: Some("sa-east-1".to_owned()),
        write_million: Some(1.0),
        ..PriceOverrides::default()
    };
    let prices = Prices::default().with(overrides.clone());
    assert_eq!((prices.region.as_str(), prices.borrowed_from.as_deref()), ("sa-east-1", Some("us-east-1")));
    assert_eq!(million_each(&prices).to_string(), "$1.12");
    overrides.read_million = Some(0.1875);
    overrides.storage_gb_month = Some(0.375);
    assert_eq!(Prices::default().with(overrides).borrowed_from, None);
}

#[test]
fn what_is_not_overridden_stays() {
    assert_eq!(Prices::default().with(PriceOverrides::default()), Prices::default());
    let free = PriceOverrides {
        as_of: Some("2030-01-01".to_owned()),
        read_million: Some(0.0),
        ..PriceOverrides::default()
    };
    let prices = Prices::default().with(free);
    assert_eq!(
        (prices.as_of.as_str(), million_each(&prices).to_string()),
        ("2030-01-01", "$0.62".to_owned())
    );
}

#[test]
fn a_price_that_is_none_is_refused_by_name() {
    for price in [-0.1, f64::NAN, f64::INFINITY] {
        let overrides = PriceOverrides { storage_gb_month: Some(price), ..PriceOverrides::default() };
        let error = overrides.check().unwrap_err();
        assert_eq!(
            error.to_string(),
            "the price `storage_gb_month` is not a number of dollars, zero or more"
        );
    }
    assert_eq!(PriceOverrides { read_million: Some(0.0), ..PriceOverrides::default() }.check(), Ok(()));
}

#[test]
fn dollars_show_cents_or_two_digits() {
    let shown = |amount: f64| Dollars(amount).to_string();
    assert_eq!([shown(0.0), shown(0.1), shown(12.3456)], ["$0", "$0.10", "$12.35"]);
    assert_eq!(
        [shown(0.0625), shown(0.000_000_128), shown(1e-12)],
        ["$0.062", "$0.00000013", "<$0.000000001"]
    );
}
