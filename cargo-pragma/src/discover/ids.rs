//! Names for kernels that are unique in their package.
//!
//! A function alone of its name is called by that name, others by module path. A kernel that was vendored under a name
//! keeps it, so that a second function of the same name elsewhere does not orphan the first one's kernels.

use std::collections::BTreeMap;

use pragma_spec::KernelId;

use super::packages::CrateKind;

/// What a name is given to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The crate.
    pub kind: CrateKind,
    /// The module, from the crate root.
    pub module: Vec<String>,
    /// The function's name.
    pub function: String,
}

impl Place {
    /// Where the name is that of the module in a manifest: `a::b`, empty for the root.
    pub fn module_text(&self) -> String {
        self.module.join("::")
    }

    fn long(&self) -> String {
        let mut parts: Vec<&str> = self.module.iter().map(String::as_str).collect();
        parts.push(&self.function);
        parts.join(".")
    }

    fn longest(&self) -> String {
        match &self.kind {
            CrateKind::Lib => format!("lib.{}", self.long()),
            CrateKind::Bin(name) => format!("bin.{}.{}", name.replace('-', "_"), self.long()),
        }
    }
}

/// Ids for `places`, in order. `vendored` gives function and module of what the package already has.
///
/// `None` where no id is possible, that is, for names with letters beyond ASCII.
pub fn assign(places: &[Place], vendored: &[(KernelId, String, String)]) -> Vec<Option<KernelId>> {
    let mut ids: Vec<Option<KernelId>> = vec![None; places.len()];
    let mut taken: BTreeMap<KernelId, usize> = BTreeMap::new();
    for (id, function, module) in vendored {
        let owner = places
            .iter()
            .position(|place| place.function == *function && place.module_text() == *module);
        if let Some(owner) = owner.filter(|owner| ids[*owner].is_none()) {
            ids[owner] = Some(id.clone());
            taken.insert(id.clone(), owner);
        }
    }
    for (i, place) in places.iter().enumerate() {
        if ids[i].is_some() {
            continue;
        }
        let alone = places
            .iter()
            .filter(|other| other.function == place.function)
            .count()
            == 1;
        let candidates = [
            alone.then(|| place.function.clone()),
            Some(place.long()),
            Some(place.longest()),
        ];
        let free = candidates.into_iter().flatten().filter_map(|text| KernelId::new(text).ok()).find(|id| {
            !taken.contains_key(id)
                // The long name of a root function is its bare name, which would look like the only one.
                && (alone || places.iter().enumerate().all(|(j, other)| j == i || other.long() != id.as_str()))
        });
        if let Some(id) = free {
            taken.insert(id.clone(), i);
            ids[i] = Some(id);
        }
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(kind: CrateKind, module: &[&str], function: &str) -> Place {
        Place {
            kind,
            module: module.iter().map(|part| (*part).to_owned()).collect(),
            function: function.to_owned(),
        }
    }

    fn text(ids: &[Option<KernelId>]) -> Vec<String> {
        ids.iter()
            .map(|id| id.as_ref().map_or("-".to_owned(), ToString::to_string))
            .collect()
    }

    #[test]
    fn short_where_unique_long_elsewhere() {
        let lib = || CrateKind::Lib;
        let bin = CrateKind::Bin("my-app".to_owned());
        let places = [
            place(lib(), &[], "dot"),
            place(lib(), &["a"], "dot"),
            place(lib(), &["a", "b"], "alone"),
            place(lib(), &["m"], "twin"),
            place(bin, &["m"], "twin"),
            place(lib(), &[], "größe"),
        ];
        assert_eq!(
            text(&assign(&places, &[])),
            [
                "dot",
                "a.dot",
                "alone",
                "lib.m.twin",
                "bin.my_app.m.twin",
                "-"
            ]
        );
    }

    #[test]
    fn a_vendored_name_stays() {
        let places = [
            place(CrateKind::Lib, &["a"], "dot"),
            place(CrateKind::Lib, &["b"], "dot"),
        ];
        let vendored = [(
            KernelId::new("dot").expect("an id"),
            "dot".to_owned(),
            "b".to_owned(),
        )];
        assert_eq!(text(&assign(&places, &vendored)), ["a.dot", "dot"]);
    }
}
