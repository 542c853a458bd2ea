//! A loaded program: code, the plan of its launches, and running the plan.
//!
//! Owns turning a plan and dimensions into launches. A plan that does not fit the dimensions or addresses is a refusal,
//! which is what the user's crate does with it too.

use std::rc::Rc;

use pragma_spec::device::{KernelArg, LaunchPlan, Requirement};

use super::driver::{DriverError, Function, Gpu, Memory};
use super::protocol::KernelFacts;

/// Code with its plan.
pub struct Program {
    plan: LaunchPlan,
    functions: Vec<Function>,
    /// Names of the arguments of every call.
    params: Vec<String>,
}

/// What an argument is on the device.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// A scalar, in its low bytes.
    Scalar([u8; 8]),
    /// The address of a buffer.
    Address(u64),
}

/// One launch with all its numbers.
struct Launch {
    /// Its place in the plan.
    at: usize,
    grid: [u32; 3],
    block: [u32; 3],
    /// Dynamic shared memory, bytes.
    shared: u32,
    args: Vec<[u8; 8]>,
}

/// Launches with all their numbers, ready to go.
pub struct Prepared {
    launches: Vec<Launch>,
    /// Scratch memory that must be zero before every run.
    zeroed: Vec<usize>,
    scratch: Vec<Memory>,
    results: Option<Memory>,
    fault: Option<Memory>,
}

/// Why a program does not run on these arguments.
#[derive(Debug)]
pub enum Refusal {
    /// A condition of the plan does not hold.
    Guard,
    /// The plan names what is not there.
    Plan(String),
    /// The driver refuses.
    Driver(DriverError),
}

impl From<DriverError> for Refusal {
    fn from(error: DriverError) -> Self {
        Refusal::Driver(error)
    }
}

/// Bytes of dynamic shared memory that need no permission.
const ORDINARY_SHARED: u32 = 48 << 10;

impl Program {
    /// Loads `image`.
    ///
    /// # Errors
    /// If the driver cannot use it, or a kernel of the plan is not in it.
    pub fn load(
        gpu: &Rc<Gpu>,
        image: &[u8],
        plan: LaunchPlan,
        params: Vec<String>,
    ) -> Result<Self, DriverError> {
        let module = Rc::new(gpu.load(image)?);
        let functions = plan
            .launches
            .iter()
            .map(|launch| module.function(&launch.kernel))
            .collect::<Result<_, _>>()?;
        Ok(Program {
            plan,
            functions,
            params,
        })
    }

    /// What its kernels need.
    pub fn facts(&self) -> Vec<KernelFacts> {
        let kernels = self.plan.launches.iter().zip(&self.functions);
        kernels
            .map(|(launch, function)| {
                let facts = function.facts();
                KernelFacts {
                    kernel: launch.kernel.clone(),
                    registers: facts.registers,
                    shared_bytes: facts.shared_bytes,
                    local_bytes: facts.local_bytes,
                }
            })
            .collect()
    }

    /// Types of the returned scalars.
    pub fn results(&self) -> &[pragma_spec::Scalar] {
        &self.plan.results
    }

    /// Computes every number of the launches and allocates scratch memory.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub fn prepare(
        &self,
        gpu: &Rc<Gpu>,
        dims: &[(String, u64)],
        args: &[Value],
    ) -> Result<Prepared, Refusal> {
        let lookup = |name: &str| dims.iter().find(|(dim, _)| dim == name).map(|(_, v)| *v);
        if !self.plan.fits(&lookup) {
            return Err(Refusal::Guard);
        }
        let param = |name: &str| -> Result<Value, Refusal> {
            let at = self.params.iter().position(|param| param == name);
            at.and_then(|at| args.get(at))
                .copied()
                .ok_or_else(|| Refusal::Plan(format!("there is no parameter `{name}`")))
        };
        for requirement in &self.plan.requires {
            if let Requirement::Aligned(name, bytes) = requirement
                && let Value::Address(address) = param(name)?
                && address % (*bytes).max(1) != 0
            {
                return Err(Refusal::Guard);
            }
        }
        let unknown = || Refusal::Plan("a size names an unknown dimension".to_owned());
        let mut scratch = Vec::new();
        let mut zeroed = Vec::new();
        for (at, one) in self.plan.scratch.iter().enumerate() {
            let bytes = one.bytes.eval(&lookup).ok_or_else(unknown)?;
            scratch.push(gpu.alloc(usize::try_from(bytes).map_err(|_| Refusal::Guard)?)?);
            if one.zeroed {
                zeroed.push(at);
            }
        }
        let slots = 8 * self.plan.results.len();
        let results = (slots > 0).then(|| gpu.alloc(slots)).transpose()?;
        let fault = self.plan.fault.then(|| gpu.alloc(4)).transpose()?;
        let mut launches = Vec::new();
        for (at, launch) in self.plan.launches.iter().enumerate() {
            let mut grid = [0; 3];
            for (to, size) in grid.iter_mut().zip(&launch.grid) {
                let size = size.eval(&lookup).ok_or_else(unknown)?;
                *to = u32::try_from(size).map_err(|_| Refusal::Guard)?;
            }
            let shared = launch.shared.eval(&lookup).ok_or_else(unknown)?;
            let shared = u32::try_from(shared).map_err(|_| Refusal::Guard)?;
            if u64::from(shared) > gpu.facts().shared_per_block {
                return Err(Refusal::Guard);
            }
            if shared > ORDINARY_SHARED {
                self.functions[at].allow_shared(shared)?;
            }
            let address = |memory: Option<&Memory>| {
                memory
                    .map(|memory| memory.address().to_ne_bytes())
                    .ok_or_else(|| {
                        Refusal::Plan("it names memory that it does not have".to_owned())
                    })
            };
            let mut bytes = Vec::with_capacity(launch.args.len());
            for arg in &launch.args {
                bytes.push(match arg {
                    KernelArg::Dim(name) => lookup(name).ok_or_else(unknown)?.to_ne_bytes(),
                    KernelArg::Param(name) => match param(name)? {
                        Value::Scalar(bytes) => bytes,
                        Value::Address(address) => address.to_ne_bytes(),
                    },
                    KernelArg::Scratch(name) => {
                        let known = self.plan.scratch.iter().position(|one| one.name == *name);
                        address(known.and_then(|at| scratch.get(at)))?
                    }
                    KernelArg::Results => address(results.as_ref())?,
                    KernelArg::Fault => address(fault.as_ref())?,
                });
            }
            // A grid of no blocks is a launch that does nothing, and an error to the driver.
            if !grid.contains(&0) {
                launches.push(Launch {
                    at,
                    grid,
                    block: launch.block,
                    shared,
                    args: bytes,
                });
            }
        }
        Ok(Prepared {
            launches,
            zeroed,
            scratch,
            results,
            fault,
        })
    }

    /// Starts everything, without waiting.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn start(&self, prepared: &mut Prepared) -> Result<(), DriverError> {
        for &at in &prepared.zeroed {
            prepared.scratch[at].fill(0)?;
        }
        if let Some(fault) = &mut prepared.fault {
            fault.fill(0)?;
        }
        for launch in &prepared.launches {
            let Launch {
                at,
                grid,
                block,
                shared,
                args,
            } = launch;
            self.functions[*at].launch(*grid, *block, *shared, args)?;
        }
        Ok(())
    }
}

impl Prepared {
    /// Fills scratch memory and the returned scalars with `byte`, so that nothing left over from before helps.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn poison(&mut self, byte: u8) -> Result<(), DriverError> {
        for memory in self.scratch.iter_mut().chain(&mut self.results) {
            memory.fill(byte)?;
        }
        Ok(())
    }

    /// The returned scalars' slots, 8 bytes each.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn results(&self) -> Result<Vec<u8>, DriverError> {
        match &self.results {
            Some(memory) => memory.read(0, memory.bytes()),
            None => Ok(Vec::new()),
        }
    }

    /// Whether the kernels reported that the reference would have panicked.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn faulted(&self) -> Result<bool, DriverError> {
        match &self.fault {
            Some(memory) => Ok(memory.read(0, 4)?.iter().any(|byte| *byte != 0)),
            None => Ok(false),
        }
    }
}
