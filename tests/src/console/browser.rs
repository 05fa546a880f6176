//! A headless Chromium, driven by the DevTools protocol over pipes: no port, no websocket, no library.
//!
//! `--remote-debugging-pipe` makes Chromium read messages from file descriptor 3 and write them to 4, each with a zero byte
//! at its end. A shell connects them with the child's standard input and output.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// How long Chromium may take for one command.
const COMMAND_WAIT_MAX: Duration = Duration::from_secs(30);
/// The most messages that may come between a command and its answer.
const MESSAGES_MAX: u32 = 10_000;

/// A running Chromium with one page. It ends when it is dropped.
pub struct Browser {
    _child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    last: u64,
    session: Option<String>,
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts the program with an empty profile, and opens a blank page.
    pub async fn start(program: &str) -> anyhow::Result<Browser> {
        let profile = tempfile::tempdir()?;
        let mut child = Command::new("sh")
            .args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#, program])
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .args(["--no-first-run", "--disable-extensions", "--disable-background-networking"])
            .args(["--hide-scrollbars", "--force-color-profile=srgb", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("the browser does not start")?;
        let to = child.stdin.take().context("no pipe to the browser")?;
        let from = BufReader::new(child.stdout.take().context("no pipe from the browser")?);
        let mut browser = Browser {
            _child: child,
            to,
            from,
            last: 0,
            session: None,
            events: Vec::new(),
            _profile: profile,
        };
        browser.open().await?;
        Ok(browser)
    }

    async fn open(&mut self) -> anyhow::Result<()> {
        let target = self.call("Target.createTarget", json!({ "url": "about:blank" })).await?;
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = self.call("Target.attachToTarget", attach).await?;
        self.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log"] {
            self.call(&format!("{domain}.enable"), json!({})).await?;
        }
        self.call("Page.bringToFront", json!({})).await?;
        self.call("Emulation.setFocusEmulationEnabled", json!({ "enabled": true })).await?;
        Ok(())
    }

    /// Sends a command and waits for its answer. Events that come meanwhile are kept.
    pub async fn call(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method });
        message["params"] = params;
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = serde_json::to_vec(&message)?;
        bytes.push(0);
        self.to.write_all(&bytes).await.with_context(|| format!("{method}: the browser has ended"))?;
        tokio::time::timeout(COMMAND_WAIT_MAX, self.answer(method))
            .await
            .with_context(|| format!("{method}: no answer"))?
    }

    async fn answer(&mut self, method: &str) -> anyhow::Result<Value> {
        for _ in 0..MESSAGES_MAX {
            let mut bytes = Vec::new();
            if self.from.read_until(0, &mut bytes).await? == 0 {
                bail!("{method}: the browser has ended");
            }
            bytes.pop();
            let mut message: Value = serde_json::from_slice(&bytes)?;
            if message["id"] != json!(self.last) {
                self.events.push(message);
                continue;
            }
            if let Some(error) = message.get("error") {
                bail!("{method}: {error}");
            }
            return Ok(message["result"].take());
        }
        bail!("{method}: {MESSAGES_MAX} messages and no answer")
    }

    /// The events since the last time.
    pub fn events(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.events)
    }
}
