//! What parent and GPU worker say to each other, beyond what all workers say.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::super::protocol::{ArgSpec, Layout, Poison};
use super::driver::DeviceFacts;

/// A kernel call on a device.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeviceCall {
    /// Which program.
    pub program: usize,
    /// The arguments in the order of the parameters; a returned `Vec` comes last.
    pub args: Vec<ArgSpec>,
    /// Of every argument, whether it is a scalar and not a buffer of one element.
    pub scalars: Vec<bool>,
    /// The dimensions.
    pub dims: Vec<(String, u64)>,
}

/// A request to a GPU worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum DeviceRequest {
    /// What the device is; reply [`DeviceReply::Facts`].
    Facts,
    /// Load compiled code and the plan of its launches; reply [`DeviceReply::Loaded`].
    Load {
        /// The file: machine code or assembly.
        image: PathBuf,
        /// A `LaunchPlan` as text.
        plan: String,
        /// Names of the arguments of every call.
        params: Vec<String>,
    },
    /// Run once and write what it produced to `outputs`; reply `Called`.
    Call {
        /// What to call.
        call: DeviceCall,
        /// Where buffers lie: `Odd` is misaligned, the others differ in address.
        layout: Layout,
        /// What poisoned buffers are filled with.
        poison: Poison,
        /// The file to write: mutable arguments in order, then returned values in order.
        outputs: PathBuf,
    },
    /// Time it; reply [`DeviceReply::Timed`].
    Time {
        /// What to call.
        call: DeviceCall,
        /// Nanoseconds this may take altogether.
        budget_ns: u64,
        /// Samples after which it is enough.
        max_samples: usize,
    },
    /// Measure what the card can do, with the probe kernel in `image`; reply [`DeviceReply::Ceilings`].
    Ceilings {
        /// The compiled probe.
        image: PathBuf,
    },
}

/// What a card can do, measured on it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceCeilings {
    /// Bytes per second that a device-to-device copy of 1 GiB reads and writes, best of several.
    pub copy: f64,
    /// f32 operations per second, fused multiply-adds counting as two, best of several.
    pub flops: f64,
}

/// What timing gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceTimes {
    /// Nanoseconds of single calls between two events, the L2 cache flushed before each.
    pub cold: Vec<f64>,
    /// Nanoseconds per call of a batch of calls without flushing, between two events.
    pub batch_event: f64,
    /// The same by the host's clock.
    pub batch_host: f64,
    /// Nanoseconds of the host per call to start it, over the same batch.
    pub batch_submit: f64,
}

/// What one kernel of a program needs on this device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelFacts {
    /// Its name.
    pub kernel: String,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of static shared memory.
    pub shared_bytes: u32,
    /// Bytes of a thread's local memory.
    pub local_bytes: u32,
}

/// A reply of a GPU worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum DeviceReply {
    /// What the device is.
    Facts(DeviceFacts),
    /// The program is loaded.
    Loaded {
        /// Its number.
        program: usize,
        /// Its kernels.
        kernels: Vec<KernelFacts>,
    },
    /// Timing is done.
    Timed(DeviceTimes),
    /// What the card can do.
    Ceilings(DeviceCeilings),
}
