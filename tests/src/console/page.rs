//! A page of the browser as somebody uses it: go somewhere, look, type, press keys.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::browser::Browser;

const LOOK_PAUSE: Duration = Duration::from_millis(50);
/// How often is looked before something counts as not coming: 15 seconds.
const LOOKS_MAX: u32 = 300;
/// The tallest picture, in pixels.
const PICTURE_HEIGHT_MAX: u32 = 4000;

/// The page that the checks look at.
pub struct Page {
    browser: Browser,
    pictures: PathBuf,
}

impl Page {
    /// The browser's page; pictures go into this folder.
    pub fn new(browser: Browser, pictures: &Path) -> std::io::Result<Page> {
        std::fs::create_dir_all(pictures)?;
        Ok(Page { browser, pictures: pictures.to_owned() })
    }

    /// Loads a URL anew, even if only what is behind `#` differs, and waits for a heading.
    pub async fn go(&mut self, url: &str) -> anyhow::Result<()> {
        self.browser.call("Page.navigate", json!({ "url": "about:blank" })).await?;
        self.until("location.href === 'about:blank'", "a blank page").await?;
        self.browser.call("Page.navigate", json!({ "url": url })).await?;
        self.until("document.readyState === 'complete' && document.querySelector('h1')", url).await
    }

    /// The value of an expression on the page.
    pub async fn value(&mut self, expression: &str) -> anyhow::Result<Value> {
        let asked = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let mut answer = self.browser.call("Runtime.evaluate", asked).await?;
        if let Some(thrown) = answer.get("exceptionDetails") {
            bail!("`{expression}`: {thrown}");
        }
        Ok(answer["result"]["value"].take())
    }

    /// The value of an expression that is a text.
    pub async fn text(&mut self, expression: &str) -> anyhow::Result<String> {
        let value = self.value(expression).await?;
        value.as_str().map(str::to_owned).with_context(|| format!("`{expression}` is {value}, no text"))
    }

    /// Looks until an expression is true.
    pub async fn until(&mut self, expression: &str, what: &str) -> anyhow::Result<()> {
        for _ in 0..LOOKS_MAX {
            // While a page is exchanged for another there is nothing to look at.
            if let Ok(seen) = self.value(&format!("Boolean({expression})")).await
                && seen == json!(true)
            {
                return Ok(());
            }
            tokio::time::sleep(LOOK_PAUSE).await;
        }
        let seen = self.value("document.body.innerText.slice(0, 2000)").await.unwrap_or_default();
        bail!("{what} did not come; the page says: {seen}")
    }

    /// Presses and lets go of a key: `Tab`, `Enter`, or a letter.
    pub async fn key(&mut self, key: &str) -> anyhow::Result<()> {
        let (code, number, text) = match key {
            "Tab" => ("Tab", 9, ""),
            "Enter" => ("Enter", 13, "\r"),
            " " => ("Space", 32, " "),
            letter => (letter, 0, letter),
        };
        let down = json!({
            "type": if text.is_empty() { "rawKeyDown" } else { "keyDown" },
            "key": key, "code": code, "windowsVirtualKeyCode": number, "text": text,
        });
        self.browser.call("Input.dispatchKeyEvent", down).await?;
        let up = json!({ "type": "keyUp", "key": key, "code": code, "windowsVirtualKeyCode": number });
        self.browser.call("Input.dispatchKeyEvent", up).await?;
        Ok(())
    }

    /// Types a text where the focus is.
    pub async fn typing(&mut self, text: &str) -> anyhow::Result<()> {
        self.browser.call("Input.insertText", json!({ "text": text })).await.map(|_| ())
    }

    /// Clicks the first element with this selector.
    pub async fn click(&mut self, selector: &str) -> anyhow::Result<()> {
        self.value(&format!("document.querySelector({}).click()", json!(selector))).await.map(|_| ())
    }

    /// Writes into the field with this id, as a person would who replaces what is there.
    pub async fn fill(&mut self, id: &str, text: &str) -> anyhow::Result<()> {
        self.value(&format!(
            "(() => {{ const f = document.getElementById({}); f.focus(); f.select?.(); }})()",
            json!(id)
        ))
        .await?;
        self.typing(text).await
    }

    /// The size of the window, in pixels.
    pub async fn size(&mut self, width: u32, height: u32) -> anyhow::Result<()> {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.browser.call("Emulation.setDeviceMetricsOverride", size).await.map(|_| ())
    }

    /// `light` or `dark`.
    pub async fn scheme(&mut self, scheme: &str) -> anyhow::Result<()> {
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.browser.call("Emulation.setEmulatedMedia", media).await.map(|_| ())
    }

    /// A picture of the whole page, in a window that is as tall.
    pub async fn picture(&mut self, name: &str) -> anyhow::Result<()> {
        let seen = self.value("[innerWidth, innerHeight, document.documentElement.scrollHeight]").await?;
        let pixels = |at: usize| u32::try_from(seen[at].as_u64().unwrap_or(0)).unwrap_or(0);
        self.size(pixels(0), pixels(2).clamp(pixels(1), PICTURE_HEIGHT_MAX)).await?;
        let picture = self.browser.call("Page.captureScreenshot", json!({ "format": "png" })).await?;
        self.size(pixels(0), pixels(1)).await?;
        let bytes = STANDARD.decode(picture["data"].as_str().unwrap_or_default())?;
        Ok(std::fs::write(self.pictures.join(format!("{name}.png")), bytes)?)
    }

    /// What the page complained about since the last time: exceptions, console errors, a policy that was violated. Requests
    /// that the API refused are not among them.
    pub fn complaints(&mut self) -> Vec<String> {
        let complaint = |event: &Value| {
            let params = &event["params"];
            match event["method"].as_str()? {
                "Runtime.exceptionThrown" => Some(params["exceptionDetails"].to_string()),
                "Runtime.consoleAPICalled" if params["type"] == "error" => Some(params["args"].to_string()),
                "Log.entryAdded"
                    if params["entry"]["level"] == "error" && params["entry"]["source"] != "network" =>
                {
                    Some(params["entry"].to_string())
                }
                _ => None,
            }
        };
        self.browser.events().iter().filter_map(complaint).collect()
    }
}
