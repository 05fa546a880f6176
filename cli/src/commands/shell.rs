//! `keyfold shell`: a prompt for the other commands. Each line runs this same program in a new process.

mod completion;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::{self, ExitCode, Stdio};

use anyhow::Context;
use clap::Command;
use futures_util::FutureExt;
use keyfold_core::model::Model;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Editor, Helper};

use crate::globals::Globals;
use crate::manifest_file::ManifestFile;
use crate::output::Output;
use crate::support::block_on;

/// How many lines the history keeps.
const HISTORY_LINES_MAX: usize = 1_000;
/// Commands that the shell does not have: they run until they are stopped, or set something up once.
const EXCLUDED: [&str; 7] = ["shell", "demo", "console", "local", "mcp", "completions", "init"];

pub(super) fn run(
    globals: &Globals,
    no_history: bool,
    grammar: Command,
    out: &Output,
) -> anyhow::Result<ExitCode> {
    let interactive = std::io::stdin().is_terminal();
    let mut history = (interactive && !no_history).then(history_file).flatten();
    let mut editor = editor(grammar)?;
    if let Some(file) = history.clone().filter(|file| file.exists())
        && let Err(error) = editor.load_history(&file)
    {
        out.note(format!("note: cannot read the history `{}`: {error}\n", file.display()));
        history = None;
    }
    if interactive {
        // From now on ctrl-C ends only the command that runs.
        block_on(async { Ok(tokio::signal::ctrl_c().now_or_never()) })?;
        out.text("`help` lists the commands, Tab completes, ctrl-D ends.\n");
    }
    let mut failed = Vec::new();
    for number in 1_u64.. {
        if let Some(prompted) = editor.helper_mut().filter(|_| interactive) {
            prompted.model = ManifestFile::read(&globals.manifest).ok().and_then(|file| file.parsed.model);
        }
        let line = match editor.readline(if interactive { "keyfold> " } else { "" }) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(error).context("cannot read a line"),
        };
        if let Some(file) = &history {
            let added = editor.add_history_entry(&line).and_then(|_| editor.append_history(file));
            if let Err(error) = added {
                out.note(format!("note: cannot write the history `{}`: {error}\n", file.display()));
                history = None;
            }
        }
        let Some(Prompted { grammar, .. }) = editor.helper() else { unreachable!("the editor has one") };
        match run_line(&line, grammar, globals, out) {
            Ok(Next::Line) => {}
            Ok(Next::End) => break,
            Ok(Next::LineAfterFailure) => failed.push(number),
            Err(error) => {
                out.error(&error);
                failed.push(number);
            }
        }
    }
    if interactive || failed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let failed: Vec<String> = failed.iter().map(u64::to_string).collect();
    anyhow::bail!("these lines failed: {}", failed.join(", "))
}

/// The outcome of a line.
enum Next {
    Line,
    LineAfterFailure,
    End,
}

fn run_line(line: &str, grammar: &Command, globals: &Globals, out: &Output) -> anyhow::Result<Next> {
    let words = shlex::split(line).context("the line ends within quotes, or with a backslash")?;
    // Examples in help and documentation begin with the program's name.
    let words = words.strip_prefix(&["keyfold".to_owned()]).unwrap_or(&words);
    if words.is_empty() {
        return Ok(Next::Line);
    }
    match grammar.clone().try_get_matches_from(words) {
        Ok(matches) if matches.subcommand_name() == Some("exit") => return Ok(Next::End),
        Ok(_) => {}
        Err(shown) => {
            let _ = shown.print();
            return Ok(if shown.use_stderr() { Next::LineAfterFailure } else { Next::Line });
        }
    }
    let mut command = process::Command::new(std::env::current_exe()?);
    command.env("KEYFOLD_MANIFEST", &globals.manifest).env("KEYFOLD_CONTROL_TABLE", &globals.control);
    command.envs(globals.endpoint.as_ref().map(|url| ("AWS_ENDPOINT_URL_DYNAMODB", url)));
    if !std::io::stdin().is_terminal() {
        // Standard input holds the lines, not the items of a `put TABLE -`.
        command.stdin(Stdio::null());
    }
    let status = command.args(out.json.then_some("--json")).args(words).status()?;
    if status.code().is_none() {
        out.note("\n");
    }
    Ok(if status.success() { Next::Line } else { Next::LineAfterFailure })
}

/// The commands of the shell, of all commands of the program.
pub(super) fn grammar(whole: &Command) -> Command {
    let inside = |command: &&Command| !EXCLUDED.contains(&command.get_name());
    let mut grammar = Command::new("keyfold")
        .no_binary_name(true)
        .subcommand_required(true)
        .args(whole.get_arguments().cloned())
        .subcommands(whole.get_subcommands().filter(inside).cloned())
        .subcommand(Command::new("exit").about("End the shell; so does ctrl-D"));
    grammar.build();
    grammar
}

fn editor(grammar: Command) -> anyhow::Result<Editor<Prompted, DefaultHistory>> {
    let config = Config::builder()
        .max_history_size(HISTORY_LINES_MAX)?
        .history_ignore_space(true)
        .completion_type(CompletionType::List)
        .build();
    let mut editor = Editor::with_config(config)?;
    editor.set_helper(Some(Prompted { grammar, model: None }));
    Ok(editor)
}

/// The file of the history, in the user's folder for state. Its folder is made.
fn history_file() -> Option<PathBuf> {
    let absolute = |path: &PathBuf| path.is_absolute();
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(absolute);
    let folder = state.or_else(|| Some(std::env::home_dir()?.join(".local/state")))?.join("keyfold");
    std::fs::create_dir_all(&folder).ok()?;
    Some(folder.join("history"))
}

/// The state behind the prompt, for completions.
struct Prompted {
    grammar: Command,
    model: Option<Model>,
}

impl Completer for Prompted {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &rustyline::Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(completion::complete(&self.grammar, self.model.as_ref(), &line[..position]))
    }
}

impl Helper for Prompted {}
impl Highlighter for Prompted {}
impl Hinter for Prompted {
    type Hint = String;
}
impl Validator for Prompted {}
