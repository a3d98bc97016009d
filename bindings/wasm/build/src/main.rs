//! Builds the npm package: the entries of WebAssembly, and beside them the JavaScript that is written
//! by hand.
//!
//! `cargo run -p prefinal-wasm-build` in `bindings/wasm` compiles to `target/wasm` of the project, or to
//! `CARGO_TARGET_DIR`, and fills `dist`; the page gets a copy of what a browser needs of it. wasm-bindgen's
//! second half is a library here, so that it is of the version in the lockfile without an installation.
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use base64::Engine;
use base64::prelude::BASE64_STANDARD as STANDARD;
use wasm_bindgen_cli_support::Bindgen;

const TARGET: &str = "wasm32-unknown-unknown";
/// Each entry's name and what it is compiled with.
const ENTRIES: [(&str, &[&str]); 4] = [
    ("verifier", &[]),
    ("full", &["--features", "full"]),
    ("light", &["--no-default-features", "--features", "light"]),
    ("light-vuf", &["--no-default-features", "--features", "light-vuf"]),
];

fn main() -> Result<(), Box<dyn Error>> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("no folder above")?;
    let dist = package.join("dist");
    if dist.exists() {
        fs::remove_dir_all(&dist)?;
    }
    for (name, features) in ENTRIES {
        let compiled = compile(package, features)?;
        Bindgen::new()
            .input_path(&compiled)
            .out_name(name)
            .web(true)?
            .typescript(false)
            .omit_default_module_path(true)
            .remove_name_section(env::var_os("PREFINAL_NAMES").is_none())
            .remove_producers_section(true)
            .generate(&dist)?;
        shrink(package, &dist.join(format!("{name}_bg.wasm")))?;
        let bytes = fs::metadata(dist.join(format!("{name}_bg.wasm")))?.len();
        println!("{name}: {bytes} bytes");
        inline(&dist, name)?;
    }
    copy(&package.join("js"), &dist)?;
    // npm packs no links.
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(package.join("../..").join(licence), package.join(licence))?;
    }
    copy(&dist, &package.join("demo/prefinal"))
}

fn compile(package: &Path, features: &[&str]) -> Result<PathBuf, Box<dyn Error>> {
    let target = match env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => package.join("../../target/wasm"),
    };
    let status = Command::new(env!("CARGO"))
        .args(["build", "--release", "--locked", "-p", "prefinal-wasm", "--target", TARGET])
        .args(features)
        .arg("--target-dir")
        .arg(&target)
        .args(["--config", &nameless(package)?])
        .current_dir(package)
        .status()?;
    if !status.success() {
        return Err(format!("cargo build: {status}").into());
    }
    Ok(target.join(TARGET).join("release/prefinal_wasm.wasm"))
}

/// A setting of cargo's with which places in the source are named from the project's root and from each
/// crate's folder, not from where they lie on this machine: the same bytes wherever they are built. It
/// adds to the flags in `.cargo/config.toml`.
fn nameless(package: &Path) -> Result<String, Box<dyn Error>> {
    let mut folders = vec![package.join("../..").canonicalize()?];
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| env::home_dir().map(|home| home.join(".cargo")));
    let sources = home.map(|home| home.join("registry/src")).filter(|sources| sources.is_dir());
    for registry in sources.map(fs::read_dir).transpose()?.into_iter().flatten() {
        folders.push(registry?.path());
    }
    let flags = folders.iter().map(|from| format!("'--remap-path-prefix={}/='", from.display()));
    let flags: Vec<String> = flags.collect();
    Ok(format!("target.{TARGET}.rustflags=[{}]", flags.join(", ")))
}

/// A last pass over the bytes, by binaryen, with what Rust's target has in WebAssembly and no newer
/// feature.
fn shrink(package: &Path, file: &Path) -> Result<(), Box<dyn Error>> {
    let program = package.join("node_modules/binaryen/bin/wasm-opt");
    let mut command = Command::new("node");
    command.arg(program).args(FEATURES).arg("-Oz").arg(file).arg("-o").arg(file);
    let status = command.status().map_err(|error| format!("node: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("wasm-opt, of npm ci: {status}").into()) }
}

const FEATURES: [&str; 6] = [
    "--enable-bulk-memory",
    "--enable-multivalue",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
];

/// The same bytes as a module of text: what bundles code need not know of WebAssembly then.
fn inline(dist: &Path, name: &str) -> Result<(), Box<dyn Error>> {
    let bytes = fs::read(dist.join(format!("{name}_bg.wasm")))?;
    let text = STANDARD.encode(bytes);
    let module = format!("// {name}_bg.wasm, in base64.\nexport default '{text}';\n");
    Ok(fs::write(dist.join(format!("{name}-bytes.js")), module)?)
}

/// The files of one folder, into another.
fn copy(from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(to)?;
    for file in fs::read_dir(from)? {
        let file = file?;
        fs::copy(file.path(), to.join(file.file_name()))?;
    }
    Ok(())
}
