//! The keys of page tokens: of this process alone, or those of a secret that can change while it runs.
//!
//! A secret has two versions that count: the newest seals, and both open. It is read when a token is needed first, again after
//! [`FRESH`], and when a token names a key that is not known yet: another process may have read the secret after it was changed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use keyfold_dynamo::{KeysParseError, Secret, SecretError, SecretLabel, TokenKeys};
use keyfold_edge::Problem;
use tokio::sync::Mutex;

/// How long the secret's versions are good for without being read again.
pub(crate) const FRESH: Duration = Duration::from_secs(300);
/// The least time between two reads, so that forged tokens and an outage cost no more than that.
pub(crate) const READ_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Where the keys of page tokens are from.
#[derive(Debug)]
pub enum TokenKeySource {
    /// Keys that stay the same.
    Fixed(Arc<TokenKeys>),
    /// A secret.
    Secret(Box<SecretKeys>),
}

/// The keys of a secret, as they were read last.
#[derive(Debug)]
pub struct SecretKeys {
    secret: Secret,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    ring: Option<Arc<TokenKeys>>,
    /// When it was tried to read the secret, and when that succeeded.
    tried: Option<Instant>,
    read: Option<Instant>,
}

/// Why there are no keys.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoKeys {
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Form(#[from] KeysParseError),
    #[error("the secret was not read a moment ago")]
    Waiting,
}

impl From<TokenKeys> for TokenKeySource {
    fn from(keys: TokenKeys) -> TokenKeySource {
        TokenKeySource::Fixed(Arc::new(keys))
    }
}

impl From<Secret> for TokenKeySource {
    fn from(secret: Secret) -> TokenKeySource {
        TokenKeySource::Secret(Box::new(SecretKeys { secret, known: Mutex::default() }))
    }
}

impl TokenKeySource {
    /// The keys; those that open this token, where they can be had.
    pub(crate) async fn ring(&self, token: Option<&str>) -> Result<Arc<TokenKeys>, Problem> {
        match self {
            TokenKeySource::Fixed(keys) => Ok(Arc::clone(keys)),
            TokenKeySource::Secret(keys) => keys.ring(token).await.map_err(|error| {
                keyfold_edge::tracing::error!(target: keyfold_edge::log::TARGET, %error, "no keys for page tokens");
                Problem::new(503, "token-keys-unavailable", "the keys for page tokens cannot be read")
                    .hint("repeat the request in a moment")
            }),
        }
    }
}

impl SecretKeys {
    async fn ring(&self, token: Option<&str>) -> Result<Arc<TokenKeys>, NoKeys> {
        let mut known = self.known.lock().await;
        let within = |at: Option<Instant>, time: Duration| at.is_some_and(|at| at.elapsed() < time);
        if let Some(ring) = &known.ring {
            let enough = token.is_none_or(|token| ring.know(token)) && within(known.read, FRESH);
            if enough || within(known.tried, READ_AGAIN_AFTER) {
                return Ok(Arc::clone(ring));
            }
        } else if within(known.tried, READ_AGAIN_AFTER) {
            return Err(NoKeys::Waiting);
        }
        known.tried = Some(Instant::now());
        match (self.read().await, &known.ring) {
            (Ok(ring), _) => {
                let ring = Arc::new(ring);
                (known.ring, known.read) = (Some(Arc::clone(&ring)), known.tried);
                Ok(ring)
            }
            // What was known goes on: a service that is away must not take the API along.
            (Err(error), Some(ring)) => {
                keyfold_edge::tracing::warn!(target: keyfold_edge::log::TARGET, %error, "the keys for page tokens are those of before");
                Ok(Arc::clone(ring))
            }
            (Err(error), None) => Err(error),
        }
    }

    async fn read(&self) -> Result<TokenKeys, NoKeys> {
        let (current, previous) = tokio::try_join!(
            self.secret.version(SecretLabel::Current),
            self.secret.version(SecretLabel::Previous)
        )?;
        let versions: Vec<_> = current.into_iter().chain(previous).collect();
        Ok(TokenKeys::of_versions(&versions)?)
    }
}
