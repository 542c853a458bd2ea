//! Applies schedule actions to a program in text form and prints the kernel:
//! `schedule FILE.pir TARGET ACTION..`.
use pragma_synth::{action, emit, ir};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let path = args
        .next()
        .ok_or("usage: schedule FILE.pir TARGET ACTION..")?;
    let target = args
        .next()
        .ok_or("usage: schedule FILE.pir TARGET ACTION..")?
        .parse()?;
    let program = ir::text::parse(&std::fs::read_to_string(path)?)?;
    let actions = args
        .map(|text| text.parse())
        .collect::<Result<Vec<_>, _>>()?;
    let program = action::apply_all(&program, &actions)?;
    eprintln!("{program}");
    print!(
        "{}",
        emit::emit(
            &program,
            target,
            &program.name,
            emit::EmitOptions::default()
        )?
    );
    Ok(())
}
