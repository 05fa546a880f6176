//! How our clients sign what they send. The SDK derives the key of the day anew for every attempt, and collects what it signs in a
//! map of headers and two lists. But a request of DynamoDB has one shape, and a key serves a day.
//!
//! Only what is certain is signed here: a POST to `/` with the SDK's own options, with headers that are signed as they are, by a clock
//! that is not known to be off. All else is the SDK's to sign. `docs/adr/0022` has the reasons.

mod clock;
mod second;
#[cfg(test)]
mod tests;
mod text;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_runtime::auth::sigv4::SigV4AuthScheme;
use aws_runtime::auth::{
    PayloadSigningOverride, SigV4OperationSigningConfig, SigV4SessionTokenNameOverride, SigningOptions,
};
use aws_sdk_dynamodb::config::interceptors::BeforeDeserializationInterceptorContextRef;
use aws_sdk_dynamodb::config::{Builder, ConfigBag, Intercept, RuntimeComponents, SharedInterceptor};
use aws_sdk_dynamodb::error::BoxError;
use aws_smithy_runtime_api::client::auth::{AuthScheme, AuthSchemeEndpointConfig, AuthSchemeId, Sign};
use aws_smithy_runtime_api::client::identity::{Identity, SharedIdentityResolver};
use aws_smithy_runtime_api::client::interceptors::dyn_dispatch_hint;
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::runtime_components::GetIdentityResolver;
use aws_types::SigningName;
use aws_types::region::SigningRegion;

use self::clock::Clock;
use self::second::Second;
use self::text::Excluded;

/// Set and not empty: the SDK signs every request. It is the way back if our signatures are ever found to be wrong.
const SDK_SIGNER: &str = "KEYFOLD_SDK_SIGNER";
/// What an endpoint may say of signatures. Only that of DynamoDB's region `local` does.
const OF_ENDPOINTS: [&str; 4] =
    ["signingName", "signingRegion", "disableDoubleEncoding", "disableNormalizePath"];

/// A client with this configuration signs its requests here, unless a variable says that the SDK does.
pub(super) fn signed_here(config: Builder, variable: &dyn Fn(&str) -> Option<String>) -> Builder {
    if variable(SDK_SIGNER).is_some() {
        return config;
    }
    let signing = Signing::default();
    let mut config = config.push_auth_scheme(signing.clone());
    config.push_interceptor(SharedInterceptor::permanent(signing));
    config
}

/// The signatures of one client.
#[derive(Debug, Clone, Default)]
struct Signing(Arc<Signer>);

#[derive(Debug, Default)]
struct Signer {
    sdk: SigV4AuthScheme,
    excluded: Excluded,
    second: Mutex<Option<Arc<Second>>>,
    clock: Clock,
}

impl AuthScheme for Signing {
    fn scheme_id(&self) -> AuthSchemeId {
        self.0.sdk.scheme_id()
    }

    fn identity_resolver(&self, resolvers: &dyn GetIdentityResolver) -> Option<SharedIdentityResolver> {
        self.0.sdk.identity_resolver(resolvers)
    }

    fn signer(&self) -> &dyn Sign {
        &*self.0
    }
}

impl Sign for Signer {
    fn sign_http_request(
        &self,
        request: &mut HttpRequest,
        identity: &Identity,
        endpoint: AuthSchemeEndpointConfig<'_>,
        components: &RuntimeComponents,
        cfg: &ConfigBag,
    ) -> Result<(), BoxError> {
        if !self.clock.is_off()
            && let Some(second) = self.second(identity, &endpoint, components, cfg)
            && let Some(signature) = text::signature(request, &second, &self.excluded)
        {
            return second.sign(request, signature);
        }
        self.sdk.signer().sign_http_request(request, identity, endpoint, components, cfg)
    }
}

impl Signer {
    /// What the signatures of this second have in common, if it is certain how they are made.
    fn second(
        &self,
        identity: &Identity,
        endpoint: &AuthSchemeEndpointConfig<'_>,
        components: &RuntimeComponents,
        cfg: &ConfigBag,
    ) -> Option<Arc<Second>> {
        let by: &Credentials = identity.data()?;
        let config = cfg.load::<SigV4OperationSigningConfig>()?;
        let region = cfg.load::<SigningRegion>()?;
        let service = cfg.load::<SigningName>()?;
        if config.signing_options != SigningOptions::default()
            || cfg.load::<PayloadSigningOverride>().is_some()
            || cfg.load::<SigV4SessionTokenNameOverride>().is_some()
            || OF_ENDPOINTS.into_iter().any(|said| endpoint.get(said).is_some())
        {
            return None;
        }
        let at = now(components).duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
        let mut last = self.second.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some(last) if last.is(at, by, region.as_ref(), service.as_ref()) => Some(Arc::clone(last)),
            _ => {
                let next = Second::new(at, by, region.as_ref(), service.as_ref(), last.as_deref())?;
                Some(Arc::clone(last.insert(Arc::new(next))))
            }
        }
    }
}

fn now(components: &RuntimeComponents) -> SystemTime {
    components.time_source().unwrap_or_default().now()
}

#[dyn_dispatch_hint]
impl Intercept for Signing {
    fn name(&self) -> &'static str {
        "keyfold signing"
    }

    fn read_before_deserialization(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        components: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        self.0.clock.look_at(context.response(), now(components));
        Ok(())
    }
}
