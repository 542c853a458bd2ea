//! Compiles kernels with NVRTC, through a small C++ program that opens the library.

use std::path::PathBuf;
use std::process::Command;

/// Compiles every source for every target; prints a line and returns where there is no compiler.
pub fn compile(sources: &[(String, String)]) {
    let Some(dir) = program() else { return };
    for (at, (place, source)) in sources.iter().enumerate() {
        let path = dir.join(format!("{at}.cu"));
        std::fs::write(&path, source).unwrap();
        for arch in ["compute_80", "compute_90"] {
            let output = Command::new(dir.join("compile"))
                .args([path.as_os_str(), arch.as_ref()])
                .output()
                .unwrap();
            if output.status.code() == Some(2) {
                eprintln!("skipped: no libnvrtc (set PRAGMA_NVRTC to the library's path)");
                return;
            }
            assert!(
                output.status.success(),
                "{place}, {arch}:\n{}\n{source}",
                String::from_utf8_lossy(&output.stdout)
            );
        }
    }
}

fn program() -> Option<PathBuf> {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cuda_nvrtc");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("compile.cpp"), SOURCE).unwrap();
    let built = Command::new("g++")
        .current_dir(&dir)
        .args(["-std=c++17", "-o", "compile", "compile.cpp", "-ldl"])
        .output();
    match built {
        Ok(output) => {
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            Some(dir)
        }
        Err(_) => {
            eprintln!("skipped: no g++ to call NVRTC with");
            None
        }
    }
}

const SOURCE: &str = r#"
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <string>
int main(int, char** args) {
    const char* named = getenv("PRAGMA_NVRTC");
    const char* names[] = {named ? named : "libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12",
                           "/usr/local/cuda/lib64/libnvrtc.so"};
    void* lib = nullptr;
    for (const char* name : names)
        if (!lib) lib = dlopen(name, RTLD_NOW);
    if (!lib) return 2;
    auto create = (int (*)(void**, const char*, const char*, int, const char**, const char**))dlsym(lib, "nvrtcCreateProgram");
    auto compile = (int (*)(void*, int, const char**))dlsym(lib, "nvrtcCompileProgram");
    auto log_size = (int (*)(void*, size_t*))dlsym(lib, "nvrtcGetProgramLogSize");
    auto log_text = (int (*)(void*, char*))dlsym(lib, "nvrtcGetProgramLog");
    std::ifstream file(args[1]);
    std::string text((std::istreambuf_iterator<char>(file)), {});
    void* program = nullptr;
    if (create(&program, text.c_str(), "kernel.cu", 0, nullptr, nullptr)) return 1;
    std::string arch = std::string("-arch=") + args[2];
    const char* options[] = {arch.c_str(), "-std=c++17"};
    int failed = compile(program, 2, options);
    size_t size = 0;
    log_size(program, &size);
    std::string log(size, 0);
    log_text(program, log.data());
    puts(log.c_str());
    return failed != 0;
}
"#;
