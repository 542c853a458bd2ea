//! Forms: which leaves a signature has, their text, where the fields of records lie.

mod flatten;
mod layout;
mod resolve;
mod support;
mod text;
