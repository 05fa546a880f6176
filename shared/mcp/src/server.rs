//! The server: tools by name, over standard input and output.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use keyfold_core::model::Model;
use keyfold_core::query::QueryRequest;
use keyfold_core::query::check::{Caller, find_table};
use keyfold_core::query::question::{self, Params};
use keyfold_dynamo::{SealError, TokenKeys, model_version};
use keyfold_edge::Problem;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, JsonObject, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
    Tool,
};
use rmcp::service::{RequestContext, RoleServer, serve_server};
use rmcp::transport::async_rw::AsyncRwTransport;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::answer::{Asking, price};
use crate::describe::describe;
use crate::hidden::HiddenAttributes;
use crate::limits::Limits;
use crate::reader::Reader;
use crate::spending::Spending;
use crate::status::status;
use crate::tools::{INSTRUCTIONS, tools};

/// Maximum length of one message. The longest request within core's limits stays well below.
const LINE_BYTES_MAX: usize = 1024 * 1024;
/// How long a client may cache the list of tools.
const TOOLS_TTL_MS: u64 = 3_600_000;

/// The settings of a server.
#[derive(Debug)]
pub struct Settings {
    /// The manifest's model.
    pub model: Model,
    /// The manifest's text.
    pub manifest: String,
    /// Limits the items: the claims of the caller.
    pub caller: Caller,
    /// The hidden attributes.
    pub hidden: HiddenAttributes,
    /// The limits.
    pub limits: Limits,
}

/// Why a server does not start, or ends.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// No key for page tokens.
    #[error(transparent)]
    Keys(#[from] SealError),
    /// The client does not speak MCP.
    #[error("the client did not send an MCP request: {0}")]
    Start(String),
    /// The server failed.
    #[error("the server failed: {0}")]
    Failed(String),
}

/// An MCP server over the tables of a manifest.
#[derive(Debug)]
pub struct Server {
    settings: Settings,
    reader: Reader,
    /// The keys of page tokens live as long as the process.
    keys: TokenKeys,
    version: [u8; 32],
    identity: String,
    /// Held during a call that reads: calls run one after the other.
    spending: Mutex<Spending>,
    tools: Vec<Tool>,
}

/// The arguments of `ask`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AskArguments {
    question: String,
    table: Option<String>,
    #[serde(default)]
    parameters: BTreeMap<String, Value>,
    #[serde(default)]
    order: Vec<String>,
    limit: Option<u32>,
    #[serde(default)]
    count: bool,
    page: Option<String>,
    read_units_max: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfTable {
    table: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfRetrofit {
    retrofit: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

impl Server {
    /// A server with these settings.
    pub fn new(settings: Settings, reader: Reader, spending: Spending) -> Result<Server, ServeError> {
        let identity = match &settings.caller {
            Caller::Trusted => "trusted".to_owned(),
            Caller::Claims(claims) => json!(claims).to_string(),
        };
        Ok(Server {
            keys: TokenKeys::random()?,
            version: model_version(&settings.manifest),
            identity,
            spending: Mutex::new(spending),
            tools: tools(&settings.limits),
            reader,
            settings,
        })
    }

    fn asking(&self) -> Asking<'_> {
        let Settings { model, caller, hidden, limits, .. } = &self.settings;
        Asking {
            model,
            caller,
            hidden,
            limits,
            reader: &self.reader,
            keys: &self.keys,
            version: self.version,
            identity: &self.identity,
            now_seconds: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        }
    }

    /// The answer of a tool; `None` if there is no such tool.
    async fn call(&self, tool: &str, arguments: JsonObject) -> Option<Result<Value, Problem>> {
        Some(match tool {
            "describe_model" => self.describe(arguments),
            "explain" => self.explain(arguments).await,
            "ask" => self.ask(arguments).await,
            "query" => self.query(arguments).await,
            "budget" => self.budget(arguments).await,
            "retrofit_status" => self.status(arguments).await,
            _ => return None,
        })
    }

    fn describe(&self, arguments: JsonObject) -> Result<Value, Problem> {
        let OfTable { table } = read(arguments)?;
        let (asking, model) = (self.asking(), &self.settings.model);
        let mut tables = asking.tables();
        if let Some(name) = table {
            let wanted = find_table(model, &name)?;
            tables.retain(|table| table.id == wanted.id);
        }
        Ok(describe(model, &tables, &self.settings.hidden))
    }

    async fn explain(&self, arguments: JsonObject) -> Result<Value, Problem> {
        let request: QueryRequest = read(arguments)?;
        let asking = self.asking();
        let planned = asking.plan(&request).await?;
        let units = planned.plan.estimated_units;
        let mut found = json!({
            "plan": asking.explained(&planned.plan),
            "estimated": price(&self.settings.model.prices, units),
            "allowed": true,
        });
        if let Err(problem) = asking.affordable(&planned.plan, asking.cap(&request)?) {
            (found["allowed"], found["why"]) = (json!(false), json!(problem.detail));
        }
        Ok(found)
    }

    async fn query(&self, arguments: JsonObject) -> Result<Value, Problem> {
        let request: QueryRequest = read(arguments)?;
        self.asking().answer(&request, &mut *self.spending.lock().await).await
    }

    async fn ask(&self, arguments: JsonObject) -> Result<Value, Problem> {
        let ask: AskArguments = read(arguments)?;
        let asking = self.asking();
        let mut tables = asking.tables();
        tables.retain(|table| ask.table.as_ref().is_none_or(|name| [&table.id, &table.name].contains(&name)));
        let of = |table: &&keyfold_core::model::Table| {
            question::find(&self.settings.model, &table.id, &ask.question).ok()
        };
        let found: Vec<_> = tables.iter().filter_map(of).collect();
        let (table, question) = match found.as_slice() {
            [only] => *only,
            [] => {
                let detail = format!("no table has a question `{}`", ask.question);
                return Err(
                    Problem::new(404, "unknown-question", detail).hint("describe_model lists all questions")
                );
            }
            _ => return Err(Problem::malformed("several tables have this question: give `table`")),
        };
        let mut request = question::request(table, question, params(ask.parameters)?)?;
        if !ask.order.is_empty() {
            request.order = ask.order;
        }
        request.limit = match (ask.limit, request.limit) {
            (Some(wanted), Some(most)) => Some(wanted.min(most)),
            (wanted, most) => wanted.or(most),
        };
        (request.page, request.read_units_max) = (ask.page, ask.read_units_max);
        request.count |= ask.count;
        asking.answer(&request, &mut *self.spending.lock().await).await
    }

    async fn budget(&self, arguments: JsonObject) -> Result<Value, Problem> {
        let Nothing {} = read(arguments)?;
        let spending = self.spending.lock().await;
        let (limits, prices) = (&self.settings.limits, &self.settings.model.prices);
        Ok(json!({
            "callMax": price(prices, limits.call_units_max),
            "sessionMax": price(prices, limits.session_units_max),
            "dayMax": price(prices, limits.day_units_max),
            "consumed": price(prices, spending.session_units()),
            "left": self.asking().left(&spending)?,
            "itemsMax": limits.items_max,
            "scans": limits.allow_scans,
        }))
    }

    async fn status(&self, arguments: JsonObject) -> Result<Value, Problem> {
        let OfRetrofit { retrofit } = read(arguments)?;
        let Settings { model, caller, .. } = &self.settings;
        status(model, &self.reader, caller, retrofit.as_deref()).await
    }

    /// The answer as a tool's result. An error is a text: only answers have the tool's schema.
    fn result(&self, answer: Result<Value, Problem>) -> CallToolResult {
        let bytes_max = self.settings.limits.bytes_max;
        let answer = answer.and_then(|value| match value.to_string().len() <= bytes_max {
            true => Ok(value),
            false => {
                let detail = format!("the answer has more than {bytes_max} bytes");
                Err(Problem::new(413, "answer-too-large", detail).hint("ask for one table or one retrofit"))
            }
        });
        match answer {
            Ok(value) => CallToolResult::structured(value),
            Err(problem) => {
                let mut document = problem.document(None);
                self.settings.hidden.redact_all(&mut document);
                let mut text = document.to_string();
                if text.len() > bytes_max {
                    text = json!({ "code": problem.code }).to_string();
                }
                CallToolResult::error(vec![ContentBlock::text(text)])
            }
        }
    }
}

/// The arguments in their form.
fn read<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, Problem> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| Problem::malformed(error.to_string()))
}

/// The parameters of a question: texts, numbers, booleans, or lists of them.
fn params(values: BTreeMap<String, Value>) -> Result<Params, Problem> {
    let mut pairs = Vec::new();
    for (name, value) in values {
        let several = match value {
            Value::Array(list) => list,
            one => vec![one],
        };
        for value in several {
            let text = match value {
                Value::String(text) => text,
                Value::Number(number) => number.to_string(),
                Value::Bool(flag) => flag.to_string(),
                _ => {
                    return Err(Problem::malformed(format!(
                        "parameter `{name}` is not a text, number or boolean"
                    )));
                }
            };
            pairs.push((name.clone(), text));
        }
    }
    Ok(pairs.into_iter().collect())
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("keyfold", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut listed = ListToolsResult::with_all_items(self.tools.clone());
        (listed.ttl_ms, listed.cache_scope) = (Some(TOOLS_TTL_MS), Some(CacheScope::Private));
        Ok(listed)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match self.call(&request.name, request.arguments.unwrap_or_default()).await {
            Some(answer) => Ok(self.result(answer).into()),
            None => Err(ErrorData::invalid_params("no such tool", None)),
        }
    }
}

/// Serves standard input and output until the client closes them.
pub async fn serve_stdio(server: Server) -> Result<(), ServeError> {
    let (input, output) = rmcp::transport::io::stdio();
    let transport = AsyncRwTransport::new(input, output).with_max_line_length(LINE_BYTES_MAX);
    let running =
        serve_server(server, transport).await.map_err(|error| ServeError::Start(error.to_string()))?;
    running.waiting().await.map(drop).map_err(|error| ServeError::Failed(error.to_string()))
}
