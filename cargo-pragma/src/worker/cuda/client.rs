//! The parent's end of a GPU worker.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::driver::DeviceFacts;
use super::protocol::{
    DeviceCall, DeviceCeilings, DeviceReply, DeviceRequest, DeviceTimes, KernelFacts,
};
use crate::process::group;
use crate::worker::client::{collect, unexpected};
use crate::worker::protocol::{Layout, Poison, Reply, Request};
use crate::worker::{Called, Worker, WorkerError};

/// Making a context and compiling assembly for a new card takes seconds.
const SETUP_TIMEOUT: Duration = Duration::from_secs(60);

/// A running worker with a context on a device. Dropping it kills it.
pub struct GpuWorker {
    worker: Worker,
}

impl GpuWorker {
    /// Starts `exe` as a worker for device `index` that writes outputs into `scratch`.
    ///
    /// # Errors
    /// If it does not come up.
    pub fn start(
        exe: &Path,
        index: u32,
        scratch: &Path,
        call_timeout: Duration,
    ) -> Result<Self, WorkerError> {
        GpuWorker::start_under(&[], exe, index, scratch, call_timeout)
    }

    /// The same as an argument of the command line `wrapper`.
    ///
    /// # Errors
    /// If it does not come up.
    pub fn start_under(
        wrapper: &[OsString],
        exe: &Path,
        index: u32,
        scratch: &Path,
        call_timeout: Duration,
    ) -> Result<Self, WorkerError> {
        std::fs::create_dir_all(scratch).map_err(|error| WorkerError::Start(error.to_string()))?;
        let mut command = match wrapper.split_first() {
            None => group::bare(exe),
            Some((program, args)) => {
                let mut command = group::sandboxed(program);
                command.args(args).arg(exe);
                command
            }
        };
        command
            .arg("__gpu_worker")
            .arg(index.to_string())
            .current_dir(scratch);
        for name in DEVICE_VARIABLES {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        Ok(GpuWorker {
            worker: Worker::greet(command, scratch.to_owned(), call_timeout)?,
        })
    }

    fn ask(
        &mut self,
        request: DeviceRequest,
        timeout: Duration,
    ) -> Result<DeviceReply, WorkerError> {
        match self.worker.ask(&Request::Device(request), timeout)? {
            Reply::Device(reply) => Ok(reply),
            other => Err(unexpected(&other)),
        }
    }

    /// What the device is.
    ///
    /// # Errors
    /// If there is none.
    pub fn facts(&mut self) -> Result<DeviceFacts, WorkerError> {
        match self.ask(DeviceRequest::Facts, SETUP_TIMEOUT)? {
            DeviceReply::Facts(facts) => Ok(facts),
            other => Err(unexpected(&Reply::Device(other))),
        }
    }

    /// Loads a program; its number and what its kernels need.
    ///
    /// # Errors
    /// If the driver cannot use it.
    pub fn load(
        &mut self,
        image: &Path,
        plan: &str,
        params: &[String],
    ) -> Result<(usize, Vec<KernelFacts>), WorkerError> {
        let request = DeviceRequest::Load {
            image: image.to_owned(),
            plan: plan.to_owned(),
            params: params.to_vec(),
        };
        match self.ask(request, SETUP_TIMEOUT)? {
            DeviceReply::Loaded { program, kernels } => Ok((program, kernels)),
            other => Err(unexpected(&Reply::Device(other))),
        }
    }

    /// Runs a program once.
    ///
    /// # Errors
    /// If the kernel faults or hangs, or the worker refuses.
    pub fn call(
        &mut self,
        call: &DeviceCall,
        layout: Layout,
        poison: Poison,
    ) -> Result<Called, WorkerError> {
        let outputs = self.worker.outputs();
        let request = Request::Device(DeviceRequest::Call {
            call: call.clone(),
            layout,
            poison,
            outputs: outputs.clone(),
        });
        let timeout = self.worker.call_timeout();
        let reply = self.worker.ask(&request, timeout)?;
        if let Reply::Called { status, pieces, .. } = &reply
            && pieces.is_empty()
        {
            return Ok(Called {
                status: *status,
                outputs: Vec::new(),
                overrun: None,
            });
        }
        collect(reply, &outputs)
    }

    /// Ends it in good order and waits.
    ///
    /// # Errors
    /// If it does not end well.
    pub fn finish(self, timeout: Duration) -> Result<(), WorkerError> {
        self.worker.finish(timeout)
    }

    /// Times a program.
    ///
    /// # Errors
    /// As [`GpuWorker::call`].
    pub fn time(
        &mut self,
        call: &DeviceCall,
        budget: Duration,
        max_samples: usize,
    ) -> Result<DeviceTimes, WorkerError> {
        let request = DeviceRequest::Time {
            call: call.clone(),
            budget_ns: u64::try_from(budget.as_nanos()).unwrap_or(u64::MAX),
            max_samples,
        };
        match self.ask(request, self.worker.call_timeout() * 4 + budget)? {
            DeviceReply::Timed(times) => Ok(times),
            other => Err(unexpected(&Reply::Device(other))),
        }
    }

    /// Measures the card with the compiled probe.
    ///
    /// # Errors
    /// If it cannot be run.
    pub fn ceilings(&mut self, probe: &Path) -> Result<DeviceCeilings, WorkerError> {
        let request = DeviceRequest::Ceilings {
            image: probe.to_owned(),
        };
        match self.ask(request, SETUP_TIMEOUT)? {
            DeviceReply::Ceilings(found) => Ok(found),
            other => Err(unexpected(&Reply::Device(other))),
        }
    }
}

/// What decides which devices a process sees.
const DEVICE_VARIABLES: [&str; 2] = ["CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"];
