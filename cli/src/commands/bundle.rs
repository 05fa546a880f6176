//! `keyfold bundle`: the deployment as one folder, without SAM: a plain template, the zips, checksums.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, bail};
use keyfold_template::{self as template, Architecture, CodeKeys, Manifest, Node, as_json, read};
use serde_json::json;

use crate::globals::Globals;
use crate::manifest_file::{declared, manifest_text};
use crate::output::Output;
use crate::zip::{self, digest, key, layer};

/// The largest function that Lambda takes, unpacked.
/// <https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>
const FUNCTION_BYTES_MAX: usize = 250 * 1024 * 1024;

#[derive(Debug, clap::Args)]
pub(crate) struct BundleArgs {
    /// The folder to write; what is in it already stays.
    #[arg(long, value_name = "FOLDER", default_value = "bundle")]
    pub(crate) out: PathBuf,
    /// The functions: NAME/bootstrap, as `cargo lambda build` leaves them, or NAME.zip, as a release has them.
    #[arg(long, value_name = "FOLDER", default_value = "target/lambda")]
    pub(crate) functions: PathBuf,
    /// The bundle of this deployment of `keyfold template --stages`: each adds one global index to a live table of the stack.
    #[arg(long, value_name = "N")]
    pub(crate) stage: Option<usize>,
    /// With --stage: a global index that the live table already has.
    #[arg(long, value_name = "TABLE.INDEX", requires = "stage")]
    pub(crate) have: Vec<String>,
    /// The processor that compressed zips are for. Keyfold reads it from programs and uncompressed zips itself.
    #[arg(long, value_name = "PROCESSOR", value_parser = ["arm64", "x86_64"])]
    pub(crate) architecture: Option<String>,
    /// Copy the folder to this place, which must be in the stack's region. Needs the AWS CLI.
    #[arg(long, value_name = "s3://BUCKET/PREFIX")]
    pub(crate) upload: Option<String>,
}

/// The files of a bundle, by their names below its folder.
type Files = BTreeMap<String, Vec<u8>>;

pub(super) fn run(globals: &Globals, args: &BundleArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let upload = args.upload.as_deref().map(Place::parse).transpose()?;
    let model = declared(&globals.manifest, out)?;
    let text = manifest_text(&globals.manifest)?;
    let manifest = Manifest { model: &model, digest: digest(&text) };
    let sam = match args.stage {
        Some(number) => super::template::stage(&manifest, &args.have, number)?,
        None => template::generate(&manifest, &|_, _| true)?,
    };
    let sam = read(&sam)?;
    let mut files = Files::new();
    let (functions, architecture) = functions(&binaries(&sam), args, &mut files)?;
    let keys = CodeKeys {
        functions,
        manifest: named(&mut files, "manifest", "zip", layer(&text)),
        machine: named(&mut files, "retrofit", "asl.json", template::MACHINE.into()),
    };
    let plain = as_json(&template::expand(&sam, &keys, architecture));
    // Without white space, it is shorter than the SAM template, which is within CloudFormation's limit.
    let plain = serde_json::to_vec(&plain)?;
    if plain.len() > template::TEMPLATE_BYTES_MAX {
        bail!(
            "the template has {} bytes; CloudFormation accepts at most {}\nhint: deploy fewer retrofits with this stack (`[deploy] retrofits`)",
            plain.len(),
            template::TEMPLATE_BYTES_MAX
        );
    }
    files.insert("template.json".to_owned(), plain);
    let sums: String = files.iter().map(|(name, bytes)| format!("{}  {name}\n", digest(bytes))).collect();
    files.insert("SHA256SUMS".to_owned(), sums.into_bytes());
    for (name, bytes) in &files {
        let path = args.out.join(name);
        std::fs::create_dir_all(&args.out)
            .and_then(|()| std::fs::write(&path, bytes))
            .with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    if let Some(place) = &upload {
        place.copy(&args.out, files.keys())?;
    }
    let names: Vec<&String> = files.keys().collect();
    let folder = args.out.display().to_string();
    let place = upload.unwrap_or_else(|| Place { bucket: "BUCKET".to_owned(), prefix: String::new() });
    let next = place.deploy(&folder);
    out.show(
        &json!({ "folder": folder, "manifest": manifest.digest, "files": names, "next": next }),
        format!("{folder}: {} files for the manifest {}\nnext: {next}\n", names.len(), manifest.digest),
    )?;
    Ok(ExitCode::SUCCESS)
}

/// Adds a file whose name has its digest, and returns the name.
fn named(files: &mut Files, name: &str, end: &str, bytes: Vec<u8>) -> String {
    let name = key(name, end, &bytes);
    files.insert(name.clone(), bytes);
    name
}

/// The binaries that a template's functions run.
fn binaries(sam: &Node) -> BTreeSet<&str> {
    let resources = sam.get("Resources").map(Node::members).unwrap_or_default();
    resources
        .iter()
        .filter_map(|(_, node)| node.at(&["Metadata", "BuildProperties", "Binary"])?.as_text())
        .collect()
}

/// The zip of each binary, by the key that the template gives it, and the processor that all of them are for.
fn functions(
    binaries: &BTreeSet<&str>,
    args: &BundleArgs,
    files: &mut Files,
) -> anyhow::Result<(BTreeMap<String, String>, Architecture)> {
    let mut keys = BTreeMap::new();
    let mut found: Option<(Architecture, &str)> = None;
    for &binary in binaries {
        let (path, bytes) = code(binary, &args.functions)?;
        let (architecture, zip) = match path.extension() {
            None => (program(&path, &bytes)?, zip::of_file("bootstrap", &bytes, 0o755)),
            Some(_) => (packed(&path, &bytes, args.architecture.as_deref())?, bytes),
        };
        match found {
            Some((known, other)) if known != architecture => {
                bail!(
                    "`{binary}` and `{other}` are built for different processors\nhint: build all of them again"
                )
            }
            _ => found = Some((architecture, binary)),
        }
        keys.insert(binary.to_owned(), named(files, binary, "zip", zip));
    }
    Ok((keys, found.map_or(Architecture::Arm64, |(architecture, _)| architecture)))
}

/// The file of a binary: its program, or its zip.
fn code(binary: &str, folder: &Path) -> anyhow::Result<(PathBuf, Vec<u8>)> {
    let [built, packed] = [folder.join(binary).join("bootstrap"), folder.join(format!("{binary}.zip"))];
    let path = match (built.exists(), packed.exists()) {
        (true, true) => bail!(
            "there are both `{}` and `{}`\nhint: remove the older one, or name another folder with --functions",
            built.display(),
            packed.display()
        ),
        (false, false) => bail!(
            "there is neither `{}` nor `{}`\nhint: run `cargo lambda build --release --arm64` in a clone of Keyfold, or name the folder with a release's zips with --functions",
            built.display(),
            packed.display()
        ),
        (true, false) => built,
        (false, true) => packed,
    };
    let bytes = std::fs::read(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
    Ok((path, bytes))
}

/// The processor of a program, as `cargo lambda build` leaves it.
fn program(path: &Path, bytes: &[u8]) -> anyhow::Result<Architecture> {
    if bytes.len() > FUNCTION_BYTES_MAX {
        bail!(
            "`{}` has {} bytes; Lambda accepts at most {FUNCTION_BYTES_MAX}\nhint: build it with --release",
            path.display(),
            bytes.len()
        );
    }
    architecture(bytes).with_context(|| format!("`{}` is not a program for Lambda", path.display()))
}

/// The processor of the program in a zip. A compressed one is what the arguments say.
fn packed(path: &Path, bytes: &[u8], said: Option<&str>) -> anyhow::Result<Architecture> {
    let name = path.display();
    let Some((b"bootstrap", program)) = zip::first(bytes) else {
        bail!("`{name}` is not a zip whose first file is `bootstrap`");
    };
    let said = said.map(|said| if said == "arm64" { Architecture::Arm64 } else { Architecture::X86 });
    match (program, said) {
        (Some(program), _) => {
            architecture(program).with_context(|| format!("the program in `{name}` is not for Lambda"))
        }
        (None, Some(said)) => Ok(said),
        (None, None) => bail!(
            "the program in `{name}` is compressed, so its processor is not known\nhint: name it with --architecture"
        ),
    }
}

/// The processor of an ELF file, from its header.
fn architecture(program: &[u8]) -> Option<Architecture> {
    if !program.starts_with(b"\x7fELF") {
        return None;
    }
    match u16::from_le_bytes(program.get(18..20)?.try_into().ok()?) {
        0xb7 => Some(Architecture::Arm64),
        0x3e => Some(Architecture::X86),
        _ => None,
    }
}

/// A place in S3.
struct Place {
    bucket: String,
    /// Empty, or with a slash at its end.
    prefix: String,
}

impl Place {
    fn parse(text: &str) -> anyhow::Result<Place> {
        let path = text.strip_prefix("s3://").filter(|path| !path.is_empty() && !path.starts_with('/'));
        let path =
            path.with_context(|| format!("`{text}` is not an address in S3: write s3://BUCKET/PREFIX"))?;
        let (bucket, prefix) = path.split_once('/').unwrap_or((path, ""));
        let prefix = prefix.trim_end_matches('/');
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        Ok(Place { bucket: bucket.to_owned(), prefix })
    }

    /// Copies these files, the template last, so that everything it names is there already.
    fn copy<'f>(&self, folder: &Path, names: impl Iterator<Item = &'f String>) -> anyhow::Result<()> {
        let (templates, others): (Vec<_>, Vec<_>) = names.partition(|name| *name == "template.json");
        for name in others.into_iter().chain(templates) {
            let place = format!("s3://{}/{}{name}", self.bucket, self.prefix);
            let done = Command::new("aws")
                .args(["s3", "cp", "--only-show-errors"])
                .arg(folder.join(name))
                .arg(&place)
                .output();
            let done = done.context("cannot run the AWS CLI")?;
            if !done.status.success() {
                bail!("`{place}` was not written: {}", String::from_utf8_lossy(&done.stderr).trim());
            }
        }
        Ok(())
    }

    /// The command that deploys the bundle from here.
    fn deploy(&self, folder: &str) -> String {
        format!(
            "aws cloudformation deploy --stack-name keyfold --template-file {folder}/template.json --s3-bucket {bucket} --s3-prefix {prefix}templates --capabilities CAPABILITY_IAM --parameter-overrides CodeBucket={bucket} CodePrefix={prefix}",
            bucket = self.bucket,
            prefix = self.prefix
        )
    }
}
