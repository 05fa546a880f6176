//! The modules of a crate, parsed from its files: their definitions, their imports, and the paths in their code.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ItemMod, ItemUse, Lit, Macro, Meta, PatIdent, UseTree, Visibility};

/// A path in the code, or of a module from the crate's root.
pub(crate) type Names = Vec<String>;

/// The text of each file.
pub(crate) type Sources = BTreeMap<PathBuf, String>;

/// One module of a crate: a file, or a part of one.
#[derive(Default)]
pub(crate) struct Module {
    /// The module that is the whole file.
    pub(crate) file: Names,
    /// The names of the items that it defines.
    pub(crate) items: BTreeSet<String>,
    pub(crate) imports: Vec<Import>,
    /// The paths in its expressions, types, attributes and macros.
    pub(crate) paths: BTreeSet<Names>,
}

/// One name imported by a `use`.
pub(crate) struct Import {
    pub(crate) path: Names,
    /// The name in this module; none of `use path::*`.
    pub(crate) name: Option<String>,
    /// Other modules may import it from here: `pub use`.
    pub(crate) is_reexport: bool,
}

/// The modules of one crate, and its files.
#[derive(Default)]
pub(crate) struct Modules {
    pub(crate) all: BTreeMap<Names, Module>,
    /// Every file that belongs to the crate, with those of its unit tests.
    pub(crate) files: BTreeSet<PathBuf>,
}

impl Modules {
    /// Reads the crate whose first file is `root`. Its unit tests are left out: they may import anything.
    pub(crate) fn read(root: &Path, sources: &Sources) -> Modules {
        let mut modules = Modules::default();
        let folder = root.parent().unwrap_or(Path::new(""));
        modules.read_file(root, folder, &Vec::new(), sources);
        modules
    }

    /// Reads the file of `module`, whose children are in `folder`.
    fn read_file(&mut self, path: &Path, folder: &Path, module: &Names, sources: &Sources) {
        let text = sources.get(path).unwrap_or_else(|| panic!("no file {}", path.display()));
        let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        self.files.insert(path.to_owned());
        self.all.entry(module.clone()).or_default().file.clone_from(module);
        let mut reader = Reader {
            modules: self,
            sources,
            path,
            folder: folder.to_owned(),
            file: module,
            module: module.clone(),
            locals: Vec::new(),
            in_test: false,
        };
        reader.visit_file(&file);
    }
}

/// Walks over one file.
struct Reader<'a> {
    modules: &'a mut Modules,
    sources: &'a Sources,
    path: &'a Path,
    /// Where the files of the current module's children are.
    folder: PathBuf,
    /// The module that is this file.
    file: &'a Names,
    /// The current module: `file`, or one inside it.
    module: Names,
    /// The variables of the current functions.
    locals: Vec<BTreeSet<String>>,
    /// Whether the current module is part of the unit tests, so that only its files are noted.
    in_test: bool,
}

impl Reader<'_> {
    fn current(&mut self) -> Option<&mut Module> {
        if self.in_test { None } else { self.modules.all.get_mut(&self.module) }
    }

    fn note_item(&mut self, name: String) {
        if let Some(module) = self.current() {
            module.items.insert(name);
        }
    }

    fn note_path(&mut self, path: Names) {
        let is_variable = path.len() == 1 && self.locals.iter().any(|locals| locals.contains(&path[0]));
        if !is_variable {
            self.note_name(path);
        }
    }

    fn note_name(&mut self, path: Names) {
        // `pub(super)` in a macro, and `self` as a variable, name no item.
        let is_item = path.last().is_some_and(|last| !matches!(last.as_str(), "crate" | "self" | "super"));
        if let Some(module) = self.current().filter(|_| is_item) {
            module.paths.insert(path);
        }
    }

    /// The paths in unparsed tokens: those of a macro or an attribute.
    fn note_tokens(&mut self, tokens: TokenStream) {
        let mut path = Names::new();
        // Does the next word continue `path`; is it a field, a method, or part of a path into another crate?
        let (mut goes_on, mut is_foreign) = (false, false);
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(word) if !(is_foreign && word != "crate") => {
                    if !goes_on {
                        self.note_path(std::mem::take(&mut path));
                    }
                    path.push(word.to_string());
                    (goes_on, is_foreign, colons) = (false, false, 0);
                    continue;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => {
                    colons += 1;
                    goes_on = colons == 2 && !path.is_empty();
                    is_foreign = colons == 2 && path.is_empty();
                    continue;
                }
                TokenTree::Punct(mark) => {
                    self.note_path(std::mem::take(&mut path));
                    is_foreign = matches!(mark.as_char(), '.' | '\'' | '$');
                }
                TokenTree::Group(group) => {
                    self.note_path(std::mem::take(&mut path));
                    self.note_tokens(group.stream());
                    is_foreign = false;
                }
                TokenTree::Literal(literal) => {
                    self.note_path(std::mem::take(&mut path));
                    if let Lit::Str(text) = Lit::new(literal) {
                        self.note_text(&text.value());
                    }
                    is_foreign = false;
                }
                TokenTree::Ident(_) => is_foreign = false,
            }
            (goes_on, colons) = (false, 0);
        }
        self.note_path(path);
    }

    /// A path in quotes, as in an attribute.
    fn note_text(&mut self, text: &str) {
        if text.contains("::")
            && let Ok(path) = syn::parse_str::<syn::Path>(text)
        {
            self.visit_path(&path);
        }
    }

    fn note_imports(&mut self, tree: &UseTree, before: &Names, is_reexport: bool) {
        let (path, name) = match tree {
            UseTree::Path(path) => {
                return self.note_imports(&path.tree, &joined(before, &path.ident.to_string()), is_reexport);
            }
            UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.note_imports(tree, before, is_reexport));
            }
            UseTree::Glob(_) => (before.clone(), None),
            UseTree::Name(name) => (joined(before, &name.ident.to_string()), None),
            UseTree::Rename(rename) => {
                (joined(before, &rename.ident.to_string()), Some(rename.rename.to_string()))
            }
        };
        let is_glob = matches!(tree, UseTree::Glob(_));
        let mut path = path;
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let name = if is_glob { None } else { name.or_else(|| path.last().cloned()) };
        if let Some(module) = self.current() {
            module.imports.push(Import { path, name, is_reexport });
        }
    }

    /// Visits with the variables of a function in sight.
    fn within_function(&mut self, variables: BTreeSet<String>, visit: impl FnOnce(&mut Self)) {
        self.locals.push(variables);
        visit(self);
        self.locals.pop();
    }

    /// The file of a child module.
    fn file_of(&self, item: &ItemMod) -> (PathBuf, PathBuf) {
        let name = item.ident.to_string();
        let children = self.folder.join(&name);
        if let Some(path) = item.attrs.iter().find_map(text_of_path) {
            let path = normal(&self.path.parent().unwrap_or(Path::new("")).join(path));
            let folder = path.parent().unwrap_or(Path::new("")).to_owned();
            return (path, folder);
        }
        let plain = self.folder.join(format!("{name}.rs"));
        let path = if self.sources.contains_key(&plain) { plain } else { children.join("mod.rs") };
        (path, children)
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes: &[Attribute] = match item {
            syn::Item::Const(item) => &item.attrs,
            syn::Item::Enum(item) => &item.attrs,
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            syn::Item::Macro(item) => &item.attrs,
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Static(item) => &item.attrs,
            syn::Item::Struct(item) => &item.attrs,
            syn::Item::Trait(item) => &item.attrs,
            syn::Item::Type(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            _ => &[],
        };
        let before = self.in_test;
        self.in_test |= is_test(attributes);
        match item {
            syn::Item::Const(item) => self.note_item(item.ident.to_string()),
            syn::Item::Enum(item) => self.note_item(item.ident.to_string()),
            syn::Item::Fn(item) => self.note_item(item.sig.ident.to_string()),
            syn::Item::Macro(item) => item.ident.iter().for_each(|name| self.note_item(name.to_string())),
            syn::Item::Static(item) => self.note_item(item.ident.to_string()),
            syn::Item::Struct(item) => self.note_item(item.ident.to_string()),
            syn::Item::Trait(item) => self.note_item(item.ident.to_string()),
            syn::Item::Type(item) => self.note_item(item.ident.to_string()),
            syn::Item::Union(item) => self.note_item(item.ident.to_string()),
            _ => {}
        }
        visit::visit_item(self, item);
        self.in_test = before;
    }

    fn visit_impl_item(&mut self, item: &'ast syn::ImplItem) {
        if !matches!(item, syn::ImplItem::Fn(function) if is_test(&function.attrs)) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        let child = joined(&self.module, &item.ident.to_string());
        if item.content.is_some() {
            let before = (std::mem::replace(&mut self.module, child), self.folder.clone());
            self.folder.push(item.ident.to_string());
            if !self.in_test {
                let module = self.modules.all.entry(self.module.clone()).or_default();
                module.file.clone_from(self.file);
            }
            visit::visit_item_mod(self, item);
            (self.module, self.folder) = before;
            return;
        }
        let (path, folder) = self.file_of(item);
        if self.in_test {
            let mut tests = Modules::default();
            tests.read_file(&path, &folder, &child, self.sources);
            self.modules.files.append(&mut tests.files);
        } else {
            self.modules.read_file(&path, &folder, &child, self.sources);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if item.leading_colon.is_none() {
            self.note_imports(&item.tree, &Vec::new(), !matches!(item.vis, Visibility::Inherited));
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        let variables = Variables::of(|all| all.visit_item_fn(item));
        self.within_function(variables, |reader| visit::visit_item_fn(reader, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        let variables = Variables::of(|all| all.visit_impl_item_fn(item));
        self.within_function(variables, |reader| visit::visit_impl_item_fn(reader, item));
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        let variables = Variables::of(|all| all.visit_trait_item_fn(item));
        self.within_function(variables, |reader| visit::visit_trait_item_fn(reader, item));
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            self.note_path(path.segments.iter().map(|part| part.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    /// `let plan = plan(..)`: the call is to the function, even if a variable has its name.
    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if let Expr::Path(function) = &*call.func
            && let Some(name) = function.path.get_ident()
        {
            self.note_name(vec![name.to_string()]);
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_macro(&mut self, item: &'ast Macro) {
        self.visit_path(&item.path);
        self.note_tokens(item.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if attribute.path().is_ident("doc") {
            return;
        }
        match &attribute.meta {
            Meta::Path(path) => self.visit_path(path),
            Meta::List(list) => {
                self.visit_path(&list.path);
                self.note_tokens(list.tokens.clone());
            }
            Meta::NameValue(pair) => self.visit_expr(&pair.value),
        }
    }

    /// Who may see an item is no import.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}

/// The variables that patterns bind.
struct Variables(BTreeSet<String>);

impl Variables {
    fn of(visit: impl FnOnce(&mut Variables)) -> BTreeSet<String> {
        let mut all = Variables(BTreeSet::new());
        visit(&mut all);
        all.0
    }
}

impl<'ast> Visit<'ast> for Variables {
    fn visit_pat_ident(&mut self, pattern: &'ast PatIdent) {
        let name = pattern.ident.to_string();
        // A capital letter begins a constant.
        if !name.starts_with(char::is_uppercase) {
            self.0.insert(name);
        }
        visit::visit_pat_ident(self, pattern);
    }
}

/// Is it compiled for unit tests only, or for these and fuzz targets?
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).any(|attribute| {
        let Meta::List(list) = &attribute.meta else { return false };
        matches!(list.tokens.to_string().as_str(), "test" | "any (test , fuzzing)")
    })
}

fn text_of_path(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// The path without `..`.
fn normal(path: &Path) -> PathBuf {
    let mut all = PathBuf::new();
    for part in path.components() {
        if part == std::path::Component::ParentDir {
            all.pop();
        } else {
            all.push(part);
        }
    }
    all
}

pub(crate) fn joined(before: &Names, name: &str) -> Names {
    [before.as_slice(), &[name.to_owned()]].concat()
}
