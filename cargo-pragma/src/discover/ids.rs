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
    /// The name of the type whose method it is.
    pub owner: Option<String>,
    /// The function's name.
    pub function: String,
    /// What ids of this instance of the function end in; empty for functions that are not generic.
    pub instance: String,
}

/// A kernel that the package already has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VendoredName {
    /// Its id.
    pub id: KernelId,
    /// The module: `a::b`, empty for the root.
    pub module: String,
    /// The name of the type whose method it is.
    pub owner: Option<String>,
    /// The function's name.
    pub function: String,
    /// What the id ends in.
    pub instance: String,
}

impl Place {
    /// The function with its type.
    fn short(&self) -> String {
        match &self.owner {
            Some(owner) => format!("{owner}.{}", self.function),
            None => self.function.clone(),
        }
    }

    fn long(&self) -> String {
        let mut parts = self.module.clone();
        parts.push(self.short());
        parts.join(".")
    }

    fn longest(&self) -> String {
        match &self.kind {
            CrateKind::Lib => format!("lib.{}", self.long()),
            CrateKind::Bin(name) => format!("bin.{}.{}", name.replace('-', "_"), self.long()),
        }
    }

    /// An id for this instance of the function that is called `name`.
    fn id(&self, name: &str) -> Option<KernelId> {
        let dot = if self.instance.is_empty() { "" } else { "." };
        KernelId::new(format!("{name}{dot}{}", self.instance)).ok()
    }

    /// Whether it is the same function, perhaps at another instance.
    fn is_same_function(&self, other: &Place) -> bool {
        self.kind == other.kind && self.long() == other.long()
    }

    fn is_named(&self, vendored: &VendoredName) -> bool {
        self.function == vendored.function
            && self.owner == vendored.owner
            && self.instance == vendored.instance
            && self.module.join("::") == vendored.module
    }
}

/// Ids for `places`, in order.
///
/// `None` where no id is possible, that is, for names with letters beyond ASCII.
pub fn assign(places: &[Place], vendored: &[VendoredName]) -> Vec<Option<KernelId>> {
    let mut ids: Vec<Option<KernelId>> = vec![None; places.len()];
    let mut taken: BTreeMap<KernelId, usize> = BTreeMap::new();
    for name in vendored {
        let owner = places.iter().position(|place| place.is_named(name));
        if let Some(owner) = owner.filter(|owner| ids[*owner].is_none()) {
            ids[owner] = Some(name.id.clone());
            taken.insert(name.id.clone(), owner);
        }
    }
    for (i, place) in places.iter().enumerate() {
        if ids[i].is_some() {
            continue;
        }
        let others = || places.iter().filter(|other| !place.is_same_function(other));
        let alone = others().all(|other| other.short() != place.short());
        let candidates = [
            alone.then(|| place.short()),
            Some(place.long()),
            Some(place.longest()),
        ];
        let free = candidates.into_iter().flatten().find_map(|name| {
            // The long name of a root function is its bare name, which would look like the only one.
            let clear = alone || others().all(|other| other.long() != name);
            let id = place.id(&name)?;
            (clear && !taken.contains_key(&id)).then_some(id)
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
            owner: None,
            function: function.to_owned(),
            instance: String::new(),
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
        let vendored = [VendoredName {
            id: KernelId::new("dot").expect("an id"),
            module: "b".to_owned(),
            owner: None,
            function: "dot".to_owned(),
            instance: String::new(),
        }];
        assert_eq!(text(&assign(&places, &vendored)), ["a.dot", "dot"]);
    }

    #[test]
    fn methods_carry_their_type_and_instances_their_arguments() {
        let method = |module: &[&str], owner: &str, function: &str, instance: &str| Place {
            owner: Some(owner.to_owned()),
            instance: instance.to_owned(),
            ..place(CrateKind::Lib, module, function)
        };
        let places = [
            method(&["audio"], "Biquad", "process", "T_f32"),
            method(&["audio"], "Biquad", "process", "T_f64"),
            method(&["image"], "Plane", "process", ""),
            method(&["video"], "Plane", "process", ""),
            place(CrateKind::Lib, &[], "process"),
        ];
        assert_eq!(
            text(&assign(&places, &[])),
            [
                "Biquad.process.T_f32",
                "Biquad.process.T_f64",
                "image.Plane.process",
                "video.Plane.process",
                "process",
            ]
        );
    }
}
