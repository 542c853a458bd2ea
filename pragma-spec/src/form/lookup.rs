//! What flattening has to ask others: definitions of types, values of constants, what generic parameters stand for.

use std::fmt;

/// Finds types and constants of the crate. Implemented where the crate's sources are.
pub trait TypeLookup {
    /// What the type path `segments` names, seen from `module` (both without `r#`, the module from the crate root).
    fn resolve(&self, module: &[String], segments: &[String]) -> Resolved<'_>;

    /// The value of the integer constant `segments`, seen from `module`; `T::N` and `Self::N` are not asked for.
    fn constant(&self, module: &[String], segments: &[String]) -> Option<u64>;
}

/// What a type path names.
#[derive(Clone)]
pub enum Resolved<'a> {
    /// A struct of the crate and the module it is in.
    Struct(Vec<String>, &'a syn::ItemStruct),
    /// An enum of the crate and its module.
    Enum(Vec<String>, &'a syn::ItemEnum),
    /// A type alias of the crate and its module.
    Alias(Vec<String>, &'a syn::ItemType),
    /// Something of another crate, by its full path: `ndarray::Array2`. A path that names nothing in the crate
    /// is given back as it is.
    External(String),
    /// Nobody knows here. Flattening fails if the answer matters, with [`crate::SpecError::needs_types`].
    Unknown,
}

/// The lookup of those who see one function and no definitions.
#[derive(Clone, Copy, Debug)]
pub struct NoTypes;

impl TypeLookup for NoTypes {
    fn resolve(&self, _: &[String], _: &[String]) -> Resolved<'_> {
        Resolved::Unknown
    }

    fn constant(&self, _: &[String], _: &[String]) -> Option<u64> {
        None
    }
}

/// What the type and const parameters of a function and its impl stand for: `T = f32, C = 3`. Empty for functions
/// without any.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Instance(pub Vec<(String, String)>);

impl Instance {
    /// Whether there are no parameters.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What `name` stands for.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The value of a const parameter.
    pub fn constant(&self, name: &str) -> Option<u64> {
        self.get(name)
            .and_then(|value| value.replace('_', "").parse().ok())
    }

    /// What the kernel id of this instance ends in: `T_f32.C_3`. Empty without parameters.
    ///
    /// Only letters, digits, `_` and `.`: of a path its last segment, of anything else the letters and digits.
    pub fn suffix(&self) -> String {
        let parts = self.0.iter().map(|(name, value)| {
            let last = value.rsplit("::").next().unwrap_or(value);
            let kept = last.chars().filter(|c| c.is_ascii_alphanumeric());
            format!("{name}_{}", kept.collect::<String>())
        });
        parts.collect::<Vec<_>>().join(".")
    }
}

impl fmt::Display for Instance {
    /// `T = f32, C = 3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, value)) in self.0.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            write!(f, "{comma}{name} = {value}")?;
        }
        Ok(())
    }
}
