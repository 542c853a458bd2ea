//! Loops in machine code: backward branches and what lies between them and their targets.
//!
//! Owns the profile of a candidate. Which loop is hot is guessed from what it does per iteration; without running it
//! there is nothing better, and the name of the profile says so.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction};
use serde::{Deserialize, Serialize};

use super::classify::{Classifier, Mix};

/// A loop without another loop inside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoopProfile {
    /// The mangled name of its function.
    pub function: String,
    /// What one iteration is made of.
    pub mix: Mix,
}

impl LoopProfile {
    /// Bytes of vectors that one iteration works on: the guess at how hot a loop is. The main loop of a kernel has
    /// more of it than its remainders.
    fn weight(&self) -> u32 {
        64 * self.mix.zmm + 32 * self.mix.ymm + 16 * self.mix.xmm + 4 * self.mix.scalar_float
    }
}

/// What the machine code of a kernel says about it. Static: read, not measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StaticProfile {
    /// Functions read.
    pub functions: usize,
    /// Everything in them.
    pub total: Mix,
    /// Innermost loops, the one that seems hottest first.
    pub loops: Vec<LoopProfile>,
}

impl StaticProfile {
    /// The sum over the loops that seem hot: those with at least half the weight of the first.
    pub fn hot(&self) -> Mix {
        let heaviest = self.loops.first().map_or(0, LoopProfile::weight);
        let mut mix = Mix::default();
        for inner in self
            .loops
            .iter()
            .filter(|inner| 2 * inner.weight() >= heaviest)
        {
            mix.add(&inner.mix);
        }
        mix
    }

    /// Reads one function.
    pub(super) fn add(&mut self, name: &str, code: &[u8], address: u64) {
        let instructions: Vec<Instruction> =
            Decoder::with_ip(64, code, address, DecoderOptions::NONE)
                .into_iter()
                .filter(|instruction| !instruction.is_invalid())
                .collect();
        let mut classifier = Classifier::default();
        let mixes: Vec<Mix> = instructions
            .iter()
            .map(|instruction| classifier.mix(instruction))
            .collect();
        mixes.iter().for_each(|mix| self.total.add(mix));
        self.functions += 1;
        for (from, to) in innermost(&instructions) {
            let mut mix = Mix::default();
            for (instruction, part) in instructions.iter().zip(&mixes) {
                if (from..=to).contains(&instruction.ip()) {
                    mix.add(part);
                }
            }
            self.loops.push(LoopProfile {
                function: name.to_owned(),
                mix,
            });
        }
    }

    /// Puts the heaviest loop first.
    pub(super) fn sort(&mut self) {
        self.loops
            .sort_by_key(|inner| std::cmp::Reverse(inner.weight()));
    }
}

/// Address ranges of loops that contain no other loop: from a backward branch's target to the branch.
fn innermost(instructions: &[Instruction]) -> Vec<(u64, u64)> {
    let Some(start) = instructions.first().map(Instruction::ip) else {
        return Vec::new();
    };
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for instruction in instructions {
        let branch = matches!(
            instruction.flow_control(),
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
        );
        let target = instruction.near_branch_target();
        if branch && (start..=instruction.ip()).contains(&target) {
            // Several branches to one target are one loop with several ways round.
            match ranges.iter_mut().find(|(from, _)| *from == target) {
                Some((_, to)) => *to = instruction.ip(),
                None => ranges.push((target, instruction.ip())),
            }
        }
    }
    let inside = |a: &(u64, u64), b: &(u64, u64)| a != b && b.0 <= a.0 && a.1 <= b.1;
    let all = ranges.clone();
    ranges.retain(|range| !all.iter().any(|other| inside(other, range)));
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `outer: nop; inner: vfmadd231ps zmm0, zmm1, [rdi]; vmovaps [rsp], zmm0; dec ecx; jnz inner; dec edx; jnz outer; ret`
    const NESTED: [u8; 23] = [
        0x90, 0x62, 0xf2, 0x75, 0x48, 0xb8, 0x07, 0x62, 0xf1, 0x7c, 0x48, 0x29, 0x04, 0x24, 0xff,
        0xc9, 0x75, 0xef, 0xff, 0xca, 0x75, 0xea, 0xc3,
    ];

    #[test]
    fn the_inner_loop_is_found_and_read() {
        let mut profile = StaticProfile::default();
        profile.add("f", &NESTED, 0x1000);
        profile.sort();
        assert_eq!(profile.loops.len(), 1);
        let mix = profile.hot();
        assert_eq!(
            (mix.zmm, mix.fma, mix.float_ops, mix.loads, mix.stores),
            (2, 1, 1, 1, 1)
        );
        assert_eq!((mix.vector_spills, mix.spills, mix.scalar_float), (1, 0, 0));
        assert_eq!(mix.widest_share(16), 1.0);
        assert_eq!(mix.fma_share(), 1.0);
    }

    #[test]
    fn code_without_loops_has_none() {
        let mut profile = StaticProfile::default();
        profile.add("f", &[0xf3, 0x0f, 0x58, 0xc1, 0xc3], 0);
        assert!(profile.loops.is_empty());
        assert_eq!(
            (profile.total.scalar_float, profile.total.float_ops),
            (1, 1)
        );
        assert_eq!(profile.hot(), Mix::default());
    }
}
