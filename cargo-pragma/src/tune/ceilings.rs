//! The machine's measured ceilings in the engine's terms.

use pragma_spec::Target;
use pragma_synth::conduct::{Level, Machine};

use crate::machine;
use crate::measure::{Ceilings, MemoryLevel, ThreadCeilings};

/// What sharing work out to threads costs, nanoseconds: waking the pool's threads from outside it.
const FORK_NS: f64 = 12_000.0;

/// The ceilings for kernels of `target` that may use `threads` threads.
pub fn machine(ceilings: &Ceilings, target: Target, threads: usize) -> Machine {
    let (Some(one), Some(all)) = (ceilings.for_threads(1), ceilings.for_threads(threads)) else {
        return unknown();
    };
    let gflops = |of: &ThreadCeilings| of.gflops(target).unwrap_or(f64::INFINITY);
    Machine {
        threads: u32::try_from(threads).unwrap_or(1),
        levels: levels(&one.levels, &all.levels),
        flops_one: gflops(one),
        flops_all: gflops(all),
        fork_ns: FORK_NS,
    }
}

/// Pairs the levels of one thread with those of all threads, from memory upwards: small working sets shared out measure
/// how threads wake up and are not there.
fn levels(one: &[MemoryLevel], all: &[MemoryLevel]) -> Vec<Level> {
    const NAMES: [&str; 4] = ["DRAM", "L3", "L2", "L1"];
    let mut levels: Vec<Level> = one
        .iter()
        .rev()
        .enumerate()
        .map(|(above, level)| {
            let shared = all.iter().rev().nth(above).unwrap_or(level);
            Level {
                name: NAMES.get(above).copied().unwrap_or("cache").to_owned(),
                // Working sets of half a cache were measured.
                capacity: if above == 0 {
                    u64::MAX
                } else {
                    level.bytes.saturating_mul(2)
                },
                copy_one: level.copy_gbs,
                copy_all: shared.copy_gbs,
                read_one: level.read_gbs,
                read_all: shared.read_gbs,
            }
        })
        .collect();
    levels.reverse();
    levels
}

/// A machine of which nothing is known.
pub fn unknown() -> Machine {
    Machine {
        threads: u32::try_from(machine::cores()).unwrap_or(1),
        levels: Vec::new(),
        flops_one: f64::INFINITY,
        flops_all: f64::INFINITY,
        fork_ns: FORK_NS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_paired_with_memory() {
        let level = |bytes, gbs| MemoryLevel {
            bytes,
            copy_gbs: gbs,
            read_gbs: gbs,
        };
        let one = [
            level(16, 400.0),
            level(512, 100.0),
            level(8192, 60.0),
            level(1 << 20, 10.0),
        ];
        let all = [level(1024, 200.0), level(8192, 120.0), level(1 << 20, 20.0)];
        let levels = levels(&one, &all);
        let names: Vec<&str> = levels.iter().map(|level| level.name.as_str()).collect();
        assert_eq!(names, ["L1", "L2", "L3", "DRAM"]);
        assert_eq!(
            (levels[3].copy_one, levels[3].copy_all, levels[3].capacity),
            (10.0, 20.0, u64::MAX)
        );
        assert_eq!((levels[1].copy_all, levels[1].capacity), (200.0, 1024));
        assert_eq!((levels[0].copy_one, levels[0].copy_all), (400.0, 400.0));
    }
}
