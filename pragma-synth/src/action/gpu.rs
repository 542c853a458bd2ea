//! Schedule actions for GPUs: how loops are mapped to launches, blocks, warps and threads.
//!
//! Owns the actions and their text form. What each becomes, and whether it is legal, is the
//! emitter's business (`emit::cuda`): a mapping that does not fit is refused there, and a loop
//! that no action maps is run by one thread, so that any list of actions leaves a program the
//! same function.

use std::fmt;
use std::str::FromStr;

use super::ParseActionError;

/// The unit that does the products of a contraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unit {
    /// One fused multiply-add per product, in the type of the accumulator.
    Ffma,
    /// Tensor cores on `f32` operands, each split in two TF32 halves: three products for one.
    Tf32x3,
}

impl Unit {
    /// Every unit with its name.
    pub const ALL: [(Unit, &'static str); 2] = [(Unit::Ffma, "ffma"), (Unit::Tf32x3, "tf32x3")];

    /// The name in the text of an action.
    pub fn name(self) -> &'static str {
        Unit::ALL
            .iter()
            .find(|(unit, _)| *unit == self)
            .map_or("ffma", |(_, name)| name)
    }
}

/// One mapping. Loops are named by their counter, buffers by their name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GpuAction {
    /// Exchange the two loops of an accumulation into a buffer, so that each element is summed
    /// up in a register: `for k { for j { c[j] += .. } }` becomes `for j { for k { .. } }`.
    Accumulate {
        /// The buffer accumulated into.
        buffer: String,
        /// The loop over terms.
        over: String,
    },
    /// One thread per iteration of a nest of loops, or per `vector` neighbours in the innermost.
    Grid {
        /// The loops, outermost first, each directly in the one before.
        axes: Vec<String>,
        /// Threads per block.
        threads: u32,
        /// Neighbouring iterations per access, a power of two.
        vector: u32,
        /// Groups of `vector` iterations per thread, all loaded before the first is worked on.
        unroll: u32,
    },
    /// A team of threads per iteration of a loop (or of nested loops); the loops inside are
    /// shared out to the team, and its reductions are combined in a fixed order.
    Team {
        /// The loops, outermost first.
        axes: Vec<String>,
        /// Threads of a team; up to 32 of one warp, or a whole block.
        threads: u32,
        /// Neighbouring iterations per access.
        vector: u32,
        /// Groups of `vector` elements of a row that a thread keeps in registers; 0: none is
        /// kept, and every pass reads the row again.
        items: u32,
    },
    /// A whole-array reduction in two launches: partial results of `blocks` blocks, then one.
    Reduce {
        /// The loop.
        axis: String,
        /// Threads per block.
        threads: u32,
        /// Neighbouring iterations per access.
        vector: u32,
        /// Groups of `vector` iterations in flight per thread.
        unroll: u32,
        /// Blocks, at most.
        blocks: u32,
    },
    /// Reductions over the slow axis: threads side by side along `axis`, rows shared out to
    /// threads and blocks.
    Columns {
        /// The loop over results, whose accesses are neighbours.
        axis: String,
        /// The loop over terms, directly inside.
        over: String,
        /// Threads side by side.
        lanes: u32,
        /// Threads along the terms.
        rows: u32,
        /// Neighbouring results per thread.
        vector: u32,
        /// Terms per block.
        chunk: u64,
    },
    /// A prefix sum (or other scan) in one pass, with look-back in a fixed order.
    Scan {
        /// The loop.
        axis: String,
        /// Threads per block.
        threads: u32,
        /// Neighbouring iterations per access.
        vector: u32,
        /// Groups of `vector` iterations per thread.
        items: u32,
    },
    /// A nest of two loops by square tiles through shared memory: reads are neighbours along
    /// one loop, writes along the other.
    Transpose {
        /// The outer loop.
        outer: String,
        /// The inner loop.
        inner: String,
        /// Edge of a tile.
        tile: u32,
        /// Neighbouring elements per access.
        vector: u32,
    },
    /// A contraction by register tiles.
    Contract {
        /// The loop over terms.
        over: String,
        /// What multiplies.
        unit: Unit,
        /// Rows of the result per block.
        tile_m: u32,
        /// Columns of the result per block.
        tile_n: u32,
        /// Terms per step.
        tile_k: u32,
        /// Steps in flight.
        stages: u32,
    },
}

impl fmt::Display for GpuAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GpuAction::Accumulate { buffer, over } => write!(f, "accumulate({buffer}, {over})"),
            GpuAction::Grid {
                axes,
                threads,
                vector,
                unroll,
            } => write!(
                f,
                "grid({}, threads = {threads}, vector = {vector}, unroll = {unroll})",
                axes.join(", ")
            ),
            GpuAction::Team {
                axes,
                threads,
                vector,
                items,
            } => write!(
                f,
                "team({}, threads = {threads}, vector = {vector}, items = {items})",
                axes.join(", ")
            ),
            GpuAction::Reduce {
                axis,
                threads,
                vector,
                unroll,
                blocks,
            } => write!(
                f,
                "reduce({axis}, threads = {threads}, vector = {vector}, unroll = {unroll}, blocks = {blocks})"
            ),
            GpuAction::Columns {
                axis,
                over,
                lanes,
                rows,
                vector,
                chunk,
            } => write!(
                f,
                "columns({axis}, {over}, lanes = {lanes}, rows = {rows}, vector = {vector}, chunk = {chunk})"
            ),
            GpuAction::Scan {
                axis,
                threads,
                vector,
                items,
            } => write!(
                f,
                "scan({axis}, threads = {threads}, vector = {vector}, items = {items})"
            ),
            GpuAction::Transpose {
                outer,
                inner,
                tile,
                vector,
            } => write!(
                f,
                "transpose({outer}, {inner}, tile = {tile}, vector = {vector})"
            ),
            GpuAction::Contract {
                over,
                unit,
                tile_m,
                tile_n,
                tile_k,
                stages,
            } => write!(
                f,
                "contract({over}, {}, tile_m = {tile_m}, tile_n = {tile_n}, tile_k = {tile_k}, stages = {stages})",
                unit.name()
            ),
        }
    }
}

impl FromStr for GpuAction {
    type Err = ParseActionError;

    fn from_str(text: &str) -> Result<Self, ParseActionError> {
        read(text).ok_or_else(|| ParseActionError(text.to_owned()))
    }
}

/// The arguments of an action: names first, then `key = value`.
struct Arguments<'a> {
    names: Vec<String>,
    numbers: Vec<(&'a str, u64)>,
}

impl<'a> Arguments<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let mut found = Arguments {
            names: Vec::new(),
            numbers: Vec::new(),
        };
        for argument in text.split(',').map(str::trim) {
            match argument.split_once('=') {
                Some((key, value)) => found.numbers.push((key.trim(), value.trim().parse().ok()?)),
                None if !argument.is_empty() && found.numbers.is_empty() => {
                    found.names.push(argument.to_owned());
                }
                None => return None,
            }
        }
        Some(found)
    }

    /// Exactly these numbers, in this order.
    fn numbers<const N: usize>(&self, keys: [&str; N]) -> Option<[u64; N]> {
        let named = self.numbers.iter().map(|(key, _)| *key);
        (self.numbers.len() == N && named.eq(keys)).then_some(())?;
        let mut values = [0; N];
        for (value, (_, number)) in values.iter_mut().zip(&self.numbers) {
            *value = *number;
        }
        Some(values)
    }

    /// Exactly these many names.
    fn names<const N: usize>(&self) -> Option<[String; N]> {
        self.names.clone().try_into().ok()
    }
}

fn read(text: &str) -> Option<GpuAction> {
    let (name, rest) = text.trim().split_once('(')?;
    let arguments = Arguments::read(rest.strip_suffix(')')?)?;
    let small = |value: u64| u32::try_from(value).ok();
    Some(match name.trim() {
        "accumulate" => {
            let [buffer, over] = arguments.names()?;
            arguments.numbers([])?;
            GpuAction::Accumulate { buffer, over }
        }
        "grid" => {
            let [threads, vector, unroll] = arguments.numbers(["threads", "vector", "unroll"])?;
            (!arguments.names.is_empty()).then_some(())?;
            GpuAction::Grid {
                axes: arguments.names,
                threads: small(threads)?,
                vector: small(vector)?,
                unroll: small(unroll)?,
            }
        }
        "team" => {
            let [threads, vector, items] = arguments.numbers(["threads", "vector", "items"])?;
            (!arguments.names.is_empty()).then_some(())?;
            GpuAction::Team {
                axes: arguments.names,
                threads: small(threads)?,
                vector: small(vector)?,
                items: small(items)?,
            }
        }
        "reduce" => {
            let [axis] = arguments.names()?;
            let [threads, vector, unroll, blocks] =
                arguments.numbers(["threads", "vector", "unroll", "blocks"])?;
            GpuAction::Reduce {
                axis,
                threads: small(threads)?,
                vector: small(vector)?,
                unroll: small(unroll)?,
                blocks: small(blocks)?,
            }
        }
        "columns" => {
            let [axis, over] = arguments.names()?;
            let [lanes, rows, vector, chunk] =
                arguments.numbers(["lanes", "rows", "vector", "chunk"])?;
            GpuAction::Columns {
                axis,
                over,
                lanes: small(lanes)?,
                rows: small(rows)?,
                vector: small(vector)?,
                chunk,
            }
        }
        "scan" => {
            let [axis] = arguments.names()?;
            let [threads, vector, items] = arguments.numbers(["threads", "vector", "items"])?;
            GpuAction::Scan {
                axis,
                threads: small(threads)?,
                vector: small(vector)?,
                items: small(items)?,
            }
        }
        "transpose" => {
            let [outer, inner] = arguments.names()?;
            let [tile, vector] = arguments.numbers(["tile", "vector"])?;
            GpuAction::Transpose {
                outer,
                inner,
                tile: small(tile)?,
                vector: small(vector)?,
            }
        }
        "contract" => {
            let [over, unit] = arguments.names()?;
            let [tile_m, tile_n, tile_k, stages] =
                arguments.numbers(["tile_m", "tile_n", "tile_k", "stages"])?;
            let (unit, _) = Unit::ALL.into_iter().find(|(_, name)| *name == unit)?;
            GpuAction::Contract {
                over,
                unit,
                tile_m: small(tile_m)?,
                tile_n: small(tile_n)?,
                tile_k: small(tile_k)?,
                stages: small(stages)?,
            }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::GpuAction;

    #[test]
    fn every_action_reads_back() {
        let texts = [
            "accumulate(c, k)",
            "grid(i, j, threads = 256, vector = 4, unroll = 2)",
            "team(r, threads = 256, vector = 4, items = 4)",
            "reduce(i, threads = 256, vector = 4, unroll = 4, blocks = 1056)",
            "columns(j, r, lanes = 32, rows = 8, vector = 4, chunk = 256)",
            "scan(i, threads = 256, vector = 4, items = 4)",
            "transpose(i, j, tile = 64, vector = 4)",
            "contract(k, tf32x3, tile_m = 128, tile_n = 128, tile_k = 16, stages = 3)",
        ];
        for text in texts {
            let action: GpuAction = text.parse().unwrap();
            assert_eq!(action.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_action_is_refused() {
        for text in [
            "",
            "grid(threads = 256, vector = 4, unroll = 1)",
            "grid(i, vector = 4, threads = 256, unroll = 1)",
            "grid(i, threads = 256, j, vector = 4, unroll = 1)",
            "team(r, threads = 99999999999, vector = 4, items = 4)",
            "contract(k, magic, tile_m = 1, tile_n = 1, tile_k = 1, stages = 1)",
            "transpose(i, tile = 64, vector = 4)",
            "accumulate(c, k, x = 1)",
        ] {
            assert!(text.parse::<GpuAction>().is_err(), "{text}");
        }
    }
}
