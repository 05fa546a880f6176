//! The command line, as data.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use keyfold_dynamo::WarmThroughput;
use keyfold_dynamo::retrofit::{CONTROL_TABLE_DEFAULT, LAG_SECONDS_DEFAULT};

/// Make a DynamoDB table answer questions it was not designed for.
#[derive(Debug, Parser)]
#[command(name = "keyfold", version, propagate_version = true, max_term_width = 100)]
#[command(
    after_help = "Examples:\n  keyfold demo\n  keyfold check && keyfold plan\n  keyfold query --table audit --where resourceId=123ccc --where action=viewed\n  \
                  keyfold retrofit plan auditV2\n\n\
                  Exit codes: 0 done; 1 the answer is no (mistakes, a refused request, a failed call); 2 wrong usage; 130 stopped by ctrl-C.\n\
                  Region, profile and credentials come from AWS_REGION, AWS_PROFILE and the other usual AWS variables and files.\n\
                  AWS_ENDPOINT_URL_DYNAMODB sets another DynamoDB endpoint. NO_COLOR switches colours off."
)]
pub(crate) struct Args {
    /// The path of the manifest.
    #[arg(
        long,
        short,
        global = true,
        default_value = "keyfold.toml",
        env = "KEYFOLD_MANIFEST",
        value_name = "FILE"
    )]
    pub(crate) manifest: PathBuf,
    /// Print JSON for programs.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check the manifest: show every mistake with its line and a hint.
    #[command(
        after_help = "Examples:\n  keyfold check\n  keyfold check --manifest examples/pets/keyfold.toml --json"
    )]
    Check(CheckArgs),
    /// Show an item with its folded keys, and its entry in each index or why it has none.
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
    /// Print the types of the manifest's items, keys and questions in a language.
    Types(TypesArgs),
    /// Print the JSON Schema of the manifest, so that your editor can complete it.
    #[command(after_help = "Example:\n  keyfold schema > keyfold.schema.json")]
    Schema,
    /// Print command completions for your shell.
    #[command(
        after_help = "Examples:\n  keyfold completions bash > ~/.local/share/bash-completion/completions/keyfold\n  \
                            keyfold completions zsh > ~/.zfunc/_keyfold"
    )]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Show which index answers each question and at what cost, or what is missing.
    #[command(after_help = "Examples:\n  keyfold plan\n  keyfold plan --table audit --explain")]
    Plan(PlanArgs),
    /// Ask a question of the manifest and print the answer; without a question, list them.
    #[command(after_help = "Examples:\n  keyfold ask\n  \
                            keyfold ask whenDidUserActOnResource resourceId=123bbb action=viewed accessedBy=joe1 timestamp.beginsWith=2017-03\n  \
                            keyfold ask whatDidUserDo accessedBy=jane action=edited --all --output csv > edits.csv\n\n\
                            Parameters are those of the query API: docs/query-api.md. `limit=20`, `order=-timestamp` and `count=true` work too.")]
    Ask(AskArgs),
    /// Run a request and print the answer.
    #[command(
        after_help = "Examples:\n  keyfold query --table audit --where 'resourceId=123bbb' --where 'timestamp^=2017-03' \\\n    \
                            --order -timestamp --limit 20 --endpoint http://127.0.0.1:8000\n  \
                            keyfold query --request '{\"table\":\"audit\",\"where\":{\"id\":\"e1\"}}'\n\n\
                            Conditions: a=v  a<>v  a<v  a<=v  a>v  a>=v  a^=prefix  a*=part  a=[v,w]  a=v..w  a?  a!?"
    )]
    Query(QueryArgs),
    /// Write an item, with its folded keys. An item with the same key is left as it is, unless you say `--replace`.
    #[command(
        after_help = "Examples:\n  keyfold put audit '{\"id\":\"e1\",\"resourceId\":\"123bbb\",\"action\":\"viewed\",\"accessedBy\":\"joe1\",\"timestamp\":\"2017-03-01T08:00:00Z\"}'\n  \
                            keyfold put pets - --entity parrot < item.json"
    )]
    Put(PutArgs),
    /// Change attributes of an item, and the folded keys that contain them.
    #[command(
        after_help = "Example:\n  keyfold update audit --key id=e1 --set action=edited --set 'tags:=[\"a\",\"b\"]' --remove note --if action=viewed\n\n\
                            Values: name=value by the attribute's type in the manifest; name:=JSON for lists, maps and undeclared numbers."
    )]
    Update(UpdateArgs),
    /// Delete an item.
    #[command(after_help = "Example:\n  keyfold delete audit --key id=e1 --if action=viewed")]
    Delete(DeleteArgs),
    /// Write the items of a file, one JSON object on each line, with their folded keys. Goes on where it was stopped.
    #[command(
        after_help = "Examples:\n  keyfold load audit events.jsonl\n  keyfold load audit events.jsonl --replace --endpoint http://127.0.0.1:8000\n\n\
                            A file with a mistake in any line writes nothing. Items that are there already are left as they are: the same ones\n\
                            are counted, and others with the same key are listed by their lines (exit code 1). You can stop or kill it at any\n\
                            point; the same command goes on."
    )]
    Load(LoadArgs),
    /// Show how a request would be answered, and at what cost. Reads nothing.
    #[command(
        after_help = "Example:\n  keyfold explain --table audit --where 'resourceId=123bbb' --where 'action=viewed' \\\n    \
                            --where 'accessedBy=joe1' --order timestamp"
    )]
    Explain(RequestArgs),
    /// Give the items of a live table their new keys, in place or in a new table.
    #[command(
        after_help = "The steps, in this order:\n  keyfold retrofit plan auditV2\n  keyfold retrofit start auditV2\n  \
                            keyfold retrofit backfill auditV2 --segments 8\n  keyfold retrofit verify auditV2\n  \
                            keyfold retrofit cutover auditV2\n  keyfold retrofit finalise auditV2"
    )]
    Retrofit(RetrofitArgs),
    /// Compare the manifest's tables with those in DynamoDB, and make them what the manifest says.
    #[command(after_help = "Examples:\n  keyfold tables diff\n  keyfold tables apply orders\n\n\
                            Creates tables, adds global indexes one by one, switches time-to-live and streams on. Deletes and replaces nothing.\n\
                            You can stop it at any point; the same command goes on with the rest.")]
    #[command(subcommand)]
    Tables(TablesCommand),
    /// Add the manifest's global indexes to a live table.
    #[command(
        after_help = "Examples:\n  keyfold index add orders --all --check\n  keyfold index add orders byCustomerStatus byDay\n\n\
                            DynamoDB adds one index at a time and fills it, for hours if the table is large. You can stop this command at\n\
                            any point: DynamoDB goes on with the index that it is at, and the same command goes on with the rest."
    )]
    Index(IndexArgs),
    /// Prove the audit trail: was anything changed, removed, inserted or back-dated? Needs a journal, see docs/audit-writer.md.
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Write the CloudFormation template of the whole deployment, or check one that was changed by hand.
    #[command(after_help = "Examples:\n  keyfold template > template.yaml\n  keyfold template --check\n  \
                            keyfold template --format json --only rights\n  keyfold template --stages --have audit.byUserAction")]
    Template(TemplateArgs),
    /// Run everything on this machine until ctrl-C: DynamoDB, streams, replicator, query API, audit writer, console.
    #[command(
        after_help = "Examples:\n  keyfold local\n  keyfold local --data ./data --port 8000 --api-port 3000\n  \
                            keyfold local --functions target/lambda\n\n\
                            Then, for example:\n  keyfold query --endpoint http://127.0.0.1:8000 --table audit --where id=e1\n  \
                            curl http://127.0.0.1:3000/health"
    )]
    Local(LocalArgs),
    /// Write a manifest from what you have: a live table, a model, a template, a schema, items.
    #[command(after_help = "Examples:\n  keyfold init --table Helpdesk --endpoint http://127.0.0.1:8000\n  \
                            keyfold init template.yaml entities.json --out keyfold.toml\n  \
                            keyfold init description.json items.jsonl\n  \
                            keyfold init --new-index \"resourceId, action, accessedBy / timestamp\"\n\n\
                            Sources: DescribeTable, DescribeTimeToLive and create-table JSON, items as JSON lines, NoSQL Workbench models,\n\
                            CloudFormation, SAM, CDK and serverless.yml, Terraform (show -json, literal HCL), ElectroDB, OneTable, awslabs\n\
                            schema.json. Several for one table are laid over each other. Nothing leaves this machine.")]
    Init(InitArgs),
    /// Type commands at a prompt that remembers them and completes tables, questions, attributes and values.
    #[command(
        after_help = "Examples:\n  keyfold shell --endpoint http://127.0.0.1:8000\n  keyfold shell < commands.txt\n\n\
                            Each line is a command without the word keyfold: query --table audit --where id=e1. Tab completes, ctrl-C cancels, and\n\
                            ctrl-D or exit ends. Without a terminal, standard input is a script: every line runs, and one that fails makes\n\
                            the exit code 1."
    )]
    Shell(ShellArgs),
    /// Show the whole job on an embedded DynamoDB: an old table, a new question, a retrofit, the complete answer.
    Demo(DemoArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Write down where the chains of a day end, to be kept where nobody can change it.
    #[command(
        after_help = "Examples:\n  keyfold audit anchor --anchors anchors\n  keyfold audit anchor --anchors anchors --out today.json --day 2026-11-23\n\n\
                            With the bucket of the template, once a day:\n  \
                            aws s3 sync s3://$BUCKET anchors && keyfold audit anchor --anchors anchors && aws s3 sync anchors s3://$BUCKET"
    )]
    Anchor(AnchorArgs),
    /// Hold the table against the journal and the anchors. Exits with 1 if anything is not as it was written.
    #[command(
        after_help = "Examples:\n  keyfold audit verify --anchors anchors\n  keyfold audit verify --day 2026-11-23 --json\n  \
                            keyfold audit verify --table auditV3 --through auditV3 --anchors anchors"
    )]
    Verify(VerifyArgs),
}

/// Where the trail is.
#[derive(Debug, ClapArgs)]
pub(crate) struct TrailArgs {
    /// The endpoint of DynamoDB [default: AWS, as your environment configures it].
    #[arg(long, value_name = "URL", env = "AWS_ENDPOINT_URL_DYNAMODB")]
    pub(crate) endpoint: Option<String>,
    /// The name of the journal's table in DynamoDB [default: the manifest's `audit-journal`].
    #[arg(long, value_name = "NAME", env = "KEYFOLD_AUDIT_JOURNAL")]
    pub(crate) journal: Option<String>,
    /// The most read units per second.
    #[arg(long, value_name = "UNITS", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) rate: u32,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct AnchorArgs {
    #[command(flatten)]
    pub(crate) trail: TrailArgs,
    /// The folder with all anchors so far. The new one names the newest of them.
    #[arg(long, value_name = "DIR")]
    pub(crate) anchors: PathBuf,
    /// Where the new anchor is written [default: into that folder].
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// The UTC day [default: the newest that has been over for an hour].
    #[arg(long, value_name = "DAY")]
    pub(crate) day: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) trail: TrailArgs,
    /// The table of the events [default: the one that the manifest's audit writer writes].
    #[arg(long, short, value_name = "TABLE")]
    pub(crate) table: Option<String>,
    /// The retrofit that carried older events into the table.
    #[arg(long, value_name = "RETROFIT")]
    pub(crate) through: Option<String>,
    /// The folder with all anchors. Without it, a missing chain or end of a chain is not found.
    #[arg(long, value_name = "DIR")]
    pub(crate) anchors: Option<PathBuf>,
    /// Only this UTC day.
    #[arg(long, value_name = "DAY", conflicts_with_all = ["from", "to"])]
    pub(crate) day: Option<String>,
    /// The first UTC day [default: the journal's first].
    #[arg(long, value_name = "DAY")]
    pub(crate) from: Option<String>,
    /// The last UTC day [default: today].
    #[arg(long, value_name = "DAY")]
    pub(crate) to: Option<String>,
    /// The attribute with an event's id.
    #[arg(long, value_name = "ATTRIBUTE", env = "KEYFOLD_AUDIT_ID", default_value = "id")]
    pub(crate) id: String,
    /// The attribute in which the audit writer notes how an event reached it.
    #[arg(long, value_name = "ATTRIBUTE", env = "KEYFOLD_AUDIT_RECEIVED", default_value = "received")]
    pub(crate) received: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct InitArgs {
    /// Files; `-` reads standard input.
    #[arg(value_name = "SOURCE")]
    pub(crate) sources: Vec<PathBuf>,
    /// A live table to describe and sample; it is only read. With --new-index: the table that gets the index.
    #[arg(long, short, value_name = "NAME")]
    pub(crate) table: Option<String>,
    /// The DynamoDB to ask; AWS as the environment says if not given.
    #[arg(long, value_name = "URL", env = "AWS_ENDPOINT_URL_DYNAMODB")]
    pub(crate) endpoint: Option<String>,
    /// Where the manifest is written. `-` prints it.
    #[arg(long, value_name = "FILE", default_value = "keyfold.toml")]
    pub(crate) out: PathBuf,
    /// Write over a file that exists.
    #[arg(long)]
    pub(crate) force: bool,
    /// The most read units that the sample may consume: at least 50, what the largest item costs.
    #[arg(long, value_name = "N", default_value_t = 600, value_parser = clap::value_parser!(u32).range(50..=100_000))]
    pub(crate) read_units: u32,
    /// Let comments hold values of items, not only counts.
    #[arg(long)]
    pub(crate) examples: bool,
    /// Add an index to the manifest: partition attributes, and sort attributes behind a slash.
    #[arg(long, value_name = "A, B / C", conflicts_with_all = ["sources", "out", "examples"])]
    pub(crate) new_index: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TypesArgs {
    /// The language.
    #[arg(long, value_enum)]
    pub(crate) lang: Language,
}

/// A language that `keyfold types` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Language {
    /// Interfaces, for the npm package.
    Typescript,
    /// Typed dictionaries.
    Python,
    /// Structs for serde.
    Rust,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct LocalArgs {
    /// The folder for the data [default: in memory].
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// The port of DynamoDB; 0 for any free port.
    #[arg(long, default_value_t = 8000, value_name = "PORT")]
    pub(crate) port: u16,
    /// The port of the query API, the audit writer and the console; 0 for any free port.
    #[arg(long, default_value_t = 3000, value_name = "PORT")]
    pub(crate) api_port: u16,
    /// The folder with the functions' binaries, to run them as Lambda does [default: run them in this process].
    #[arg(long, value_name = "DIR")]
    pub(crate) functions: Option<PathBuf>,
    /// Another name that requests may use for this machine, besides 127.0.0.1, localhost and `[::1]`; you can give several.
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ShellArgs {
    /// The endpoint of DynamoDB for commands that name none [default: AWS, as your environment configures it].
    #[arg(long, value_name = "URL", env = "AWS_ENDPOINT_URL_DYNAMODB")]
    pub(crate) endpoint: Option<String>,
    /// The name of the control table for commands that name none.
    #[arg(long, value_name = "NAME", env = "KEYFOLD_CONTROL_TABLE", default_value = CONTROL_TABLE_DEFAULT)]
    pub(crate) control: String,
    /// Keep no history. A line that begins with a space is never kept.
    #[arg(long)]
    pub(crate) no_history: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DemoArgs {
    /// How many events the table has [default: 100,000; in place 5,000, because there each item becomes a record of the stream
    /// and the embedded DynamoDB slows down with every record].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1000..=1_000_000))]
    pub(crate) items: Option<u32>,
    /// Give the items their keys in the same table, without a new table.
    #[arg(long)]
    pub(crate) in_place: bool,
}

/// A request: complete as JSON, or built from conditions.
#[derive(Debug, ClapArgs)]
pub(crate) struct RequestArgs {
    /// The complete request as JSON; `-` reads standard input.
    #[arg(long, value_name = "JSON", conflicts_with_all = ["table", "conditions"])]
    pub(crate) request: Option<String>,
    /// The table's name in the manifest or in DynamoDB.
    #[arg(long, short, value_name = "TABLE", required_unless_present = "request")]
    pub(crate) table: Option<String>,
    /// A condition. If you give several, all must be true.
    #[arg(long = "where", short, value_name = "CONDITION")]
    pub(crate) conditions: Vec<String>,
    /// Only items of this entity; you can give several.
    #[arg(long, short, value_name = "ENTITY")]
    pub(crate) entity: Vec<String>,
    /// An attribute to sort by; `-attribute` sorts descending.
    #[arg(long, short, value_name = "ATTRIBUTE", allow_hyphen_values = true)]
    pub(crate) order: Vec<String>,
    /// The maximum number of items in an answer.
    #[arg(long, short, value_name = "N")]
    pub(crate) limit: Option<u32>,
    /// An attribute to return [default: all].
    #[arg(long, short, value_name = "ATTRIBUTE", value_delimiter = ',')]
    pub(crate) select: Vec<String>,
    /// Return only the number of items.
    #[arg(long)]
    pub(crate) count: bool,
    /// Read with strong consistency.
    #[arg(long)]
    pub(crate) consistent: bool,
    /// Allow a scan.
    #[arg(long)]
    pub(crate) scan: bool,
    /// Allow sorting in memory, of at most N items.
    #[arg(long, value_name = "N")]
    pub(crate) sort_in_memory: Option<u32>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct QueryArgs {
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct AskArgs {
    /// The question's name [default: list all questions].
    #[arg(value_name = "QUESTION")]
    pub(crate) question: Option<String>,
    /// The question's parameters.
    #[arg(value_name = "NAME=VALUE")]
    pub(crate) params: Vec<String>,
    /// The question's table, if several tables have a question of that name.
    #[arg(long, short, value_name = "TABLE")]
    pub(crate) table: Option<String>,
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

/// How items are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ItemForm {
    /// A table for people, its cells cut to 40 characters.
    Table,
    /// One JSON object on each line.
    Jsonl,
    /// Comma-separated values, with a line of names.
    Csv,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct AnswerArgs {
    /// The endpoint of DynamoDB [default: AWS, as your environment configures it].
    #[arg(long, value_name = "URL", env = "AWS_ENDPOINT_URL_DYNAMODB")]
    pub(crate) endpoint: Option<String>,
    /// The name of the control table: it says which indexes a retrofit is still filling.
    #[arg(long, value_name = "NAME", env = "KEYFOLD_CONTROL_TABLE", default_value = CONTROL_TABLE_DEFAULT)]
    pub(crate) control: String,
    /// The token of the previous answer, for the next page. Needs KEYFOLD_TOKEN_KEYS.
    #[arg(long, value_name = "TOKEN", conflicts_with = "all")]
    pub(crate) page: Option<String>,
    /// Read all pages.
    #[arg(long)]
    pub(crate) all: bool,
    /// The maximum read units that each page may consume.
    #[arg(long, value_name = "UNITS")]
    pub(crate) read_units_max: Option<f64>,
    /// Print the plan too.
    #[arg(long)]
    pub(crate) explain: bool,
    /// How to print the items [default: table].
    #[arg(long, value_name = "FORM", value_enum)]
    pub(crate) output: Option<ItemForm>,
    /// Show folded keys, too.
    #[arg(long)]
    pub(crate) keys: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct PutArgs {
    /// The table's name in the manifest or in DynamoDB.
    pub(crate) table: String,
    /// The item as plain JSON or in DynamoDB's JSON notation; `-` reads standard input.
    pub(crate) item: String,
    /// The item's entity [default: found from the item's attributes].
    #[arg(long, short, value_name = "ENTITY")]
    pub(crate) entity: Option<String>,
    /// Write over an item with the same key.
    #[arg(long)]
    pub(crate) replace: bool,
    /// The endpoint of DynamoDB [default: AWS, as your environment configures it].
    #[arg(long, value_name = "URL", env = "AWS_ENDPOINT_URL_DYNAMODB")]
    pub(crate) endpoint: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct UpdateArgs {
    /// The table's name in the manifest or in DynamoDB.
    pub(crate) table: String,
    /// An attribute of the item's key, or one that the key is folded from.
    #[arg(long, value_name = "NAME=VALUE", required = true)]
    pub(crate) key: Vec<String>,
    /// An attribute and its new value.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,
    /// An attribute to remove.
    #[arg(long, value_name = "ATTRIBUTE")]
    pub(crate) remove: Vec<String>,
    /// Only if the attribute has this value; NAME!? if it is absent.
    #[arg(long = "if", value_name = "NAME=VALUE")]
    pub(crate) conditions: Vec<String>,
    /// The endpoint of DynamoDB [default: AWS, as your environment configures it].
    #[arg(long, value_name = "URL", env = "AWS_ENDPOINT_URL_DYNAMODB")]
    pub(crate) endpoint: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DeleteArgs {
    /// The table's name in the manifest or in DynamoDB.
    pub(crate) table: String,
    /// An attribute of the item's key, or one that the key is folded from.
    #[arg(long, value_name = "NAME=VALUE", required = true)]
    pub(crate) key: Vec<String>,
    /// Only if the attribute has this value; NAME!? if it is absent.
    #[arg(long = "if", value_name = "NAME=VALUE")]
    pub(crate) conditions: Vec<String>,
    /// The endpoint of DynamoDB [default: AWS, as your environment configures it].
    #[arg(long, value_name = "URL", env = "AWS_ENDPOINT_URL_DYNAMODB")]
    pub(crate) endpoint: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct LoadArgs {
    /// The table's name in the manifest or in DynamoDB.
    pub(crate) table: String,
    /// The file: one item on each line, as plain JSON or in DynamoDB's JSON notation.
    pub(crate) file: PathBuf,
    /// The items' entity [default: found from each item's attributes].
    #[arg(long, short, value_name = "ENTITY")]
    pub(crate) entity: Option<String>,
    /// Write over items with the same keys.
    #[arg(long)]
    pub(crate) replace: bool,
    /// The file that notes how far the load is [default: FILE.progress]. It goes when the load is over.
    #[arg(long, value_name = "FILE")]
    pub(crate) progress: Option<PathBuf>,
    /// Start again from the beginning.
    #[arg(long)]
    pub(crate) again: bool,
    /// The endpoint of DynamoDB [default: AWS, as your environment configures it].
    #[arg(long, value_name = "URL", env = "AWS_ENDPOINT_URL_DYNAMODB")]
    pub(crate) endpoint: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CheckArgs {
    /// Fail on warnings too.
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct FoldArgs {
    /// The table's name in the manifest or in DynamoDB.
    #[arg(long, short, value_name = "TABLE")]
    pub(crate) table: String,
    /// The item's entity [default: found from the item's attributes].
    #[arg(long, short, value_name = "ENTITY")]
    pub(crate) entity: Option<String>,
    /// The item as plain JSON or in DynamoDB's JSON notation; `-` reads standard input.
    #[arg(long, short, value_name = "JSON")]
    pub(crate) item: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct UnfoldArgs {
    /// The table's name in the manifest or in DynamoDB.
    #[arg(long, short, value_name = "TABLE")]
    pub(crate) table: String,
    /// The index that the key belongs to [default: the table].
    #[arg(long, value_name = "INDEX")]
    pub(crate) index: Option<String>,
    /// The folded attribute, if several could have this key.
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
    /// Print each plan in full, with the rejected tables and indexes.
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
    /// Show which protocol applies and why, and what it will cost. Writes nothing.
    Plan(RetrofitPlanArgs),
    /// Check both tables and the stream, and record the retrofit in the control table.
    Start(RetrofitStartArgs),
    /// Carry over the items that exist. Continues where it was stopped.
    Backfill(RetrofitPassArgs),
    /// Compare both sides, in both directions. Exits with 1 if they differ.
    Verify(RetrofitVerifyArgs),
    /// Compare both sides and correct what was written where it differs from what it should be.
    Repair(RetrofitVerifyArgs),
    /// In AWS: start the state machine, which does everything up to the comparison. Without --state-machine, print its input.
    Run(RetrofitRunArgs),
    /// In AWS: show which segments failed in a run of the state machine, and why. Asks Step Functions with the AWS CLI.
    Failures(RetrofitFailuresArgs),
    /// Show the progress, and what still blocks the cut-over.
    Status(RetrofitStatusArgs),
    /// List the items that could not be carried over, and why.
    Quarantine(RetrofitQuarantineArgs),
    /// Bring the items of batches that were set aside to where they should be. Each item is read anew from the source. Reads the
    /// batches with the AWS CLI.
    Redrive(RetrofitTarget),
    /// Rid the target of tombstones, so that readers can move: price, wait, sweep. Continues where it was interrupted.
    Tidy(RetrofitTidyArgs),
    /// Move the writers to the target: while nobody writes, everything arrives there; from then on the source follows the target.
    /// `return` moves them back.
    Switch(RetrofitSwitchArgs),
    /// Move the writers back to the source, with all that they wrote to the target.
    Return(RetrofitSwitchArgs),
    /// After `switch` or `return` with `--writers policy`: make the policies of both tables what the retrofit's phase wants.
    Enforce(RetrofitEnforceArgs),
    /// List changes that came to a table after its writers should have stopped.
    Late(RetrofitLateArgs),
    /// After a switch: end the way back. The source follows no more.
    Settle(RetrofitTarget),
    /// If all gates are open: record that readers and writers are switched to the target, for retrofits without a way back; in place,
    /// let queries use the indexes that were filled.
    Cutover(RetrofitCutoverArgs),
    /// Go on with a manifest that was mended while the retrofit runs: other keys of indexes, renames, remedies for what does not fit.
    /// Waits until nobody works by the one before; `repair` then carries over again what changes, and nothing else.
    Revise(RetrofitReviseArgs),
    /// Take the cut-over back.
    Undo(RetrofitTarget),
    /// After the cut-over: remove what the retrofit kept on the target's items. In place, end the upkeep of folded keys.
    Finalise(RetrofitFinaliseArgs),
    /// Give the retrofit up. What it wrote stays; the command says what that is.
    Abandon(RetrofitTarget),
}

/// Which retrofit, and where.
#[derive(Debug, ClapArgs)]
pub(crate) struct RetrofitTarget {
    /// The retrofit's name in the manifest.
    #[arg(value_name = "RETROFIT")]
    pub(crate) name: String,
    /// The endpoint of DynamoDB [default: AWS, as your environment configures it].
    #[arg(long, value_name = "URL", env = "AWS_ENDPOINT_URL_DYNAMODB")]
    pub(crate) endpoint: Option<String>,
    /// The name of the control table.
    #[arg(long, value_name = "NAME", env = "KEYFOLD_CONTROL_TABLE", default_value = CONTROL_TABLE_DEFAULT)]
    pub(crate) control: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RetrofitRunArgs {
    /// The retrofit's name in the manifest.
    #[arg(value_name = "RETROFIT")]
    pub(crate) name: String,
    /// The state machine's ARN: the stack's output, such as AuditV2StateMachineArn.
    #[arg(long, value_name = "ARN", env = "KEYFOLD_STATE_MACHINE")]
    pub(crate) state_machine: Option<String>,
    /// A name for the execution. The same name with the same input gives the same execution.
    #[arg(long, value_name = "NAME")]
    pub(crate) execution: Option<String>,
    /// The number of segments of the source's scan.
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) segments: u32,
    /// How many segments are processed at the same time.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) concurrency: Option<u32>,
    /// The maximum capacity units per second, for all segments together.
    #[arg(long, value_name = "UNITS")]
    pub(crate) rate: Option<f64>,
    /// Correct differences during the comparison.
    #[arg(long)]
    pub(crate) repair: bool,
    /// In place only: follow no stream, because every writer folds keys itself.
    #[arg(long)]
    pub(crate) no_stream: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RetrofitFailuresArgs {
    /// The retrofit's name in the manifest.
    #[arg(value_name = "RETROFIT")]
    pub(crate) name: String,
    /// The state machine's ARN: the stack's output, such as AuditV2StateMachineArn. Its newest run that failed is shown.
    #[arg(long, value_name = "ARN", env = "KEYFOLD_STATE_MACHINE")]
    pub(crate) state_machine: Option<String>,
    /// The run to show.
    #[arg(long, value_name = "ARN")]
    pub(crate) execution: Option<String>,
    /// How many segments to show.
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) show: u16,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RetrofitPlanArgs {
    #[command(flatten)]
    pub(crate) target: RetrofitTarget,
    /// The number of items in the sample.
    #[arg(long, default_value_t = 500, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) sample: u32,
    /// The number of items in the source [default: DynamoDB's own count].
    #[arg(long, value_name = "N")]
    pub(crate) items: Option<u64>,
    /// Read the whole source instead of a sample, and decide on each item as a backfill would: every item that does not fit, and every
    /// collision of target keys.
    #[arg(long, conflicts_with_all = ["sample", "items"])]
    pub(crate) full: bool,
    /// With --full: read units per second [default: starts at 1000 and grows while nothing is throttled].
    #[arg(long, value_name = "UNITS", requires = "full")]
    pub(crate) rate: Option<f64>,
    /// With --full: the number of segments of the scan, which are read at the same time.
    #[arg(long, default_value_t = 4, value_name = "N", requires = "full", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) segments: u32,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RetrofitStartArgs {
    #[command(flatten)]
    pub(crate) target: RetrofitTarget,
    /// In place only: follow no stream, because every writer folds keys itself.
    #[arg(long)]
    pub(crate) no_stream: bool,
    /// Create the control table if there is none. At an `http://` endpoint, which is on this machine, that is done without asking;
    /// elsewhere the table is the stack's.
    #[arg(long)]
    pub(crate) create_control_table: bool,
}

/// How many segments a pass has, if nobody says.
pub(crate) const SEGMENTS_DEFAULT: u32 = 4;

/// How a pass over a table is split into segments.
#[derive(Debug, ClapArgs)]
pub(crate) struct RetrofitWork {
    /// This worker's name, for the leases of segments. After a worker was killed, one with the same name continues at once,
    /// any other waits until the leases end, half a minute later [default: a new name for each run].
    #[arg(long, value_name = "NAME", env = "KEYFOLD_WORKER")]
    pub(crate) worker: Option<String>,
    /// The number of segments of each table's scan. A backfill or a sweep that was begun goes on with its number
    /// [default: 4].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) segments: Option<u32>,
    /// How many segments are processed at the same time.
    #[arg(long, default_value_t = 4, value_name = "N")]
    pub(crate) concurrency: usize,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RetrofitPassArgs {
    #[command(flatten)]
    pub(crate) target: RetrofitTarget,
    #[command(flatten)]
    pub(crate) work: RetrofitWork,
    /// Capacity units per second, reads and writes of all segments together. The command starts at this rate and never
    /// exceeds it [default: starts at 1000 and grows while nothing is throttled].
    #[arg(long, value_name = "UNITS")]
    pub(crate) rate: Option<f64>,
    /// Start again from the beginning.
    #[arg(long)]
    pub(crate) again: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RetrofitVerifyArgs {
    #[command(flatten)]
    pub(crate) target: RetrofitTarget,
    #[command(flatten)]
    pub(crate) work: RetrofitWork,
    /// Capacity units per second, as for a backfill.
    #[arg(long, value_name = "UNITS")]
    pub(crate) rate: Option<f64>,
    /// How far behind the replicator may be: a difference is looked at again for twice as long. 0 if nobody writes.
    #[arg(long, default_value_t = LAG_SECONDS_DEFAULT, value_name = "SECONDS")]
    pub(crate) lag: u64,
    /// How many differences to list, by their keys.
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub(crate) show: usize,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RetrofitStatusArgs {
    #[command(flatten)]
    pub(crate) target: RetrofitTarget,
    /// Look again and again, until the retrofit is over or you press ctrl-C: with the rate and the time left of each pass.
    #[arg(long)]
    pub(crate) watch: bool,
    /// How often to look, in seconds.
    #[arg(long, default_value_t = 5, value_name = "SECONDS", requires = "watch", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) every: u64,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RetrofitQuarantineArgs {
    #[command(flatten)]
    pub(crate) target: RetrofitTarget,
    /// Remove the entries that only a comparison can answer: those of records that name no item, and those from before the writers moved
    /// last. Needs a comparison without differences.
    #[arg(long)]
    pub(crate) dismiss: bool,
    /// Note that items are known not to fit and stay out, and why. Their entries close no gate, until an item no longer fits for
    /// another reason. Say which items, with --key, --attribute, --index, --code or --all.
    #[arg(long, value_name = "REASON", conflicts_with = "dismiss")]
    pub(crate) accept: Option<String>,
    /// Take such a note back.
    #[arg(long, conflicts_with_all = ["dismiss", "accept"])]
    pub(crate) reopen: bool,
    /// Who says so [default: the value of USER].
    #[arg(long, value_name = "NAME", env = "USER", hide_env_values = true)]
    pub(crate) by: Option<String>,
    #[command(flatten)]
    pub(crate) which: QuarantineSelection,
}

/// Which entries of the quarantine.
#[derive(Debug, ClapArgs)]
pub(crate) struct QuarantineSelection {
    /// The item with this key, in DynamoDB JSON, as the list shows it. May be given several times.
    #[arg(long, value_name = "JSON")]
    pub(crate) key: Vec<String>,
    /// Items whose misfit is about this attribute.
    #[arg(long, value_name = "ATTRIBUTE")]
    pub(crate) attribute: Option<String>,
    /// Items whose misfit is about this index.
    #[arg(long, value_name = "INDEX")]
    pub(crate) index: Option<String>,
    /// Items whose misfit has this code.
    #[arg(long, value_name = "CODE")]
    pub(crate) code: Option<String>,
    /// All of them.
    #[arg(long, conflicts_with_all = ["key", "attribute", "index", "code"])]
    pub(crate) all: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RetrofitTidyArgs {
    #[command(flatten)]
    pub(crate) target: RetrofitTarget,
    #[command(flatten)]
    pub(crate) work: RetrofitWork,
    /// Start at this many capacity units per second, reads and writes together, and never exceed them [default: find the rate].
    #[arg(long, value_name = "UNITS")]
    pub(crate) rate: Option<f64>,
    /// Show the price and what is still to be done. Changes nothing.
    #[arg(long)]
    pub(crate) check: bool,
    /// Seconds to wait after each change of the phase: the longest time-out of a function, and five minutes in which a request
    /// that was sent may still be carried out.
    #[arg(long, default_value_t = 1_260, value_name = "SECONDS")]
    pub(crate) wait: u64,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RetrofitReviseArgs {
    #[command(flatten)]
    pub(crate) target: RetrofitTarget,
    /// Seconds to wait until nobody writes by the manifest before: as for `tidy`.
    #[arg(long, default_value_t = 1_260, value_name = "SECONDS")]
    pub(crate) wait: u64,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RetrofitSwitchArgs {
    #[command(flatten)]
    pub(crate) target: RetrofitTarget,
    /// How the writers of the table that is to be closed are stopped. `attested`: you have stopped them, and they stay so until this
    /// command has ended. `policy`: a resource-based policy on the table denies their writes.
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) writers: Option<Writers>,
    /// With `--writers policy`: the ARNs of the roles that may write to a table that follows the other one, which are those of the
    /// replicator (the stack's output) and of this command. The retrofit's row keeps them.
    #[arg(long, value_name = "ARN", env = "KEYFOLD_EXEMPT", value_delimiter = ',')]
    pub(crate) exempt: Vec<String>,
    /// With `--writers policy`: how long every write that is tried must be denied, in seconds. DynamoDB applies a policy after a while.
    #[arg(long, default_value_t = 15, value_name = "SECONDS")]
    pub(crate) denied: u64,
    /// Move the writers although what the retrofit does to items cannot be taken back (`plan` says why). `return` has a way back always.
    #[arg(long)]
    pub(crate) no_way_back: bool,
    /// Do not ask the replicator first whether it can carry items the other way. Nothing shows then that the writers can be moved again.
    #[arg(long)]
    pub(crate) unproven: bool,
    /// How long the replicator may take to answer, in seconds. Nobody is stopped meanwhile.
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    pub(crate) proof_max: u64,
    /// End a stop that was begun and cannot be completed: everything is as it was before it. Reads no stream.
    #[arg(long, conflicts_with_all = ["check", "writers"])]
    pub(crate) take_back: bool,
    /// Show whether it could be done now, and what is still to arrive. Changes nothing.
    #[arg(long)]
    pub(crate) check: bool,
    /// How long nothing may come in the streams before that counts as their end, in seconds: DynamoDB does not tell where a
    /// stream ends.
    #[arg(long, default_value_t = 10, value_name = "SECONDS")]
    pub(crate) quiet: u64,
    /// The longest pause, in seconds. After it everything is as it was before.
    #[arg(long, default_value_t = 120, value_name = "SECONDS")]
    pub(crate) stop_max: u64,
}

/// How writers are stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Writers {
    /// By whoever runs the command.
    Attested,
    /// By a policy on the table.
    Policy,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RetrofitEnforceArgs {
    #[command(flatten)]
    pub(crate) target: RetrofitTarget,
    /// Show what would be changed. Changes nothing.
    #[arg(long)]
    pub(crate) check: bool,
    /// Open both tables to everybody who could write to them before. From then on writers stop by themselves.
    #[arg(long, conflicts_with = "check")]
    pub(crate) lift: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RetrofitLateArgs {
    #[command(flatten)]
    pub(crate) target: RetrofitTarget,
    /// Print what the items were before and after, as JSON.
    #[arg(long)]
    pub(crate) images: bool,
    /// Forget the change with this name: it was dealt with.
    #[arg(long, value_name = "NAME")]
    pub(crate) forget: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RetrofitCutoverArgs {
    #[command(flatten)]
    pub(crate) target: RetrofitTarget,
    /// Cut over although readers of the target will meet tombstones until it is finalised.
    #[arg(long)]
    pub(crate) with_tombstones: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RetrofitFinaliseArgs {
    #[command(flatten)]
    pub(crate) target: RetrofitTarget,
    #[command(flatten)]
    pub(crate) work: RetrofitWork,
    /// Start at this many capacity units per second, reads and writes together, and never exceed them [default: find the rate].
    #[arg(long, value_name = "UNITS")]
    pub(crate) rate: Option<f64>,
    /// Show the price. Changes nothing.
    #[arg(long)]
    pub(crate) check: bool,
    /// Leave the marks on the items, and the rows in the control table: that costs nothing. Keyfold never shows the marks, and
    /// later retrofits do not carry them along. Tombstones go all the same.
    #[arg(long)]
    pub(crate) leave_marks: bool,
    /// Seconds to wait until the last function must have ended; longer than any function runs.
    #[arg(long, default_value_t = 900, value_name = "SECONDS")]
    pub(crate) settle: u64,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TablesCommand {
    /// Show how the tables differ from the manifest, and what `apply` would do. Changes nothing. Exits with 1 if they differ.
    Diff(TablesArgs),
    /// Create what is missing, after a look at what there is. If anything cannot be done, nothing is.
    Apply(TablesApplyArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TablesArgs {
    /// The tables' names in the manifest or in DynamoDB [default: all of the manifest].
    #[arg(value_name = "TABLE")]
    pub(crate) tables: Vec<String>,
    /// The endpoint of DynamoDB [default: AWS, as your environment configures it].
    #[arg(long, value_name = "URL", env = "AWS_ENDPOINT_URL_DYNAMODB")]
    pub(crate) endpoint: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TablesApplyArgs {
    #[command(flatten)]
    pub(crate) which: TablesArgs,
    /// Units per second that each index added to a live table can take at once. You pay for them once, when the index is made.
    #[arg(long, value_name = "READ,WRITE", value_parser = warm_throughput)]
    pub(crate) warm_throughput: Option<WarmThroughput>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct IndexArgs {
    #[command(subcommand)]
    pub(crate) command: IndexCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum IndexCommand {
    /// Add global indexes that the manifest has and the live table lacks, one after the other, and wait until they are filled.
    /// Deletes and replaces nothing.
    Add(IndexAddArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct IndexAddArgs {
    /// The table's name in the manifest or in DynamoDB.
    pub(crate) table: String,
    /// The indexes.
    #[arg(value_name = "INDEX", required_unless_present = "all")]
    pub(crate) indexes: Vec<String>,
    /// All global indexes of the table.
    #[arg(long, conflicts_with = "indexes")]
    pub(crate) all: bool,
    /// Say what is missing. Changes nothing.
    #[arg(long)]
    pub(crate) check: bool,
    /// Units per second that each new index can take at once. You pay for them once, when the index is made.
    #[arg(long, value_name = "READ,WRITE", value_parser = warm_throughput)]
    pub(crate) warm_throughput: Option<WarmThroughput>,
    /// The endpoint of DynamoDB [default: AWS, as your environment configures it].
    #[arg(long, value_name = "URL", env = "AWS_ENDPOINT_URL_DYNAMODB")]
    pub(crate) endpoint: Option<String>,
}

fn warm_throughput(text: &str) -> Result<WarmThroughput, String> {
    let units = text.split_once(',').and_then(|(read, write)| {
        Some(WarmThroughput { read: read.trim().parse().ok()?, write: write.trim().parse().ok()? })
    });
    units.ok_or_else(|| "write it as READ,WRITE in units per second: 12000,4000".to_owned())
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TemplateArgs {
    /// Compare this template with the one of the manifest. Exits with 1 if a difference breaks something.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "template.yaml", conflicts_with_all = ["stages", "stage"])]
    pub(crate) check: Option<PathBuf>,
    /// List the deployments that new global indexes of a live table need: each deployment adds one.
    #[arg(long)]
    pub(crate) stages: bool,
    /// Print the tables for this one of the deployments.
    #[arg(long, value_name = "N")]
    pub(crate) stage: Option<usize>,
    /// For the deployments: a global index that the live table already has, as TABLE.INDEX.
    #[arg(long, value_name = "TABLE.INDEX")]
    pub(crate) have: Vec<String>,
    /// The form of the template.
    #[arg(long, value_enum, default_value_t = TemplateFormat::Yaml)]
    pub(crate) format: TemplateFormat,
    /// Print only this, as JSON: each function's rights, environment and mappings, for those who deploy by other means.
    #[arg(long, value_enum)]
    pub(crate) only: Option<TemplateOnly>,
}

/// The form of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum TemplateFormat {
    Yaml,
    Json,
}

/// A part of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum TemplateOnly {
    Rights,
}
