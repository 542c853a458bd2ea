//! The module tree of one crate, read from its files.
//!
//! Owns how `mod x;` finds its file (`x.rs`, `x/mod.rs`, `#[path]`) and what is left out: modules for tests, and files
//! that do not exist (a module behind a `cfg` that is off may well lack its file). No macros are expanded, so a module
//! that a macro declares is not seen.

use std::path::{Path, PathBuf};

use syn::{Attribute, Expr, Item, Lit, Meta};

/// One module with its items; inline modules are modules of their own.
#[derive(Clone, Debug)]
pub struct Module {
    /// Names from the crate root, which is empty.
    pub path: Vec<String>,
    /// The file it stands in, absolute.
    pub file: PathBuf,
    /// Its items, in order.
    pub items: Vec<Item>,
}

/// A file of the crate could not be read as Rust.
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    /// The file system refused.
    #[error("cannot read `{file}`: {error}")]
    Read {
        /// The file.
        file: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The file is not Rust.
    #[error("cannot parse `{file}`: {error}")]
    Parse {
        /// The file.
        file: PathBuf,
        /// Why, with the place.
        error: syn::Error,
    },
}

/// A crate as its files tell it.
#[derive(Debug)]
pub struct ReadCrate {
    /// Its modules, sorted by path.
    pub modules: Vec<Module>,
    /// The inner attributes of its root.
    pub attributes: Vec<Attribute>,
    /// Files below the root that failed; they are left out.
    pub errors: Vec<ModuleError>,
}

/// Reads the crate whose root is `src_path`.
///
/// # Errors
/// If the root itself cannot be read or parsed.
pub fn read_crate(src_path: &Path) -> Result<ReadCrate, ModuleError> {
    let (items, attributes) = parse(src_path)?;
    let mut walk = Walk::default();
    let dir = src_path.parent().unwrap_or(Path::new("")).to_path_buf();
    walk.module(
        Vec::new(),
        src_path,
        &Place {
            path_base: dir.clone(),
            children: dir,
        },
        items,
    );
    walk.modules.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(ReadCrate {
        modules: walk.modules,
        attributes,
        errors: walk.errors,
    })
}

fn parse(file: &Path) -> Result<(Vec<Item>, Vec<Attribute>), ModuleError> {
    let text = std::fs::read_to_string(file).map_err(|error| ModuleError::Read {
        file: file.to_owned(),
        error,
    })?;
    match syn::parse_file(&text) {
        Ok(parsed) => Ok((parsed.items, parsed.attrs)),
        Err(error) => Err(ModuleError::Parse {
            file: file.to_owned(),
            error,
        }),
    }
}

/// Where a module's child modules are looked for.
struct Place {
    /// What `#[path = ".."]` is relative to.
    path_base: PathBuf,
    /// The directory of `x.rs` and `x/mod.rs`.
    children: PathBuf,
}

#[derive(Default)]
struct Walk {
    modules: Vec<Module>,
    errors: Vec<ModuleError>,
    /// Files on the way down, so that `#[path]` cannot make a circle.
    open: Vec<PathBuf>,
}

impl Walk {
    fn module(&mut self, path: Vec<String>, file: &Path, place: &Place, items: Vec<Item>) {
        self.open.push(file.to_owned());
        for item in &items {
            let Item::Mod(child) = item else { continue };
            if is_for_tests(&child.attrs) {
                continue;
            }
            let name = child.ident.to_string();
            let name = name.strip_prefix("r#").unwrap_or(&name).to_owned();
            let mut child_path = path.clone();
            child_path.push(name.clone());
            if let Some((_, items)) = &child.content {
                // Inside an inline module both kinds of file lie one directory deeper.
                let dir = match path_attribute(&child.attrs) {
                    Some(given) => place.path_base.join(given),
                    None => place.children.join(&name),
                };
                let inner = Place {
                    path_base: dir.clone(),
                    children: dir,
                };
                self.module(child_path, file, &inner, items.clone());
            } else if let Some((file, place)) =
                child_file(place, &name, path_attribute(&child.attrs))
            {
                if self.open.contains(&file) {
                    continue;
                }
                match parse(&file) {
                    Ok((items, attributes)) if !is_for_tests(&attributes) => {
                        self.module(child_path, &file, &place, items);
                    }
                    Ok(_) => {}
                    Err(error) => self.errors.push(error),
                }
            }
        }
        self.open.pop();
        self.modules.push(Module {
            path,
            file: file.to_owned(),
            items,
        });
    }
}

/// The file of `mod name;`, if there is one, and where that file's own children are.
fn child_file(place: &Place, name: &str, path: Option<String>) -> Option<(PathBuf, Place)> {
    if let Some(path) = path {
        let file = place.path_base.join(path);
        let dir = file.parent()?.to_path_buf();
        return file.is_file().then(|| {
            (
                file,
                Place {
                    path_base: dir.clone(),
                    children: dir,
                },
            )
        });
    }
    let flat = place.children.join(format!("{name}.rs"));
    let dir = place.children.join(name);
    if flat.is_file() {
        return Some((
            flat,
            Place {
                path_base: place.children.clone(),
                children: dir,
            },
        ));
    }
    let nested = dir.join("mod.rs");
    nested.is_file().then(|| {
        (
            nested,
            Place {
                path_base: dir.clone(),
                children: dir,
            },
        )
    })
}

fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes
        .iter()
        .find_map(|attribute| match &attribute.meta {
            Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
                Expr::Lit(literal) => match &literal.lit {
                    Lit::Str(text) => Some(text.value()),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        })
}

/// Whether the attributes say `cfg(test)`.
pub fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && matches!(&attribute.meta, Meta::List(list) if list.tokens.to_string() == "test")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, BTreeMap<String, String>, usize) {
        let dir = tempfile::tempdir().expect("a directory");
        for (name, text) in files {
            let file = dir.path().join(name);
            std::fs::create_dir_all(file.parent().expect("a parent")).expect("directories");
            std::fs::write(file, text).expect("a file");
        }
        let krate = read_crate(&dir.path().join("lib.rs")).expect("a crate");
        let found = krate
            .modules
            .iter()
            .map(|module| {
                let file = module
                    .file
                    .strip_prefix(dir.path())
                    .expect("inside")
                    .display()
                    .to_string();
                (module.path.join("::"), file)
            })
            .collect();
        (dir, found, krate.errors.len())
    }

    #[test]
    fn every_way_to_place_a_module() {
        let (_dir, found, errors) = tree(&[
            (
                "lib.rs",
                "mod a; mod b; mod inline { mod deep; #[path = \"odd.rs\"] mod odd; } #[path = \"x/y.rs\"] mod p; mod gone; #[cfg(test)] mod tests;",
            ),
            (
                "a.rs",
                "mod c; mod own { mod d; } #[path = \"beside.rs\"] mod beside;",
            ),
            ("a/c.rs", ""),
            ("a/own/d.rs", ""),
            ("beside.rs", ""),
            ("b/mod.rs", "mod e;"),
            ("b/e.rs", ""),
            ("inline/deep.rs", ""),
            ("inline/odd.rs", ""),
            ("x/y.rs", "mod z;"),
            ("x/z.rs", "mod broken;"),
            ("x/z/broken.rs", "fn ("),
            ("tests.rs", "fn ("),
        ]);
        let expected = [
            ("", "lib.rs"),
            ("a", "a.rs"),
            ("a::beside", "beside.rs"),
            ("a::c", "a/c.rs"),
            ("a::own", "a.rs"),
            ("a::own::d", "a/own/d.rs"),
            ("b", "b/mod.rs"),
            ("b::e", "b/e.rs"),
            ("inline", "lib.rs"),
            ("inline::deep", "inline/deep.rs"),
            ("inline::odd", "inline/odd.rs"),
            ("p", "x/y.rs"),
            ("p::z", "x/z.rs"),
        ];
        let expected: BTreeMap<String, String> = expected
            .iter()
            .map(|(path, file)| ((*path).to_owned(), (*file).to_owned()))
            .collect();
        assert_eq!(found, expected);
        assert_eq!(errors, 1);
    }

    #[test]
    fn a_circle_ends() {
        let (_dir, found, errors) = tree(&[("lib.rs", "#[path = \"lib.rs\"] mod again;")]);
        assert_eq!((found.len(), errors), (1, 0));
    }
}
