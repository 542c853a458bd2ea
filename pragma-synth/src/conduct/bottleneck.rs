//! Bottlenecks, and the rules that answer them.
//!
//! The table [`RULES`] is the whole of the engine's judgement: what counts as evidence, what is
//! tried, and why it should help. Diagnosis reads measured times against the machine's measured
//! ceilings, and the machine code where a time alone cannot tell causes apart.

use std::fmt;

/// What holds a version back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Bottleneck {
    /// At 95% of the roof or more.
    AtTheRoof,
    /// A loop that could run in vectors does not.
    ScalarCode,
    /// Enough work for several threads runs on one.
    OneThread,
    /// Sharing out costs more than it gains at this size.
    ForkOverhead,
    /// Written lines are first read from memory, or written more than once.
    WriteAllocate,
    /// While the core computes, nothing is read from memory.
    IdleMemory,
    /// Each step of a reduction waits for the one before.
    DependencyChain,
    /// Registers do not suffice and values go through memory.
    Spills,
    /// Neighbouring loops pass over the same data.
    ExtraPasses,
    /// The cache or memory level that the data lives in.
    Bandwidth,
    /// The arithmetic units.
    Compute,
}

impl Bottleneck {
    /// The name in tables and JSON: `write-allocate`.
    pub const fn name(self) -> &'static str {
        match self {
            Bottleneck::AtTheRoof => "at-the-roof",
            Bottleneck::ScalarCode => "scalar-code",
            Bottleneck::OneThread => "one-thread",
            Bottleneck::ForkOverhead => "fork-overhead",
            Bottleneck::WriteAllocate => "write-allocate",
            Bottleneck::IdleMemory => "idle-memory",
            Bottleneck::DependencyChain => "dependency-chain",
            Bottleneck::Spills => "spills",
            Bottleneck::ExtraPasses => "extra-passes",
            Bottleneck::Bandwidth => "bandwidth",
            Bottleneck::Compute => "compute",
        }
    }
}

impl fmt::Display for Bottleneck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A bottleneck and the numbers it rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    /// What holds the version back.
    pub bottleneck: Bottleneck,
    /// The numbers, each with its unit and whether it is measured or static.
    pub evidence: String,
}

/// One line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// What it answers.
    pub bottleneck: Bottleneck,
    /// What must be seen.
    pub evidence: &'static str,
    /// What is tried.
    pub remedy: &'static str,
    /// Why it should help.
    pub because: &'static str,
}

/// The rules, in the order in which they are tried.
pub const RULES: &[Rule] = &[
    Rule {
        bottleneck: Bottleneck::AtTheRoof,
        evidence: "measured time within 5% of the roof",
        remedy: "stop",
        because: "no version can be much faster on this machine",
    },
    Rule {
        bottleneck: Bottleneck::ScalarCode,
        evidence: "an innermost loop that may run in vectors is serial",
        remedy: "vectorize, with four accumulators for reductions",
        because: "a vector does as many elements per instruction as it has lanes",
    },
    Rule {
        bottleneck: Bottleneck::Spills,
        evidence: "spilled registers in the hot loops (static)",
        remedy: "halve the unrolling",
        because: "fewer values are alive at once",
    },
    Rule {
        bottleneck: Bottleneck::OneThread,
        evidence: "measured time on one thread many times the cost of sharing out",
        remedy: "parallelize the outermost loop that allows it",
        because: "threads add bandwidth and arithmetic",
    },
    Rule {
        bottleneck: Bottleneck::WriteAllocate,
        evidence: "results larger than the last cache, written through the caches",
        remedy: "stream the stores; stage results that are read back",
        because: "a streaming store does not first read the line it writes",
    },
    Rule {
        bottleneck: Bottleneck::IdleMemory,
        evidence: "data larger than the second cache, and nothing prefetched",
        remedy: "prefetch the next row in a later pass, or some kilobytes ahead in the only pass",
        because: "the prefetch of the hardware ends with each page and each row",
    },
    Rule {
        bottleneck: Bottleneck::ForkOverhead,
        evidence: "measured time on all threads within a few times the cost of sharing out",
        remedy: "raise the cut-over or the grain",
        because: "small work is done before helpers wake up",
    },
    Rule {
        bottleneck: Bottleneck::ExtraPasses,
        evidence: "neighbouring loops over one range and one set of data",
        remedy: "fuse",
        because: "data is used again while it is in registers",
    },
    Rule {
        bottleneck: Bottleneck::DependencyChain,
        evidence: "a reduction in cache far below the roof",
        remedy: "jam outer iterations; double the accumulators",
        because: "independent chains hide the latency of each",
    },
    Rule {
        bottleneck: Bottleneck::Compute,
        evidence: "arithmetic takes longer than traffic (measured ceilings)",
        remedy: "jam outer iterations; unroll by two and four",
        because: "what is loaded serves several outputs, and independent operations fill the units",
    },
    Rule {
        bottleneck: Bottleneck::Bandwidth,
        evidence: "traffic takes longer than arithmetic (measured ceilings)",
        remedy: "change the grain; unroll by two",
        because: "more loads are under way at once",
    },
];

/// The rule for a bottleneck.
pub fn rule(bottleneck: Bottleneck) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.bottleneck == bottleneck)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bottleneck_has_one_rule() {
        use Bottleneck::*;
        for bottleneck in [
            AtTheRoof,
            ScalarCode,
            OneThread,
            ForkOverhead,
            WriteAllocate,
            IdleMemory,
            DependencyChain,
            Spills,
            ExtraPasses,
            Bandwidth,
            Compute,
        ] {
            assert_eq!(
                RULES
                    .iter()
                    .filter(|rule| rule.bottleneck == bottleneck)
                    .count(),
                1
            );
        }
    }
}
