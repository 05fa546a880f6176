//! The command line, as data.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand};
use keyfold_dynamo::retrofit::CONTROL_TABLE_DEFAULT;

/// Make a DynamoDB table answer questions it was not designed for.
#[derive(Debug, Parser)]
#[command(name = "keyfold", version, propagate_version = true, max_term_width = 100)]
#[command(
    after_help = "Examples:\n  keyfold demo\n  keyfold check && keyfold plan\n  keyfold query --table audit --where resourceId=123ccc --where action=viewed\n  \
                  keyfold retrofit plan auditV2\n\n\
                  Exit codes: 0 done; 1 the answer is no (diagnostics, a refused request, a failed call); 2 wrong usage; 130 ended by ctrl-C.\n\
                  Region, profile and credentials: AWS_REGION, AWS_PROFILE and the rest of the usual variables and files.\n\
                  AWS_ENDPOINT_URL_DYNAMODB names another DynamoDB. NO_COLOR is heeded."
)]
pub(crate) struct Args {
    /// The manifest.
    #[arg(
        long,
        short,
        global = true,
        default_value = "keyfold.toml",
        env = "KEYFOLD_MANIFEST",
        value_name = "FILE"
    )]
    pub(crate) manifest: PathBuf,
    /// Print JSON, for machines.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check the manifest: every mistake with its line, and what to do about it.
    #[command(
        after_help = "Examples:\n  keyfold check\n  keyfold check --manifest examples/pets/keyfold.toml --json"
    )]
    Check(CheckArgs),
    /// Show an item with its folded keys, and its entry in each index, or why it has none.
    #[command(
        after_help = "Examples:\n  keyfold fold --table audit --item '{\"id\":\"1\",\"resourceId\":\"123bbb\"}'\n  \
                            keyfold fold --table pets --entity parrot --item - < item.json"
    )]
    Fold(FoldArgs),
    /// Read a folded key back into its parts.
    #[command(
        after_help = "Example:\n  keyfold unfold --table audit --index byResourceActionUser 123ccc-viewed-joe1"
    )]
    Unfold(UnfoldArgs),
    /// Print the JSON Schema of the manifest, for completion in editors.
    #[command(after_help = "Example:\n  keyfold schema > keyfold.schema.json")]
    Schema,
    /// Print completions for a shell.
    #[command(
        after_help = "Examples:\n  keyfold completions bash > ~/.local/share/bash-completion/completions/keyfold\n  \
                            keyfold completions zsh > ~/.zfunc/_keyfold"
    )]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Show for each question which index serves it, what it costs, or what is missing.
    #[command(after_help = "Examples:\n  keyfold plan\n  keyfold plan --table audit --explain")]
    Plan(PlanArgs),
    /// Ask a question and print the answer.
    #[command(
        after_help = "Examples:\n  keyfold query --table audit --where 'resourceId=123bbb' --where 'timestamp^=2017-03' \\\n    \
                            --order -timestamp --limit 20 --endpoint http://127.0.0.1:8000\n  \
                            keyfold query --request '{\"table\":\"audit\",\"where\":{\"id\":\"e1\"}}'\n\n\
                            Conditions: a=v  a<>v  a<v  a<=v  a>v  a>=v  a^=prefix  a*=part  a=[v,w]  a=v..w  a?  a!?"
    )]
    Query(QueryArgs),
    /// Show how a question would be answered, and at what price; nothing is read.
    #[command(
        after_help = "Example:\n  keyfold explain --table audit --where 'resourceId=123bbb' --where 'action=viewed' \\\n    \
                            --where 'accessedBy=joe1' --order timestamp"
    )]
    Explain(RequestArgs),
    /// Give the items of a live table their new keys, in place or in a new table.
    #[command(
        after_help = "In this order:\n  keyfold retrofit plan auditV2\n  keyfold retrofit start auditV2\n  \
                            keyfold retrofit backfill auditV2 --segments 8\n  keyfold retrofit verify auditV2\n  \
                            keyfold retrofit cutover auditV2\n  keyfold retrofit finalise auditV2"
    )]
    Retrofit(RetrofitArgs),
    /// Print the tables' part of the CloudFormation template, or check a template against the manifest.
    #[command(
        after_help = "Examples:\n  keyfold template\n  keyfold template --check\n  keyfold template --stages --have audit.byUserAction\n  \
                            keyfold template --stage 1 --json"
    )]
    Template(TemplateArgs),
    /// Run everything on this machine until ctrl-C: DynamoDB, streams, replicator, query API, audit writer.
    #[command(
        after_help = "Examples:\n  keyfold local\n  keyfold local --data ./data --port 8000 --api-port 3000\n  \
                            keyfold local --functions target/lambda\n\n\
                            Then, for example:\n  keyfold query --endpoint http://127.0.0.1:8000 --table audit --where id=e1\n  \
                            curl http://127.0.0.1:3000/health"
    )]
    Local(LocalArgs),
    /// Run the main job on an embedded DynamoDB: an old table, a new question, its keys, the whole answer.
    Demo(DemoArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct LocalArgs {
    /// A folder that keeps the data; in memory if not given.
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// The port of DynamoDB; 0 for any free one.
    #[arg(long, default_value_t = 8000, value_name = "PORT")]
    pub(crate) port: u16,
    /// The port of query API and audit writer; 0 for any free one.
    #[arg(long, default_value_t = 3000, value_name = "PORT")]
    pub(crate) api_port: u16,
    /// A folder with the functions' binaries, to run these as Lambda does; in this process if not given.
    #[arg(long, value_name = "DIR")]
    pub(crate) functions: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DemoArgs {
    /// How many events the table holds; 100,000 if not given, in place 5,000: there every item that gets its keys is a record
    /// of the stream, and the embedded DynamoDB looks through all of them for each new one.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1000..=1_000_000))]
    pub(crate) items: Option<u32>,
    /// Give the items of one table their keys where they are, in place of a new table.
    #[arg(long)]
    pub(crate) in_place: bool,
}

/// A request: whole as JSON, or put together from conditions.
#[derive(Debug, ClapArgs)]
pub(crate) struct RequestArgs {
    /// The whole request as JSON; `-` reads it from standard input.
    #[arg(long, value_name = "JSON", conflicts_with_all = ["table", "conditions"])]
    pub(crate) request: Option<String>,
    /// The table's name in the manifest, or in DynamoDB.
    #[arg(long, short, value_name = "TABLE", required_unless_present = "request")]
    pub(crate) table: Option<String>,
    /// A condition; several must all hold.
    #[arg(long = "where", short, value_name = "CONDITION")]
    pub(crate) conditions: Vec<String>,
    /// An entity that is wanted; several are alternatives.
    #[arg(long, short, value_name = "ENTITY")]
    pub(crate) entity: Vec<String>,
    /// An attribute to order by; `-attribute` for the largest first.
    #[arg(long, short, value_name = "ATTRIBUTE", allow_hyphen_values = true)]
    pub(crate) order: Vec<String>,
    /// The most items of an answer.
    #[arg(long, short, value_name = "N")]
    pub(crate) limit: Option<u32>,
    /// An attribute that is wanted; all if none is named.
    #[arg(long, short, value_name = "ATTRIBUTE", value_delimiter = ',')]
    pub(crate) select: Vec<String>,
    /// Only the number of items.
    #[arg(long)]
    pub(crate) count: bool,
    /// Read with strong consistency.
    #[arg(long)]
    pub(crate) consistent: bool,
    /// Allow a scan.
    #[arg(long)]
    pub(crate) scan: bool,
    /// Allow sorting in memory, of at most so many items.
    #[arg(long, value_name = "N")]
    pub(crate) sort_in_memory: Option<u32>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct QueryArgs {
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    /// The DynamoDB to ask; AWS as the environment says if not given.
    #[arg(long, value_name = "URL", env = "AWS_ENDPOINT_URL_DYNAMODB")]
    pub(crate) endpoint: Option<String>,
    /// The page after another answer, by that answer's token. Needs KEYFOLD_TOKEN_KEYS.
    #[arg(long, value_name = "TOKEN", conflicts_with = "all")]
    pub(crate) page: Option<String>,
    /// Read all pages.
    #[arg(long)]
    pub(crate) all: bool,
    /// The most read units that each page may consume.
    #[arg(long, value_name = "UNITS")]
    pub(crate) read_units_max: Option<f64>,
    /// Print the plan too.
    #[arg(long)]
    pub(crate) explain: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CheckArgs {
    /// Fail on warnings too.
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct FoldArgs {
    /// The table's name in the manifest, or in DynamoDB.
    #[arg(long, short, value_name = "TABLE")]
    pub(crate) table: String,
    /// The entity the item is to be; found out from the item if not given.
    #[arg(long, short, value_name = "ENTITY")]
    pub(crate) entity: Option<String>,
    /// The item as JSON, plain or in DynamoDB's notation; `-` reads it from standard input.
    #[arg(long, short, value_name = "JSON")]
    pub(crate) item: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct UnfoldArgs {
    /// The table's name in the manifest, or in DynamoDB.
    #[arg(long, short, value_name = "TABLE")]
    pub(crate) table: String,
    /// The index whose key it is; the table's own key if not given.
    #[arg(long, value_name = "INDEX")]
    pub(crate) index: Option<String>,
    /// The folded attribute, where several could hold the key.
    #[arg(long, value_name = "ATTRIBUTE")]
    pub(crate) attribute: Option<String>,
    /// The key.
    pub(crate) key: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct PlanArgs {
    /// Only the questions of this table.
    #[arg(long, short, value_name = "TABLE")]
    pub(crate) table: Option<String>,
    /// Print each plan whole, with what else was considered.
    #[arg(long)]
    pub(crate) explain: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RetrofitArgs {
    #[command(subcommand)]
    pub(crate) command: RetrofitCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RetrofitCommand {
    /// Say which protocol applies and why, and what it will cost; nothing is written.
    Plan(RetrofitPlanArgs),
    /// Check both tables and the stream, and note the retrofit in the control table.
    Start(RetrofitStartArgs),
    /// Carry the items over that are there already. Goes on where it was stopped.
    Backfill(RetrofitPassArgs),
    /// Compare both sides, both ways; exits with 1 if they do not agree.
    Verify(RetrofitVerifyArgs),
    /// Compare both sides and make the target what the source says.
    Repair(RetrofitVerifyArgs),
    /// In AWS: start the state machine that does all of it up to the comparison; without --state-machine, print its input.
    Run(RetrofitRunArgs),
    /// Show how far it is, and what keeps it from being cut over.
    Status(RetrofitTarget),
    /// Show what could not be carried over, and why.
    Quarantine(RetrofitQuarantineArgs),
    /// Note that readers and writers are switched to the target, if all gates are open.
    Cutover(RetrofitTarget),
    /// Take the cut-over back.
    Undo(RetrofitTarget),
    /// After the cut-over: take off what the retrofit kept on the target's items.
    Finalise(RetrofitFinaliseArgs),
    /// Give the retrofit up.
    Abandon(RetrofitTarget),
}

/// Which retrofit, and where.
#[derive(Debug, ClapArgs)]
pub(crate) struct RetrofitTarget {
    /// The retrofit's name in the manifest.
    pub(crate) name: String,
    /// The DynamoDB to work on; AWS as the environment says if not given.
    #[arg(long, value_name = "URL", env = "AWS_ENDPOINT_URL_DYNAMODB")]
    pub(crate) endpoint: Option<String>,
    /// The control table.
    #[arg(long, value_name = "TABLE", env = "KEYFOLD_CONTROL_TABLE", default_value = CONTROL_TABLE_DEFAULT)]
    pub(crate) control: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RetrofitRunArgs {
    /// The retrofit's name in the manifest.
    pub(crate) name: String,
    /// The state machine's ARN: the stack's output RetrofitStateMachineArn.
    #[arg(long, value_name = "ARN", env = "KEYFOLD_STATE_MACHINE")]
    pub(crate) state_machine: Option<String>,
    /// A name for the execution. The same name with the same input is the same execution.
    #[arg(long, value_name = "NAME")]
    pub(crate) execution: Option<String>,
    /// How many segments the source is scanned in.
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) segments: u32,
    /// How many segments are worked on at once.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) concurrency: Option<u32>,
    /// The most capacity units in a second, of all segments together.
    #[arg(long, value_name = "UNITS")]
    pub(crate) rate: Option<f64>,
    /// Mend what differs while comparing.
    #[arg(long)]
    pub(crate) repair: bool,
    /// In place only: every writer folds keys by itself, so no stream is followed.
    #[arg(long)]
    pub(crate) no_stream: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RetrofitPlanArgs {
    #[command(flatten)]
    pub(crate) target: RetrofitTarget,
    /// How many items to judge by.
    #[arg(long, default_value_t = 500, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) sample: u32,
    /// How many items the source has; asked of DynamoDB if not given.
    #[arg(long, value_name = "N")]
    pub(crate) items: Option<u64>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RetrofitStartArgs {
    #[command(flatten)]
    pub(crate) target: RetrofitTarget,
    /// In place only: every writer folds keys by itself, so no stream is followed.
    #[arg(long)]
    pub(crate) no_stream: bool,
}

/// How a pass over a table is divided.
#[derive(Debug, ClapArgs)]
pub(crate) struct RetrofitWork {
    /// Who works, for the leases of segments: one of the same name goes on at once where one was killed, another after
    /// half a minute. A name of this run if not given.
    #[arg(long, value_name = "NAME", env = "KEYFOLD_WORKER")]
    pub(crate) worker: Option<String>,
    /// How many segments each table is scanned in.
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) segments: u32,
    /// How many segments are worked on at once.
    #[arg(long, default_value_t = 4, value_name = "N")]
    pub(crate) concurrency: usize,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RetrofitPassArgs {
    #[command(flatten)]
    pub(crate) target: RetrofitTarget,
    #[command(flatten)]
    pub(crate) work: RetrofitWork,
    /// The capacity units in a second, reads and writes of all segments together: it begins with as many and never
    /// exceeds them. Without it, it begins with 1000 and grows while nothing is throttled.
    #[arg(long, value_name = "UNITS")]
    pub(crate) rate: Option<f64>,
    /// Begin anew.
    #[arg(long)]
    pub(crate) again: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RetrofitVerifyArgs {
    #[command(flatten)]
    pub(crate) target: RetrofitTarget,
    #[command(flatten)]
    pub(crate) work: RetrofitWork,
    /// The capacity units in a second, as for a backfill.
    #[arg(long, value_name = "UNITS")]
    pub(crate) rate: Option<f64>,
    /// How many differences to print, by their keys.
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub(crate) show: usize,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RetrofitQuarantineArgs {
    #[command(flatten)]
    pub(crate) target: RetrofitTarget,
    /// Take out the entries that name no item, of records that could not be read: after a comparison that found nothing.
    #[arg(long)]
    pub(crate) dismiss: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RetrofitFinaliseArgs {
    #[command(flatten)]
    pub(crate) target: RetrofitTarget,
    /// Seconds to wait after the last change may have been carried over: longer than any function runs.
    #[arg(long, default_value_t = 900, value_name = "SECONDS")]
    pub(crate) settle: u64,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TemplateArgs {
    /// Compare this template with the manifest; exits with 1 if it is not what the manifest says, or would lose records.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "template.yaml", conflicts_with_all = ["stages", "stage"])]
    pub(crate) check: Option<PathBuf>,
    /// List the deployments that several new global indexes of a live table need: each adds one.
    #[arg(long)]
    pub(crate) stages: bool,
    /// Print the tables' part as one of these deployments has it.
    #[arg(long, value_name = "N")]
    pub(crate) stage: Option<usize>,
    /// For the deployments: a global index that the live table has already, as TABLE.INDEX.
    #[arg(long, value_name = "TABLE.INDEX")]
    pub(crate) have: Vec<String>,
    /// The control table.
    #[arg(long, value_name = "TABLE", env = "KEYFOLD_CONTROL_TABLE", default_value = CONTROL_TABLE_DEFAULT)]
    pub(crate) control: String,
}
