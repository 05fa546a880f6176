//! The command line as data, and the commands, one file each with its arguments.

mod advise;
mod ask;
mod audit;
mod bundle;
mod check;
mod console;
mod demo;
mod doctor;
mod explain;
mod fold;
mod init;
mod load;
mod local;
mod mcp;
mod measure;
mod plan;
mod retrofit;
mod shell;
mod tables;
mod template;
mod types;
mod unfold;
mod write;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::globals::Globals;
use crate::output::Output;
use crate::request::RequestArgs;

/// Make a DynamoDB table answer questions it was not designed for.
#[derive(Debug, Parser)]
#[command(name = "keyfold", version, propagate_version = true, max_term_width = 100)]
#[command(
    after_help = "Examples:\n  keyfold demo\n  keyfold check && keyfold plan\n  keyfold query --table audit --where resourceId=123ccc --where action=viewed\n  \
                  keyfold retrofit plan auditV2\n\n\
                  Exit codes: 0 done; 1 the answer is no (mistakes, a refused request, a failed call); 2 wrong usage; 130 stopped by ctrl-C.\n\
                  Region, profile and credentials come from AWS_REGION, AWS_PROFILE and the other usual AWS variables and files.\n\
                  NO_COLOR switches colours off."
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check the manifest: show every mistake with its line and a hint.
    #[command(after_help = "Example:\n  keyfold check --manifest examples/pets/keyfold.toml --json")]
    Check {
        /// Fail on warnings too.
        #[arg(long)]
        strict: bool,
    },
    /// Show an item with its folded keys, and its entry in each index or why it has none.
    #[command(
        after_help = "Examples:\n  keyfold fold --table audit --item '{\"id\":\"1\",\"resourceId\":\"123bbb\"}'\n  \
                            keyfold fold --table pets --entity parrot --item - < item.json"
    )]
    Fold(fold::FoldArgs),
    /// Read a folded key back into its parts.
    #[command(
        after_help = "Example:\n  keyfold unfold --table audit --index byResourceActionUser 123ccc-viewed-joe1"
    )]
    Unfold(unfold::UnfoldArgs),
    /// Print the types of the manifest's items, keys and questions in a language.
    Types {
        /// The language.
        #[arg(long, value_enum)]
        lang: types::Language,
    },
    /// Print the JSON Schema of the manifest, so that your editor can complete it.
    #[command(after_help = "Example:\n  keyfold schema > keyfold.schema.json")]
    Schema,
    /// Print command completions for your shell.
    #[command(after_help = "Example:\n  keyfold completions zsh > ~/.zfunc/_keyfold")]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Show which index answers each question and at what cost, or what is missing.
    Plan {
        /// Only the questions of this table.
        #[arg(long, short, value_name = "TABLE")]
        table: Option<String>,
        /// Print each plan in full, with the rejected tables and indexes.
        #[arg(long)]
        explain: bool,
    },
    /// Find the cheapest set of indexes that answers the manifest's questions, and add it to the manifest.
    #[command(
        after_help = "Examples:\n  keyfold advise\n  keyfold advise orders --write\n  keyfold advise orders --explain ofCustomer\n\n\
                            `rate = \"40/s\"` in a question says how often it is asked, and `expect = { items, item-bytes, writes }` in a table or an\n\
                            entity what it holds. What the manifest does not say is assumed, and listed. Existing indexes are kept. The exit code is 1\n\
                            if a question stays without an answer, or the budget is too small. See docs/advise.md."
    )]
    Advise(advise::AdviseArgs),
    /// Read a sample of a table, and write its figures as `expect` into the manifest, for better estimates and advice.
    #[command(after_help = "Example:\n  keyfold measure orders --dry-run\n\n\
                            Measured are the items of the table and of each entity, their size, the entries of each index, and how many have one\n\
                            partition key value. Comments, and the rates that you wrote, stay.")]
    Measure(measure::MeasureArgs),
    /// Ask a question of the manifest and print the answer; without a question, list them.
    #[command(after_help = "Examples:\n  keyfold ask\n  \
                            keyfold ask whenDidUserActOnResource resourceId=123bbb action=viewed accessedBy=joe1 timestamp.beginsWith=2017-03\n\n\
                            Parameters are those of the query API: docs/query-api.md. `limit=20`, `order=-timestamp` and `count=true` work too.")]
    Ask(ask::AskArgs),
    /// Run a request and print the answer.
    #[command(
        after_help = "Examples:\n  keyfold query --table audit --where 'resourceId=123bbb' --where 'timestamp^=2017-03' --order -timestamp\n  \
                            keyfold query --request '{\"table\":\"audit\",\"where\":{\"id\":\"e1\"}}'\n\n\
                            Conditions: a=v  a<>v  a<v  a<=v  a>v  a>=v  a^=prefix  a*=part  a=[v,w]  a=v..w  a?  a!?"
    )]
    Query(ask::QueryArgs),
    /// Write an item, with its folded keys. Without `--replace`, an existing item is never overwritten.
    #[command(
        after_help = "Examples:\n  keyfold put audit - < event.json\n  keyfold put pets - --entity parrot < item.json"
    )]
    Put(write::PutArgs),
    /// Change attributes of an item, and the folded keys that contain them.
    #[command(
        after_help = "Example:\n  keyfold update audit --key id=e1 --set action=edited --set 'tags:=[\"a\",\"b\"]' --remove note --if action=viewed\n\n\
                            Values: name=value by the attribute's type in the manifest; name:=JSON for lists, maps and undeclared numbers."
    )]
    Update(write::UpdateArgs),
    /// Delete an item.
    #[command(after_help = "Example:\n  keyfold delete audit --key id=e1 --if action=viewed")]
    Delete(write::KeyArgs),
    /// Write the items of a file, one JSON object on each line, with their folded keys.
    #[command(after_help = "Example:\n  keyfold load audit events.jsonl\n\n\
                            A mistake in any line stops the command before it writes. Existing items are left as they are: identical ones\n\
                            are counted, and different ones are listed by their lines (exit code 1). After an interruption, the same command\n\
                            continues.")]
    Load(load::LoadArgs),
    /// Show how a request would be answered, and at what cost. Reads nothing.
    #[command(
        after_help = "Example:\n  keyfold explain --table audit --where 'resourceId=123bbb' --where 'action=viewed' --order timestamp"
    )]
    Explain(RequestArgs),
    /// Give the items of a live table their new keys, in place or in a new table.
    #[command(
        after_help = "The way, in this order. Each command can be repeated, and names the next one:\n  \
                            keyfold retrofit plan auditV2\n  keyfold retrofit run auditV2\n  \
                            keyfold retrofit switch auditV2 --writers attested\n  keyfold retrofit finish auditV2"
    )]
    #[command(subcommand)]
    Retrofit(retrofit::RetrofitCommand),
    /// Compare the manifest's tables with those in DynamoDB, and make them what the manifest says.
    #[command(
        after_help = "Creates tables, adds global indexes one by one, switches time-to-live and streams on. Deletes and replaces nothing.\n\
                            After an interruption, the same command continues."
    )]
    #[command(subcommand)]
    Tables(tables::TablesCommand),
    /// Add the manifest's global indexes to a live table.
    #[command(
        after_help = "Examples:\n  keyfold index add orders --all --check\n  keyfold index add orders byCustomerStatus byDay\n\n\
                            DynamoDB adds one index at a time and fills it, for hours if the table is large. After an interruption, DynamoDB\n\
                            completes the current index, and the same command continues with the others."
    )]
    #[command(subcommand)]
    Index(tables::IndexCommand),
    /// Prove the audit trail: was anything changed, removed, inserted or back-dated? Needs a journal, see docs/audit-writer.md.
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// Write the CloudFormation template of the whole deployment, or check one that was changed by hand.
    #[command(
        after_help = "Examples:\n  keyfold template --out template.yaml\n  keyfold template --stages --have audit.byUserAction"
    )]
    Template(template::TemplateArgs),
    /// Write the deployment as one folder for every tool but SAM: a plain CloudFormation template, the functions' zips, checksums.
    #[command(
        after_help = "Examples:\n  keyfold bundle --out bundle\n  keyfold bundle --functions release --upload s3://my-bucket/keyfold"
    )]
    Bundle(bundle::BundleArgs),
    /// Check credentials, region, endpoint, tables, indexes, streams and rights, and say what to do. Only reads.
    #[command(
        after_help = "Examples:\n  keyfold doctor\n  keyfold doctor --endpoint http://127.0.0.1:8000 --json\n\n\
                            It costs half a read unit for each table and index of the manifest. The exit code is 1 if there is a problem."
    )]
    Doctor,
    /// Look at tables, indexes, questions and retrofits in your browser, until ctrl-C. Only reads.
    #[command(
        after_help = "Examples:\n  keyfold console\n  keyfold console --endpoint http://127.0.0.1:8000\n\n\
                            The page is served on 127.0.0.1. It reads with your own credentials."
    )]
    Console {
        /// The port of the page; 0 for any free port.
        #[arg(long, default_value_t = 3001, value_name = "PORT")]
        port: u16,
    },
    /// Run everything on this machine until ctrl-C: DynamoDB, streams, replicator, query API, audit writer, console.
    #[command(
        after_help = "Example:\n  keyfold local --data ./data\n\nThen, for example:\n  keyfold query --endpoint http://127.0.0.1:8000 --table audit --where id=e1"
    )]
    Local(local::LocalArgs),
    /// Serve the manifest's tables to agents over MCP (standard input and output): read-only, priced, within a budget.
    #[command(
        after_help = "Examples:\n  keyfold mcp --hide email --day-max 5000\n  keyfold mcp --policy\n\n\
                            A client starts it: {\"command\": \"keyfold\", \"args\": [\"mcp\", \"--manifest\", \"/path/to/keyfold.toml\"]}. No tool writes.\n\
                            Units are DynamoDB's read units. A call can exceed its cap, and the last call its budget, by one page (at most\n\
                            128 units, 256 strongly consistent). See docs/mcp.md."
    )]
    Mcp(mcp::McpArgs),
    /// Write a manifest from what you have: a live table, a model, a template, a schema, items.
    #[command(after_help = "Examples:\n  keyfold init --table Helpdesk --endpoint http://127.0.0.1:8000\n  \
                            keyfold init template.yaml entities.json --out keyfold.toml\n  \
                            keyfold init --table Shop --entities 'Order:type=ORDER,Customer:PK=CUST#*'\n  \
                            keyfold init --new-index \"resourceId, action, accessedBy / timestamp\"\n\n\
                            Sources: DescribeTable, DescribeTimeToLive and create-table JSON, items as JSON lines, NoSQL Workbench models,\n\
                            CloudFormation, SAM, CDK and serverless.yml, Terraform (show -json, literal HCL), ElectroDB, OneTable, awslabs\n\
                            schema.json. Several sources of one table are merged. Nothing leaves this machine.")]
    Init(init::InitArgs),
    /// Type commands at a prompt that remembers them and completes tables, questions, attributes and values.
    #[command(after_help = "Example:\n  keyfold shell --endpoint http://127.0.0.1:8000\n\n\
                            Each line is a command without the word keyfold: query --table audit --where id=e1. Tab completes, ctrl-C cancels, and\n\
                            ctrl-D or exit ends. Without a terminal, standard input is a script: every line runs, and the exit code is 1 if\n\
                            one of them failed.")]
    Shell {
        /// Keep no history. A line that begins with a space is never kept.
        #[arg(long)]
        no_history: bool,
    },
    /// Show the whole job on an embedded DynamoDB: an old table, a new question, a retrofit, the complete answer.
    Demo(demo::DemoArgs),
}

/// Runs one command.
pub(crate) fn run(args: &Args, out: &Output) -> anyhow::Result<ExitCode> {
    let globals = &args.globals;
    match &args.command {
        Command::Check { strict } => check::run(globals, *strict, out),
        Command::Fold(args) => fold::run(globals, args, out),
        Command::Unfold(args) => unfold::run(globals, args, out),
        Command::Types { lang } => types::run(globals, *lang, out),
        Command::Schema => {
            out.text(keyfold_core::manifest::schema());
            Ok(ExitCode::SUCCESS)
        }
        Command::Completions { shell } => completions(*shell, out),
        Command::Plan { table, explain } => plan::run(globals, table.as_deref(), *explain, out),
        Command::Advise(args) => advise::run(globals, args, out),
        Command::Measure(args) => measure::run(globals, args, out),
        Command::Ask(args) => ask::ask(globals, args, out),
        Command::Query(args) => ask::query(globals, args, out),
        Command::Put(args) => write::put(globals, args, out),
        Command::Update(args) => write::update(globals, args, out),
        Command::Delete(args) => write::delete(globals, args, out),
        Command::Load(args) => load::run(globals, args, out),
        Command::Explain(request) => explain::run(globals, request, out),
        Command::Retrofit(command) => retrofit::run(globals, command, out),
        Command::Tables(command) => tables::run(globals, command, out),
        Command::Index(command) => tables::index(globals, command, out),
        Command::Audit(command) => audit::run(globals, command, out),
        Command::Template(args) => template::run(globals, args, out),
        Command::Bundle(args) => bundle::run(globals, args, out),
        Command::Init(args) => init::run(globals, args, out),
        Command::Doctor => doctor::run(globals, out),
        Command::Console { port } => console::run(globals, *port, out),
        Command::Local(args) => local::run(globals, args, out),
        Command::Mcp(args) => mcp::run(globals, args, out),
        Command::Shell { no_history } => {
            shell::run(globals, *no_history, shell::grammar(&Args::command()), out)
        }
        Command::Demo(args) => demo::run(args, out),
    }
}

/// The script with which a shell completes commands and arguments.
fn completions(shell: clap_complete::Shell, out: &Output) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "keyfold", &mut script);
    out.text(String::from_utf8(script)?);
    Ok(ExitCode::SUCCESS)
}
