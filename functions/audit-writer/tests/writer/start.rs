//! A function that cannot start reports the reason.

use std::io::Read;
use std::process::Stdio;

use keyfold_local::runtime_api::RuntimeApi;

use crate::function::SAMPLE;

#[tokio::test]
async fn a_function_that_cannot_start_says_which_setting_is_wrong() {
    let manifest = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(manifest.path(), SAMPLE).unwrap();
    let path = manifest.path().to_str().unwrap();
    for (variables, wanted) in [
        (vec![("KEYFOLD_MANIFEST", "/nowhere/keyfold.toml")], "`/nowhere/keyfold.toml` cannot be read"),
        (vec![("KEYFOLD_MANIFEST", path), ("KEYFOLD_AUTH", "nobody")], "`KEYFOLD_AUTH` is not"),
        (vec![("KEYFOLD_MANIFEST", path), ("KEYFOLD_ENDPOINT", "localhost")], "the endpoint is invalid"),
        (vec![("KEYFOLD_MANIFEST", path), ("KEYFOLD_AUDIT_TABLE", "audits")], "has no table `audits`"),
        (
            vec![("KEYFOLD_MANIFEST", path), ("KEYFOLD_AUDIT_ID", "action")],
            "attribute `action` of table `audit`",
        ),
        (vec![("KEYFOLD_MANIFEST", path), ("KEYFOLD_AUDIT_TIME", "action")], "is not a declared timestamp"),
        (
            vec![("KEYFOLD_MANIFEST", path), ("KEYFOLD_AUDIT_RECEIVED", "action")],
            "attribute `action` of table `audit`",
        ),
    ] {
        let runtime = RuntimeApi::start().await.unwrap();
        let mut command = runtime.command(env!("CARGO_BIN_EXE_audit-writer"));
        let mut process = command.envs(variables).stdout(Stdio::piped()).spawn().unwrap();
        assert!(!process.wait().unwrap().success());
        let mut text = String::new();
        process.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
}
