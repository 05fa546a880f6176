//! The documentation keeps up with the code: every link leads somewhere, and every path that it names is there.

use std::path::{Path, PathBuf};

/// Pages that name files of the source in backticks.
const PAGES_WITH_PATHS: [&str; 4] =
    ["docs/architecture.md", "docs/internals.md", "docs/security.md", "CONTRIBUTING.md"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every Markdown page of the project, relative to its root.
fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> =
        ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "SKILL.md", "llms.txt"]
            .map(PathBuf::from)
            .to_vec();
    for folder in ["docs", "docs/adr"] {
        for entry in std::fs::read_dir(root().join(folder)).expect("the folder") {
            let name = entry.expect("an entry").file_name();
            let path = Path::new(folder).join(name);
            if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages
}

/// The text without its code blocks.
fn prose(text: &str) -> String {
    let mut code = false;
    let mut kept = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            code = !code;
        } else if !code {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// The targets of links, `[...](...)`.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(link, _)| link))
}

/// The anchors of a page's headings, as GitHub makes them.
fn anchors(text: &str) -> Vec<String> {
    let of_heading = |line: &str| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept =
            title.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
        kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
    };
    prose(text).lines().filter(|line| line.starts_with('#')).map(of_heading).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let mut broken = Vec::new();
    let mut checked = 0;
    for page in pages() {
        let text = read(&root().join(&page));
        for link in links(&prose(&text)).filter(|link| !link.contains("://")) {
            checked += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let aim = if file.is_empty() {
                root().join(&page)
            } else {
                root().join(&page).with_file_name("").join(file)
            };
            let fine = aim.exists()
                && (anchor.is_empty() || anchors(&read(&aim)).iter().any(|known| known == anchor));
            if !fine {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "these links lead nowhere: {broken:#?}");
    assert!(checked > 50, "only {checked} links were found");
}

/// The parts of the site, and how a page of each begins.
const KINDS: [(&str, &str); 4] = [
    ("Tutorial", "Tutorial"),
    ("How-to guides", "How-to guide"),
    ("Reference", "Reference"),
    ("Explanation", "Explanation"),
];
const GUIDE_WORDS_MAX: usize = 2_000;
/// `keyfold-bench` writes it.
const GENERATED: &str = "figures.md";

#[test]
fn every_page_is_on_the_site_under_its_kind() {
    let summary = read(&root().join("docs/SUMMARY.md"));
    let mut listed = vec![Path::new("docs/README.md").to_owned(), Path::new("docs/SUMMARY.md").to_owned()];
    for part in summary.split("\n# ").skip(1) {
        let (title, entries) = part.split_once('\n').expect("a title and entries");
        let kind = KINDS.iter().find(|(of, _)| *of == title).map(|(_, begin)| *begin);
        for link in links(entries) {
            let page = Path::new("docs").join(link);
            let text = read(&root().join(&page));
            let first = text.split("\n\n").nth(1).unwrap_or_default();
            let fine = link == GENERATED || kind.is_none_or(|begin| first.starts_with(begin));
            assert!(fine, "{link} is listed under `{title}`: {first}");
            let words = text.split_whitespace().count();
            assert!(title != "How-to guides" || words <= GUIDE_WORDS_MAX, "{link} has {words} words");
            listed.push(page);
        }
    }
    let missing: Vec<_> =
        pages().into_iter().filter(|page| page.starts_with("docs") && !listed.contains(page)).collect();
    assert!(missing.is_empty(), "docs/SUMMARY.md does not list {missing:?}");
}

/// The words of all pages but these, which are looked up and not read, and the decisions.
const WORDS_MAX: usize = 22_000;
const LOOKED_UP: [&str; 2] = ["docs/errors.md", "docs/figures.md"];

#[test]
fn the_pages_stay_short() {
    let is_word = |word: &&str| word.contains(char::is_alphanumeric);
    let is_read = |page: &PathBuf| {
        page.parent() == Some(Path::new("docs")) && LOOKED_UP.iter().all(|other| page != Path::new(other))
    };
    let texts = pages().into_iter().filter(is_read).map(|page| read(&root().join(page)));
    let words: usize = texts.map(|text| text.split_whitespace().filter(is_word).count()).sum();
    assert!(
        words <= WORDS_MAX,
        "docs/ has {words} words, and {WORDS_MAX} are allowed: cut what another page has"
    );
}

/// The paths in backticks: a file with its extension, or a folder with a slash at its end. Cargo's `target/` can be elsewhere.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    let is_path = |word: &&str| {
        let plain = word.chars().all(|letter| letter.is_ascii_alphanumeric() || "/._-".contains(letter));
        let file = word
            .rsplit_once('.')
            .is_some_and(|(_, end)| ["rs", "md", "toml", "json", "yaml", "py", "js"].contains(&end));
        let outside = word.starts_with('/') || word.starts_with("target/");
        plain && word.contains('/') && !outside && (file || word.ends_with('/'))
    };
    text.split('`').skip(1).step_by(2).filter(is_path)
}

#[test]
fn every_path_that_is_named_exists() {
    let mut absent = Vec::new();
    let mut checked = 0;
    for page in PAGES_WITH_PATHS {
        let text = prose(&read(&root().join(page)));
        for path in paths(&text) {
            checked += 1;
            if !root().join(path).exists() {
                absent.push(format!("{page}: {path}"));
            }
        }
    }
    assert!(absent.is_empty(), "these paths do not exist: {absent:#?}");
    assert!(checked > 20, "only {checked} paths were found");
}

/// The names of the tests in a source file.
fn tests(text: &str) -> impl Iterator<Item = &str> {
    let mut is_test = false;
    text.lines().map(str::trim_start).filter_map(move |line| {
        is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        let name = line.strip_prefix("async fn ").or_else(|| line.strip_prefix("fn "))?;
        std::mem::take(&mut is_test).then(|| name.split('(').next())?
    })
}

#[test]
fn every_right_that_an_attacker_lacks_has_its_test() {
    let mut files = Vec::new();
    ["cli", "functions", "shared", "tests"].iter().for_each(|folder| sources(Path::new(folder), &mut files));
    let texts: Vec<String> = files.iter().map(|file| read(&root().join(file))).collect();
    let known: Vec<&str> = texts.iter().flat_map(|text| tests(text)).collect();
    let page = read(&root().join("docs/security.md"));
    let (_, matrix) = page.split_once("\n## What each right allows\n").expect("the matrix");
    let matrix = matrix.split("\n## ").next().unwrap_or_default();
    let mut checked = 0;
    for row in matrix.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 6, "{row}");
        let names: Vec<&str> =
            cells[3].split('`').skip(1).step_by(2).filter(|word| word.matches('_').count() > 1).collect();
        assert_eq!(
            names.is_empty(),
            cells[3].is_empty() || cells[4] == "the same",
            "no test is named: {row}"
        );
        let absent: Vec<_> = names.iter().filter(|name| !known.contains(*name)).collect();
        assert!(absent.is_empty(), "there are no such tests: {absent:?}");
        checked += names.len();
    }
    assert!(checked > 20, "only {checked} tests are named");
}

/// The output of `keyfold`.
fn keyfold(words: &[&str]) -> String {
    let output =
        std::process::Command::new(env!("CARGO_BIN_EXE_keyfold")).args(words).env("NO_COLOR", "1").output();
    let output = output.expect("the command");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// The words after `keyfold retrofit` in a text, in their order.
fn retrofit_words(text: &str) -> Vec<&str> {
    let word = |rest: &'_ str| rest.find(|letter: char| !letter.is_ascii_lowercase()).unwrap_or(rest.len());
    let words = text.split("keyfold retrofit ").skip(1).map(|rest| &rest[..word(rest)]);
    words.filter(|word| !word.is_empty()).collect()
}

/// The steps of a retrofit in `keyfold help retrofit`.
fn way() -> Vec<String> {
    let help = keyfold(&["help", "retrofit"]);
    let way = help.split("The way").nth(1).expect("the help has the steps");
    retrofit_words(way).into_iter().map(str::to_owned).collect()
}

#[test]
fn every_page_shows_a_retrofits_steps_in_order() {
    let way = way();
    assert_eq!(way, ["plan", "run", "switch", "finish"]);
    for page in ["README.md", "docs/retrofit.md", "docs/tutorial.md"] {
        let text = read(&root().join(page));
        let mut steps: Vec<&str> = Vec::new();
        for word in text.split("```").skip(1).step_by(2).flat_map(retrofit_words) {
            if way.iter().any(|step| step == word) && !steps.contains(&word) {
                steps.push(word);
            }
        }
        assert_eq!(steps, way, "{page}");
    }
}

#[test]
fn the_demo_goes_the_same_way() {
    let shown = keyfold(&["demo", "--items", "1000"]);
    let mut steps: Vec<&str> = retrofit_words(&shown);
    steps.dedup();
    // It plans from its own sample, and does not end the way back.
    assert_eq!(steps, way()[1..3], "{shown}");
}

#[test]
fn no_text_names_a_command_that_does_not_exist() {
    let help = keyfold(&["retrofit", "--help"]);
    let listed = help.split("Commands:").nth(1).expect("a list of commands");
    let known: Vec<&str> = listed
        .lines()
        .filter(|line| line.starts_with("  "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(known.contains(&"run") && known.contains(&"abandon"), "{known:?}");
    let mut files: Vec<PathBuf> = pages().into_iter().filter(|page| !page.starts_with("docs/adr")).collect();
    files.retain(|page| page != Path::new("CHANGELOG.md"));
    files.extend(["template.yaml", "shared/local/console/console.js"].map(PathBuf::from));
    for folder in ["cli/src", "shared", "functions"] {
        sources(Path::new(folder), &mut files);
    }
    let mut unknown = Vec::new();
    for file in files {
        let text = read(&root().join(&file));
        let gone = retrofit_words(&text).into_iter().filter(|word| !known.contains(word));
        unknown.extend(gone.map(|word| format!("{}: {word}", file.display())));
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
}

/// The Rust files of a folder.
fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(root().join(folder)).expect("the folder") {
        let entry = entry.expect("an entry");
        let path = folder.join(entry.file_name());
        if entry.file_type().expect("its kind").is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}
