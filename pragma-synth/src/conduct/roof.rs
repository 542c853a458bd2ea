//! The least time a kernel could take on a machine, from the machine's own ceilings.

use crate::analyze::traffic::Traffic;

/// What one cache level or the memory gives, as measured on the machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// `L1`, `L2`, `L3` or `DRAM`.
    pub name: String,
    /// Working sets up to this many bytes live here; `u64::MAX` for memory.
    pub capacity: u64,
    /// Bytes read plus bytes written per nanosecond by a copy on one thread.
    pub copy_one: f64,
    /// The same on all threads.
    pub copy_all: f64,
    /// Bytes per nanosecond when only reading, on one thread.
    pub read_one: f64,
    /// The same on all threads.
    pub read_all: f64,
}

/// Ceilings of one machine for one target.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Threads a kernel may use.
    pub threads: u32,
    /// Memory levels, nearest first; the last one has no limit.
    pub levels: Vec<Level>,
    /// Floating-point operations per nanosecond of fused multiply-adds on one thread.
    pub flops_one: f64,
    /// The same on all threads.
    pub flops_all: f64,
    /// Nanoseconds that sharing work out to all threads costs.
    pub fork_ns: f64,
}

/// What the machine code of a kernel says without running it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StaticProfile {
    /// Share of floating-point instructions that are scalar, 0 to 1.
    pub scalar_share: f64,
    /// Loads and stores of spilled registers in the hottest loops.
    pub spills: u32,
    /// Fused multiply-adds per floating-point instruction, 0 to 1.
    pub fma_density: f64,
    /// Width in bits of the widest vectors used.
    pub widest: u32,
}

/// The roof of one kernel at one size.
#[derive(Clone, Debug, PartialEq)]
pub struct Roof {
    /// Least time by memory traffic, in nanoseconds.
    pub memory_ns: f64,
    /// Least time by arithmetic, in nanoseconds.
    pub compute_ns: f64,
    /// The level that the working set lives in.
    pub level: String,
}

impl Roof {
    /// The least possible time.
    pub fn ns(&self) -> f64 {
        self.memory_ns.max(self.compute_ns)
    }

    /// How much of the roof a time reaches, 0 to 1 and sometimes a little above, since
    /// ceilings are measurements too.
    pub fn fraction(&self, ns: f64) -> f64 {
        self.ns() / ns.max(f64::MIN_POSITIVE)
    }
}

/// The roof of `traffic` on `machine` with one thread or all.
pub fn roof(traffic: &Traffic, machine: &Machine, all_threads: bool) -> Roof {
    let bytes = traffic.bytes();
    let level = machine
        .levels
        .iter()
        .find(|level| bytes <= level.capacity as f64)
        .or_else(|| machine.levels.last());
    let pick = |one: f64, all: f64| if all_threads { all.max(one) } else { one };
    let (name, memory_ns) = match level {
        Some(level) => {
            // Traffic that only reads is held to the read ceiling, the rest to the copy one.
            let copied = 2.0 * traffic.bytes_written.min(traffic.bytes_read);
            let other = bytes - copied;
            let copy = pick(level.copy_one, level.copy_all).max(1e-3);
            let read = pick(level.read_one, level.read_all).max(copy);
            let ns = copied / copy
                + other
                    / if traffic.bytes_written > 0.0 {
                        copy
                    } else {
                        read
                    };
            (level.name.clone(), ns)
        }
        None => (String::new(), 0.0),
    };
    let flops = pick(machine.flops_one, machine.flops_all).max(1e-3);
    // A machine that does fused operations at its peak does single ones at half of it; counted
    // operations are mostly single ones.
    let compute_ns = (traffic.flops + traffic.integer_ops) / flops;
    Roof {
        memory_ns,
        compute_ns,
        level: name,
    }
}
