use pragma_runtime::pragma_kernel;

#[pragma_kernel]
struct S;

fn main() {
    let _ = S;
}
