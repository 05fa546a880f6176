//! A function that cannot start reports the reason.

use std::fs;

use keyfold_local::FunctionOptions;
use keyfold_local::runtime_api::InvocationResult;

use crate::function::Function;

async fn said(change: impl FnOnce(FunctionOptions) -> FunctionOptions) -> String {
    let function = Function::unstarted("moved", change).await;
    let outcome = function.invoke("{}").await;
    assert!(matches!(outcome, InvocationResult::Ended(_) | InvocationResult::InitError(_)), "{outcome:?}");
    fs::read_to_string(function.path("log")).unwrap()
}

#[tokio::test]
async fn a_function_that_cannot_start_says_which_setting_is_wrong() {
    for (name, value, wanted) in [
        ("KEYFOLD_MANIFEST", "/nowhere/keyfold.toml", "`/nowhere/keyfold.toml` cannot be read"),
        ("KEYFOLD_RETROFIT", "", "`KEYFOLD_RETROFIT` is not the name of a retrofit"),
        ("KEYFOLD_CONCURRENCY", "many", "`KEYFOLD_CONCURRENCY` is not a number"),
        ("KEYFOLD_ENDPOINT", "localhost", "the endpoint is invalid"),
    ] {
        let text = said(|options| options.env(name, value)).await;
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
}
