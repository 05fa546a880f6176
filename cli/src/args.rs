//! The command line, as data.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand};

/// Make a DynamoDB table answer questions it was not designed for.
#[derive(Debug, Parser)]
#[command(name = "keyfold", version, propagate_version = true, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 done; 1 the answer is no (diagnostics, a refused request, a failed call); 2 wrong usage."
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
    /// Show for each question which index serves it, what it costs, or what is missing.
    #[command(after_help = "Examples:\n  keyfold plan\n  keyfold plan --table audit --explain")]
    Plan(PlanArgs),
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
