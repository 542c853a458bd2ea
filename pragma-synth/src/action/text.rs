//! The text form of actions: `vectorize(j, unroll = 4)`.

use std::fmt;
use std::str::FromStr;

use super::Action;

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Vectorize { axis, unroll } => write!(f, "vectorize({axis}, unroll = {unroll})"),
            Action::Parallelize {
                axis,
                grain,
                serial_below,
            } => {
                write!(
                    f,
                    "parallelize({axis}, grain = {grain}, serial_below = {serial_below})"
                )
            }
            Action::Fuse { first, second } => write!(f, "fuse({first}, {second})"),
            Action::Stream { buffer } => write!(f, "stream({buffer})"),
            Action::Stage { buffer, axis } => write!(f, "stage({buffer}, {axis})"),
            Action::Prefetch {
                buffer,
                axis,
                ahead,
            } => match ahead {
                None => write!(f, "prefetch({buffer}, {axis})"),
                Some(ahead) => write!(f, "prefetch({buffer}, {axis}, ahead = {ahead})"),
            },
            Action::Interchange { axis } => write!(f, "interchange({axis})"),
            Action::Privatize { buffer, axis } => write!(f, "privatize({buffer}, {axis})"),
            Action::Jam { axis, factor } => write!(f, "jam({axis}, factor = {factor})"),
            Action::Unroll { axis, factor } => write!(f, "unroll({axis}, factor = {factor})"),
            Action::Split { axis, factor } => write!(f, "split({axis}, factor = {factor})"),
        }
    }
}

/// The text is no action.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a schedule action")]
pub struct ParseActionError(pub String);

impl FromStr for Action {
    type Err = ParseActionError;

    fn from_str(text: &str) -> Result<Self, ParseActionError> {
        read(text).ok_or_else(|| ParseActionError(text.to_owned()))
    }
}

fn read(text: &str) -> Option<Action> {
    let (name, rest) = text.trim().split_once('(')?;
    let mut args = rest.strip_suffix(')')?.split(',').map(str::trim);
    let first = args.next().filter(|arg| !arg.is_empty())?.to_owned();
    let valued = |key: &str, arg: &str| -> Option<u64> {
        let (name, value) = arg.split_once('=')?;
        (name.trim() == key).then_some(())?;
        value.trim().parse().ok()
    };
    if name.trim() == "prefetch" {
        let axis = args.next()?.to_owned();
        let ahead = match args.next() {
            Some(arg) => Some(valued("ahead", arg)?),
            None => None,
        };
        let action = Action::Prefetch {
            buffer: first,
            axis,
            ahead,
        };
        return args.next().is_none().then_some(action);
    }
    let mut number = |key: &str| valued(key, args.next()?);
    let action = match name.trim() {
        "vectorize" => Action::Vectorize {
            axis: first,
            unroll: u32::try_from(number("unroll")?).ok()?,
        },
        "parallelize" => Action::Parallelize {
            axis: first,
            grain: number("grain")?,
            serial_below: number("serial_below")?,
        },
        "unroll" => Action::Unroll {
            axis: first,
            factor: u32::try_from(number("factor")?).ok()?,
        },
        "split" => Action::Split {
            axis: first,
            factor: number("factor")?,
        },
        "stream" => Action::Stream { buffer: first },
        "interchange" => Action::Interchange { axis: first },
        "privatize" => Action::Privatize {
            buffer: first,
            axis: args.next()?.to_owned(),
        },
        "jam" => Action::Jam {
            axis: first,
            factor: number("factor")?,
        },
        "fuse" => Action::Fuse {
            first,
            second: args.next()?.to_owned(),
        },
        "stage" => Action::Stage {
            buffer: first,
            axis: args.next()?.to_owned(),
        },
        _ => return None,
    };
    args.next().is_none().then_some(action)
}

#[cfg(test)]
mod tests {
    use super::Action;

    #[test]
    fn every_action_reads_back() {
        let texts = [
            "vectorize(j, unroll = 4)",
            "parallelize(r, grain = 65536, serial_below = 131072)",
            "fuse(j, j_1)",
            "stream(out)",
            "stage(out, r)",
            "prefetch(x, j_1)",
            "prefetch(x, j, ahead = 2048)",
            "interchange(p)",
            "privatize(scores, i)",
            "jam(i, factor = 4)",
            "unroll(k, factor = 3)",
            "split(i, factor = 64)",
        ];
        for text in texts {
            let action: Action = text.parse().unwrap();
            assert_eq!(action.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_action_is_refused() {
        for text in [
            "",
            "vectorize",
            "vectorize(j)",
            "vectorize(j, unroll = -1)",
            "fuse(a)",
            "prefetch(x)",
            "prefetch(x, j, 2048)",
            "prefetch(x, j, ahead = 2048, y)",
            "stream(a, b)",
            "split(i, factor = 2, x)",
            "dance(j)",
        ] {
            assert!(text.parse::<Action>().is_err(), "{text}");
        }
    }
}
