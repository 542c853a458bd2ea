//! What one instruction is, and sums of that.
//!
//! Owns the classes. x86-64 only: the only machine code there is so far.

use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, OpAccess, OpKind, Register};
use serde::{Deserialize, Serialize};

/// Numbers of instructions by class. One instruction can be in several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mix {
    /// All of them.
    pub instructions: u32,
    /// With a 512-bit register.
    pub zmm: u32,
    /// With a 256-bit register and none wider.
    pub ymm: u32,
    /// Packed, with a 128-bit register and none wider.
    pub xmm: u32,
    /// Floating-point arithmetic on one value.
    pub scalar_float: u32,
    /// Floating-point arithmetic of any width.
    pub float_ops: u32,
    /// Fused multiply-adds among those.
    pub fma: u32,
    /// Reading memory.
    pub loads: u32,
    /// Writing memory.
    pub stores: u32,
    /// Non-temporal among the stores.
    pub streaming: u32,
    /// Loads and stores of vector registers relative to the stack pointer.
    pub vector_spills: u32,
    /// Loads and stores of other registers relative to the stack pointer.
    pub spills: u32,
    /// Gathers and scatters.
    pub gathers: u32,
    /// Divisions and square roots.
    pub divisions: u32,
    /// Calls.
    pub calls: u32,
}

impl Mix {
    /// Vector instructions of any width.
    pub fn vectors(&self) -> u32 {
        self.zmm + self.ymm + self.xmm
    }

    /// The part of vector and scalar floating-point instructions that use the widest registers there are for `lanes`
    /// floats (16: 512 bits, otherwise 256), between 0 and 1.
    pub fn widest_share(&self, lanes: usize) -> f64 {
        let widest = if lanes >= 16 {
            self.zmm
        } else {
            self.zmm + self.ymm
        };
        share(widest, self.vectors() + self.scalar_float)
    }

    /// Fused multiply-adds over all floating-point arithmetic, between 0 and 1.
    pub fn fma_share(&self) -> f64 {
        share(self.fma, self.float_ops)
    }

    /// Adds another mix.
    pub fn add(&mut self, other: &Mix) {
        self.instructions += other.instructions;
        self.zmm += other.zmm;
        self.ymm += other.ymm;
        self.xmm += other.xmm;
        self.scalar_float += other.scalar_float;
        self.float_ops += other.float_ops;
        self.fma += other.fma;
        self.loads += other.loads;
        self.stores += other.stores;
        self.streaming += other.streaming;
        self.vector_spills += other.vector_spills;
        self.spills += other.spills;
        self.gathers += other.gathers;
        self.divisions += other.divisions;
        self.calls += other.calls;
    }
}

fn share(part: u32, whole: u32) -> f64 {
    if whole == 0 {
        0.0
    } else {
        f64::from(part) / f64::from(whole)
    }
}

/// Classifies instructions.
pub struct Classifier {
    info: InstructionInfoFactory,
}

impl Default for Classifier {
    fn default() -> Self {
        Classifier {
            info: InstructionInfoFactory::new(),
        }
    }
}

impl Classifier {
    /// The classes of one instruction.
    pub fn mix(&mut self, instruction: &Instruction) -> Mix {
        let name = format!("{:?}", instruction.mnemonic()).to_ascii_lowercase();
        let bare = name.strip_prefix('v').unwrap_or(&name);
        let mut mix = Mix {
            instructions: 1,
            ..Mix::default()
        };
        let registers = (0..instruction.op_count())
            .filter(|&i| instruction.op_kind(i) == OpKind::Register)
            .map(|i| instruction.op_register(i));
        let index = instruction.memory_index();
        let widest = registers.chain([index]).map(width).max().unwrap_or(0);
        let scalar = bare.ends_with("ss") || bare.ends_with("sd");
        match widest {
            64 => mix.zmm = 1,
            32 => mix.ymm = 1,
            16 if !scalar => mix.xmm = 1,
            _ => {}
        }
        if is_float_arithmetic(bare) {
            mix.float_ops = 1;
            mix.scalar_float = u32::from(scalar);
            mix.fma = u32::from(is_fma(bare));
        }
        mix.divisions =
            u32::from(bare.starts_with("div") || bare.starts_with("sqrt") || bare == "idiv");
        mix.gathers = u32::from(bare.contains("gather") || bare.contains("scatter"));
        mix.streaming = u32::from(bare.starts_with("movnt") && !bare.starts_with("movntdqa"));
        mix.calls = u32::from(matches!(
            instruction.flow_control(),
            FlowControl::Call | FlowControl::IndirectCall
        ));
        for memory in self.info.info(instruction).used_memory() {
            let (reads, writes) = match memory.access() {
                OpAccess::Read | OpAccess::CondRead => (1, 0),
                OpAccess::Write | OpAccess::CondWrite => (0, 1),
                OpAccess::ReadWrite | OpAccess::ReadCondWrite => (1, 1),
                _ => (0, 0),
            };
            mix.loads += reads;
            mix.stores += writes;
            // The stack: what calls, pushes and pops do to it is not a spill.
            let explicit =
                (0..instruction.op_count()).any(|i| instruction.op_kind(i) == OpKind::Memory);
            if memory.base() == Register::RSP && explicit && mix.calls == 0 {
                if widest >= 16 {
                    mix.vector_spills += reads + writes;
                } else {
                    mix.spills += reads + writes;
                }
            }
        }
        mix
    }
}

/// The width of a vector register in bytes; 0 for others.
fn width(register: Register) -> usize {
    if register.is_zmm() {
        64
    } else if register.is_ymm() {
        32
    } else if register.is_xmm() {
        16
    } else {
        0
    }
}

fn is_fma(bare: &str) -> bool {
    ["fmadd", "fmsub", "fnmadd", "fnmsub"]
        .iter()
        .any(|op| bare.starts_with(op))
}

fn is_float_arithmetic(bare: &str) -> bool {
    const OPERATIONS: [&str; 14] = [
        "add", "sub", "mul", "div", "sqrt", "min", "max", "rcp", "rsqrt", "rndscale", "round",
        "scalef", "getexp", "getmant",
    ];
    let float = ["ps", "pd", "ss", "sd"]
        .iter()
        .any(|suffix| bare.ends_with(suffix));
    float && (is_fma(bare) || OPERATIONS.iter().any(|op| bare.starts_with(op)))
}
