//! Where NVRTC is: a CUDA toolkit, a package of the system, a wheel from PyPI.

use std::path::{Path, PathBuf};

use crate::process;

/// What to do where there is none.
pub const NO_NVRTC: &str = "install a CUDA toolkit, or `pip install nvidia-cuda-nvrtc` (`nvidia-cuda-nvrtc-cu12` for CUDA 12); PRAGMA_NVRTC names another place";

/// The library to use: what `PRAGMA_NVRTC` names, else the first that is found.
pub fn find_nvrtc() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("PRAGMA_NVRTC") {
        let named = PathBuf::from(named);
        return if named.is_dir() {
            newest(&named)
        } else {
            named.exists().then_some(named)
        };
    }
    directories().iter().find_map(|dir| newest(dir))
}

fn directories() -> Vec<PathBuf> {
    let mut dirs = Vec::new();
    for name in ["CUDA_HOME", "CUDA_PATH"] {
        if let Some(home) = std::env::var_os(name) {
            dirs.push(Path::new(&home).join("lib64"));
            dirs.push(Path::new(&home).join("targets/x86_64-linux/lib"));
        }
    }
    let path = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    dirs.extend(std::env::split_paths(&path).filter(|dir| dir.is_absolute()));
    dirs.extend(
        [
            "/usr/local/cuda/lib64",
            "/usr/local/cuda/targets/x86_64-linux/lib",
            "/opt/cuda/lib64",
            "/usr/lib/x86_64-linux-gnu",
            "/usr/lib64",
        ]
        .map(PathBuf::from),
    );
    // What `import` would find: wheels put their libraries below `nvidia/` in there.
    let ask = "import os, sys; print(os.pathsep.join(p for p in sys.path if p))";
    for python in ["python3", "python"] {
        if let Some(line) = process::first_line(python, &["-c", ask], None) {
            for site in std::env::split_paths(&line) {
                for part in ["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"] {
                    dirs.push(site.join(part));
                }
            }
            break;
        }
    }
    dirs
}

/// The library in `dir` with the greatest name; those without a version are links of development packages.
fn newest(dir: &Path) -> Option<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(dir)
        .ok()?
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name == "libnvrtc.so" || name.starts_with("libnvrtc.so.")
        })
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found.pop()
}

#[cfg(test)]
mod tests {
    use super::newest;

    #[test]
    fn the_library_is_found_by_name() {
        let dir = tempfile::tempdir().expect("a directory");
        assert_eq!(newest(dir.path()), None);
        for name in [
            "libnvrtc-builtins.so.13.0",
            "libnvrtc.alt.so.13",
            "libnvrtc.so.12",
            "libnvrtc.so.13",
        ] {
            std::fs::write(dir.path().join(name), "").expect("writes");
        }
        assert_eq!(newest(dir.path()), Some(dir.path().join("libnvrtc.so.13")));
    }
}
