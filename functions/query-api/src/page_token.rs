//! Page tokens: opened before anything is read, sealed if there is a next page. Their keys are fixed, or those of a
//! secret that can change while the process runs.
//!
//! A secret has two valid versions: the newest seals, and both open. It is read when a token is first needed, again
//! after [`FRESH`], and when a token names an unknown key, because another process may have read a newer version.

use std::sync::Arc;
use std::time::{Duration, Instant};

use keyfold_dynamo::{Binding, KeysParseError, Position, Secret, SecretError, SecretLabel, TokenKeys};
use keyfold_edge::Problem;
use tokio::sync::Mutex;

/// How long a page token is valid, in seconds.
const PAGE_TOKEN_SECONDS: u64 = 3600;
/// How long the secret's versions are cached.
const FRESH: Duration = Duration::from_secs(300);
/// Minimum time between two reads, which limits the cost of forged tokens and of an outage.
const READ_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// The page tokens of one request.
pub(crate) struct PageTokens<'a> {
    keys: &'a TokenKeySource,
    /// The request, caller and manifest that they are valid for.
    binding: Binding,
    /// Seconds since 1970.
    now: u64,
}

impl<'a> PageTokens<'a> {
    pub(crate) fn new(keys: &'a TokenKeySource, binding: Binding, now: u64) -> PageTokens<'a> {
        PageTokens { keys, binding, now }
    }

    /// The position of a token. Every kind of invalid token is one problem.
    pub(crate) async fn open(&self, token: Option<&str>) -> Result<Option<Position>, Problem> {
        let Some(token) = token else { return Ok(None) };
        let keys = self.keys.ring(Some(token)).await?;
        Ok(Some(keys.open(token, &self.binding, self.now)?))
    }

    /// The token of the next page.
    pub(crate) async fn seal(&self, next: &Position) -> Result<String, Problem> {
        let keys = self.keys.ring(None).await?;
        Ok(keys.seal(next, &self.binding, self.now, PAGE_TOKEN_SECONDS)?)
    }
}

/// The source of the keys of page tokens.
#[derive(Debug)]
pub enum TokenKeySource {
    /// Fixed keys.
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
    /// When the last read of the secret was attempted, and when one last succeeded.
    tried: Option<Instant>,
    read: Option<Instant>,
}

/// Why there are no keys.
#[derive(Debug, thiserror::Error)]
enum NoKeys {
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
    /// The keys, including those that open this token, if available.
    async fn ring(&self, token: Option<&str>) -> Result<Arc<TokenKeys>, Problem> {
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
            // The known keys stay in use: an outage of Secrets Manager must not stop the API.
            (Err(error), Some(ring)) => {
                keyfold_edge::tracing::warn!(target: keyfold_edge::log::TARGET, %error, "the keys for page tokens cannot be read; the known ones stay in use");
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
