//! The user agent of a client, which the SDK writes anew for every attempt. That of our calls is always the same: what the SDK wrote
//! for the first of them is kept, and those after it send that.

use std::sync::{Arc, OnceLock};

use aws_runtime::user_agent::UserAgentInterceptor;
use aws_smithy_runtime_api::client::interceptors::disable_interceptor;
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_types::config_bag::{ConfigBag, Storable, StoreReplace};

/// The headers that have it.
const HEADERS: [&str; 2] = ["user-agent", "x-amz-user-agent"];

/// What a client's calls say, once one of them has said it.
#[derive(Debug, Default)]
pub(super) struct Agent(OnceLock<Arc<Headers>>);

type Headers = [String; HEADERS.len()];

/// Whether a call says what is known, or what it says is to be kept.
#[derive(Debug)]
enum Says {
    Known(Arc<Headers>),
    Unknown,
}

impl Storable for Says {
    type Storer = StoreReplace<Says>;
}

impl Agent {
    /// At the beginning of one of our calls. Others may say something else, and teach nothing.
    pub(super) fn begin(&self, cfg: &mut ConfigBag) {
        let state = cfg.interceptor_state();
        match self.0.get() {
            Some(known) => {
                state.store_put(Says::Known(Arc::clone(known)));
                state.store_put(disable_interceptor::<UserAgentInterceptor>(
                    "the client's user agent is known",
                ));
            }
            None => drop(state.store_put(Says::Unknown)),
        }
    }

    /// Before a request is signed.
    pub(super) fn say(cfg: &ConfigBag, request: &mut HttpRequest) {
        if let Some(Says::Known(known)) = cfg.load::<Says>() {
            for (header, value) in HEADERS.into_iter().zip(&**known) {
                request.headers_mut().append(header, value.clone());
            }
        }
    }

    /// When a request is complete. One that lacks a header teaches nothing.
    pub(super) fn learn(&self, cfg: &ConfigBag, request: &HttpRequest) {
        if self.0.get().is_none()
            && let Some(Says::Unknown) = cfg.load::<Says>()
            && let [Some(one), Some(other)] = HEADERS.map(|header| request.headers().get(header))
        {
            self.0.get_or_init(|| Arc::new([one.to_owned(), other.to_owned()]));
        }
    }
}
