//! Any body is explained or refused, without an internal error and with an answer.
#![no_main]

use keyfold_fuzz::{APIS, RUNTIME};
use keyfold_query_api::{ApiRequest, Caller, respond};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    for api in APIS.iter() {
        for caller in [Caller::Trusted, Caller::Claims([("jwt.org".to_owned(), "acme".to_owned())].into())] {
            let request = http::Request::post("/explain").body(body.to_vec()).expect("a request");
            let request = ApiRequest::of_http(request, caller, "fuzz");
            let (response, _) = RUNTIME.block_on(respond(api, &request));
            let status = response.status().as_u16();
            assert!(status < 500, "{status}: {}", response.body());
            assert!(serde_json::from_str::<serde_json::Value>(response.body()).is_ok());
        }
    }
});
