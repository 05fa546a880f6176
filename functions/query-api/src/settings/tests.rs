use super::*;

const KEYS: &str = "a:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

fn read(variables: &[(&str, &str)]) -> Result<Settings, SettingsError> {
    Settings::read(&|name| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    })
}

#[test]
fn the_defaults_let_nobody_in_without_claims_and_scan_nothing() {
    let settings = read(&[(TOKEN_KEYS, KEYS)]).unwrap();
    assert_eq!(settings.limits, Limits::default());
    assert_eq!(settings.limits.auth, Auth::Claims);
    assert!(!settings.limits.allow_scan && !settings.limits.console);
    assert_eq!(settings.control_table, "keyfold-control");
    assert_eq!(settings.manifest.file_name().unwrap(), MANIFEST_FILE);
    assert_eq!(settings.dynamo.endpoint, Endpoint::Aws);
}

#[test]
fn every_variable_is_read_and_an_empty_one_counts_as_unset() {
    let settings = read(&[
        (TOKEN_KEYS, KEYS),
        (MANIFEST, "/opt/keyfold.toml"),
        (ENDPOINT, ""),
        ("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:8000"),
        (AUTH, "open"),
        (ALLOW_SCAN, "1"),
        (READ_UNITS_MAX, "12.5"),
        (CONSOLE, "on"),
        (CONTROL_TABLE, "control"),
    ])
    .unwrap();
    assert_eq!(
        settings.limits,
        Limits { auth: Auth::Open, allow_scan: true, read_units_max: 12.5, console: true }
    );
    assert_eq!(settings.control_table, "control");
    assert_eq!(settings.manifest, PathBuf::from("/opt/keyfold.toml"));
    assert_eq!(settings.dynamo.endpoint, Endpoint::Plain("http://127.0.0.1:8000".to_owned()));
}

#[test]
fn what_means_nothing_is_an_error_that_names_the_variable_and_keeps_the_value() {
    for (name, value) in [
        (TOKEN_KEYS, ""),
        (TOKEN_KEYS, "a:c2hvcnQtc2VjcmV0"),
        (AUTH, "Open"),
        (ALLOW_SCAN, "yes"),
        (CONSOLE, "1"),
        (READ_UNITS_MAX, "-1"),
        (READ_UNITS_MAX, "NaN"),
    ] {
        let message = read(&[(name, value), (TOKEN_KEYS, KEYS)]).unwrap_err().to_string();
        assert!(message.contains(name), "{message}");
        assert!(value.is_empty() || !message.contains(value), "{message}");
    }
}
